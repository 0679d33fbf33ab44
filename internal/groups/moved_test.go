package groups

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/control"
	"tidemark/internal/kafka"
	"tidemark/internal/translate"
)

// decided is a topic of decisions in which each stands behind those before it.
type decided struct {
	log  *control.Log
	last string
	end  int64
}

// add decides, in the place of the decision before.
func (c *decided) add(t *testing.T, d control.Decision) *control.Set {
	t.Helper()
	if c.log == nil {
		c.log = control.NewLog([16]byte{5})
	}
	c.end++
	d.ID, d.Supersedes = string(rune('a'+c.end)), c.last
	d.Scope.Flow, d.Scope.Partition, d.At, d.By = "A->B", control.AllPartitions, time.Unix(1_800_000_000, 0), "ann@ops1"
	k, v, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c.log.Add(c.end, k, v)
	c.last = d.ID
	s := c.log.Set("A->B")
	if len(s.Void()) > 0 || len(s.Unknown()) > 0 {
		t.Fatal(s.Void(), s.Unknown())
	}
	return s
}

func moved(group string, off bool) control.Decision {
	return control.Decision{Kind: control.Moved, Scope: control.Scope{Group: group}, Off: off}
}

// obeys hands decisions over, as they were read now.
func (f *fix) obeys(s *control.Set) {
	f.clock.pass(time.Millisecond)
	f.owner.Obey(f.Context(), s, f.clock.now())
}

