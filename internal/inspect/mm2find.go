package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/mm2"
)

// Which topics of MirrorMaker 2 are read. It names two of them by settings that changed their meaning between its
// versions, and an upgrade made it go on in new and empty ones (KAFKA-15102). So topics of the same use under another
// separator are looked for as well.

// internalTopic is one of MirrorMaker 2's topics to be found.
type internalTopic struct {
	on   *side
	name string // as the flow's policy has it
	// twin says whether a topic is of the same use under some separator, and which; nil where the name never changed.
	twin func(topic string) (separator string, ok bool)
}

func (r *Reader) checkpointsTopic() internalTopic {
	return internalTopic{on: r.target, name: r.policy.CheckpointsTopic(r.flow.Source), twin: func(topic string) (string, bool) {
		return mm2.CheckpointsTwin(r.flow.Source, topic)
	}}
}

// syncsOnSource says where the flow's offset syncs are.
func (r *Reader) syncsOnSource() bool { return r.flow.OffsetSyncsLocation == config.LocationSource }

// syncsTopic is the topic of offset syncs; on the source, which must be open, it carries the target's alias.
func (r *Reader) syncsTopic() internalTopic {
	on, alias := r.target, r.flow.Source
	if r.syncsOnSource() {
		on, alias = r.source, r.flow.Target
	}
	return internalTopic{on: on, name: r.policy.OffsetSyncsTopic(alias), twin: func(topic string) (string, bool) {
		return mm2.OffsetSyncsTwin(alias, topic)
	}}
}

// found is the topic to read.
type found struct {
	name       string
	exists     bool
	partitions int32
	notes      []string
}

// find looks for the topic and for twins of it that hold records.
func (r *Reader) find(ctx context.Context, t internalTopic) (found, error) {
	named, exists, err := t.on.topic(ctx, t.name)
	if err != nil {
		return found{}, err
	}
	out := found{name: t.name, exists: exists, partitions: named.Partitions}
	if t.twin == nil {
		return out, nil
	}
	all, err := t.on.DescribeTopics(ctx)
	if err != nil {
		return found{}, err
	}
	ask := []partition.ID{{Topic: t.name}}
	if !exists {
		ask = nil
	}
	for _, other := range all {
		if _, twin := t.twin(other.Name); twin && other.Name != t.name && other.Err == nil {
			ask = append(ask, partition.ID{Topic: other.Name})
		}
	}
	if len(ask) == 0 || exists && len(ask) == 1 {
		return out, nil
	}
	ends, _, err := t.on.extents(ctx, ask) // a twin that may not be read is none
	if err != nil {
		return found{}, err
	}
	var full []string
	for tp, e := range ends {
		if e.from < e.to {
			full = append(full, tp.Topic)
		}
	}
	name, note := choose(t.name, exists, full)
	if note != "" {
		out.notes = append(out.notes, note)
	}
	if name != t.name {
		i := slices.IndexFunc(all, func(o kafka.Topic) bool { return o.Name == name })
		out.name, out.exists, out.partitions = name, true, all[i].Partitions
	}
	return out, nil
}

// choose decides between a topic and its twins; full are those of them that hold records. The one that the file names
// wins where it holds any, for that is the one that a MirrorMaker 2 with this file goes on with.
func choose(named string, exists bool, full []string) (name, note string) {
	slices.Sort(full)
	others := slices.DeleteFunc(slices.Clone(full), func(t string) bool { return t == named })
	const why = "MirrorMaker 2 changes the name with replication.policy.separator and replication.policy.internal.topic.separator.enabled, and did with its version 3.1"
	switch {
	case len(others) == 0:
		return named, ""
	case slices.Contains(full, named):
		return named, fmt.Sprintf("%s, which the file names, is shown; %s holds records of the same kind too: %s", named, strings.Join(others, ", "), why)
	case exists:
		return others[0], fmt.Sprintf("%s is shown: %s, which the file names, is empty. %s", others[0], named, why)
	}
	return others[0], fmt.Sprintf("%s is shown: %s, which the file names, is not there. %s", others[0], named, why)
}

