package groups

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// TestFirstCommitWaits: a group is written once each of its positions is known, with one request.
func TestFirstCommitWaits(t *testing.T) {
	f := newFix(t)
	commits := counts(f.dst, kmsg.OffsetCommit)
	f.commit("g", orders(0), 10)
	f.commit("g", orders(1), 20)
	f.commit("g", partition.ID{Topic: "bills"}, 30)
	f.commit("g", partition.ID{Topic: "logs"}, 40) // a final no from the start
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.judge("g", partition.ID{Topic: "bills"}, 30, exact(33))
	f.round()
	s := f.state("g", translate.Waiting)
	if want := []partition.ID{{Topic: "A.orders", Partition: 1}}; !cmp.Equal(s.Partitions, want) {
		t.Errorf("the group waits for %v, want %v", s.Partitions, want)
	}
	if n := commits.Hits(); n != 0 {
		t.Fatalf("half a group was committed in %d requests", n)
	}
	f.judge("g", orders(1), 20, exact(22))
	f.round()
	f.state("g", translate.Written)
	want := map[partition.ID]kafka.Committed{
		{Topic: "A.orders"}:               {Offset: 11, LeaderEpoch: -1},
		{Topic: "A.orders", Partition: 1}: {Offset: 22, LeaderEpoch: -1},
		{Topic: "A.bills"}:                {Offset: 33, LeaderEpoch: -1},
	}
	if got := f.all("g"); !cmp.Equal(got, want) {
		t.Errorf("committed on the target: %v, want %v", got, want)
	}
	if n := commits.Hits(); n != 1 {
		t.Errorf("the group was committed in %d requests, want 1", n)
	}
	f.judge("g", orders(1), 20, exact(22)) // the same once more
	f.round()
	f.state("g", translate.UpToDate)
	if n := commits.Hits(); n != 1 {
		t.Errorf("an unchanged group was committed again")
	}
}

// TestWhatHoldsAGroup: a temporary no holds the first commit, a final one does not, and neither holds a group that the
// target knows.
func TestWhatHoldsAGroup(t *testing.T) {
	settled := none(translate.NotMirrored, "")
	settled.Settled, settled.N = true, 5
	for _, c := range []struct {
		name  string
		v     translate.Verdict
		holds bool
	}{
		{"pending", none(translate.Pending, ""), true},
		{"stopped", none(translate.PartitionStopped, "record too large"), true},
		{"not mirrored", none(translate.NotMirrored, ""), true},
		{"trimmed", none(translate.Trimmed, ""), true},
		{"another incarnation", none(translate.IncarnationChanged, ""), true},
		{"permission", none(translate.PermissionMissing, ""), true},
		{"not mirrored by choice", settled, false},
		{"never committed", none(translate.NeverCommitted, ""), false},
		{"ahead", translate.Verdict{Kind: translate.Ahead, Target: 7, N: 3}, false},
		{"earliest", translate.Verdict{Kind: translate.Trimmed, Target: 0, Earliest: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFix(t)
			for _, g := range []string{"new", "known"} {
				f.commit(g, orders(0), 10)
				f.commit(g, orders(1), 20)
				f.judge(g, orders(0), 10, exact(11))
				f.judge(g, orders(1), 20, c.v)
			}
			f.others("known", orders(0), 3, -1)
			f.poll()
			f.round()
			if c.holds {
				f.want("new", orders(0), -1)
				f.state("new", translate.Waiting)
			} else {
				f.want("new", orders(0), 11)
			}
			f.want("known", orders(0), 11)
			for _, g := range []string{"new", "known"} {
				if c.v.HasPosition() {
					f.want(g, orders(1), int64(c.v.Target))
				} else {
					f.want(g, orders(1), -1)
				}
			}
		})
	}
}

