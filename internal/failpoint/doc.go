// Package failpoint marks the places where a process is worth being killed.
//
// It owns the names of the points and nothing else: a call of Hit says that the
// code has come to a point. In a normal build every function here is empty, so
// that a release cannot be made to fail. A build with `-tags failpoints` reads
// its environment:
//
//   - TIDEMARK_FAILPOINTS="after-claim=3,after-ack=17:stop" ends the process by
//     SIGKILL at the third time it comes to after-claim, and freezes it by
//     SIGSTOP at the 17th time it comes to after-ack, which makes a zombie of it
//     when it is let run on (SIGCONT);
//   - TIDEMARK_CLOCK="-30h" makes the wall clock that batches are judged by
//     wrong by that much;
//   - SIGUSR1 makes the process write its goroutines and its heap to stderr.
//
// Points: after-fence (a fence is complete), after-claim (the claim is
// acknowledged), after-produce (a request is written, its answer is open),
// after-ack (a batch of data is acknowledged), after-ledger (a head is
// acknowledged), after-checkpoint (a record for MirrorMaker 2's readers is
// acknowledged), after-group-write (a group's positions are committed on the
// target).
//
// It does not decide when to fail: tests do, through the environment.
package failpoint
