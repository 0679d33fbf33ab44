package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/control"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// people decide about the flows of a rig.
type people struct {
	*rig
	mu  sync.Mutex
	log *control.Log
	n   int
}

func (r *rig) people() *people {
	p := &people{rig: r, log: control.NewLog([16]byte{7})}
	r.settings.ReadControls = func(context.Context) (*control.Set, error) { return p.set(), nil }
	return p
}

func (p *people) set() *control.Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Set("A->B")
}

// decide writes a decision and waits until each lane says that it is in force.
func (p *people) decide(run *running, d control.Decision) {
	p.t.Helper()
	p.write1(d)
	run.flow.SetControls(p.set())
	p.obeyed()
}

func (p *people) write1(d control.Decision) {
	p.t.Helper()
	last, _ := p.set().Last(d.Kind, scoped(d.Scope))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	d.ID, d.Scope, d.Supersedes, d.By, d.At = fmt.Sprint(p.n), scoped(d.Scope), last.ID, "ann@ops1", time.Now()
	k, v, err := d.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	p.log.Add(p.log.Set("A->B").End(), k, v)
}

func scoped(s control.Scope) control.Scope {
	s.Flow = "A->B"
	return s
}

// obeyed waits until the ledger says that all is in force.
func (p *people) obeyed() {
	p.t.Helper()
	p.until("the lanes to obey", func() (bool, string) {
		recs := p.history(p.settings.Ledger, ledger.Key{Kind: ledger.KindObeys}.String())
		below := map[int32]int64{}
		for _, rec := range recs {
			o, err := ledger.DecodeObeys(rec.Value)
			if err != nil {
				p.t.Fatal(err)
			}
			below[rec.Partition] = o.Below
		}
		for n := range p.settings.Lanes {
			if below[n] != p.set().End() {
				return false, fmt.Sprintf("of %d: %v", p.set().End(), below)
			}
		}
		return true, ""
	})
}

// values waits until the remote topic's only partition holds so many records, and gives them.
func (p *people) values(topic string, n int) (got []string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%d records of %s", n, topic), func() (bool, string) {
		got = p.read(p.dst, "A."+topic)[0]
		return len(got) >= n, fmt.Sprintf("%d records", len(got))
	})
	if len(got) != n {
		p.t.Errorf("%d records, want %d", len(got), n)
	}
	return got
}

// TestPause: a paused topic gets nothing, under whatever owner, until it goes on; its neighbour is mirrored meanwhile.
func TestPause(t *testing.T) {
	r := newRig(t, 2)
	p := r.people()
	log := r.listen()
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("orders", 0, 50)
	ps := r.partitions("orders", "payments")
	run := r.start(ps)
	r.same("orders")
	pause := control.Decision{Kind: control.Pause, Scope: control.Scope{Topic: "orders", Partition: control.AllPartitions}, Reason: "disk is full"}
	p.decide(run, pause)
	if states := r.states(partition.ID{Topic: "orders"}); states[len(states)-1] != ledger.Stopped {
		t.Errorf("in force, and the ledger says %v", states)
	}
	r.produce("orders", 50, 50)
	r.produce("payments", 0, 50)
	r.same("payments")
	r.stopped(run, partition.ID{Topic: "orders"}, "paused by ann@ops1", "disk is full")
	if !log.line("partition stopped", "orders-0", "disk is full") {
		t.Error("the log does not say so")
	}
	run.kill()
	run.wg.Wait()
	run = r.start(ps)
	r.stopped(run, partition.ID{Topic: "orders"}, "disk is full")
	p.values("orders", 50)
	pause.Off = true
	p.decide(run, pause)
	r.same("orders")
}