// TestNeverBackwards: what the target has is never lowered, whoever committed it, unless an operator moved the group back
// on the source and the target's last commit is ours.
func TestNeverBackwards(t *testing.T) {
	for _, c := range []struct {
		name  string
		story func(f *fix) // the group stands at 100 -> 110 on both sides, by us
		want  int64
		state translate.WriteKind
	}{
		{"the source was reset", func(f *fix) {
			f.commit("g", orders(0), 50)
			f.poll()
			f.judge("g", orders(0), 50, exact(55))
		}, 55, translate.Written},
		{"the row of the reset is not there yet", func(f *fix) {
			f.commit("g", orders(0), 50)
			f.poll()
		}, 110, translate.Waiting},
		{"the source's coordinator does not answer", func(f *fix) {
			f.commit("g", orders(0), 50)
			f.info["g"] = Info{StaleSince: f.clock.now()}
			f.poll()
			f.judge("g", orders(0), 50, exact(55))
		}, 110, translate.TargetAhead},
		{"the same commit translates lower: the map lost a block", func(f *fix) {
			f.judge("g", orders(0), 100, translate.Verdict{Kind: translate.Bounded, Target: 60, N: 50})
		}, 110, translate.TargetAhead},
		{"a row about an older commit comes late", func(f *fix) {
			f.judge("g", orders(0), 90, exact(99))
		}, 110, translate.TargetAhead},
		{"consumers ran on the target", func(f *fix) {
			f.others("g", orders(0), 500, 0)
			f.commit("g", orders(0), 120)
			f.poll()
			f.judge("g", orders(0), 120, exact(132))
		}, 500, translate.TargetAhead},
		{"consumers ran on the target, then the source was reset", func(f *fix) {
			f.others("g", orders(0), 500, 0)
			f.commit("g", orders(0), 50)
			f.poll()
			f.judge("g", orders(0), 50, exact(55))
		}, 500, translate.TargetAhead},
		{"a consumer read nothing and committed our very position, then the source was reset", func(f *fix) {
			f.others("g", orders(0), 110, 0) // as one that has read something at that place
			f.commit("g", orders(0), 50)
			f.poll()
			f.judge("g", orders(0), 50, exact(55))
		}, 110, translate.TargetAhead},
		{"the row of the reset speaks about other metadata", func(f *fix) {
			f.commit("g", orders(0), 50, "b")
			f.poll()
			f.judge("g", orders(0), 50, exact(55), "a")
		}, 110, translate.TargetAhead},
		{"the topic was created anew on the source", func(f *fix) {
			f.env.fate("orders", Fate{Mirrored: true, Remote: "A.orders", SourceID: [16]byte{9}, TargetID: targetID})
			f.commit("g", orders(0), 5)
			f.poll()
			f.judge("g", orders(0), 5, exact(6)) // a lane that does not know yet
		}, 110, translate.Waiting},
		{"the remote topic was created anew", func(f *fix) {
			f.env.fate("orders", Fate{Mirrored: true, Remote: "A.orders", SourceID: sourceID, TargetID: [16]byte{9}})
			f.commit("g", orders(0), 130)
			f.poll()
			f.judge("g", orders(0), 130, exact(143))
		}, 110, translate.Waiting},
		{"a row of another replication policy is still in the log", func(f *fix) {
			f.commit("g", orders(0), 130)
			f.poll()
			r := made(130, exact(999))
			r.RemoteTopic = "orders"
			f.owner.Apply(verdicts.Key{Group: "g", Topic: "orders"}, &r)
		}, 110, translate.UpToDate},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFix(t)
			f.commit("g", orders(0), 90)
			f.poll()
			f.commit("g", orders(0), 100)
			f.poll()
			f.judge("g", orders(0), 100, exact(110))
			f.round()
			f.want("g", orders(0), 110)
			c.story(f)
			f.round()
			f.want("g", orders(0), c.want)
			f.state("g", c.state)
		})
	}
}

// TestRestartAndReset: a new process takes a target's commit for ours only if it is what it would write itself.
func TestRestartAndReset(t *testing.T) {
	for _, c := range []struct {
		name    string
		present int64
		epoch   int32
		want    int64
	}{
		{"the commit is the translated one", 110, -1, 55},
		{"the commit is the translated one, but with an epoch", 110, 0, 110},
		{"the commit is another one", 111, -1, 111},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFix(t)
			f.others("g", orders(0), c.present, c.epoch)
			f.commit("g", orders(0), 100)
			f.poll()
			f.judge("g", orders(0), 100, exact(110))
			f.round()
			f.want("g", orders(0), c.present)
			f.commit("g", orders(0), 50)
			f.poll()
			f.judge("g", orders(0), 50, exact(55))
			f.round()
			f.want("g", orders(0), c.want)
		})
	}
}

// TestLaneMovesAway: with a lane everything that we remember of its groups goes, since others write them now.
func TestLaneMovesAway(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 100)
	f.poll()
	f.judge("g", orders(0), 100, exact(110))
	f.round()
	lane := f.owner.lane("g")
	f.owner.Own(lane, false)
	f.judge("g", orders(0), 120, exact(132)) // still on its way to us
	f.commit("g", orders(0), 120)
	f.poll()
	f.round()
	f.want("g", orders(0), 110)
	if s := f.owner.States(); len(s) != 0 || len(f.owner.rows) != 0 {
		t.Errorf("groups of others have states and rows: %v, %v", s, f.owner.rows)
	}
	f.others("g", orders(0), 111, -1) // the other process; equal to nothing that we know
	f.env.since()

	f.takes(lane)
	f.commit("g", orders(0), 50)
	f.poll()
	f.judge("g", orders(0), 50, exact(55))
	f.round()
	f.want("g", orders(0), 111)
	_, cs := f.env.since()
	want := []said{{"g", partition.ID{Topic: "A.orders"}, 50, 55, ""}}
	if !cmp.Equal(cs, want, cmp.AllowUnexported(said{})) {
		t.Errorf("checkpoints after the lane came back: %v, want %v", cs, want)
	}
}

// TestCase3ZeroAndNothing: a position of 0 is a position.
func TestCase3ZeroAndNothing(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.commit("g", orders(1), 0)
	f.poll()
	f.judge("g", orders(0), 10, exact(10))
	f.judge("g", orders(1), 0, translate.Verdict{Kind: translate.FirstMirrored, Target: 0})
	f.round()
	f.want("g", orders(0), 10)
	f.want("g", orders(1), 0)
	f.want("g", orders(2), -1)
}

