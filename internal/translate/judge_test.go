package translate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

type (
	src = offsetmap.SourceOffset
	tgt = offsetmap.TargetOffset
)

// must fails the test if building a map failed.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// example is a map with each sort of hole:
//
//	source  100..109  110 no data  111..119  120..129 lost  130..134  135 no data
//	target   10..19   20 marker     21..29                   30..34   35 marker
func example(t testing.TB) *offsetmap.Map {
	m := offsetmap.New(offsetmap.Origin{SourceStart: 90, Base: 10})
	must(t, m.Append(offsetmap.Run{Source: 100, Target: 10, Count: 10}),
		m.Marker(21), m.Append(offsetmap.Run{Source: 111, Target: 21, Count: 9}),
		m.Lose(130, 10), m.Append(offsetmap.Run{Source: 130, Target: 30, Count: 5}),
		m.Advance(136), m.Marker(36))
	return m
}

// at is a position c with everything known and nothing in the way.
func at(m Map, c src) Input {
	return Input{
		Map: m, Committed: c, SourceStart: 0, LastStable: Unknown, TargetStart: 0, TargetEnd: m.TargetEnd(),
	}
}

func none(k Kind, reason string) Verdict { return Verdict{Kind: k, Target: NoPosition, Reason: reason} }

type judged struct {
	name     string
	change   func(*Input)
	c        src
	want     Verdict
	sentence string
}

func check(t *testing.T, m Map, cases []judged) {
	t.Helper()
	for _, tc := range cases {
		in := at(m, tc.c)
		if tc.change != nil {
			tc.change(&in)
		}
		got := Judge(in)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s, c=%d (-want +got):\n%s", tc.name, tc.c, diff)
		}
		if got.String() != tc.sentence {
			t.Errorf("%s, c=%d: %q, want %q", tc.name, tc.c, got, tc.sentence)
		}
	}
}

