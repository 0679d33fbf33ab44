package status

import (
	"maps"
	"slices"
	"time"
)

// State is how it stands with a partition.
type State string

// The states of a partition. Their names are part of the JSON contract.
const (
	Running  State = "running"  // its lane has an owner, and the owner's last word is that it mirrors it
	Idle     State = "idle"     // as Running, but no worker owns the lane now
	Standing State = "standing" // as Running, but records wait and nothing moves
	Looking  State = "looking"  // its owner is finding out for more than ten seconds where to go on; the reason says how far it is
	Stopped  State = "stopped"  // by its owner, for the reason given
	Damaged  State = "damaged"  // the ledger's newest record about it cannot be used
	New      State = "new"      // the flow selects it, and the ledger knows nothing about it
)

// LaneState is whether a worker owns a lane now.
type LaneState string

// The states of a lane.
const (
	LaneOwned   LaneState = "owned"
	LaneWaiting LaneState = "waiting" // owned, and its owner says that it does not run
	LaneFree    LaneState = "free"
	LaneUnknown LaneState = "unknown" // the lane group could not be described
)

// Flow is everything about one flow.
type Flow struct {
	Header
	Ledger      Ledger      `json:"ledger"`
	Isolation   string      `json:"isolation"`                // of the file: what a worker with it reads of the source
	Lanes       []Lane      `json:"lanes"`                    // by number
	Workers     []Worker    `json:"workers"`                  // in the lane group now; none where nobody could say
	Partitions  []Partition `json:"partitions"`               // by topic and number
	NotMirrored []Unmirror  `json:"not_mirrored,omitempty"`   // topics of the source that the flow leaves out; needs the source
	Missing     []Missing   `json:"missing_topics,omitempty"` // topics that the file names, and that the source does not have; needs the source
	Damage      []Damage    `json:"damage,omitempty"`         // records of the ledger that cannot be used
	Throttle    *Throttle   `json:"throttle,omitempty"`       // how fast somebody has decided that the flow may copy; nil: as it can
	// MirrorMaker is a topic on the target that a MirrorMaker 2 has left for this flow. It is looked for where there is no ledger.
	MirrorMaker string `json:"mirrormaker,omitempty"`
}

// Ledger is the ledger topic.
type Ledger struct {
	Topic         string `json:"topic"`
	Cluster       string `json:"cluster"` // alias of the target
	Exists        bool   `json:"exists"`  // false: no run has created it for this flow yet
	Lanes         int32  `json:"lanes"`   // its partitions
	SourceCluster string `json:"source_cluster_id,omitempty"`
	TargetCluster string `json:"target_cluster_id,omitempty"`
}

// Lane is one lane: who owns it now, and who claimed it last.
type Lane struct {
	Lane       int32     `json:"lane"`
	State      LaneState `json:"state"`
	Worker     string    `json:"worker,omitempty"`       // the group member that has it now: client id, host, instance id
	Since      time.Time `json:"waiting_since,omitzero"` // of a lane that waits
	What       string    `json:"waiting,omitempty"`      // what it does instead of running
	Why        string    `json:"waiting_for,omitempty"`
	Partitions int       `json:"partitions"`          // source partitions that the ledger knows about
	Owner      string    `json:"owner,omitempty"`     // who wrote the last claim
	ClaimedAt  time.Time `json:"claimed_at,omitzero"` // when that was: at the take-over, or at the release
	Released   bool      `json:"released"`            // the last owner ended with everything acknowledged
	ProducerID int64     `json:"producer_id"`
	Epoch      int16     `json:"epoch"`
	Isolation  string    `json:"isolation,omitempty"` // what the last owner read of the source; empty where its build does not say
}

// Worker is a process that runs the flow: a member of its lane group.
type Worker struct {
	Worker   string          `json:"worker"` // client id, host, instance id
	Member   string          `json:"member"` // its id in the group
	Lanes    []int32         `json:"lanes"`
	Troubles []WorkerTrouble `json:"troubles,omitempty"` // what it says about itself
	// DiffersFrom is a worker that runs with another file, of which there are more or as many, and Differs what is not alike.
	DiffersFrom string   `json:"differs_from,omitempty"`
	Differs     []string `json:"differs,omitempty"`
}

// WorkerTrouble is something that a worker waits for, or may not do.
type WorkerTrouble struct {
	Since time.Time `json:"since"`
	What  string    `json:"what"`
	Why   string    `json:"why"`
}