// TestCase19MetadataAndEpoch: metadata is kept, the source's leader epoch is not; new metadata at the same place is
// written too (Kafka Streams keeps its clock there), after a restart as well.
func TestCase19MetadataAndEpoch(t *testing.T) {
	for _, metadata := range []string{"", strings.Repeat("0123456789abcdef", 256), "Gr\u00f6\u00dfe \U0001f30a <&>\u2028"} {
		f := newFix(t)
		f.commit("g", orders(0), 10, metadata)
		f.poll()
		f.judge("g", orders(0), 10, exact(11), metadata)
		f.round()
		got := f.all("g")[partition.ID{Topic: "A.orders"}]
		if want := (kafka.Committed{Offset: 11, LeaderEpoch: -1, Metadata: metadata}); got != want {
			t.Errorf("committed %+v, want %+v", got, want)
		}
		f.owner = f.newOwner(true)
		f.poll()
		f.judge("g", orders(0), 10, exact(11), metadata)
		f.round()
		f.state("g", translate.UpToDate)
		f.commit("g", orders(0), 10, metadata, "2")
		f.poll()
		f.judge("g", orders(0), 10, exact(11), metadata, "2")
		f.round()
		if got := f.all("g")[partition.ID{Topic: "A.orders"}].Metadata; got != metadata+"2" {
			t.Errorf("metadata on the target is %.20q, want the new one", got)
		}
	}
}

// TestCase25ExpiryOnTheSource: what disappears on the source stays on the target; its row says so after three good polls,
// however many rounds there are between them.
func TestCase25ExpiryOnTheSource(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.commit("g", orders(1), 20)
	f.commit("whole", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.judge("g", orders(1), 20, exact(22))
	f.judge("whole", orders(0), 10, exact(11))
	f.round()
	f.env.since()
	f.commit("g", orders(1), -1)
	delete(f.positions, "whole")
	f.info["whole"] = Info{StaleSince: f.clock.now()} // its coordinator does not answer
	for range 2 {
		f.poll()
		for range 20 {
			f.clock.pass(retry)
			f.round()
		}
	}
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Fatalf("rows were deleted after two polls: %v", rows)
	}
	f.poll()
	f.round()
	if _, there := f.owner.States()["whole"]; !there {
		t.Error("a group whose coordinator does not answer was forgotten")
	}
	gone := verdicts.Key{Group: "g", Topic: "orders", Partition: 1}
	if rows, _ := f.env.since(); len(rows) != 1 || rows[0].key != gone || rows[0].row == nil || rows[0].row.GoneAt.IsZero() {
		t.Fatalf("published after three polls: %v, want that %v is gone", rows, gone)
	}
	delete(f.info, "whole")
	for range 3 {
		f.poll()
	}
	f.round()
	if rows, _ := f.env.since(); len(rows) != 1 || rows[0].key.Group != "whole" || rows[0].row == nil || rows[0].row.GoneAt.IsZero() {
		t.Errorf("published after the group's end: %v", rows)
	}
	f.clock.pass(2 * recheck)
	f.round()
	f.want("g", orders(0), 11)
	f.want("g", orders(1), 22)
	f.want("whole", orders(0), 11)
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Errorf("it is said again: %v", rows)
	}
}

// TestManyGroups: a round of 1,000 groups with 10 positions each asks the target a handful of times, and not at all when
// nothing changed.
func TestManyGroups(t *testing.T) {
	f := newFix(t)
	list, fetch, write := counts(f.dst, kmsg.ListGroups), counts(f.dst, kmsg.OffsetFetch), counts(f.dst, kmsg.OffsetCommit)
	const groups = 1000
	for i := range groups {
		g := fmt.Sprintf("group-%d", i)
		for p := range int32(10) {
			f.commit(g, orders(p), int64(i)+int64(p))
			f.judge(g, orders(p), int64(i)+int64(p), exact(2*int64(i)+int64(p)))
		}
	}
	f.poll()
	before := time.Now()
	f.round()
	t.Logf("first round of %d groups: %v", groups, time.Since(before))
	if l, o, c := list.Hits(), fetch.Hits(), write.Hits(); l != 1 || o != 2 || c != groups {
		t.Errorf("%d ListGroups, %d OffsetFetch, %d OffsetCommit requests; want 1, 2, %d", l, o, c, groups)
	}
	f.want("group-77", orders(3), 157)
	n := fetch.Hits()
	before = time.Now()
	for range 10 {
		f.poll()
		f.clock.pass(retry)
		f.round()
	}
	t.Logf("10 polls and rounds without news: %v", time.Since(before))
	if l, o, c := list.Hits(), fetch.Hits(), write.Hits(); l != 1 || o != n || c != groups {
		t.Errorf("without news the target was asked again: %d, %d, %d", l, o-n, c)
	}
	f.commit("group-5", orders(0), 900)
	f.poll()
	f.judge("group-5", orders(0), 900, exact(990))
	f.round()
	if c := write.Hits(); c != groups+1 {
		t.Errorf("one group's news made %d commits", c-groups)
	}
	f.want("group-5", orders(0), 990)
}
