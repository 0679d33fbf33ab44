package groups

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// TestPoll: a simple group and a live one are read alike; an excluded one is listed, and no lane hears of it.
func TestPoll(t *testing.T) {
	f := newFix(t)
	simple := map[partition.ID]kafka.Committed{orders(0): {Offset: 0, Metadata: "m"}, orders(4): {Offset: 9}}
	if _, err := f.source.CommitPositions(f.ctx(), "simple", simple); err != nil {
		t.Fatal(err)
	}
	if _, err := f.source.CommitPositions(f.ctx(), "live", map[partition.ID]kafka.Committed{orders(1): {Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.source.CommitPositions(f.ctx(), "secret-x", map[partition.ID]kafka.Committed{orders(1): {Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	join(t, f.src, f.source, "live", "orders")
	r := reader(t, f.source, f.log)
	s, err := r.Poll(f.ctx())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[partition.ID]kafka.Committed{
		"simple": {orders(0): {Offset: 0, LeaderEpoch: -1, Metadata: "m"}, orders(4): {Offset: 9, LeaderEpoch: -1}},
		"live":   {orders(1): {Offset: 5, LeaderEpoch: -1}},
	}
	if !cmp.Equal(s.Positions, want) {
		t.Errorf("positions: %v", cmp.Diff(want, s.Positions))
	}
	if in := s.Groups["secret-x"]; !strings.Contains(in.Excluded, "secret") {
		t.Errorf("the excluded group is %+v", in)
	}
	if in := s.Groups["live"]; in.State != "Stable" || !in.StaleSince.IsZero() || s.Incomplete {
		t.Errorf("the live group is %+v", in)
	}
	by := s.ByPartition()
	if got := by[orders(0)]; len(by) != 3 || !slices.Equal(got, []verdicts.Commit{{Group: "simple", Offset: 0, Metadata: "m"}}) {
		t.Errorf("by partition: %v", by)
	}
	s.Positions["secret-x"] = map[partition.ID]kafka.Committed{orders(7): {}}
	if _, there := s.ByPartition()[orders(7)]; there {
		t.Error("lanes are told positions of an excluded group")
	}
}

// TestCase32IdleGroups: a group that was idle before the flow started is carried, and so is the last commit of one that
// then stops, through the whole package.
func TestCase32IdleGroups(t *testing.T) {
	f := newFix(t)
	r := reader(t, f.source, f.log)
	set := func(g string, to int64) {
		if _, err := f.source.CommitPositions(f.ctx(), g, map[partition.ID]kafka.Committed{orders(0): {Offset: to}}); err != nil {
			t.Fatal(err)
		}
	}
	poll := func() {
		s, err := r.Poll(f.ctx())
		if err != nil {
			t.Fatal(err)
		}
		f.owner.Take(s)
		for _, c := range s.ByPartition()[orders(0)] { // the lane
			f.judge(c.Group, orders(0), int64(c.Offset), exact(2*int64(c.Offset)))
		}
		f.round()
	}
	set("idle", 40)
	set("stops", 50)
	poll()
	f.want("idle", orders(0), 80)
	set("stops", 60)
	poll()
	f.want("stops", orders(0), 120)
	for range 3 {
		f.clock.pass(recheck)
		poll()
	}
	f.want("idle", orders(0), 80)
	f.want("stops", orders(0), 120)
	f.state("idle", translate.UpToDate)
}

// twoGroups commits one position for a group of each of two coordinators.
func twoGroups(f *fix) (here, there string) {
	for i := 0; here == "" || there == ""; i++ {
		g := fmt.Sprintf("g%d", i)
		if f.src.CoordinatorFor(g) == 0 {
			here = g
		} else {
			there = g
		}
	}
	for _, g := range []string{here, there} {
		if _, err := f.source.CommitPositions(f.ctx(), g, map[partition.ID]kafka.Committed{orders(0): {Offset: 5}}); err != nil {
			f.Fatal(err)
		}
	}
	return here, there
}

// TestCoordinatorAway: groups whose coordinator does not answer keep their last positions, in list and fetch, and are
// stale since the first time; the others go on. When it is back all is as before.
func TestCoordinatorAway(t *testing.T) {
	f := newFix(t, kfake.NumBrokers(2))
	here, there := twoGroups(f)
	r := reader(t, f.source, f.log)
	poll := func() Snapshot {
		t.Helper()
		s, err := r.Poll(f.ctx())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	poll()
	list := f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Nodes: []int32{1}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	if _, err := f.source.CommitPositions(f.ctx(), here, map[partition.ID]kafka.Committed{orders(0): {Offset: 6}}); err != nil {
		t.Fatal(err)
	}
	s := poll()
	if !s.Incomplete || s.answers(there) || s.answers("never seen") || !s.answers(here) {
		t.Errorf("answers: %v %v %v", s.answers(there), s.answers("never seen"), s.answers(here))
	}
	if s.Positions[there][orders(0)].Offset != 5 || s.Positions[here][orders(0)].Offset != 6 {
		t.Errorf("positions while a broker is away: %v", s.Positions)
	}
	since := s.Groups[there].StaleSince
	list.Remove()
	fetch := f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: there, Err: kerr.UnknownServerError, Count: -1})
	s = poll()
	if got := s.Groups[there].StaleSince; !got.Equal(since) || since.IsZero() || s.Incomplete {
		t.Errorf("stale since %v, first since %v", got, since)
	}
	if s.Positions[there][orders(0)].Offset != 5 {
		t.Errorf("positions while a coordinator does not answer: %v", s.Positions)
	}
	fetch.Remove()
	s = poll()
	if !s.Groups[there].StaleSince.IsZero() || !s.answers(there) || len(r.stale) != 0 {
		t.Errorf("after it came back: %+v", s.Groups[there])
	}
	if log := f.log.String(); strings.Count(log, "level=WARN") != 1 || strings.Count(log, "are read again") != 1 {
		t.Errorf("one warning and one end of it are wanted:\n%s", log)
	}
}

// TestStartWhileCoordinatorAway: what a new process cannot read is not taken for absent, so the rows of those groups
// stay.
func TestStartWhileCoordinatorAway(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.ListGroups, kmsg.OffsetFetch} {
		t.Run(key.Name(), func(t *testing.T) {
			f := newFix(t, kfake.NumBrokers(2))
			_, there := twoGroups(f)
			f.judge(there, orders(0), 5, exact(6)) // in the log from before
			r := reader(t, f.source, f.log)
			fault := kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.UnknownServerError, Count: -1}
			if key == kmsg.ListGroups {
				fault.Nodes = []int32{1}
			} else {
				fault.Group = there
			}
			f.src.Fault(fault)
			for range 2 * forget {
				s, err := r.Poll(f.ctx())
				if err != nil {
					t.Fatal(err)
				}
				f.owner.Take(s)
				f.clock.pass(recheck)
				f.round()
			}
			if rows, _ := f.env.since(); len(rows) != 0 {
				t.Errorf("rows of a group that could not be read were deleted: %v", rows)
			}
		})
	}
}

// TestPartOfAGroup: positions of a group that could not be read hold its first commit, or keep their last known value.
func TestPartOfAGroup(t *testing.T) {
	f := newFix(t)
	tps := map[partition.ID]kafka.Committed{orders(0): {Offset: 5}, orders(1): {Offset: 6}}
	if _, err := f.source.CommitPositions(f.ctx(), "g", tps); err != nil {
		t.Fatal(err)
	}
	bad := true
	f.src.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.src.KeepControl()
		if !bad {
			return nil, nil, false
		}
		resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group = "g"
		tp := kmsg.NewOffsetFetchResponseGroupTopic()
		tp.Topic = "orders"
		for p, code := range []int16{0, kerr.UnknownServerError.Code} {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.ErrorCode = int32(p), 7, code
			tp.Partitions = append(tp.Partitions, rp)
		}
		g.Topics = append(g.Topics, tp)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	r := reader(t, f.source, f.log)
	poll := func() Snapshot {
		t.Helper()
		s, err := r.Poll(f.ctx())
		if err != nil {
			t.Fatal(err)
		}
		f.owner.Take(s)
		f.clock.pass(retry)
		f.round()
		return s
	}
	f.judge("g", orders(0), 7, exact(70))
	f.judge("g", orders(0), 5, exact(50))
	f.judge("g", orders(1), 6, exact(60))
	for range 2 {
		s := poll()
		if in := s.Groups["g"]; !cmp.Equal(in.Unread, []partition.ID{orders(1)}) || in.StaleSince.IsZero() {
			t.Errorf("the group is %+v", in)
		}
		f.judge("g", orders(0), 7, exact(70))
		f.clock.pass(retry)
		f.round()
		if st := f.state("g", translate.Waiting); !strings.Contains(st.Reason, "could not read this position") {
			t.Errorf("the group waits: %v", st)
		}
		f.want("g", orders(0), -1)
	}
	bad = false
	f.judge("g", orders(0), 5, exact(50))
	poll()
	f.want("g", orders(0), 50)
	f.want("g", orders(1), 60)
	bad = true
	s := poll()
	if got := s.Positions["g"]; got[orders(0)].Offset != 7 || got[orders(1)].Offset != 6 || len(s.Groups["g"].Unread) != 0 {
		t.Errorf("positions %v of %+v: the known one is to be kept", got, s.Groups["g"])
	}
}

// TestDeniedOnTheSource: a group that may not be read has a row that says which right is missing.
func TestDeniedOnTheSource(t *testing.T) {
	f := newFix(t)
	if _, err := f.source.CommitPositions(f.ctx(), "g", map[partition.ID]kafka.Committed{orders(0): {Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.source.CommitPositions(f.ctx(), "open", map[partition.ID]kafka.Committed{orders(0): {Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "g", Err: kerr.GroupAuthorizationFailed, Count: -1})
	s, err := reader(t, f.source, f.log).Poll(f.ctx())
	if err != nil {
		t.Fatal(err)
	}
	f.owner.Take(s)
	f.round()
	rows, _ := f.env.since()
	want := verdicts.Key{Group: "g", Partition: verdicts.WholeGroup}
	if len(rows) != 1 || rows[0].key != want || rows[0].row.Verdict.Kind != translate.PermissionMissing || !strings.Contains(rows[0].row.Verdict.Reason, "DESCRIBE") {
		t.Errorf("published %v", rows)
	}
}

// TestSourceAway: nothing can be read at all: an error, and after it everything goes on.
func TestSourceAway(t *testing.T) {
	f := newFix(t)
	twoLines := func() int { return strings.Count(f.log.String(), "cannot be read from the source") }
	if _, err := f.source.CommitPositions(f.ctx(), "g", map[partition.ID]kafka.Committed{orders(0): {Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	fault := f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan Snapshot, 100), make(chan error, 1)
	go func() { done <- reader(t, f.source, f.log).Run(ctx, time.Millisecond, func(s Snapshot) { got <- s }) }()
	if err := fault.Wait(f.ctx(), 5); err != nil {
		t.Fatal(err)
	}
	if len(got) != 0 || twoLines() != 1 {
		t.Errorf("%d snapshots, %d warnings while nothing could be read; want 0 and 1", len(got), twoLines())
	}
	fault.Remove()
	s := <-got
	if keys := slices.Collect(maps.Keys(s.Positions)); !slices.Equal(keys, []string{"g"}) {
		t.Errorf("groups after that: %v", keys)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
