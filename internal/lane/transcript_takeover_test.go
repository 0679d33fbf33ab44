package lane

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/internal/ledger"
)

// takeoverEvent reads the words of an event of a take-over.
func (s *story) takeoverEvent(w []string) error {
	const id = "tidemark.A->B.lane.0"
	rest := strings.Join(w[1:], " ")
	var err error
	switch w[0] {
	case "take":
		// "take over, reading ISOLATION"
		s.takeover = &Takeover{Reads: isolation(w[len(w)-1])}
	case "ledger:":
		// "ledger: nothing", "ledger: claim 7/3 [released] reading ISOLATION"
		c := Claimed{Under: id, Reads: ledger.IsolationUnknown}
		if w[1] == "claim" {
			c.Former = &Former{Released: w[3] == "released"}
			_, err = fmt.Sscanf(w[2], "%d/%d", &c.Former.ProducerID, &c.Former.Epoch)
			c.Reads = isolation(w[len(w)-1])
		}
		err = errors.Join(err, s.takeover.Read(c))
	case "identity":
		var got Identity
		if _, err = fmt.Sscanf(rest, "%d/%d", &got.ProducerID, &got.Epoch); err != nil {
			return err
		}
		s.takeover.Identified(got, id)
		s.said = append(s.said, s.takeover.How().String())
	case "tail":
		// "tail of A.orders-0: BATCH ..."
		landed, err := landedFrom(w[3:])
		if refused := s.takeover.Tail(strings.TrimSuffix(w[2], ":"), plain(landed)); refused != nil {
			s.said = append(s.said, "the lane is not taken: "+refused.Error())
		}
		return err
	case "done":
		s.takeover.Done()
	default:
		return errors.New("no such event")
	}
	s.said = append(s.said, "next: "+s.takeover.Next().String())
	return err
}

func isolation(name string) ledger.Isolation {
	if name == ledger.ReadCommitted.String() {
		return ledger.ReadCommitted
	}
	return ledger.ReadUncommitted
}