func TestJudgePositions(t *testing.T) {
	check(t, example(t), []judged{
		{"first record", nil, 100, Verdict{Kind: Exact, Target: 10}, "exact at offset 10"},
		{"inside a run", nil, 105, Verdict{Kind: Exact, Target: 15}, "exact at offset 15"},
		{"in a hole, over our marker", nil, 110, Verdict{Kind: Exact, Target: 21}, "exact at offset 21"},
		{"after the hole", nil, 111, Verdict{Kind: Exact, Target: 21}, "exact at offset 21"},
		{"in a lost hole", nil, 125, Verdict{Kind: ExactLost, Target: 30, Lost: 10}, "exact at offset 30, up to 10 records lost before the next one"},
		{"behind the lost hole", nil, 131, Verdict{Kind: Exact, Target: 31}, "exact at offset 31"},
		{"at the last run's end", nil, 135, Verdict{Kind: AtEnd, Target: 36}, "exact at offset 36, the end of what is mirrored"},
		{"on the last source marker", nil, 136, Verdict{Kind: AtEnd, Target: 36}, "exact at offset 36, the end of what is mirrored"},
		{"ahead", nil, 140, Verdict{Kind: Ahead, Target: 36, N: 4}, "ahead of the mirror by 4, held at offset 36 until it catches up"},
		{"nothing existed between", nil, 95, Verdict{Kind: FirstMirrored, Target: 10}, "exact at offset 10, the first mirrored record"},
		{"at the start of mirroring", nil, 90, Verdict{Kind: FirstMirrored, Target: 10}, "exact at offset 10, the first mirrored record"},
		{
			"never mirrored", nil, 89,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 1, Reason: "the source still holds them"},
			"up to 1 record never mirrored: the source still holds them",
		},
		{
			"never mirrored and gone", func(in *Input) { in.SourceStart = 90 }, 80,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 10, Reason: "the source no longer holds them either"},
			"up to 10 records never mirrored: the source no longer holds them either",
		},
		{
			"never mirrored and half gone", func(in *Input) { in.SourceStart = 85 }, 80,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 10, Reason: "the source still holds those from offset 85 on"},
			"up to 10 records never mirrored: the source still holds those from offset 85 on",
		},
		{
			"never mirrored and all there", func(in *Input) { in.SourceStart = 80 }, 80,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 10, Reason: "the source still holds them"},
			"up to 10 records never mirrored: the source still holds them",
		},
		{
			"never mirrored, source unknown", func(in *Input) { in.SourceStart = Unknown }, 80,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 10},
			"up to 10 records never mirrored",
		},
		{
			"trimmed before mirroring began", func(in *Input) { in.BeganAtLogStart, in.SourceStart = true, 90 }, 80,
			Verdict{Kind: FirstMirrored, Target: 10},
			"exact at offset 10, the first mirrored record",
		},
		{
			"never mirrored by choice", func(in *Input) { in.StartByChoice, in.SourceStart = true, Unknown }, 80,
			Verdict{Kind: NotMirrored, Target: NoPosition, N: 10, Settled: true},
			"up to 10 records never mirrored",
		},
		{
			"never mirrored, earliest", func(in *Input) { in.Earliest, in.SourceStart, in.TargetStart = true, Unknown, 3 }, 80,
			Verdict{Kind: NotMirrored, Target: 3, N: 10, Earliest: true},
			"up to 10 records never mirrored; resumes at offset 3, the target's log start, by choice",
		},
		{
			"trimmed", func(in *Input) { in.TargetStart = 25 }, 105,
			Verdict{Kind: Trimmed, Target: NoPosition, N: 9},
			"up to 9 records trimmed on the target",
		},
		{
			"trimmed, earliest", func(in *Input) { in.TargetStart, in.Earliest = 25, true }, 105,
			Verdict{Kind: Trimmed, Target: 25, N: 9, Earliest: true},
			"up to 9 records trimmed on the target; resumes at offset 25, the target's log start, by choice",
		},
		{"only a marker trimmed", func(in *Input) { in.TargetStart, in.TargetEnd = 40, 40 }, 136, Verdict{Kind: AtEnd, Target: 40}, "exact at offset 40, the end of what is mirrored"},
		{"log start below", func(in *Input) { in.TargetStart = 15 }, 105, Verdict{Kind: Exact, Target: 15}, "exact at offset 15"},
		{"ahead and all trimmed", func(in *Input) { in.TargetStart, in.TargetEnd = 36, 36 }, 140, Verdict{Kind: Ahead, Target: 36, N: 4}, "ahead of the mirror by 4, held at offset 36 until it catches up"},
		{
			"target truncated", func(in *Input) { in.TargetEnd = 31 }, 134,
			Verdict{Kind: Ahead, Target: 31, N: 3, Reason: "the target's log ends below what was mirrored"},
			"ahead of the mirror by 3, held at offset 31 until it catches up: the target's log ends below what was mirrored",
		},
		{
			"target truncated, ahead", func(in *Input) { in.TargetEnd = 34 }, 140,
			Verdict{Kind: Ahead, Target: 34, N: 5, Reason: "the target's log ends below what was mirrored"},
			"ahead of the mirror by 5, held at offset 34 until it catches up: the target's log ends below what was mirrored",
		},
		{"target ends before our marker", func(in *Input) { in.TargetEnd = 35 }, 136, Verdict{Kind: AtEnd, Target: 35}, "exact at offset 35, the end of what is mirrored"},
		{"target's ends unknown", func(in *Input) { in.TargetStart, in.TargetEnd = Unknown, Unknown }, 105, Verdict{Kind: Exact, Target: 15}, "exact at offset 15"},
	})
}

func TestJudgeTransactions(t *testing.T) {
	m := example(t)
	stable := func(s src, open *Transaction) func(*Input) {
		return func(in *Input) { in.LastStable, in.Open = s, open }
	}
	check(t, m, []judged{
		{
			"held", stable(136, &Transaction{ProducerID: 7, Age: 200*time.Second + time.Millisecond}), 140,
			Verdict{Kind: HeldByTransaction, Target: 36, N: 4, Reason: "producer 7, open for 3m20s"},
			"beyond the last stable offset, 4 ahead of the mirror, held at offset 36 until the transaction ends: producer 7, open for 3m20s",
		},
		{
			"held, by whom is not known", stable(136, nil), 140,
			Verdict{Kind: HeldByTransaction, Target: 36, N: 4},
			"beyond the last stable offset, 4 ahead of the mirror, held at offset 36 until the transaction ends",
		},
		{"at the last stable offset", stable(140, nil), 140, Verdict{Kind: Ahead, Target: 36, N: 4}, "ahead of the mirror by 4, held at offset 36 until it catches up"},
		{"mirrored all the same", stable(100, nil), 105, Verdict{Kind: Exact, Target: 15}, "exact at offset 15"},
		{
			"held, target truncated", func(in *Input) { in.LastStable, in.TargetEnd = 136, 34 }, 140,
			Verdict{Kind: HeldByTransaction, Target: 34, N: 5},
			"beyond the last stable offset, 5 ahead of the mirror, held at offset 34 until the transaction ends",
		},
	})
}

