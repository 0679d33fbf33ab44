package translate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/partition"
)

var (
	p0 = partition.ID{Topic: "A.orders", Partition: 0}
	p1 = partition.ID{Topic: "A.orders", Partition: 1}
	p2 = partition.ID{Topic: "A.orders", Partition: 2}
)

// row is a row whose translation is exact at x, for source position 1000 + x.
// passed is a row about a commit that is not the source's newest any more.
func passed(r Row) Row {
	r.Live = false
	return r
}

func row(p partition.ID, x tgt, present *Present) Row {
	return Row{Partition: p, Committed: 1000 + src(x), Metadata: "m", Live: true, Verdict: Verdict{Kind: Exact, Target: x}, Present: present}
}

// no is a row without a position.
func no(p partition.ID, v Verdict, present *Present) Row {
	v.Target = NoPosition
	return Row{Partition: p, Committed: 1000, Metadata: "m", Live: true, Verdict: v, Present: present}
}

// ours is a commit that we made at x, for source position 1000 + x.
func ours(x tgt) *Present { return &Present{Offset: x, Metadata: "m", Ours: true, From: 1000 + src(x)} }

func theirs(x tgt) *Present { return &Present{Offset: x, Metadata: "their own", From: Unknown} }

func commit(x tgt) Commit { return Commit{Offset: x, Metadata: "m", From: 1000 + src(x)} }

func group(rows ...Row) Group {
	return Group{Rows: rows, Target: TargetGroup{Read: true}, SourceLive: true}
}

func (g Group) with(change func(*Group)) Group {
	change(&g)
	return g
}

func (g Group) on(t TargetGroup) Group {
	t.Read, t.Exists = true, true
	g.Target = t
	return g
}

type planned struct {
	name     string
	g        Group
	commits  map[partition.ID]Commit
	state    WriteState
	sentence string
}

func checkPlans(t *testing.T, cases []planned) {
	t.Helper()
	for _, tc := range cases {
		commits, state := Plan(tc.g)
		if diff := cmp.Diff(tc.commits, commits); diff != "" {
			t.Errorf("%s: commits (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.state, state); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", tc.name, diff)
		}
		if got := state.String(); got != tc.sentence {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.sentence)
		}
	}
}

var (
	stopped  = Verdict{Kind: PartitionStopped, Reason: "topic deleted on the target"}
	filtered = Verdict{Kind: TopicFiltered, Reason: "by rule"}
	never    = Verdict{Kind: NeverCommitted}
)

func TestPlanWholeGroup(t *testing.T) {
	waiting := WriteState{Kind: Waiting, Partitions: []partition.ID{p1}, Reason: "the partition is stopped: topic deleted on the target"}
	waits := "waiting for A.orders-1: the partition is stopped: topic deleted on the target"
	checkPlans(t, []planned{
		{
			"first commit, all there", group(row(p0, 10, nil), row(p1, 20, nil)),
			map[partition.ID]Commit{p0: commit(10), p1: commit(20)},
			WriteState{Kind: Written},
			"written",
		},
		{
			"position 0 is a position", group(row(p0, 0, nil)),
			map[partition.ID]Commit{p0: commit(0)},
			WriteState{Kind: Written},
			"written",
		},
		{"first commit, one is stopped", group(row(p0, 10, nil), no(p1, stopped, nil)), nil, waiting, waits},
		{
			"first commit, no answer", group(row(p0, 10, nil), Row{Partition: p1}), nil,
			WriteState{Kind: Waiting, Partitions: []partition.ID{p1}, Reason: "no answer yet"},
			"waiting for A.orders-1: no answer yet",
		},
		{
			"first commit, the rest is a final no", group(row(p0, 10, nil), no(p1, filtered, nil), no(p2, never, nil)),
			map[partition.ID]Commit{p0: commit(10)},
			WriteState{Kind: Written},
			"written",
		},
		{
			"later, one is stopped", group(row(p0, 10, ours(9)), no(p1, stopped, ours(5))),
			map[partition.ID]Commit{p0: commit(10)},
			WriteState{Kind: Written, Partitions: []partition.ID{p1}},
			"written, except for A.orders-1 without a position yet",
		},
		{
			"first commit, two are stopped", group(row(p0, 10, nil), no(p2, never, nil), no(p1, stopped, nil), Row{Partition: partition.ID{Topic: "A.early", Partition: 3}}), nil,
			WriteState{Kind: Waiting, Partitions: []partition.ID{{Topic: "A.early", Partition: 3}, p1}, Reason: "A.early-3: no answer yet"},
			"waiting for A.early-3, A.orders-1: A.early-3: no answer yet",
		},
		{"later, only one and it is stopped", group(row(p0, 10, ours(10)), no(p1, stopped, nil)), nil, waiting, waits},
		{"no rows", group(), nil, WriteState{Kind: NothingToWrite, Reason: "the group has no positions"}, "nothing to write: the group has no positions"},
		{
			"all filtered, and active besides", group(no(p0, filtered, nil)).on(TargetGroup{State: "Stable"}), nil,
			WriteState{Kind: NothingToWrite, Reason: "the topic is filtered out: by rule"},
			"nothing to write: the topic is filtered out: by rule",
		},
		{
			"only a pending commit there counts as none", group(row(p0, 10, &Present{Offset: -1}), no(p1, stopped, nil)), nil, waiting, waits,
		},
	})
}

