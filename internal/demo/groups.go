package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// group is an application: consumers of one group that read A first and B after the failover.
type group struct {
	name   string
	where  string // its position on A, for people
	topics []string
	// stop says where the group stops on A, given the partition's end; ok is false where it never commits.
	stop func(w *writer, tp partition.ID, end int64) (offset int64, ok bool)

	at     map[partition.ID]int64 // committed on A
	read   map[int64]given        // what its consumers were given, by the records' numbers
	total  given                  // the same in all
	gaveUp error                  // it did not get to the end of its partitions on B in time
}

// Places where groups stop.
type stop = func(*writer, partition.ID, int64) (int64, bool)

func atEnd(_ *writer, _ partition.ID, end int64) (int64, bool) { return end, true }

// atStart stops before the first record, which is offset 0, or on clicks where its head will be trimmed.
func atStart(_ *writer, tp partition.ID, _ int64) (int64, bool) {
	if tp.Topic == "clicks" {
		return trimTo, true
	}
	return 0, true
}

func behind(records int64) stop {
	return func(_ *writer, _ partition.ID, end int64) (int64, bool) { return max(end-records, 0), true }
}

// far stops at some 5 %, elsewhere in each partition.
func far(_ *writer, tp partition.ID, end int64) (int64, bool) {
	return end/20 + 37*int64(tp.Partition), true
}

// onMarker stops behind the last record of a transaction, where consumers commit: at the offset of the marker.
func onMarker(w *writer, tp partition.ID, end int64) (int64, bool) {
	i, _ := slices.BinarySearch(w.markers[tp], end/2)
	return w.markers[tp][i], true
}

// inHole stops where compaction will remove the records on both sides.
func inHole(w *writer, tp partition.ID, end int64) (int64, bool) {
	gone := slices.Sorted(slices.Values(w.stale[tp]))
	for o := end / 2; o < end; o++ {
		_, here := slices.BinarySearch(gone, o)
		if _, before := slices.BinarySearch(gone, o-1); here && before {
			return o, true
		}
	}
	return end, true
}

// notLast never commits on partition 2.
func notLast(_ *writer, tp partition.ID, end int64) (int64, bool) { return end / 2, tp.Partition != 2 }

func applications() []*group {
	gs := []*group{
		{name: "billing", where: "at the head of all topics", topics: topicNames(), stop: atEnd},
		{name: "warehouse", where: "far behind", topics: []string{"orders"}, stop: far},
		{name: "ledger", where: "on a transaction marker", topics: []string{"payments"}, stop: onMarker},
		{name: "crm", where: "in a hole of compaction", topics: []string{"customers"}, stop: inHole},
		{name: "dashboard", where: "2 behind, on a trimmed topic", topics: []string{"clicks", "settings"}, stop: behind(2)},
		{name: "archive", where: "at the first record", topics: []string{"orders", "payments", "clicks", "audit"}, stop: atStart},
		{name: "shipping", where: "halfway, never on partition 2", topics: []string{"orders"}, stop: notLast},
	}
	for _, g := range gs {
		g.at, g.read = map[partition.ID]int64{}, map[int64]given{}
	}
	return gs
}

// note counts a record that a consumer was given, and gives its number.
func (g *group) note(r *kgo.Record, once given) (int64, error) {
	n, err := number(r)
	if err != nil {
		return 0, fmt.Errorf("group %s: %w", g.name, err)
	}
	t := g.read[n]
	g.read[n] = given{t.onA + once.onA, t.onB + once.onB}
	g.total = given{g.total.onA + once.onA, g.total.onB + once.onB}
	return n, nil
}

// consumer joins the group. Control records are kept, as they show how far a partition was read where its log ends with
// a marker; they are never counted.
func (g *group) consumer(on *cluster, topics []string) (*kgo.Client, error) {
	return on.client(
		kgo.ConsumerGroup(g.name), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
}

// poll gives the next records that a consumer gets.
func poll(ctx context.Context, cl *kgo.Client) ([]*kgo.Record, error) {
	fs := cl.PollFetches(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, e := range fs.Errors() {
		return nil, fmt.Errorf("read %s-%d: %w", e.Topic, e.Partition, e.Err)
	}
	return fs.Records(), nil
}

// readOnA lets the group read A up to its stops, commit there, and leave. Called again it goes on from its commits.
func (g *group) readOnA(ctx context.Context, w *writer) error {
	ends, err := w.on.ends(ctx, g.topics...)
	if err != nil {
		return err
	}
	stops, left := map[partition.ID]int64{}, map[partition.ID]bool{}
	for tp, end := range ends {
		if o, ok := g.stop(w, tp, end); ok {
			stops[tp] = o
			left[tp] = o > g.at[tp]
		}
	}
	cl, err := g.consumer(w.on, g.topics)
	if err != nil {
		return err
	}
	defer cl.Close()
	for joined := false; !joined || unread(left); joined = true {
		recs, err := poll(ctx, cl)
		if err != nil {
			return fmt.Errorf("group %s on A: %w", g.name, err)
		}
		for _, r := range recs {
			tp := partition.ID{Topic: r.Topic, Partition: r.Partition}
			if r.Offset >= stops[tp]-1 {
				left[tp] = false
			}
			if r.Attrs.IsControl() || r.Offset >= stops[tp] {
				continue // the application was given it and did not get round to it
			}
			if _, err := g.note(r, given{onA: 1}); err != nil {
				return err
			}
		}
	}
	return g.commit(ctx, cl, stops)
}

func unread(left map[partition.ID]bool) bool {
	for _, more := range left {
		if more {
			return true
		}
	}
	return false
}

// commit commits as a member of the group.
func (g *group) commit(ctx context.Context, cl *kgo.Client, stops map[partition.ID]int64) error {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for tp, o := range stops {
		if offsets[tp.Topic] == nil {
			offsets[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o}
	}
	var failed error
	cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if failed = err; err != nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	})
	if failed != nil {
		return fmt.Errorf("group %s commits on A: %w", g.name, failed)
	}
	g.at = stops
	return nil
}

// readOnB lets the group go on on B until it has the last record of each of its partitions, by their numbers. It gives up
// when it is given nothing for so long; what it has not got by then is lost to it.
func (g *group) readOnB(ctx context.Context, on *cluster, last map[partition.ID]int64, giveUp time.Duration) error {
	topics := make([]string, len(g.topics))
	for i, t := range g.topics {
		topics[i] = remote(t)
	}
	wait := map[int64]bool{}
	for tp, n := range last {
		if slices.Contains(g.topics, tp.Topic) {
			wait[n] = true
		}
	}
	cl, err := g.consumer(on, topics)
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(wait) > 0 {
		waiting, cancel := context.WithTimeout(ctx, giveUp)
		recs, err := poll(waiting, cl)
		cancel()
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			g.gaveUp = fmt.Errorf("group %s was given nothing for %s and has not the last record of %d partitions", g.name, giveUp, len(wait))
			return nil
		}
		if err != nil {
			return fmt.Errorf("group %s on B: %w", g.name, err)
		}
		for _, r := range recs {
			if r.Attrs.IsControl() {
				continue
			}
			n, err := g.note(r, given{onB: 1})
			if err != nil {
				return err
			}
			delete(wait, n)
		}
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		return fmt.Errorf("group %s commits on B: %w", g.name, err)
	}
	return nil
}
