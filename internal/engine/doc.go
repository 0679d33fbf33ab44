// Package engine is a process: the flows that it runs, who owns which lane, and the order of start and end.
//
// For each flow it opens the clients, checks that both ends are what the file says, creates Tidemark's own topics,
// joins the lane group on the target, and runs: topics (what is mirrored), lanes (internal/mirror), positions
// (internal/groups) and heartbeats.
//
// Flows share no state: clients, memory, lanes and membership are each flow's own. A cluster that goes away holds up its own
// flows only; one that is away at the start is asked once, within contactWithin, and the flows that can start then do. But
// flows share the process: one that cannot go on, because a topic of its own was deleted or the right to be in the lane
// group is missing, ends it. The others release their lanes then, and a supervisor starts all of them again. Going on
// without that flow was rejected: a process of which a part runs looks healthy.
//
// Order of the end, on a signal: lanes stop reading, settle what is in flight, write heads and the word "released";
// then the group is left, so that another worker gets the lanes at once; then transports and clients close. A second
// signal ends at once; the next owner then fences and looks.
//
// What it does not do: decide anything about records, offsets or groups.
package engine
