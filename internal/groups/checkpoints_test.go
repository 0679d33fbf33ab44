package groups

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
)

// TestCheckpointRule is MirrorMaker 2's: lower on the target only where the group went back on the source.
func TestCheckpointRule(t *testing.T) {
	last := checkpoint{100, 200, "m"}
	for _, c := range []struct {
		name  string
		c     checkpoint
		fresh bool
		want  bool
	}{
		{"the same", last, true, false},
		{"forward", checkpoint{110, 210, "m"}, true, true},
		{"forward, by an older row", checkpoint{110, 210, "m"}, false, true},
		{"the target's offset stays", checkpoint{110, 200, "m"}, true, true},
		{"other metadata", checkpoint{100, 200, "n"}, true, true},
		{"the target's offset rises for the same commit", checkpoint{100, 205, "m"}, true, true},
		{"the target's offset falls for the same commit", checkpoint{100, 150, "m"}, true, false},
		{"the target's offset falls for a later commit", checkpoint{110, 150, "m"}, true, false},
		{"the group was reset", checkpoint{50, 60, "m"}, true, true},
		{"the group was reset and lands higher", checkpoint{50, 300, "m"}, true, true},
		{"an older row looks like a reset", checkpoint{50, 60, "m"}, false, false},
	} {
		if got := c.c.follows(last, c.fresh); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCheckpointsOnly: with group sync off checkpoints go out, nothing is committed, and the target is not even asked.
func TestCheckpointsOnly(t *testing.T) {
	f := newFix(t)
	f.owner = f.newOwner(false)
	f.dst.Close()
	f.commit("g", orders(0), 10, "m")
	f.commit("g", orders(1), 20)
	f.poll()
	f.judge("g", orders(0), 10, exact(11), "m")
	for range 3 {
		f.round()
	}
	_, cs := f.env.since()
	if want := []said{{"g", partition.ID{Topic: "A.orders"}, 10, 11, "m"}}; !cmp.Equal(cs, want, cmp.AllowUnexported(said{})) {
		t.Errorf("handed over %v, want %v", cs, want)
	}
	if s := f.state("g", translate.NothingToWrite); !strings.Contains(s.Reason, "off") {
		t.Errorf("state %v does not say why", s)
	}
	for _, v := range []translate.Verdict{
		{Kind: translate.Ahead, Target: 15, N: 5},
		{Kind: translate.Ahead, Target: 19, N: 1},
		exact(21),
		none(translate.PartitionStopped, "too large"), // no news
	} {
		f.judge("g", orders(1), 20, v)
		f.round()
	}
	_, cs = f.env.since()
	var downs []int64
	for _, c := range cs {
		downs = append(downs, c.down)
	}
	if want := []int64{15, 19, 21}; !cmp.Equal(downs, want) {
		t.Errorf("handed over %v, want %v", downs, want)
	}
}

// TestNoCheckpointBeforeAnythingIsMirrored: as from MirrorMaker 2, whose first offset sync comes with the first record. A
// reader that finds a checkpoint takes the partition for one that can be consumed.
func TestNoCheckpointBeforeAnythingIsMirrored(t *testing.T) {
	f := newFix(t)
	f.owner = f.newOwner(false)
	f.commit("g", orders(0), 0)
	f.commit("g", orders(1), 5)
	f.poll()
	f.judge("g", orders(0), 0, translate.Verdict{Kind: translate.AtEnd, Target: 0})
	f.judge("g", orders(1), 5, translate.Verdict{Kind: translate.Ahead, Target: 0, N: 5})
	f.round()
	if _, cs := f.env.since(); len(cs) != 0 {
		t.Errorf("handed over %v while nothing is mirrored", cs)
	}
	f.judge("g", orders(0), 0, translate.Verdict{Kind: translate.FirstMirrored, Target: 0}) // the first record is there
	f.round()
	f.judge("g", orders(1), 5, translate.Verdict{Kind: translate.Ahead, Target: 3, N: 2})
	f.round()
	_, cs := f.env.since()
	want := []said{{"g", partition.ID{Topic: "A.orders"}, 0, 0, ""}, {"g", partition.ID{Topic: "A.orders", Partition: 1}, 5, 3, ""}}
	if !cmp.Equal(cs, want, cmp.AllowUnexported(said{})) {
		t.Errorf("handed over %v, want %v", cs, want)
	}
}

// TestCheckpointsGoBack only for the newest commit of a source that answers.
func TestCheckpointsGoBack(t *testing.T) {
	f := newFix(t)
	f.owner = f.newOwner(false)
	step := func(what string, want int) {
		t.Helper()
		f.round()
		if _, cs := f.env.since(); len(cs) != want {
			t.Errorf("%s: %d checkpoints, want %d", what, len(cs), want)
		}
	}
	for _, at := range []int64{90, 100} {
		f.commit("g", orders(0), at)
		f.poll()
	}
	f.judge("g", orders(0), 100, exact(110))
	step("the first", 1)
	f.judge("g", orders(0), 90, exact(99))
	step("a late row", 0)
	f.commit("g", orders(0), 50)
	f.info["g"] = Info{StaleSince: f.clock.now()}
	f.poll()
	f.judge("g", orders(0), 50, exact(55))
	step("a source that does not answer", 0)
	delete(f.info, "g")
	f.poll()
	f.clock.pass(recheck)
	step("a reset", 1)
}
