package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/config/report"
	"tidemark/internal/control"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// Flow gives the state of the flow: ledger, lanes, every partition. A ledger that does not exist is no error here.
func (r *Reader) Flow(ctx context.Context) (status.Flow, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Flow{}, err
	}
	defer cancel()
	out := status.Flow{Header: r.header(), Lanes: []status.Lane{}, Workers: []status.Worker{}, Partitions: []status.Partition{}}
	out.Ledger = status.Ledger{Topic: r.ledger, Cluster: r.flow.Target}
	n, err := r.lanes(ctx, r.ledger)
	if never := (*ErrNeverRun)(nil); errors.As(err, &never) {
		out.MirrorMaker = never.MirrorMaker
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Ledger.Exists, out.Ledger.Lanes = true, n
	var contents map[int32]*ledger.Contents
	var owners *members
	var ownersErr error
	var src sourceTopics
	var notes status.Header // of what is read at the same time
	var decided *control.Set
	g, gctx := errgroup.WithContext(ctx)
	read := make([]int64, n) // how far
	g.Go(func() (err error) {
		contents, out.Trouble, err = r.readLedger(gctx, topiclog.All(n), func(lane int32, rec topiclog.Record) { read[lane] = rec.Offset + 1 })
		return err
	})
	g.Go(func() error {
		owners, ownersErr = r.owners(gctx)
		return nil
	})
	g.Go(func() error {
		decided = r.decided(gctx, &notes)
		return nil
	})
	g.Go(func() error {
		src = r.sourceTopics(gctx)
		return nil
	})
	if err := g.Wait(); err != nil {
		return out, err
	}
	out.Source, out.Notes = src.answer.Source, append(out.Notes, notes.Notes...)
	out.NotMirrored, out.Missing = src.leftOut, src.missing
	if ownersErr != nil {
		out.Notes = append(out.Notes, "who owns the lanes now is not known: "+ownersErr.Error())
	}
	if c := contents[0]; c != nil {
		if c.Meta != nil {
			out.Ledger.SourceCluster, out.Ledger.TargetCluster = c.Meta.SourceCluster, c.Meta.TargetCluster
		}
		r.layout(&out.Header, c, n)
	}
	out.Isolation, out.Lanes, out.Workers = r.flow.Isolation, laneRows(contents, n, owners), []status.Worker{}
	if owners != nil {
		r.listen(ctx, &out.Header, owners, out.Lanes)
		out.Workers = append(out.Workers, owners.workers...)
	}
	out.Damage = r.damaged(contents)
	rows := r.partitionRows(contents, n, out.Lanes, src)
	leaveOutEnded(rows, decided)
	out.Throttle = throttleOf(decided)
	if err := r.ends(ctx, &out.Header, rows); err != nil {
		return out, err
	}
	if owners != nil {
		asOfAnswer(rows, owners.silent())
	}
	r.tombstones(ctx, &out.Header, rows)
	if out.Throttle == nil { // with it a partition can wait its turn for longer than anybody looks
		if err := r.standing(ctx, &out.Header, contents, read, rows); err != nil {
			return out, err
		}
	}
	for _, row := range rows {
		out.Partitions = append(out.Partitions, row.Partition)
	}
	return out, nil
}

// sourceTopics is what the source has, and what the flow takes of it.
type sourceTopics struct {
	answer   status.Header // its Source is what counts
	topics   map[string]kafka.Topic
	mirrored map[string]bool
	leftOut  []status.Unmirror
	missing  []status.Missing // topics that the file names and the source does not have
	unused   []string         // patterns of the file that select none
}

func (r *Reader) sourceTopics(ctx context.Context) sourceTopics {
	out := sourceTopics{topics: map[string]kafka.Topic{}, mirrored: map[string]bool{}}
	if !r.openSource(ctx, &out.answer) {
		return out
	}
	var listed []kafka.Topic
	err := r.askSource(ctx, func(ctx context.Context) (err error) {
		listed, err = r.source.DescribeTopics(ctx)
		return err
	})
	if !r.sourceAnswered(&out.answer, err) {
		return out
	}
	for _, t := range listed {
		out.topics[t.Name] = t
		choice := r.topics.Select(t.Name)
		if choice.Mirrored {
			out.mirrored[t.Name] = true
			continue
		}
		out.leftOut = append(out.leftOut, status.Unmirror{Topic: t.Name, Rule: string(choice.Rule), Why: choice.Detail})
	}
	out.missing, out.unused = r.unmatched(slices.Sorted(maps.Keys(out.topics)))
	return out
}

// unmatched are the patterns of the file that select no topic of the source. One that can be nothing but a name is a topic that
// somebody waits for.
func (r *Reader) unmatched(topics []string) (missing []status.Missing, unused []string) {
	unused = r.topics.Topics.Unused(topics)
	for _, p := range unused {
		if !strings.ContainsFunc(p, func(c rune) bool { return !named(c) }) {
			missing = append(missing, status.Missing{Topic: p, Nearest: report.Nearest(p, topics)})
		}
	}
	return missing, unused
}