// TestSkip: what can never be copied is passed over once somebody says so, be it a batch or one record of several; a position
// in it is the one behind it, and whoever takes the lane over does not look for it.
func TestSkip(t *testing.T) {
	large := &kgo.Record{Topic: "orders", Value: incompressible(5000)}
	small := func(s string) *kgo.Record { return &kgo.Record{Topic: "orders", Value: []byte(s)} }
	for name, recs := range map[string][]*kgo.Record{
		"a batch of its own":     {large},
		"one of several records": {small("before"), large, small("after")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			p := r.people()
			r.both("orders", 1)
			r.produce("orders", 0, 10)
			var batch []*kgo.Record
			at := int64(10)
			var want []string
			for _, rec := range recs {
				batch = append(batch, &kgo.Record{Topic: rec.Topic, Value: rec.Value})
			}
			r.write(r.src, batch...)
			for i, rec := range batch {
				if len(rec.Value) > 1000 {
					at = 10 + int64(i)
				} else {
					want = append(want, string(rec.Value))
				}
			}
			r.produce("orders", 10, 10)
			ps, tp := r.capped(2000, "orders"), partition.ID{Topic: "orders"}
			run := r.start(ps)
			r.stopped(run, tp, "2000")
			p.decide(run, control.Decision{Kind: control.Skip, Scope: control.Scope{Topic: "orders", First: at, Last: at}, Reason: "too large"})
			got := p.values("orders", 20+len(want))
			if mid := got[10 : 10+len(want)]; !slices.Equal(mid, want) {
				t.Errorf("in between stand %q, want %q", mid, want)
			}
			run.halt(t)
			m, err := r.ledgerOf().Map(tp)
			if err != nil {
				t.Fatal(err)
			}
			if pos := m.Next(offsetmap.SourceOffset(at)); int64(pos.Target) != at {
				t.Errorf("a reader who would read offset %d next goes on at %d of the target (%v)", at, pos.Target, pos.Kind)
			}
			r.start(ps)
			r.produce("orders", 20, 10)
			p.values("orders", 30+len(want))
		})
	}
}

// TestCopiedAnew: a topic is copied anew behind what its remote topic holds, once, whoever has the lane later; from where
// somebody says. Positions are those in the new copy.
func TestCopiedAnew(t *testing.T) {
	for _, c := range []struct {
		from string
		want int // records of the source's first fifty that come again
	}{{"earliest", 50}, {"latest", 0}, {"20", 30}, {"9999", 0}, {time.Now().Add(time.Hour).UTC().Format(time.RFC3339), 0}, {"2001-01-01T00:00:00Z", 50}} {
		t.Run(strings.ReplaceAll(c.from, ":", ""), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			p := r.people()
			r.both("orders", 1)
			r.produce("orders", 0, 50)
			ps, tp := r.partitions("orders"), partition.ID{Topic: "orders"}
			run := r.start(ps)
			r.same("orders")
			p.decide(run, control.Decision{Kind: control.Restart, Scope: control.Scope{Topic: "orders", Partition: control.AllPartitions}, From: c.from, Incarnation: 9})
			r.produce("orders", 50, 10)
			got := p.values("orders", 60+c.want)
			if first := got[50]; first != fmt.Sprintf("seq=%d", 50-c.want) {
				t.Errorf("the new copy begins with %s", first)
			}
			// Whoever has read ten records goes on exactly only where all others are in the new copy.
			v := r.judged(run, "g", tp, 10, func(v translate.Verdict) bool { return v.Kind != translate.Pending })
			if whole := c.want >= 40; v.IsExact() != whole {
				t.Errorf("the position 10 is %v", v)
			}
			run.kill()
			run.wg.Wait()
			run = r.start(ps)
			r.produce("orders", 60, 10)
			p.values("orders", 70+c.want)
			run.halt(t)
			m, err := r.ledgerOf().Map(tp)
			if err != nil {
				t.Fatal(err)
			}
			pos := m.Next(60)
			recs := r.recordsAt("A.orders", int64(pos.Target))
			if pos.Kind != offsetmap.Exact || recs != "seq=60" {
				t.Errorf("a reader who would read record 60 next finds %s at %d (%v)", recs, pos.Target, pos.Kind)
			}
		})
	}
}

// recordsAt is the record at an offset of a target partition.
func (r *rig) recordsAt(topic string, offset int64) string {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.target.ListenAddrs()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}))
	if err != nil {
		r.t.Fatal(err)
	}
	defer cl.Close()
	for rec := range cl.PollFetches(r.t.Context()).RecordsAll() {
		return string(rec.Value)
	}
	return ""
}