func TestPlanNeverMovesBack(t *testing.T) {
	back := func(from src, p *Present) *Present { p.From = from; return p }
	remembered := func(g *Group) { g.SourceLive = false }
	ahead := func(n int64) (WriteState, string) {
		return WriteState{Kind: TargetAhead, Partitions: []partition.ID{p0}, N: n}, "the target is ahead of the source by 90 on A.orders-0"
	}
	state, sentence := ahead(90)
	checkPlans(t, []planned{
		{"forward over theirs", group(row(p0, 10, theirs(9))), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"theirs is ahead", group(row(p0, 10, theirs(100))), nil, state, sentence},
		{"ours is ahead, the group did not move back", group(row(p0, 10, back(1010, ours(100)))), nil, state, sentence},
		{"ours is ahead, for what is not known", group(row(p0, 10, back(Unknown, ours(100)))), nil, state, sentence},
		{"ours is ahead, the source is gone", group(row(p0, 10, ours(100))).with(remembered), nil, state, sentence},
		{"ours is ahead of a commit that the source has passed", group(passed(row(p0, 10, ours(100)))), nil, state, sentence},
		{
			"ours, and the group moved back", group(row(p0, 10, ours(100))),
			map[partition.ID]Commit{p0: commit(10)},
			WriteState{Kind: Written},
			"written",
		},
		{
			"theirs with a source position is not ours", group(row(p0, 10, &Present{Offset: 100, From: 1100})), nil, state, sentence,
		},
		{
			"ahead beside others", group(row(p0, 10, theirs(100)), row(p1, 5, nil)),
			map[partition.ID]Commit{p1: commit(5)},
			WriteState{Kind: Written, N: 90},
			"written; the target is ahead of the source by 90 elsewhere",
		},
		{
			"ahead beside a stopped one", group(row(p0, 10, theirs(100)), no(p1, stopped, nil)), nil,
			WriteState{Kind: Waiting, Partitions: []partition.ID{p1}, N: 90, Reason: "the partition is stopped: topic deleted on the target"},
			"waiting for A.orders-1; the target is ahead of the source by 90 elsewhere: the partition is stopped: topic deleted on the target",
		},
	})
}

