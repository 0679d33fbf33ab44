package status

import "time"

// LedgerRecords is what a ledger topic holds: the newest record of each key, and the offset maps that they add up to.
type LedgerRecords struct {
	Header
	Topic   string         `json:"topic"`
	Records []LedgerRecord `json:"records"` // by lane, then in log order
	Maps    []Map          `json:"maps"`    // by topic and partition
	Damage  []Damage       `json:"damage,omitempty"`
}

// LedgerRecord is one record of the ledger.
type LedgerRecord struct {
	Lane    int32     `json:"lane"` // partition of the ledger topic
	Offset  int64     `json:"offset"`
	Written time.Time `json:"written"`
	Key     string    `json:"key"`
	Size    int       `json:"size"` // bytes of the value
	Meaning string    `json:"meaning"`
}

// Map is the offset map of one partition.
type Map struct {
	Topic       string   `json:"topic"`
	Partition   int32    `json:"partition"`
	RemoteTopic string   `json:"remote_topic"`
	Lane        int32    `json:"lane"`
	Incarnation uint32   `json:"incarnation"`
	From        int64    `json:"from"`        // source offset where mirroring began
	MirroredTo  int64    `json:"mirrored_to"` // source offset below which everything is accounted for
	TargetEnd   int64    `json:"target_end"`  // one past the last target offset that the map knows of
	Runs        int64    `json:"runs"`
	Blocks      int      `json:"blocks"`                   // sealed ones that it needs
	Missing     []uint32 `json:"missing_blocks,omitempty"` // of those: positions in them are bounded, not exact
	Error       string   `json:"error,omitempty"`          // the map cannot be decoded
	List        []Run    `json:"list,omitempty"`           // the runs, where they were asked for
}

// Run is a stretch in which source and target offsets march together.
type Run struct {
	Source int64 `json:"source"`
	Target int64 `json:"target"`
	Count  int64 `json:"count"`
}

// MM2Records is what a topic of MirrorMaker 2 holds: the newest record of each key. One of the three lists is used.
type MM2Records struct {
	Header
	Kind        string       `json:"kind"`
	Topic       string       `json:"topic"`
	Cluster     string       `json:"cluster"` // alias of the cluster that holds it
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	OffsetSyncs []OffsetSync `json:"offset_syncs,omitempty"`
	Heartbeats  []Heartbeat  `json:"heartbeats,omitempty"`
	Damage      []Damage     `json:"damage,omitempty"`
}

// The values of MM2Records.Kind.
const (
	KindCheckpoints = "checkpoints"
	KindOffsetSyncs = "offset-syncs"
	KindHeartbeats  = "heartbeats"
)

// The values of Basis where no run of Tidemark has left an answer and a MirrorMaker 2 has.
const (
	BasisCheckpoints = "mm2-checkpoints"
	BasisOffsetSyncs = "mm2-offset-syncs"
)

// Stored says where a record is.
type Stored struct {
	Offset  int64     `json:"record_offset"`
	Written time.Time `json:"written"`
}

// Checkpoint is a group's position on both sides.
type Checkpoint struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"` // on the target
	Partition  int32  `json:"partition"`
	Upstream   int64  `json:"upstream_offset"`
	Downstream int64  `json:"downstream_offset"`
	Metadata   string `json:"metadata,omitempty"`
	Stored
}

// OffsetSync is a record's offset on both sides.
type OffsetSync struct {
	Topic      string `json:"topic"` // on the source
	Partition  int32  `json:"partition"`
	Upstream   int64  `json:"upstream_offset"`
	Downstream int64  `json:"downstream_offset"`
	Stored
}

// Heartbeat is the last sign of life of a flow.
type Heartbeat struct {
	Source    string    `json:"source_alias"`
	Target    string    `json:"target_alias"`
	Timestamp time.Time `json:"timestamp"`
	Stored
}
