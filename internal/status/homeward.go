package status

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"
)

// Return is where a group that has read on the target goes on when it moves back to the source.
type Return struct {
	Header
	Group       string     `json:"group"`
	TargetState string     `json:"target_state,omitempty"` // as the target lists it; empty where the group is not there
	Offsets     []Homeward `json:"offsets"`                // by topic and partition
}

// Homeward is one committed offset of the target as a place on the source.
type Homeward struct {
	Topic       string    `json:"topic"` // on the source
	Partition   int32     `json:"partition"`
	Offset      int64     `json:"source_offset"` // the next record to read there; Unknown where there is no place
	RemoteTopic string    `json:"remote_topic"`
	OnTarget    int64     `json:"target_committed"`
	Exact       bool      `json:"exact"`
	Sentence    string    `json:"text"`
	AsOf        time.Time `json:"as_of,omitzero"` // when the ledger was written
}

// Text is the places as a table.
func (r Return) Text() string {
	g := newGrid("TOPIC", ">PARTITION", ">OFFSET", ">ON TARGET", "VERDICT")
	for _, o := range r.Offsets {
		g.row(Printable(o.Topic), strconv.Itoa(int(o.Partition)), number(o.Offset), number(o.OnTarget), Printable(o.Sentence))
	}
	return g.String()
}

// CSV is every place in the form that kafka-consumer-groups.sh --reset-offsets --from-file reads: group, topic, partition, offset.
func (r Return) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, o := range r.Offsets {
		if o.Offset != Unknown {
			_ = w.Write([]string{r.Group, o.Topic, strconv.Itoa(int(o.Partition)), strconv.FormatInt(o.Offset, 10)}) // a Builder takes everything
		}
	}
	w.Flush()
	return b.String()
}

// Findings are the places that are not exact.
func (r Return) Findings() []string {
	var out []string
	for _, o := range r.Offsets {
		if !o.Exact {
			out = append(out, partitionName(o.Topic, o.Partition)+": "+o.Sentence)
		}
	}
	for _, t := range r.Trouble {
		out = append(out, t.String())
	}
	return out
}
