package groups

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
)

// TestTargetBackOnce: that positions are written again is said once they are. A round in which nobody is due has no error
// either; while a target was frozen it was said every few seconds, in turn with the fault.
func TestTargetBackOnce(t *testing.T) {
	f := newFix(t)
	var said []events.Kind
	defer f.owner.events.Listen(func(e events.Event) {
		if e.Kind == events.CommitsFail || e.Kind == events.CommitsBack {
			said = append(said, e.Kind)
		}
	})()
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	failing := f.owner.attempt(f.ctx(), false)
	if failing || len(said) != 0 {
		t.Fatalf("a round that went well: %v", said)
	}
	fault := f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	for range 3 {
		f.clock.pass(recheck)
		failing = f.owner.attempt(f.ctx(), failing)
		failing = f.owner.attempt(f.ctx(), failing) // nobody is due
	}
	for n := range f.owner.lanes { // the lane is lost while the target is away
		f.owner.Own(n, false)
	}
	failing = f.owner.attempt(f.ctx(), failing)
	if !failing || !slices.Equal(said, []events.Kind{events.CommitsFail}) {
		t.Errorf("while the target lists no groups: %v", said)
	}
	fault.Remove()
	for n := range f.owner.lanes {
		f.takes(n)
	}
	f.clock.pass(recheck)
	f.owner.Obey(f.ctx(), f.owner.controls, f.clock.now())
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	if failing = f.owner.attempt(f.ctx(), failing); failing || !slices.Equal(said, []events.Kind{events.CommitsFail, events.CommitsBack}) {
		t.Errorf("once it does: %v", said)
	}
}

// TestSummaryOfAPart: a worker that has some of the lanes knows some of the groups, and says so.
func TestSummaryOfAPart(t *testing.T) {
	f := newFix(t)
	for n := range f.owner.lanes {
		want := "no groups"
		if n > 0 {
			want = "no groups (this worker's part: " + string('0'+4-n) + " of 4 lanes)"
		}
		if s := f.owner.summary(); s != want {
			t.Errorf("%q, want %q", s, want)
		}
		f.owner.Own(n, false)
	}
	if s := f.owner.summary(); s != "none here: this worker has no lane now" {
		t.Errorf("without lanes: %q", s)
	}
}
