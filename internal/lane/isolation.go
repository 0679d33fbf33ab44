package lane

import (
	"fmt"
	"slices"

	"tidemark/internal/ledger"
)

// otherReading says that records beyond a head, which are counted over the source's, would be counted over others than those
// that were written.
func otherReading(was, now ledger.Isolation) bool {
	return was != ledger.IsolationUnknown && was != now
}

// refuseTail refuses a lane in which owners who read with another isolation have left records of ours beyond a head. Where
// contents repeat, records would be lost or stand twice, and nothing would tell. That the lane was released does not help: a
// partition that could not be opened, or that the flow did not name, has kept its tail. Counting over what they read was
// rejected: the ledger would have to say it of each partition's tail, in heads that former builds could not read.
func refuseTail(was, now ledger.Isolation, remote string, tail []Landed) error {
	if !slices.ContainsFunc(tail, func(l Landed) bool { return l.Ours }) {
		return nil
	}
	return fmt.Errorf("isolation is %s in the file, and what the former owner wrote last to %s can only be told with %[3]s: set it to %[3]s, run until that partition goes on, end every worker with SIGTERM, and change it then",
		now, remote, was)
}
