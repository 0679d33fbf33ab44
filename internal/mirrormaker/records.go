package mirrormaker

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/mm2"
)

// What partition 0 of a topic says once all of it was taken, as MirrorMaker 2's own readers have it: the newest record of
// a key counts, a null value deletes. Each take is given a record and where it is; its error says that the record cannot
// be used, or is mm2.ErrTombstone.

// Checkpoints are the newest of each key and where they are. The zero value is none.
type Checkpoints struct {
	table mm2.CheckpointTable
	at    map[mm2.Checkpoint]status.Stored // the last time that this very checkpoint was written
}

// Take takes the next record.
func (k *Checkpoints) Take(key, value []byte, at status.Stored) error {
	c, err := k.table.Apply(key, value)
	if err == nil {
		if k.at == nil {
			k.at = map[mm2.Checkpoint]status.Stored{}
		}
		k.at[c] = at
	}
	return err
}

// All are the checkpoints by group, topic and partition.
func (k *Checkpoints) All() []mm2.Checkpoint { return k.table.All() }

// Of are a group's checkpoints by topic and partition.
func (k *Checkpoints) Of(group string) []mm2.Checkpoint { return k.table.Of(group) }

// Written is when a checkpoint was written.
func (k *Checkpoints) Written(c mm2.Checkpoint) time.Time { return k.at[c].Written }

// List is the checkpoints with their places, by group, topic and partition.
func (k *Checkpoints) List() (out []status.Checkpoint) {
	for _, c := range k.table.All() {
		out = append(out, status.Checkpoint{
			Group: c.Group, Topic: c.Topic, Partition: c.Partition, Upstream: c.Upstream, Downstream: c.Downstream, Metadata: c.Metadata, Stored: k.at[c],
		})
	}
	return out
}

// Newest are the newest offset sync of each source partition.
type Newest map[partition.ID]status.OffsetSync

// Take takes the next record.
func (n Newest) Take(key, value []byte, at status.Stored) error {
	s, err := mm2.ParseOffsetSync(key, value)
	p := partition.ID{Topic: s.Topic, Partition: s.Partition}
	switch {
	case err == nil:
		n[p] = status.OffsetSync{Topic: s.Topic, Partition: s.Partition, Upstream: s.Upstream, Downstream: s.Downstream, Stored: at}
	case errors.Is(err, mm2.ErrTombstone):
		delete(n, p)
	}
	return err
}

// List is the syncs by topic and partition.
func (n Newest) List() []status.OffsetSync {
	return slices.SortedFunc(maps.Values(n), func(a, b status.OffsetSync) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// Heartbeats are the newest of each key.
type Heartbeats map[string]status.Heartbeat

// Take takes the next record.
func (b Heartbeats) Take(key, value []byte, at status.Stored) error {
	delete(b, string(key))
	h, err := mm2.ParseHeartbeat(key, value)
	if err == nil {
		b[string(key)] = status.Heartbeat{Source: h.Source, Target: h.Target, Timestamp: time.UnixMilli(h.Timestamp).UTC(), Stored: at}
	}
	return err
}

// List is the heartbeats by source and target.
func (b Heartbeats) List() []status.Heartbeat {
	return slices.SortedFunc(maps.Values(b), func(a, b status.Heartbeat) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
}

// Syncs are all offset syncs of one source partition that are left.
type Syncs struct {
	mm2.SyncTable
	At time.Time // when the newest was written
}

// History is the offset syncs of several source partitions. A partition that is not in it has none.
type History map[partition.ID]*Syncs

// Take makes a receiver of records that keeps the syncs of the source partitions that are wanted.
func (h History) Take(want func(partition.ID) bool) func(key, value []byte, at status.Stored) error {
	return func(key, value []byte, at status.Stored) error {
		s, err := mm2.ParseOffsetSync(key, value)
		p := partition.ID{Topic: s.Topic, Partition: s.Partition}
		switch {
		case errors.Is(err, mm2.ErrTombstone):
			delete(h, p)
		case err == nil && want(p):
			if h[p] == nil {
				h[p] = &Syncs{}
			}
			h[p].Add(s)
			h[p].At = at.Written
		}
		return err
	}
}