// Partition is one source partition. Numbers from the ledger are as of AsOf; while mirroring, a head follows the data
// by about a second.
type Partition struct {
	Topic       string    `json:"topic"`
	Partition   int32     `json:"partition"`
	RemoteTopic string    `json:"remote_topic"`
	Lane        int32     `json:"lane"`
	State       State     `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	LeftOut     string    `json:"left_out,omitempty"`     // the rule by which the file leaves the topic out now; what is shown is what there was
	MirroredTo  int64     `json:"mirrored_to"`            // source offset below which everything is accounted for
	SourceEnd   int64     `json:"source_end"`             // the source's high watermark
	SourceAt    time.Time `json:"source_end_at,omitzero"` // when that was seen; where source_end_live is false, at the latest
	SourceLive  bool      `json:"source_end_live"`        // the source itself said it, for this snapshot
	Lag         int64     `json:"lag"`                    // source_end - mirrored_to; where source_end_live is false, at least
	Open        int64     `json:"behind_transaction"`     // how much of the lag is behind an open transaction
	// Arrived is how much of the lag at most is on the target already: its log goes on behind the end of the offset map, which
	// follows it by about a second. What others write there counts too, so the lag is not less for it.
	Arrived int64 `json:"arrived"`
	// Transaction is the oldest open one; nil where none is, or the flow reads uncommitted records, or nobody tells.
	Transaction *Transaction `json:"transaction,omitempty"`
	TargetStart int64        `json:"target_start"`
	TargetEnd   int64        `json:"target_end"` // log end of the remote partition
	Runs        int64        `json:"runs"`       // of the offset map
	Missing     int          `json:"missing_blocks"`
	// InDoubt is how many records at most stand on the target whose place on the source is not certain, after an unclean
	// stop with several places to go on from. They may be there twice; positions in front of them are bounded, not exact.
	InDoubt int64 `json:"in_doubt"`
	// Others is how many target offsets of what is kept were written by others than the flow: those that the offset map
	// knows, and those behind its end where nothing of the source is missing on the target.
	Others int64     `json:"written_by_others"`
	AsOf   time.Time `json:"as_of,omitzero"` // when the head was written
	// UnseenSince is since when records of a compacted topic wait, where that is longer than its source keeps deletes
	// (delete.retention.ms): some can be gone unseen, and their keys then stay on the target. Zero where it is not.
	UnseenSince time.Time `json:"deletes_unseen_since,omitzero"`
	// NewestAt is the newest time stamp of a record on the target. It is asked for where the source does not answer: what is
	// missing is what the source got after that.
	NewestAt time.Time `json:"newest_record_at,omitzero"`
}

// Unmirror is a topic that the flow does not mirror.
type Unmirror struct {
	Topic string `json:"topic"`
	Rule  string `json:"rule"`
	Why   string `json:"why"`
}

// Findings are the reasons why the flow does not do all that its file says, for scripts that ask with --check: one
// clause each, empty when all is well.
func (f Flow) Findings() []string {
	if !f.Ledger.Exists {
		never := f.Flow + ": no run has created " + f.Ledger.Topic + " yet"
		if f.MirrorMaker != "" {
			never += ", only a MirrorMaker 2 has been there"
		}
		return []string{never}
	}
	var out []string
	for _, p := range f.Partitions {
		if p.LeftOut != "" {
			continue // nobody waits for it
		}
		switch {
		case p.State == Stopped, p.State == Damaged, p.State == New, p.State == Standing, p.State == Looking:
			out = append(out, f.Flow+": "+partitionName(p.Topic, p.Partition)+" is "+string(p.State))
		case p.Missing > 0:
			out = append(out, f.Flow+": a part of the offset map of "+partitionName(p.Topic, p.Partition)+" is missing")
		}
		if p.Transaction != nil && p.Transaction.Hangs {
			out = append(out, f.Flow+": "+partitionName(p.Topic, p.Partition)+" waits behind "+p.Transaction.whose(f.At)+", "+f.hangs(p.Topic, p.Partition, *p.Transaction))
		}
		if p.Others > 0 {
			out = append(out, f.Flow+": others wrote "+count64(p.Others, "offset", "offsets")+" of "+partitionName(p.RemoteTopic, p.Partition)+" (docs/stopped.md)")
		}
	}
	for _, m := range f.Missing {
		out = append(out, f.Flow+": "+m.text())
	}
	out = append(out, f.unseen()...)
	out = append(out, f.laneFindings()...)
	out = append(out, f.workerFindings()...)
	for _, s := range f.sourceFindings() {
		out = append(out, f.Flow+": "+s)
	}
	for _, d := range f.Damage {
		out = append(out, f.Flow+": damaged record "+shorten(Printable(d.Key))+" in "+partitionName(d.Topic, d.Partition))
	}
	for _, t := range f.Trouble {
		out = append(out, f.Flow+": "+t.String())
	}
	return out
}

// unseen are the compacted topics of which deletes can have gone unseen, one clause each.
func (f Flow) unseen() []string {
	since := map[string]time.Time{}
	for _, p := range f.Partitions {
		if was, ok := since[p.Topic]; !p.UnseenSince.IsZero() && p.LeftOut == "" && (!ok || p.UnseenSince.Before(was)) {
			since[p.Topic] = p.UnseenSince
		}
	}
	var out []string
	for _, topic := range slices.Sorted(maps.Keys(since)) {
		out = append(out, f.Flow+": "+Printable(topic)+": "+unseenClause(since[topic], f.At))
	}
	return out
}

func unseenClause(since, now time.Time) string {
	return "compacted, and its records wait since " + age(since, now) + ", longer than delete.retention.ms of the source: deletes can have gone unseen, whose keys then stay on the target (docs/guarantees.md)"
}
