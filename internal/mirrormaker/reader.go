package mirrormaker

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
	"tidemark/mm2"
)

// A Reader reads what a MirrorMaker 2 left of a flow.
type Reader struct {
	Flow
	Target *topiclog.Client
	Source *topiclog.Client  // needed for topics on the source only
	Told   topiclog.Progress // may be nil
}

// Found is the topic that was looked for, or the twin of it that is to be read.
type Found struct {
	Name       string
	Exists     bool
	Partitions int32
	Notes      []string // why it is another one than the file names, and what else there is
}

// Contents is how reading a topic went.
type Contents struct {
	Found
	Damage  []status.Damage  // records that cannot be used, in order
	Trouble []status.Trouble // what could not be read
}

func (r *Reader) on(t Topic) *topiclog.Client {
	if t.OnSource {
		return r.Source
	}
	return r.Target
}

// find looks for the topic and for twins of it that hold records.
func (r *Reader) find(ctx context.Context, t Topic) (Found, error) {
	on := r.on(t)
	named, exists, err := on.Topic(ctx, t.Name)
	if err != nil {
		return Found{}, err
	}
	out := Found{Name: t.Name, Exists: exists, Partitions: named.Partitions}
	if t.twin == nil {
		return out, nil
	}
	all, err := on.DescribeTopics(ctx)
	if err != nil {
		return Found{}, err
	}
	var ask []partition.ID
	if exists {
		ask = append(ask, partition.ID{Topic: t.Name})
	}
	for _, other := range all {
		if _, twin := t.twin(other.Name); twin && other.Name != t.Name && other.Err == nil {
			ask = append(ask, partition.ID{Topic: other.Name})
		}
	}
	if len(ask) == 0 || exists && len(ask) == 1 {
		return out, nil
	}
	ends, _, err := on.Extents(ctx, ask) // a twin that may not be read is none
	if err != nil {
		return Found{}, err
	}
	var full []string
	for p, e := range ends {
		if e.From < e.To {
			full = append(full, p.Topic)
		}
	}
	name, note := choose(t.Name, exists, full)
	if note != "" {
		out.Notes = append(out.Notes, note)
	}
	if name != t.Name {
		i := slices.IndexFunc(all, func(o kafka.Topic) bool { return o.Name == name })
		out.Name, out.Exists, out.Partitions = name, true, all[i].Partitions
	}
	return out, nil
}

// Read looks for a topic and hands the records of its partition 0 to take (see Checkpoints, Newest, History and
// Heartbeats). That it is not there is no error.
func (r *Reader) Read(ctx context.Context, t Topic, take func(key, value []byte, at status.Stored) error) (Contents, error) {
	is, err := r.find(ctx, t)
	out := Contents{Found: is}
	if err != nil || !is.Exists {
		return out, err
	}
	bad := map[string]status.Damage{}
	failed, err := r.on(t).ReadAll(ctx, is.Name, []int32{0}, r.Told, func(n int32) func(topiclog.Record) error {
		return func(rec topiclog.Record) error {
			key := rec.KeyText()
			delete(bad, key)
			if err := take(rec.Key, rec.Value, status.Stored{Offset: rec.Offset, Written: rec.At}); err != nil && !errors.Is(err, mm2.ErrTombstone) {
				bad[key] = status.Damage{Topic: is.Name, Partition: n, Offset: rec.Offset, Key: key, Error: err.Error()}
			}
			return nil
		}
	})
	out.Damage = slices.SortedFunc(maps.Values(bad), func(a, b status.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	for p, err := range failed { // there is one partition
		out.Trouble = append(out.Trouble, status.Trouble{What: "read " + p.String(), Error: err.Error()})
	}
	return out, err
}

// Logs asks the target for the logs of remote partitions.
func (r *Reader) Logs(ctx context.Context, remote ...partition.ID) (map[partition.ID]Log, error) {
	ends, failed, err := r.Target.Extents(ctx, remote)
	if err != nil {
		return nil, err
	}
	out := map[partition.ID]Log{}
	for p, e := range ends {
		out[p] = Log{From: e.From, To: e.To}
	}
	for p, err := range failed {
		out[p] = Log{Err: err, Missing: errors.Is(err, kafka.ErrNoTopic)}
	}
	return out, nil
}

// Bound completes what was left with what bounds the positions of checkpoints: the offset syncs, where noSyncs is empty,
// and the remote logs. noSyncs is why the syncs cannot be asked for. Without them bounds are wider; that is a note.
func (r *Reader) Bound(ctx context.Context, h *status.Header, l *Left, of []mm2.Checkpoint, noSyncs string) error {
	remote, source := map[partition.ID]bool{}, map[partition.ID]bool{}
	for _, c := range of {
		remote[Remote(c)], source[r.SourceOf(c)] = true, true
	}
	why := noSyncs
	if why == "" {
		history := History{}
		is, err := r.Read(ctx, r.OffsetSyncs(), history.Take(func(p partition.ID) bool { return source[p] }))
		h.Notes, h.Trouble = append(h.Notes, is.Notes...), append(h.Trouble, is.Trouble...)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			why = err.Error()
		case !is.Exists:
			why = is.Name + " is not there"
		}
		l.Syncs = history
	}
	if why != "" {
		h.Notes = append(h.Notes, "how much would be read again is bounded by the target's log ends alone: "+why)
	}
	// After the syncs: in the other order one that MirrorMaker 2 writes in between would lie beyond its log's end.
	var err error
	l.Logs, err = r.Logs(ctx, slices.SortedFunc(maps.Keys(remote), partition.ID.Compare)...)
	return err
}