func TestJudgeRefusals(t *testing.T) {
	all := func(in *Input) { // everything is in the way at once
		in.GroupFiltered, in.TopicFiltered = `excluded by groups.exclude pattern "x"`, `not included by topics ("y")`
		in.NotMirrored = Refusal{"deleted on the source", true}
		in.Denied = "DESCRIBE on group billing"
		in.Stopped = "record of 3 MB is too large"
		in.Map, in.Absent = nil, "no worker owns lane 3"
	}
	less := func(fs ...func(*Input)) func(*Input) { // all but some
		return func(in *Input) {
			all(in)
			for _, f := range fs {
				f(in)
			}
		}
	}
	group := func(in *Input) { in.GroupFiltered = "" }
	topic := func(in *Input) { in.TopicFiltered = "" }
	mirrored := func(in *Input) { in.NotMirrored = Refusal{} }
	waits := func(in *Input) { in.NotMirrored.Final = false }
	allowed := func(in *Input) { in.Denied = "" }
	running := func(in *Input) { in.Stopped = "" }
	final := none(TopicNotMirrored, "deleted on the source")
	final.Settled = true
	check(t, example(t), []judged{
		{"group", all, 105, none(GroupFiltered, `excluded by groups.exclude pattern "x"`), `the group is filtered out: excluded by groups.exclude pattern "x"`},
		{"topic", less(group), 105, none(TopicFiltered, `not included by topics ("y")`), `the topic is filtered out: not included by topics ("y")`},
		{"deleted", less(group, topic), 105, final, "the topic is not mirrored: deleted on the source"},
		{"not mirrored yet", less(group, topic, waits), 105, none(TopicNotMirrored, "deleted on the source"), "the topic is not mirrored: deleted on the source"},
		{"denied", less(group, topic, mirrored), 105, none(PermissionMissing, "DESCRIBE on group billing"), "a permission is missing: DESCRIBE on group billing"},
		{"never committed", less(group, topic, mirrored, allowed), Unknown, none(NeverCommitted, ""), "the group never committed a position here"},
		{"nonsense committed", less(group, topic, mirrored, allowed), -7, none(NeverCommitted, "the committed number -7 is no offset"), "the group never committed a position here: the committed number -7 is no offset"},
		{"stopped", less(group, topic, mirrored, allowed), 105, none(PartitionStopped, "record of 3 MB is too large"), "the partition is stopped: record of 3 MB is too large"},
		{"pending", less(group, topic, mirrored, allowed, running), 105, none(Pending, "no worker owns lane 3"), "no answer yet: no worker owns lane 3"},
	})
}

func TestJudgeSpecialMaps(t *testing.T) {
	empty := offsetmap.New(offsetmap.Origin{SourceStart: 100, Base: 0})
	check(t, empty, []judged{
		// All records were removed by retention before mirroring began: the number
		// 100 must never be written as it is.
		{"empty source partition", nil, 100, Verdict{Kind: AtEnd, Target: 0}, "exact at offset 0, the end of what is mirrored"},
		{"empty, group behind", func(in *Input) { in.SourceStart = 100 }, 60, Verdict{Kind: NotMirrored, Target: NoPosition, N: 40, Reason: "the source no longer holds them either"}, "up to 40 records never mirrored: the source no longer holds them either"},
	})
	foreign := example(t)
	must(t, foreign.Foreign(38))
	check(t, foreign, []judged{
		{"others wrote behind us", nil, 136, Verdict{Kind: AtEnd, Target: 36, N: 2}, "exact at offset 36, the end of what is mirrored, with up to 2 records of others behind it"},
	})
	lost := offsetmap.New(offsetmap.Origin{})
	must(t, lost.Append(offsetmap.Run{Source: 0, Target: 0, Count: 5}), lost.Lose(10, 5))
	check(t, lost, []judged{
		{"lost at the end", nil, 7, Verdict{Kind: ExactLost, Target: 5, Lost: 5}, "exact at offset 5, up to 5 records lost before the next one"},
	})
	must(t, lost.Foreign(8))
	check(t, lost, []judged{
		{"lost at the end, others behind", nil, 7, Verdict{Kind: ExactLost, Target: 5, Lost: 5}, "exact at offset 5, up to 5 records lost before the next one"},
	})
	behind := offsetmap.New(offsetmap.Origin{})
	must(t, behind.Lose(10, 1), behind.Append(offsetmap.Run{Source: 10, Target: 0, Count: 5}))
	check(t, behind, []judged{
		{"lost before the first", nil, 3, Verdict{Kind: ExactLost, Target: 0, Lost: 1}, "exact at offset 0, up to 1 record lost before the next one"},
	})
}