// remoteTopic is the name on the target of a source topic for a MirrorMaker 2 whose offset syncs were found in a topic.
// Where that has another separator than the file says, its remote topics have it too: one other than "." in an internal
// name is always that of remote topics.
func (r *Reader) remoteTopic(topic string, t internalTopic, found string) string {
	p, prefixes := r.policy.(mm2.DefaultPolicy)
	if sep, ok := t.twin(found); ok && prefixes && found != t.name && sep != mm2.DefaultSeparator {
		p.Separator = sep
		return p.RemoteTopic(r.flow.Source, topic)
	}
	return r.policy.RemoteTopic(r.flow.Source, topic)
}

// sourceTopic is the name on the source of a topic that checkpoints are about. A prefix that the file's separator does
// not explain was made with another one.
func (r *Reader) sourceTopic(remote string) string {
	if alias, ok := r.policy.TopicSource(remote); ok && alias == r.flow.Source {
		if up, ok := r.policy.UpstreamTopic(remote); ok {
			return up
		}
	}
	if rest, ok := strings.CutPrefix(remote, r.flow.Source); ok {
		if name := strings.TrimLeft(rest, "._-"); name != "" && name != rest {
			return name
		}
	}
	return remote
}

// offsetsTopic is where a MirrorMaker 2 that is no connector of a Connect cluster keeps how far it is. Nobody else writes
// there.
func (r *Reader) offsetsTopic() string { return "mm2-offsets." + r.flow.Source + ".internal" }

// mirrorMaker names a topic on the target that only a MirrorMaker 2 can have left there, as no run of ours has; empty where
// there is none. It adds to what is said, so that one cannot be looked for is no trouble.
func (r *Reader) mirrorMaker(ctx context.Context) string {
	if _, ok, err := r.target.topic(ctx, r.offsetsTopic()); err == nil && ok {
		return r.offsetsTopic()
	}
	if is, err := r.find(ctx, r.checkpointsTopic()); err == nil && is.exists {
		return is.name
	}
	return ""
}

// silent is how long a MirrorMaker 2 can have written nothing about its offsets and count as one that runs. It does once a
// minute, unless there is nothing to mirror and its heartbeats are off.
const silent = 10 * time.Minute

// besides notes that MirrorMaker 2 ran this flow too where what is shown is Tidemark's own. What it cannot find out is
// no trouble: it only adds to an answer that stands. Heartbeats, checkpoints and offset syncs say nothing about when a
// MirrorMaker 2 was here last: ours are in the same topics and look the same.
func (r *Reader) besides(ctx context.Context, h *status.Header) {
	t, ok, err := r.target.topic(ctx, r.offsetsTopic())
	if err != nil || !ok {
		return
	}
	last := r.newest(ctx, t)
	if !last.IsZero() && h.At.Sub(last) > silent {
		h.Notes = append(h.Notes, fmt.Sprintf("a MirrorMaker 2 ran this flow too; its last record in %s on %s is of %s. If it is gone for good, delete that topic and this note ends", t.Name, r.flow.Target, last.Format(time.RFC3339)))
		return
	}
	h.Notes = append(h.Notes, fmt.Sprintf("a MirrorMaker 2 ran this flow too (its topic %s is on %s): shown is what Tidemark itself knows; `tidemark inspect checkpoints` and `offset-syncs` show what MirrorMaker 2 left", t.Name, r.flow.Target))
}

// newest is the time of a topic's newest record; zero where there is none, or it cannot be read soon.
func (r *Reader) newest(ctx context.Context, t kafka.Topic) time.Time {
	ctx, cancel := context.WithTimeout(ctx, r.opts.ConnectTimeout)
	defer cancel()
	const tail = 10 // offsets: the last ones can be markers of transactions
	var tps []partition.ID
	for _, n := range all(t.Partitions) {
		tps = append(tps, partition.ID{Topic: t.Name, Partition: n})
	}
	ends, _, err := r.target.extents(ctx, tps)
	if err != nil {
		return time.Time{}
	}
	var mu sync.Mutex
	var last time.Time
	var g errgroup.Group
	g.SetLimit(readers)
	for tp, e := range ends {
		g.Go(func() error {
			return r.target.read(ctx, tp, extent{max(e.from, e.to-tail), e.to}, func(rec record) error {
				mu.Lock()
				defer mu.Unlock()
				if rec.at.After(last) {
					last = rec.at
				}
				return nil
			})
		})
	}
	if g.Wait() != nil {
		return time.Time{} // the newest may be where nothing could be read
	}
	return last
}
