package status

import (
	"time"

	"tidemark/internal/translate"
)

// Groups is the positions of a flow's groups.
type Groups struct {
	Header
	Groups   []Group    `json:"groups"`             // by id
	Excluded []Excluded `json:"excluded,omitempty"` // groups whose positions are not carried, as the source or the verdicts topic says
	Damage   []Damage   `json:"damage,omitempty"`   // records of the verdicts topic that cannot be used
}

// Group is one consumer group.
type Group struct {
	Group       string     `json:"group"`
	SourceState string     `json:"source_state,omitempty"` // as the source lists it; empty where it does not or was not asked
	TargetState string     `json:"target_state,omitempty"` // as the target lists it; empty where the group is not there
	Positions   []Position `json:"positions"`              // by topic and partition
}

// Position is one committed offset and its verdict.
type Position struct {
	Topic       string            `json:"topic"` // on the source
	Partition   int32             `json:"partition"`
	RemoteTopic string            `json:"remote_topic,omitempty"`
	Committed   int64             `json:"committed"`        // on the source, what the verdict speaks about
	Now         int64             `json:"source_committed"` // on the source now; Unknown where the source was not asked
	Metadata    string            `json:"metadata,omitempty"`
	SourceEnd   int64             `json:"source_end"`
	SourceAt    time.Time         `json:"source_end_at,omitzero"`
	SourceLive  bool              `json:"source_end_live"`  // the source itself said it, for this snapshot
	Lag         int64             `json:"lag"`              // source_end - committed
	Target      int64             `json:"target"`           // the translated position; Unknown where there is none
	OnTarget    int64             `json:"target_committed"` // what the group has committed on the target now
	Exact       bool              `json:"exact"`
	Verdict     translate.Verdict `json:"verdict"`
	Sentence    string            `json:"text"`           // the verdict as a sentence
	AsOf        time.Time         `json:"as_of,omitzero"` // when the verdict was written; zero: there is none yet
}

// Excluded is a group whose positions are not carried.
type Excluded struct {
	Group string `json:"group"`
	Why   string `json:"why"`
}

// Stale says whether the group has committed on the source since the verdict was made.
func (p Position) Stale() bool { return p.Now != Unknown && !p.AsOf.IsZero() && p.Now != p.Committed }

// Findings are the positions that a group could not resume at exactly, and what could not be read; a verdict that is a
// final no (filtered, never committed, ...) is none.
func (g Groups) Findings() []string {
	var out []string
	for _, group := range g.Groups {
		for _, p := range group.Positions {
			switch where := "group " + group.Group + ", " + partitionName(p.Topic, p.Partition) + ": "; {
			case p.Stale() && !p.Verdict.Final():
				out = append(out, where+"the group has committed on the source since the verdict was made")
			case !p.Exact && !p.Verdict.Final():
				out = append(out, where+p.Sentence)
			}
		}
	}
	for _, d := range g.Damage {
		out = append(out, "damaged record "+d.Key+" in "+partitionName(d.Topic, d.Partition))
	}
	for _, t := range g.Trouble {
		out = append(out, t.String())
	}
	return out
}