// TestMovedGroup: what the source says of a group that lives on the target is written there no more and renewed no more, and no
// checkpoint is made of it, in this process and the next; taken back, it follows again.
func TestMovedGroup(t *testing.T) {
	f := newFix(t)
	var c decided
	f.commit("g", orders(0), 10)
	f.commit("h", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.judge("h", orders(0), 10, exact(11))
	f.round()
	f.want("g", orders(0), 11)
	f.env.since()
	f.obeys(c.add(t, moved("g", false)))
	commits := counts(f.dst, kmsg.OffsetCommit)
	moves := func(to int64) {
		t.Helper()
		f.commit("g", orders(0), to)
		f.poll()
		f.judge("g", orders(0), to, exact(to+1))
		f.clock.pass(f.owner.renewEvery)
		f.round()
	}
	moves(20)
	f.want("g", orders(0), 11)
	if s := f.state("g", translate.NothingToWrite); s.Reason != "the group has moved to the target, says ann@ops1" {
		t.Error(s)
	}
	if n := commits.Hits(); n != 1 { // its neighbour's is renewed
		t.Errorf("%d commits", n)
	}
	if _, cs := f.env.since(); len(cs) != 0 {
		t.Errorf("checkpoints: %v", cs)
	}

	set, rows := f.owner.controls, f.owner.rows
	f.owner = f.newOwner(true)
	f.obeys(set)
	for key, row := range rows {
		f.owner.Apply(key, &row)
	}
	moves(30)
	f.want("g", orders(0), 11)
	f.obeys(c.add(t, moved("g", true)))
	f.round()
	f.want("g", orders(0), 31)
}

// TestMovedIsNotRewound: after a move is taken back nothing on the target counts as ours that was before it, so that a reset on the
// source is not followed over what the application has committed since.
func TestMovedIsNotRewound(t *testing.T) {
	f := newFix(t)
	var c decided
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	f.obeys(c.add(t, moved("g", false)))
	f.round()
	f.obeys(c.add(t, moved("g", true)))
	f.commit("g", orders(0), 5)
	f.poll()
	f.judge("g", orders(0), 5, exact(6))
	f.round()
	f.want("g", orders(0), 11)
	f.state("g", translate.TargetAhead)
}

// TestMovedAndGone: a group that moved expires on the source. Its rows go, since its own commits say where it is, and nothing is
// renewed.
func TestMovedAndGone(t *testing.T) {
	f := gone(t)
	var c decided
	f.env.since()
	f.obeys(c.add(t, moved("g", false)))
	f.round()
	f.poll()
	f.clock.pass(republish)
	commits := counts(f.dst, kmsg.OffsetCommit)
	f.round()
	f.clock.pass(f.owner.renewEvery)
	f.round()
	rows, _ := f.env.since()
	if len(f.owner.rows) != 0 || len(rows) != 2 || rows[0].row != nil || rows[1].row != nil {
		t.Errorf("rows %v, published %v", f.owner.rows, rows)
	}
	if n := commits.Hits(); n != 0 {
		t.Errorf("%d commits", n)
	}
}

// TestForgottenIsNotKept: what was said of positions in a topic that people have ended goes; one of that name that has another id
// stays.
func TestForgottenIsNotKept(t *testing.T) {
	for id, want := range map[control.TopicID]int{sourceID: 1, {9}: 2} {
		f := gone(t)
		var c decided
		d := control.Decision{Kind: control.Forget, Scope: control.Scope{Topic: "orders"}, TopicID: id}
		f.obeys(c.add(t, d))
		f.poll()
		f.clock.pass(republish)
		f.round()
		if len(f.owner.rows) != want {
			t.Errorf("%v: rows %v, want %d", id, f.owner.rows, want)
		}
	}
}

// TestNothingIsWrittenUninformed: a lane that was just taken over can have groups that have moved, which its former owner obeyed. So
// nothing is written before the decisions were read behind that.
func TestNothingIsWrittenUninformed(t *testing.T) {
	f := newFix(t)
	f.owner.Own(f.owner.lane("g"), true)
	f.clock.pass(reading)
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.owner.Obey(f.Context(), nil, f.clock.now().Add(-reading)) // it began before
	f.round()
	f.want("g", orders(0), -1)
	f.obeys(nil)
	f.round()
	f.want("g", orders(0), 11)
}

// TestMovedWaitsForTheWrite: who obeys returns once a write of the group that was on its way has ended.
func TestMovedWaitsForTheWrite(t *testing.T) {
	f := newFix(t)
	var c decided
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	reached, let := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.dst.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		once.Do(func() {
			close(reached)
			f.dst.SleepControl(func() { <-let })
		})
		return nil, nil, false
	})
	ended := make(chan error, 1)
	go func() { ended <- f.owner.Round(f.ctx()) }()
	<-reached
	set := c.add(t, moved("g", false))
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	f.clock.pass(time.Millisecond)
	f.owner.Obey(ctx, set, f.clock.now()) // whose end comes first
	obeyed := make(chan struct{})
	go func() {
		defer close(obeyed)
		f.owner.Obey(f.Context(), set, f.clock.now())
	}()
	select {
	case <-obeyed:
		t.Error("it is obeyed while a commit is on its way")
	default:
	}
	close(let)
	<-obeyed
	if err := <-ended; err != nil {
		t.Error(err)
	}
	f.want("g", orders(0), 11) // it was first
}

// TestMovedBetweenLookAndWrite: a decision that comes behind the look at a group counts.
func TestMovedBetweenLookAndWrite(t *testing.T) {
	f := newFix(t)
	var c decided
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	set := c.add(t, moved("g", false))
	var once sync.Once
	f.dst.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		once.Do(func() { f.obeys(set) })
		return nil, nil, false
	})
	f.round()
	f.want("g", orders(0), -1)
	f.round()
	f.state("g", translate.NothingToWrite)
}

// TestMovedIsNoTroubleToRead: that the source no longer lets a group be read that has moved is none.
func TestMovedIsNoTroubleToRead(t *testing.T) {
	f := newFix(t)
	var c decided
	r := reader(t, f.source, f.log)
	failed := map[string]error{"g": &kafka.ErrDenied{}, "h": errors.New("no answer")}
	r.Obey(c.add(t, moved("g", false)))
	r.tell(failed, nil)
	if trouble, is := r.Trouble(); !is || trouble.What != "positions of groups cannot be read from the source, of 1" {
		t.Error(trouble, is)
	}
	delete(failed, "h")
	r.tell(failed, nil)
	if trouble, is := r.Trouble(); is {
		t.Error(trouble)
	}
}
