package mm2

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// A CheckpointTable is what a checkpoints topic holds: the newest record of each
// key, as MirrorClient.remoteConsumerOffsets reads it. The zero value is empty.
type CheckpointTable struct {
	newest map[checkpointKey]Checkpoint
}

type checkpointKey struct {
	group, topic string
	partition    int32
}

// Apply takes the next record of the topic and gives the checkpoint that it is. A
// null value deletes that of its key; then and for malformed records, which change
// nothing that is known, the error is ParseCheckpoint's.
//
// A malformed value does not delete the older checkpoint of its key, as Java skips
// it too.
func (t *CheckpointTable) Apply(key, value []byte) (Checkpoint, error) {
	c, err := ParseCheckpoint(key, value)
	k := checkpointKey{c.Group, c.Topic, c.Partition}
	switch {
	case errors.Is(err, ErrTombstone):
		delete(t.newest, k)
	case err == nil:
		if t.newest == nil {
			t.newest = map[checkpointKey]Checkpoint{}
		}
		t.newest[k] = c
	}
	return c, err
}

// Groups are the ids that have checkpoints, in order.
func (t *CheckpointTable) Groups() []string {
	var ids []string
	for k := range t.newest {
		ids = append(ids, k.group)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// All are the checkpoints by group, topic and partition.
func (t *CheckpointTable) All() []Checkpoint {
	return slices.SortedFunc(maps.Values(t.newest), func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// Of are a group's checkpoints by topic and partition.
func (t *CheckpointTable) Of(group string) []Checkpoint {
	return slices.DeleteFunc(t.All(), func(c Checkpoint) bool { return c.Group != group })
}
