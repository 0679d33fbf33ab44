// Package engine is a process: the flows that it runs, who owns which lane, and the order of start and end.
//
// For each flow it opens the clients, checks that both ends are what the file says, creates Tidemark's own topics,
// joins the lane group on the target, and runs: topics (what is mirrored), lanes (internal/mirror), positions
// (internal/groups) and heartbeats. Flows share nothing, so one flow's trouble is not another's.
//
// Order of the end, on a signal: lanes stop reading, settle what is in flight, write heads and the word "released";
// then the group is left, so that another worker gets the lanes at once; then transports and clients close. A second
// signal ends at once; the next owner then fences and looks.
//
// What it does not do: decide anything about records, offsets or groups.
package engine