// fixed is a map with one answer, for what a real map seldom says.
type fixed struct {
	p          offsetmap.Position
	count, end int64
}

func (f fixed) Next(src) offsetmap.Position { return f.p }
func (f fixed) Count(a, b tgt) int64        { return min(f.count, max(0, int64(b-a))) }
func (f fixed) TargetEnd() tgt              { return tgt(f.end) }

func TestJudgeDamagedMaps(t *testing.T) {
	bounded := fixed{offsetmap.Position{Target: 10, Kind: offsetmap.Bounded, N: 7}, 30, 50}
	missing := uncertain
	check(t, bounded, []judged{
		{"bounded", nil, 5, Verdict{Kind: Bounded, Target: 10, N: 7, Reason: missing}, "at offset 10, which replays at most 7 records: " + missing},
		{"bounded, log start above", func(in *Input) { in.TargetStart = 12 }, 5, Verdict{Kind: Trimmed, Target: NoPosition, N: 2}, "up to 2 records trimmed on the target"},
		{"bounded, target truncated", func(in *Input) { in.TargetEnd = 8 }, 5, Verdict{Kind: Bounded, Target: 8, N: 9, Reason: missing}, "at offset 8, which replays at most 9 records: " + missing},
	})
	inDoubt := fixed{offsetmap.Position{Target: 10, Kind: offsetmap.Bounded, N: 7}, 0, 50} // Count leaves doubts out
	check(t, inDoubt, []judged{
		{"in doubt, log start above", func(in *Input) { in.TargetStart = 12 }, 5, Verdict{Kind: Trimmed, Target: NoPosition, N: 2}, "up to 2 records trimmed on the target"},
	})
	trimmed := fixed{offsetmap.Position{Target: 30, Kind: offsetmap.Trimmed, N: 4}, 0, 50}
	check(t, trimmed, []judged{
		{"map trimmed", nil, 5, Verdict{Kind: Trimmed, Target: NoPosition, N: 4, Reason: "the offset map was trimmed there"}, "up to 4 records trimmed on the target: the offset map was trimmed there"},
		{
			"map trimmed, earliest", func(in *Input) { in.Earliest, in.TargetStart = true, 20 }, 5,
			Verdict{Kind: Trimmed, Target: 20, N: 4, Earliest: true, Reason: "the offset map was trimmed there"},
			"up to 4 records trimmed on the target; resumes at offset 20, the target's log start, by choice: the offset map was trimmed there",
		},
		{"map trimmed, earliest unknown", func(in *Input) { in.Earliest, in.TargetStart = true, Unknown }, 5, Verdict{Kind: Trimmed, Target: NoPosition, N: 4, Reason: "the offset map was trimmed there"}, "up to 4 records trimmed on the target: the offset map was trimmed there"},
	})
	check(t, fixed{offsetmap.Position{Kind: 99}, 0, 0}, []judged{
		{"unknown kind", nil, 5, none(Pending, `the offset map answered "kind(99)"`), `no answer yet: the offset map answered "kind(99)"`},
	})
	check(t, fixed{offsetmap.Position{Target: 3, Kind: offsetmap.BeyondMirrored, N: 2, Lost: 6}, 0, 3}, []judged{
		{"loss beside another kind", nil, 5, Verdict{Kind: Ahead, Target: 3, N: 2, Lost: 6}, "ahead of the mirror by 2, held at offset 3 until it catches up; up to 6 records lost there"},
	})
}