func TestPlanUnchangedWritesNothing(t *testing.T) {
	other := func(p *Present) *Present { p.Metadata = "old clock"; return p }
	refresh := func(g *Group) { g.Refresh = true }
	gone := func(g *Group) { g.Refresh, g.SourceLive = true, false }
	kept := func(r Row) Row { r.Kept = true; return r }
	renewed := func(r Row) Row { r.Kept, r.Renew = true, true; return r }
	upToDate := WriteState{Kind: UpToDate}
	checkPlans(t, []planned{
		{"unchanged", group(row(p0, 10, ours(10))), nil, upToDate, "up to date"},
		{"unchanged, theirs", group(row(p0, 10, theirs(10))), nil, upToDate, "up to date"},
		{"metadata changed", group(row(p0, 10, other(ours(10)))), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"refresh", group(row(p0, 10, ours(10))).with(refresh), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"refresh, theirs", group(row(p0, 10, theirs(10))).with(refresh), nil, upToDate, "up to date"},
		{"refresh, the source does not answer", group(row(p0, 10, ours(10))).with(gone), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"kept, not there", group(kept(row(p0, 10, nil))), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"kept, ours is older", group(kept(row(p0, 10, ours(5)))), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"kept, rewound by its application", group(kept(row(p0, 10, theirs(5)))).with(refresh), nil, upToDate, "up to date"},
		{"kept, gone on by its application", group(kept(row(p0, 10, theirs(100)))).with(refresh), nil, WriteState{Kind: TargetAhead, N: 90, Partitions: []partition.ID{p0}}, "the target is ahead of the source by 90 on A.orders-0"},
		{"kept, refresh", group(kept(row(p0, 10, ours(10)))).with(refresh), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{"renewed only, not there", group(renewed(row(p0, 10, nil))).with(refresh), nil, upToDate, "up to date"},
		{"renewed only, ours", group(renewed(row(p0, 10, ours(10)))).with(refresh), map[partition.ID]Commit{p0: commit(10)}, WriteState{Kind: Written}, "written"},
		{
			"refresh of a stopped partition", group(no(p0, stopped, ours(10))).with(refresh),
			map[partition.ID]Commit{p0: commit(10)},
			WriteState{Kind: Written, Partitions: []partition.ID{p0}},
			"written, except for A.orders-0 without a position yet",
		},
		{"refresh does not keep what the source gave up", group(no(p0, never, ours(10)), row(p1, 3, ours(3))).with(refresh), map[partition.ID]Commit{p1: commit(3)}, WriteState{Kind: Written}, "written"},
		{
			"refresh of what is ahead keeps its place", group(row(p0, 10, &Present{Offset: 15, Metadata: "x", Ours: true, From: 1005})).with(refresh),
			map[partition.ID]Commit{p0: {Offset: 15, Metadata: "x", From: 1005}},
			WriteState{Kind: Written, N: 5},
			"written; the target is ahead of the source by 5 elsewhere",
		},
	})
}

func TestPlanAsksTheTargetFirst(t *testing.T) {
	g := group(row(p0, 10, nil))
	unread := g.with(func(g *Group) { g.Target = TargetGroup{} })
	written := map[partition.ID]Commit{p0: commit(10)}
	pending := theirs(3)
	pending.Pending = true
	checkPlans(t, []planned{
		{"not read", unread, nil, WriteState{Kind: Refused, Reason: "the group's state and commits on the target were not read"}, "refused: the group's state and commits on the target were not read"},
		{"absent", g, written, WriteState{Kind: Written}, "written"},
		{"empty", g.on(TargetGroup{State: "Empty", Type: "classic", Protocol: "consumer"}), written, WriteState{Kind: Written}, "written"},
		{"empty simple", g.on(TargetGroup{State: "Empty", Type: "classic"}), written, WriteState{Kind: Written}, "written"},
		{"empty KIP-848", g.on(TargetGroup{State: "Empty", Type: "consumer", Protocol: "consumer"}), written, WriteState{Kind: Written}, "written"},
		{"stable", g.on(TargetGroup{State: "Stable", Type: "classic", Protocol: "consumer"}), nil, WriteState{Kind: Active, GroupState: "Stable"}, "active on the target (Stable), where its own commits count"},
		{"dead is not absent", g.on(TargetGroup{State: "Dead"}), nil, WriteState{Kind: Active, GroupState: "Dead"}, "active on the target (Dead), where its own commits count"},
		{"share", g.on(TargetGroup{State: "Empty", Type: "share"}), nil, WriteState{Kind: Refused, Reason: "on the target the name belongs to a share group, which has no positions"}, "refused: on the target the name belongs to a share group, which has no positions"},
		{"connect", g.on(TargetGroup{State: "Empty", Type: "classic", Protocol: "connect"}), nil, WriteState{Kind: Refused, Reason: `on the target the name belongs to a group of protocol type "connect"`}, `refused: on the target the name belongs to a group of protocol type "connect"`},
		{
			"open transactional commit", group(row(p0, 10, ours(9)), row(p1, 4, pending)), nil,
			WriteState{Kind: Waiting, Partitions: []partition.ID{p1}, Reason: "a transaction on the target has an open commit there"},
			"waiting for A.orders-1: a transaction on the target has an open commit there",
		},
	})
}

func TestWriteStateText(t *testing.T) {
	var names []string
	for _, k := range WriteKinds() {
		names = append(names, k.String())
		var back WriteKind
		text, _ := k.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != k {
			t.Errorf("%v became %v, %v", k, back, err)
		}
	}
	want := "not-tried written up-to-date nothing-to-write waiting active-on-target target-ahead refused"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names changed:\n got %s\nwant %s", got, want)
	}
	var k WriteKind
	if err := k.UnmarshalText([]byte("done")); err == nil {
		t.Error("an unknown state was read")
	}
	if (WriteState{}).String() != "not looked at yet" || (WriteState{Kind: 99}).String() != "unknown-99" {
		t.Error("the zero state or an unknown one has the wrong text")
	}
	if got := Refuse(errors.New("not coordinator")).String(); got != "refused: not coordinator" {
		t.Errorf("refused: %q", got)
	}
	many := WriteState{Kind: Waiting}
	for n := range int32(7) {
		many.Partitions = append(many.Partitions, partition.ID{Topic: "t", Partition: n})
	}
	if got := many.String(); got != "waiting for t-0, t-1, t-2, t-3, t-4 and 2 more" {
		t.Errorf("many: %q", got)
	}
	s := WriteState{Kind: Waiting, Partitions: []partition.ID{{Topic: "A.a-b", Partition: 3}}, Reason: "r"}
	text, err := json.Marshal(s)
	if err != nil || string(text) != `{"kind":"waiting","partitions":["A.a-b-3"],"reason":"r"}` {
		t.Errorf("json %s, %v", text, err)
	}
	var back WriteState
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, s) {
		t.Errorf("%s became %+v, %v", text, back, err)
	}
}
