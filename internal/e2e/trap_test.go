package e2e

// The traps: things that real brokers do and that a mirror must not step into. A test shows that the broker does behave
// like that, with raw requests through our own clients, so that a version which behaves otherwise is noticed; and that the
// way around it holds. docs/design.md, Traps, says what follows from each; T14 waits for __consumer_offsets to be tailed, T18 is
// about a model (internal/lane).
//
//	what happens                                                             test
//	T1   producer state lives by the timestamps of the last batch            TestTrap01OldDataIsForgotten; a worker whose answers get lost: TestTrap17AgeAtTheRetry
//	T2   a batch that timed out is not seen, and comes later                 TestTrap02InDoubtIsNotSeen
//	T3   the transactional id expires under a writing owner                  TestTrap03IdentityExpires
//	T4   whole batches vanish: compaction, retention of old records          TestTrap04WholeBatchesVanish; compaction: TestCase17OldCompactedDataSurvives
//	T5   EndTxn answers before the markers are written                       TestTrap05MarkersComeLater
//	T6   a stale owner's ledger block wins compaction                        TestTrap06StaleLedgerBlock
//	T7   paused past the transaction's time-out                              TestTrap07PausedPastTheTimeout
//	T8   a plain commit erases a pending transactional one                   TestTrap08PendingCommit
//	T9   one bad partition keeps all others out; a local epoch wedges        TestTrap09OneForAll
//	T10  half a group is committed when a consumer comes                     TestTrap10HalfAGroup
//	T11  only RequireStable shows a pending commit                           TestTrap08PendingCommit
//	T12  other bytes under a used sequence are dropped, with an answer       TestTrap12SameSequenceOtherBytes; a worker: TestTrap17AgeAtTheRetry
//	T13  live groups that look dead or Empty; commits that are nonsense      TestTrap13LiveGroups; a worker: TestCase27ActiveOnTheTarget,
//	                                                                         TestCase27ActiveByTheNewProtocol, TestCase26SimpleAndForeignGroups
//	T15  a marker on forgotten state leaves it without a sequence            TestTrap15IdlePartition
//	T16  the second batch is taken where the first was refused               TestTrap16SecondBeforeTheFirst
//	T17  a batch ages between its first sending and its repeat               TestTrap17AgeAtTheRetry