// What each kind means for a group, in one table: a new kind must be entered here.
func TestKindsMean(t *testing.T) {
	type meaning struct {
		Position, Final, Temporary, Exact bool
		Replays                           int64
	}
	position := meaning{Position: true}
	exact := meaning{Position: true, Exact: true}
	replay := meaning{Position: true, Replays: 5}
	final := meaning{Final: true, Replays: -1}
	waits := meaning{Temporary: true, Replays: -1}
	for v, want := range map[Verdict]meaning{
		{}:                                    waits,
		none(Pending, ""):                     waits,
		{Kind: Exact, Target: 1}:              exact,
		{Kind: AtEnd, N: 5}:                   exact,
		{Kind: ExactLost, Lost: 5}:            exact,
		{Kind: FirstMirrored}:                 exact,
		{Kind: Ahead, N: 5}:                   replay,
		{Kind: HeldByTransaction, N: 5}:       replay,
		{Kind: Bounded, N: 5}:                 replay,
		{Kind: NotMirrored, N: 5, Target: -1}: waits,
		{Kind: NotMirrored, N: 5, Target: -1, Settled: true}:               final,
		{Kind: NotMirrored, N: 5, Earliest: true}:                          position,
		{Kind: NotMirrored, N: 5, Earliest: true, Settled: true}:           position,
		{Kind: Trimmed, N: 5, Target: -1}:                                  waits,
		{Kind: Trimmed, N: 5, Earliest: true}:                              position,
		none(GroupFiltered, ""):                                            final,
		none(TopicFiltered, ""):                                            final,
		none(TopicNotMirrored, ""):                                         waits,
		{Kind: TopicNotMirrored, Target: -1, Settled: true}:                final,
		none(PartitionStopped, ""):                                         waits,
		none(NeverCommitted, ""):                                           final,
		none(PermissionMissing, ""):                                        waits,
		none(IncarnationChanged, ""):                                       waits,
		{Kind: Exact, Target: NoPosition}:                                  waits,
		{Kind: kinds, Target: 3}:                                           waits,
		{Kind: PartitionStopped, Target: 7, Earliest: true}:                waits,
		{Kind: TopicFiltered, Target: 7, Earliest: true}:                   final,
		{Kind: Ahead, N: 5, Target: 9, Lost: 2, Reason: "", Settled: true}: replay,
	} {
		got := meaning{v.HasPosition(), v.Final(), v.Temporary(), v.IsExact(), v.Replays()}
		if got != want {
			t.Errorf("%+v: %+v, want %+v", v, got, want)
		}
	}
}

func TestNamesAreStable(t *testing.T) {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.String())
		var back Kind
		text, _ := k.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != k {
			t.Errorf("%v became %v, %v", k, back, err)
		}
		if s := (Verdict{Kind: k}).String(); s == k.String() && k != Exact {
			t.Errorf("%v has no sentence", k)
		}
	}
	want := "pending exact at-end exact-lost ahead first-mirrored not-mirrored trimmed bounded group-filtered topic-filtered " +
		"topic-not-mirrored partition-stopped never-committed permission-missing incarnation-changed held-by-transaction"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names changed:\n got %s\nwant %s", got, want)
	}
	var k Kind
	if err := k.UnmarshalText([]byte("exakt")); err == nil {
		t.Error("an unknown kind was read")
	}
	if Kind(99).String() != "unknown-99" || (Verdict{Kind: 99}).String() != "unknown-99" {
		t.Error("a kind without a name has no text")
	}

	for _, tc := range []struct {
		v    Verdict
		json string
	}{
		{Verdict{Kind: Exact, Target: 12}, `{"kind":"exact","target":12}`},
		{Verdict{Kind: Trimmed, Target: 0, N: 4, Earliest: true}, `{"kind":"trimmed","target":0,"n":4,"earliest":true}`},
		{Verdict{Kind: TopicNotMirrored, Target: -1, Settled: true, Reason: "deleted"}, `{"kind":"topic-not-mirrored","target":-1,"settled":true,"reason":"deleted"}`},
		{Verdict{Kind: ExactLost, Target: 1, Lost: 2}, `{"kind":"exact-lost","target":1,"lost":2}`},
	} {
		got, err := json.Marshal(tc.v)
		if err != nil || string(got) != tc.json {
			t.Errorf("%s, %v, want %s", got, err, tc.json)
		}
		var back Verdict
		if err := json.Unmarshal(got, &back); err != nil || back != tc.v {
			t.Errorf("%s became %+v, %v", got, back, err)
		}
	}
}

// TestBoundedByNothing: what replays at most 0 records replays none.
func TestBoundedByNothing(t *testing.T) {
	v := Verdict{Kind: Bounded, Target: 0, Reason: "by samples"}
	if got := v.String(); got != "at offset 0, which replays nothing: by samples" {
		t.Errorf("%q", got)
	}
}
