package groups

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

const checkpointsTopic = "A.checkpoints.internal"

func newEmitter(f *fix) *Emitter {
	cl := openClient(f.T, "B", f.dst, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return NewEmitter(cl, checkpointsTopic, events.From(slog.New(slog.NewTextHandler(f.log, nil))))
}

// emitted reads n records of a topic's only partition, as MirrorMaker 2's formatter prints them.
func emitted(f *fix, n int) []string {
	f.Helper()
	cl := f.dst.Client(f, kgo.ConsumeTopics(checkpointsTopic))
	var out []string
	for len(out) < n {
		fs := cl.PollFetches(f.ctx())
		if err := fs.Err(); err != nil {
			f.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			c, err := mm2.ParseCheckpoint(r.Key, r.Value)
			if err != nil || r.Partition != 0 || len(r.Headers) != 0 {
				f.Errorf("record %d in partition %d: %v", r.Offset, r.Partition, err)
			}
			out = append(out, c.String())
		})
	}
	return out
}

// TestEmitter: the newest record of a key is written, once; what the target refused is written later.
func TestEmitter(t *testing.T) {
	f := newFix(t, kfake.SeedTopics(1, checkpointsTopic))
	e := newEmitter(f)
	c := mm2.Checkpoint{Group: "g", Topic: "A.orders", Partition: 3, Upstream: 10, Downstream: 11, Metadata: "m"}
	d := mm2.Checkpoint{Group: "g", Topic: "A.orders", Partition: 4, Upstream: 1, Downstream: 1}
	flush := func() error { return e.flush(f.ctx()) }
	e.Checkpoint(c)
	c.Upstream, c.Downstream = 20, 22
	e.Checkpoint(c)
	fault := f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: 1})
	if err := flush(); err == nil {
		t.Error("a refused record gave no error")
	}
	if fault.Hits() != 1 {
		t.Fatal("nothing was sent")
	}
	for range 2 {
		if err := flush(); err != nil {
			t.Fatal(err)
		}
	}
	e.Offer(d)
	e.Offer(mm2.Checkpoint{Group: "g", Topic: "A.orders", Partition: -1}) // no record at all
	e.Offer(mm2.Checkpoint{Group: "g", Topic: "A.orders", Partition: 5, Upstream: -1})
	if err := flush(); err != nil {
		t.Fatal(err)
	}
	want := []string{c.String(), d.String()}
	if got := emitted(f, 2); !slices.Equal(got, want) {
		t.Errorf("written %v, want %v", got, want)
	}
	if len(e.want) != 0 {
		t.Errorf("still wanted: %v", e.want)
	}
	// A newer one that comes while the older is on its way is not taken off the list.
	e.Offer(c)
	f.dst.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		d := c
		d.Upstream, d.Downstream = 30, 33
		e.Offer(d)
		return nil, nil, false
	})
	for range 2 {
		if err := flush(); err != nil {
			t.Fatal(err)
		}
	}
	got := emitted(f, 4)
	c.Upstream, c.Downstream = 30, 33
	if got[3] != c.String() {
		t.Errorf("written %v, want %v last", got, c)
	}
}

// TestEmitterEnds: what was offered last is written at the end; a target that does not answer holds up nobody.
func TestEmitterEnds(t *testing.T) {
	f := newFix(t, kfake.SeedTopics(1, checkpointsTopic))
	run := func(e *Emitter, before func()) time.Duration {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		before()
		at := time.Now()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(100 * time.Second):
			t.Fatal("the emitter does not end")
		}
		return time.Since(at)
	}
	c := mm2.Checkpoint{Group: "g", Topic: "A.orders", Upstream: 10, Downstream: 11}
	e := newEmitter(f)
	run(e, func() { e.Offer(c) })
	if got := emitted(f, 1); got[0] != c.String() {
		t.Errorf("written %v", got)
	}
	e = newEmitter(f)
	stuck, free := make(chan struct{}), make(chan struct{})
	f.dst.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(stuck)
		f.dst.SleepControl(func() { <-free })
		return nil, nil, false
	})
	took := run(e, func() {
		c.Upstream, c.Downstream = 20, 22
		e.Offer(c)
		<-stuck
	})
	close(free)
	if took > lastWords+3*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// TestRun: the loop follows news by itself, from the commit to the checkpoint.
func TestRun(t *testing.T) {
	f := newFix(t, kfake.SeedTopics(1, checkpointsTopic))
	f.owner.now = time.Now
	e := newEmitter(f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- f.owner.Run(ctx) }()
	go func() { done <- e.Run(ctx) }()
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	await(t, "the commit", func() bool { return f.at("g", orders(0)) == 11 })
	f.state("g", translate.Written)
	_, cs := f.env.since()
	for _, c := range cs {
		e.Checkpoint(mm2.Checkpoint{Group: c.group, Topic: c.remote.Topic, Partition: c.remote.Partition, Upstream: c.up, Downstream: c.down, Metadata: c.metadata})
	}
	want := mm2.Checkpoint{Group: "g", Topic: "A.orders", Upstream: 10, Downstream: 11}
	if got := emitted(f, 1); got[0] != want.String() {
		t.Errorf("written %v, want %v", got, want)
	}
	fault := f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	f.commit("g", orders(0), 20)
	f.poll()
	f.judge("g", orders(0), 20, exact(22))
	if err := fault.Wait(f.ctx(), 2); err != nil {
		t.Fatal(err)
	}
	fault.Remove()
	await(t, "the commit after the trouble", func() bool { return f.at("g", orders(0)) == 22 })
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
