package events

// What happens to a partition. Details stand with each event: reason, was, at_most and so on.
const (
	PartitionStopped   Kind = "partition stopped"
	PartitionGoesOn    Kind = "partition goes on"
	PartitionWaits     Kind = "partition is not mirrored yet (docs/stopped.md)"
	PartitionFenced    Kind = "partition fenced to settle what is in doubt"
	PartitionReadAgain Kind = "reading starts again"
	RecordsTwice       Kind = "resume is not exact: some records may stand twice on the target"
	RecordsUncertain   Kind = "what stood on the target was gone before it could be looked at: some records may be written twice"
	RecordsLost        Kind = "source records were removed before they were mirrored"
	SourceTruncated    Kind = "source log was truncated"
	OthersWrite        Kind = "another producer writes to the remote topic: if that is a mirror too, such as a MirrorMaker 2 under the same alias, its records stand there twice"
	RecordsSkipped     Kind = "source offsets are passed over, as somebody has decided (tidemark controls)"
	PartitionAnew      Kind = "partition is copied anew, as somebody has decided (tidemark controls)"
	PartitionForgotten Kind = "partition is forgotten, as somebody has decided (tidemark controls)"
	MapIncomplete      Kind = "blocks of the offset map are missing or damaged: positions there are bounded, not exact"
)

// What happens to a lane, or to the flow's own topics.
const (
	LaneTaken       Kind = "taking over"
	LaneUnfenced    Kind = "the former owner wrote under another identity than the one that we have, so it cannot be fenced; waiting until its lease has run out"
	LaneIdentity    Kind = "the lane's identity on the target hangs in a transaction whose marker cannot be written; going on under another one (docs/stopped.md)"
	JournalStalled  Kind = "our own topic cannot be written: mirroring waits for it"
	JournalUnfenced Kind = "groups wait: their partition of our own topic has no leader"
	JournalWritten  Kind = "our own topic is written again"
	LedgerDamaged   Kind = "damaged ledger record"
	KeepaliveFailed Kind = "keepalive on the target did not succeed, trying again"
	FirstStart      Kind = "the flow starts for the first time: what the source has now is mirrored from its end on, what is created later whole"
	FirstStartAway  Kind = "the ends of partitions of the source cannot be asked: they are mirrored from where their ends are when that is possible"
	FirstStartWaits Kind = "lanes wait for lane 0: its owner writes down where a flow that begins at the end begins, which it does not while it runs with another file or an older build"
	SourceAway      Kind = "partitions of the source cannot be read for now"
	SourceBack      Kind = "the source can be read again"
	// TransactionHangs has partition, start_offset, producer, transactional_id and since.
	TransactionHangs Kind = "a transaction on the source is open for longer than transaction.max.timeout.ms, so nothing ends it, and what stands behind it is not mirrored; `tidemark status --check` prints the command that ends it"
)

// What happens to workers and the lanes that they have.
const (
	NotesFail      Kind = "what lanes wait for cannot be noted on the target, so status does not know it; trying again"
	LanesAssigned  Kind = "lanes assigned"
	LanesRun       Kind = "every lane of this worker runs"
	LanesRevoked   Kind = "lanes go to another worker"
	LanesLost      Kind = "lanes lost: the group's coordinator does not count this process as a member"
	TargetAway     Kind = "the target does not answer: nothing is written to it until it does"
	TargetBack     Kind = "the target answers again"
	DecisionsAway  Kind = "what people decide about the flow cannot be read, trying again: what was in force stays so (tidemark controls)"
	DecisionsBack  Kind = "what people decide about the flow is read again"
	NotMember      Kind = "this process is not in the lane group, trying again"
	LeaveFailed    Kind = "could not leave the lane group, which counts this process as a member until its session ends"
	OtherFile      Kind = "another worker of this flow runs with another file: what is mirrored depends on who has which lane; start all workers with one file"
	SameFile       Kind = "a worker of this flow runs with the same file now"
	OtherFileGone  Kind = "a worker that ran with another file is gone"
	LaneRuns       Kind = "lane runs again"
	LaneWaits      Kind = "lane does not run"
	LaneUnreleased Kind = "lane given up without its release; nothing is lost"
	LaneEnded      Kind = "lane ended, trying again"
)

// What happens to groups and their positions.
const (
	PositionsMissing Kind = "positions of some groups could not be read, their last known ones stay"
	PositionsWhole   Kind = "positions of all groups are read again"
	PositionsAway    Kind = "positions cannot be read from the source, trying again"
	PositionsBack    Kind = "positions are read from the source again"
	CommitsFail      Kind = "positions of some groups cannot be written to the target, trying again"
	CommitsBack      Kind = "positions are written to the target again"
	GroupsSummary    Kind = "groups"
	EmitFails        Kind = "records for MirrorMaker 2's readers cannot be written, trying again"
	EmitBack         Kind = "records for MirrorMaker 2's readers are written again"
	VerdictsAway     Kind = "the verdicts topic cannot be read, trying again"
	RowDamaged       Kind = "a record of the verdicts topic is no row and is left out"
	Group            Kind = "group"
)

// What happens to topics, their settings and access rules.
const (
	TopicCreated   Kind = "remote topic created"
	TopicGrew      Kind = "remote topic has got more partitions, as its source topic has"
	TopicWider     Kind = "remote topic has more partitions than its source topic: those beyond stay empty"
	TopicNotReady  Kind = "remote topic is not ready, trying again each round"
	TopicReady     Kind = "remote topic is ready now"
	RulesBack      Kind = "access rules of topics are copied again"
	RulesOff       Kind = "access rules of topics are not copied"
	RulesFail      Kind = "access rules of topics are not copied, trying again"
	RuleCopied     Kind = "access rule copied"
	RulesOfSource  Kind = "access rules of the source"
	SettingsFollow Kind = "settings of a remote topic follow the source"
	SettingsBack   Kind = "settings of a remote topic follow the source again"
	SettingsStuck  Kind = "settings of a remote topic do not follow the source, trying again"
	SettingsDenied Kind = "settings of remote topics do not follow the source, trying again"
	SettingsUnread Kind = "settings of topics cannot be read, trying again; records go on, settings do not follow"
	SettingsRead   Kind = "settings of topics can be read again"
	TopicWithout   Kind = "remote topic created without settings that the target refuses"
	SettingsAway   Kind = "settings of topics cannot be read, trying again"
	PatternIdle    Kind = "no topic of the source is selected by a pattern: there is none of that name yet, or DESCRIBE on it is missing"
	TopicsAway     Kind = "topics cannot be looked at, trying again"
	HeartbeatsFail Kind = "heartbeats cannot be written, trying again"
)

// calm says whether a kind is no trouble, or the end of it.
func (k Kind) calm() bool {
	switch k {
	case PartitionGoesOn, PartitionFenced, JournalWritten, FirstStart, SourceBack, LaneTaken,
		PositionsWhole, PositionsBack, CommitsBack, GroupsSummary, EmitBack, TopicCreated, TopicGrew, TopicWider,
		TopicReady, RulesBack, RulesOff, RuleCopied, RulesOfSource, SettingsFollow,
		SettingsBack, SettingsRead, DecisionsBack, LanesAssigned, LanesRun, LanesRevoked, TargetBack, SameFile,
		OtherFileGone, LaneRuns, Group:
		return true
	default:
		return false
	}
}
