package groups

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

// TestLastAnswer: while the source does not answer the trouble is as old as its last answer, not as the first one that did not come.
func TestLastAnswer(t *testing.T) {
	f := newFix(t)
	r := reader(t, f.source, f.log)
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan Snapshot, 1), make(chan error, 1)
	go func() {
		done <- r.Run(ctx, time.Millisecond, func(s Snapshot) {
			select {
			case got <- s:
			default:
			}
		})
	}()
	<-got
	before := time.Now()
	fault := f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	if err := fault.Wait(f.ctx(), 5); err != nil {
		t.Fatal(err)
	}
	trouble, ok := r.Trouble()
	if !ok || !strings.HasPrefix(trouble.What, "the source does not answer") || before.Sub(trouble.Since) > time.Minute {
		t.Errorf("trouble %+v, %v", trouble, ok)
	}
	if err := fault.Wait(f.ctx(), 10); err != nil {
		t.Fatal(err)
	}
	if again, _ := r.Trouble(); !again.Since.Equal(trouble.Since) {
		t.Errorf("its last answer was at %v, then at %v", trouble.Since, again.Since)
	}
	fault.Remove()
	await(t, "the trouble to end", func() bool { _, ok := r.Trouble(); return !ok })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDeletedOnTheSource plays the deletion of positions and groups on a cluster (field case 25).
func TestDeletedOnTheSource(t *testing.T) {
	f := newFix(t)
	tps := map[partition.ID]kafka.Committed{orders(0): {Offset: 5}, orders(1): {Offset: 6}}
	for _, g := range []string{"some", "all"} {
		if _, err := f.source.CommitPositions(f.ctx(), g, tps); err != nil {
			t.Fatal(err)
		}
	}
	r := reader(t, f.source, f.log)
	poll := func() {
		s, err := r.Poll(f.ctx())
		if err != nil {
			t.Fatal(err)
		}
		f.owner.Take(s)
		f.clock.pass(recheck)
		f.round()
	}
	for _, g := range []string{"some", "all"} {
		f.judge(g, orders(0), 5, exact(50))
		f.judge(g, orders(1), 6, exact(60))
	}
	poll()
	gone := kadm.TopicsSet{}
	gone.Add("orders", 1)
	if res, err := f.source.Admin().DeleteOffsets(f.ctx(), "some", gone); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	if res, err := f.source.Admin().DeleteGroups(f.ctx(), "all"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	for range forget + 1 {
		poll()
	}
	var deleted []string
	rows, _ := f.env.since()
	for _, p := range rows {
		if p.row != nil && !p.row.GoneAt.IsZero() {
			deleted = append(deleted, fmt.Sprintf("%s %s-%d", p.key.Group, p.key.Topic, p.key.Partition))
		}
	}
	slices.Sort(deleted)
	if want := []string{"all orders-0", "all orders-1", "some orders-1"}; !slices.Equal(deleted, want) {
		t.Errorf("rows of what is gone: %v, want %v", deleted, want)
	}
	for _, g := range []string{"some", "all"} {
		f.want(g, orders(0), 50)
		f.want(g, orders(1), 60)
	}
	f.state("some", translate.UpToDate)
	// Once the file leaves the group out nothing of it is kept.
	filter, err := mm2.NewFilter([]string{".*"}, []string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	r = NewReader(f.source, filter, events.From(slog.New(slog.DiscardHandler)))
	poll()
	f.round()
	rows, _ = f.env.since()
	left := 0
	for _, p := range rows {
		if p.key.Group == "all" && p.row == nil {
			left++
		}
	}
	if left != 2 {
		t.Errorf("published about a group that is left out: %v", rows)
	}
}