// TestForgotten: nothing is left in the ledger of a topic that has ended, and one of its name that comes later is another one.
func TestForgotten(t *testing.T) {
	r := newRig(t, 1)
	p := r.people()
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("orders", 0, 50)
	run := r.start(r.partitions("orders", "payments"))
	r.same("orders")
	tp := partition.ID{Topic: "orders"}
	id := r.partitions("orders")[tp].SourceTopicID
	run.commit("g", tp, 7)
	r.judged(run, "g", tp, 7, func(v translate.Verdict) bool { return v.IsExact() })
	p.write1(control.Decision{Kind: control.Forget, Scope: control.Scope{Topic: "orders", Partition: control.AllPartitions}, TopicID: control.TopicID(id)})
	run.flow.SetControls(p.set())
	run.flow.SetPartitions(r.partitions("payments"))
	p.obeyed()
	r.until("the rows to go", func() (bool, string) {
		rows := r.history(r.settings.Verdicts, string(verdicts.Key{Group: "g", Topic: "orders"}.EncodeKey()))
		return rows[len(rows)-1].Value == nil, "there is one"
	})
	run.halt(t)
	if c := r.ledgerOf(); len(c.Heads) != 1 {
		t.Errorf("heads: %v", c.Heads)
	}
	if err := r.target.DeleteTopic("A.orders"); err != nil {
		t.Fatal(err)
	}
	r.dst.Kgo().PurgeTopicsFromClient("A.orders")
	r.create(r.dst, "A.orders", 1, nil)
	r.recreate("orders", 20)
	run = r.start(r.partitions("orders", "payments"))
	r.same("orders")
	run.halt(t)
}

// TestNothingWithoutDecisions: a lane that cannot read what people have decided, or does not know how to obey it, writes nothing.
func TestNothingWithoutDecisions(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 50)
	fails := func(context.Context) (*control.Set, error) { return nil, context.DeadlineExceeded }
	newer := control.NewLog([16]byte{7})
	newer.Add(0, []byte(`{"kind":"promote","scope":{"flow":"A->B","partition":-1},"id":"2"}`), []byte(`{"version":1}`))
	for _, c := range []struct {
		read func(context.Context) (*control.Set, error)
		says string
	}{
		{fails, "read what people have decided"},
		{func(context.Context) (*control.Set, error) { return newer.Set("A->B"), nil }, "does not know how to obey promote"},
	} {
		r.settings.ReadControls = c.read
		run := r.start(r.partitions("orders"))
		run.wg.Wait()
		if err := run.errs[0]; err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 0 {
		t.Errorf("%d records were copied", end)
	}
}

// TestInForceBehindTheHeads: while a batch of a paused partition is on its way the lane does not say that the pause is in force.
func TestInForceBehindTheHeads(t *testing.T) {
	f, l, p := livePart(t)
	l.claimed = true
	l.sent()
	f.lease = &flip{} // nothing leaves: the batch stays on its way
	p.feed.start(f, 0, -1)
	f.sink(wire.Fetched{TP: p.TP, Offset: 0, Records: dataBatch(t, 0, 10), Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1})
	for _, e := range l.take() {
		l.handle(e)
	}
	who := &people{rig: &rig{t: t}, log: control.NewLog([16]byte{7})}
	who.write1(control.Decision{Kind: control.Pause, Scope: control.Scope{Partition: control.AllPartitions}})
	set := who.log.Set("A->B")
	f.SetControls(set)
	l.handle(controlsChanged{})
	obeys := func() bool {
		l.obeys()
		return slices.ContainsFunc(l.sent(), func(r lane.Record) bool { return string(r.Key) == "obeys" })
	}
	if p.core.Idle() || obeys() {
		t.Fatalf("idle %t, or it is said to be in force", p.core.Idle())
	}
	for _, e := range l.take() { // the batch comes back: it had not left
		if a, ok := e.(answered); ok {
			l.step(p, lane.Answered{Unit: a.unit, Result: lane.Result{Answer: lane.Acked}})
		}
	}
	if obeys() {
		t.Error("its head is not acknowledged")
	}
	l.step(p, lane.HeadAcked{N: 2})
	if !obeys() {
		t.Error("it is in force, and that is not said")
	}
}
