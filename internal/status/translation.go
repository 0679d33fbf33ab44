package status

import (
	"time"

	"tidemark/internal/consumer"
	"tidemark/internal/translate"
)

// Translation is what RemoteClusterUtils.translateOffsets gives for a group: target partitions with offset and metadata.
type Translation struct {
	Header
	Group   string     `json:"group"`
	Basis   string     `json:"basis,omitempty"`   // what the answer is made of; empty: Tidemark's own verdicts
	Offsets []Offset   `json:"offsets"`           // by topic and partition
	Without []Position `json:"without,omitempty"` // positions that have no place on the target, each with its verdict
	// TargetState is the group's state on the target, as the target lists it; empty where the group is not there.
	TargetState string   `json:"target_state,omitempty"`
	Moved       *Moved   `json:"moved,omitempty"` // as in Group
	Damage      []Damage `json:"damage,omitempty"`
}

// Offset is one translated position.
type Offset struct {
	Topic     string `json:"topic"` // on the target
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"` // the next record to read
	Metadata  string `json:"metadata"`
	Exact     bool   `json:"exact"`
	Sentence  string `json:"text"`
	OnTarget  int64  `json:"target_committed"` // what the group has committed there itself; Unknown where it has not
	TargetEnd int64  `json:"target_end"`       // log end of the partition; Unknown where that was not needed or not told
}

// Findings are the positions that are not exact, and those at which the group would not resume, because its own commit
// on the target is another one that no member there answers for.
func (t Translation) Findings() []string {
	var out []string
	for _, o := range t.Offsets {
		if !o.Exact {
			out = append(out, partitionName(o.Topic, o.Partition)+": "+o.Sentence)
		}
	}
	switch {
	case t.Moved != nil: // where it resumes is its own
	case !consumer.Active(t.TargetState):
		out = append(out, t.ahead()...)
	default:
		out = append(out, t.beyond()...)
	}
	for _, n := range t.None() {
		if !n.Final {
			out = append(out, n.Where+": "+n.Why)
		}
	}
	for _, x := range t.Trouble {
		out = append(out, x.String())
	}
	return out
}

// Lookup is the answer about one offset, of the partition's offset map unless Basis says otherwise.
type Lookup struct {
	Header
	Basis       string             `json:"basis,omitempty"`
	Topic       string             `json:"topic"` // on the source
	Partition   int32              `json:"partition"`
	RemoteTopic string             `json:"remote_topic"`
	Reverse     bool               `json:"reverse"`       // the target's offset was asked, the source's is the answer
	SourceAt    int64              `json:"source_offset"` // Unknown where that is the answer and there is none
	TargetAt    int64              `json:"target_offset"`
	Exact       bool               `json:"exact"`
	Verdict     *translate.Verdict `json:"verdict,omitempty"` // not with Reverse, nor where MirrorMaker 2's offset syncs say nothing
	Sentence    string             `json:"text"`
	MirroredTo  int64              `json:"mirrored_to"`
	AsOf        time.Time          `json:"as_of,omitzero"` // when the ledger was written
}

// Answer is the offset that was asked for; Unknown where there is none.
func (l Lookup) Answer() int64 {
	if l.Reverse {
		return l.SourceAt
	}
	return l.TargetAt
}

// Findings is why the answer is not exact.
func (l Lookup) Findings() []string {
	if l.Exact {
		return nil
	}
	return []string{partitionName(l.Topic, l.Partition) + ": " + l.Sentence}
}
