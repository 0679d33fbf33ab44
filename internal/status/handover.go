package status

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Handover is what is to be committed on the target for groups, as the target alone tells it: the last positions that a run has
// translated. It is for flows that do not write positions themselves, once the source is given up.
type Handover struct {
	Header
	Worker bool     `json:"worker"` // one runs, and goes on translating
	Groups []Handed `json:"groups"` // by id
	Damage []Damage `json:"damage,omitempty"`
}

// Handed is one group of it.
type Handed struct {
	Group     string           `json:"group"`
	As        string           `json:"as"`        // the group on the target that gets its positions
	State     string           `json:"state"`     // what becomes of it, as a sentence
	Writes    int              `json:"writes"`    // positions to commit
	Positions []HandedPosition `json:"positions"` // by remote topic and partition
}

// HandedPosition is one position that has a place on the target, or none.
type HandedPosition struct {
	Topic     string    `json:"topic"` // on the target; of a position without a place on the source
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"` // Unknown where there is no place
	Metadata  string    `json:"metadata,omitempty"`
	OnTarget  int64     `json:"target_committed"` // of the group As
	Write     bool      `json:"write"`            // it is to be committed
	Exact     bool      `json:"exact"`
	Sentence  string    `json:"text"`
	AsOf      time.Time `json:"as_of,omitzero"`
}

// Writes is how many positions of how many groups are to be committed.
func (h Handover) Writes() (positions, groups int) {
	for _, g := range h.Groups {
		if g.Writes > 0 {
			positions, groups = positions+g.Writes, groups+1
		}
	}
	return positions, groups
}

// Without is how many of its positions have no place.
func (g Handed) Without() (n int) {
	for _, p := range g.Positions {
		if p.Offset == Unknown {
			n++
		}
	}
	return n
}

// Text is what is to be written, then what becomes of each group of which nothing is.
func (h Handover) Text() string {
	var b strings.Builder
	t := newGrid("GROUP", "AS", "TOPIC", ">PARTITION", ">OFFSET", ">ON TARGET", ">AS OF", "VERDICT")
	n, groups := h.Writes()
	for _, g := range h.Groups {
		for _, p := range g.Positions {
			if p.Write {
				t.row(Printable(g.Group), Printable(g.As), Printable(p.Topic), strconv.Itoa(int(p.Partition)), number(p.Offset), number(p.OnTarget), age(p.AsOf, h.At), Printable(p.Sentence))
			}
		}
	}
	if n > 0 {
		b.WriteString(t.String())
	}
	for _, g := range h.Groups {
		if g.Writes == 0 {
			fmt.Fprintf(&b, "group %s: %s\n", Printable(g.Group), Printable(g.State))
		}
		for _, p := range g.Positions {
			if p.Offset == Unknown {
				fmt.Fprintf(&b, "group %s, %s has no place: %s\n", Printable(g.Group), partitionName(p.Topic, p.Partition), Printable(p.Sentence))
			}
		}
	}
	fmt.Fprintf(&b, "to write: %s of %s\n", count(n, "position", "positions"), count(groups, "group", "groups"))
	b.WriteString(damageText(h.Damage))
	return b.String()
}

// CSV is every position with a place in the form that kafka-consumer-groups.sh --reset-offsets --from-file reads: group, topic,
// partition, offset. No title: the tool would take it for a line.
func (h Handover) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, g := range h.Groups {
		for _, p := range g.Positions {
			if p.Offset != Unknown {
				_ = w.Write([]string{g.As, p.Topic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(p.Offset, 10)}) // a Builder takes everything
			}
		}
	}
	w.Flush()
	return b.String()
}