// named says whether a character stands for itself in the name of a topic. The dot does, whatever it means in a pattern.
func named(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// row is a partition's row with what is needed to complete it.
type row struct {
	status.Partition
	source, remote     partition.ID
	sourceID, targetID [16]byte // the topics that the ledger speaks about; zero where it says nothing
	mapEnd             int64    // target offset at which the offset map ends; Unknown without a map
	ours               []int64  // producer ids that the flow writes or wrote the partition with
	anew               bool     // the remote topic is another one than the map's
	selected           bool     // the flow mirrors the topic
	visible            int64    // the source's end as far as the flow reads; Unknown where the source does not say
	moved, targetEnd   int64    // MirroredTo and TargetEnd as looked at last
}

// partitionRows makes the rows of all partitions that the ledger knows about or the flow selects.
func (r *Reader) partitionRows(contents map[int32]*ledger.Contents, lanes int32, owned []status.Lane, src sourceTopics) []*row {
	seen := map[partition.ID]bool{}
	var rows []*row
	for n, c := range contents {
		for p, h := range c.Heads {
			seen[p] = true
			rows = append(rows, r.headRow(c, n, p, h, owned[n], src))
		}
		for p := range c.Damaged {
			if d, bad := c.HeadDamaged(p); bad && !seen[p] {
				seen[p] = true
				w := r.emptyRow(p, n, status.Damaged)
				w.Reason = fmt.Sprintf("the ledger's record of this partition is damaged (offset %d of %s-%d): %v", d.Offset, r.ledger, n, d.Err)
				rows = append(rows, w)
			}
		}
	}
	for name := range src.mirrored {
		for i := range src.topics[name].Partitions {
			p := partition.ID{Topic: name, Partition: i}
			if !seen[p] {
				w := r.emptyRow(p, ledger.LaneOf(name, i, lanes), status.New)
				w.sourceID = src.topics[name].ID
				rows = append(rows, w)
			}
		}
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition))
	})
	return rows
}

func (r *Reader) emptyRow(p partition.ID, lane int32, state status.State) *row {
	w := &row{mapEnd: status.Unknown, visible: status.Unknown, Partition: status.Partition{
		Topic: p.Topic, Partition: p.Partition, RemoteTopic: r.policy.RemoteTopic(r.flow.SourceAlias, p.Topic), Lane: lane, State: state,
		MirroredTo: status.Unknown, SourceEnd: status.Unknown, Lag: status.Unknown, TargetStart: status.Unknown, TargetEnd: status.Unknown, Runs: status.Unknown,
	}}
	if choice := r.topics.Select(p.Topic); !choice.Mirrored {
		w.LeftOut = choice.Detail
	}
	w.source = p
	w.remote = partition.ID{Topic: w.RemoteTopic, Partition: p.Partition}
	return w
}

// headRow is what a head says.
func (r *Reader) headRow(c *ledger.Contents, lane int32, p partition.ID, h ledger.Head, owner status.Lane, src sourceTopics) *row {
	w := r.emptyRow(p, lane, status.Running)
	w.RemoteTopic, w.remote.Topic = h.RemoteTopic, h.RemoteTopic
	w.selected = src.mirrored[p.Topic]
	w.AsOf, w.SourceEnd, w.SourceAt = h.At.UTC(), int64(h.SourceEnd), h.At.UTC()
	waits, looking := h.Waits()
	switch {
	case looking:
		w.State, w.Reason = status.Looking, "not mirrored yet: "+waits
	case h.State == ledger.Stopped:
		w.State, w.Reason = status.Stopped, h.Reason
	case owner.State == status.LaneFree:
		w.State = status.Idle
	}
	if !h.Mirrored() {
		return w // stopped before anything could be mirrored
	}
	m, err := c.Map(p)
	if err != nil {
		w.State, w.Reason = status.Damaged, err.Error()
		return w
	}
	w.MirroredTo, w.Runs, w.Missing, w.InDoubt, w.Others = int64(m.Through()), runs(m), len(m.Missing()), m.Doubts(), m.Others()
	w.sourceID, w.targetID = m.Origin().SourceTopicID, m.Origin().TargetTopicID
	w.mapEnd, w.ours = int64(m.TargetEnd()), []int64{h.ProducerID}
	if c.Claim != nil {
		w.ours = append(w.ours, c.Claim.ProducerID)
	}
	if _, chosen := c.Beginning(p, w.sourceID); chosen && m.Origin().SourceStart > 0 {
		w.remark(fmt.Sprintf("begins at source offset %d, by choice", m.Origin().SourceStart))
	}
	t, known := src.topics[p.Topic]
	switch {
	case w.LeftOut != "":
		w.remark("not mirrored any more: " + w.LeftOut)
	case !src.answer.Source.Reached:
	case !known:
		w.remark("the topic is not on the source any more, or DESCRIBE on it is missing")
	case another(t.ID, w.sourceID) && w.State != status.Stopped: // for which that would be the reason
		w.remark("the source topic was created anew")
	}
	return w
}

func another(a, b [16]byte) bool {
	var zero [16]byte
	return a != b && a != zero && b != zero
}

func (w *row) remark(text string) {
	if w.Reason != "" {
		w.Reason += "; "
	}
	w.Reason += text
}
