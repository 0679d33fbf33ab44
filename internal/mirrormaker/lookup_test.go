package mirrormaker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/mm2"
)

var remote = partition.ID{Topic: "A.orders"}

// syncs are pairs of source and target offset, in the order of their topic.
func syncs(pairs ...[2]int64) *Syncs {
	s := &Syncs{}
	for _, p := range pairs {
		s.Add(mm2.OffsetSync{Topic: "orders", Upstream: p[0], Downstream: p[1]})
	}
	return s
}

// TestBack: the way back from samples is early, and says by how much; where the samples are of another topic, or say
// nothing, there is none.
func TestBack(t *testing.T) {
	s := syncs([2]int64{10, 5}, [2]int64{25, 19})
	for _, c := range []struct {
		at, want int64
		exact    bool
		log      Log
		says     string
	}{
		{4, status.Unknown, false, Log{To: 40}, "the oldest of MirrorMaker 2's offset syncs that is left is about target offset 5"},
		{5, 10, true, Log{To: 40}, "exact at source offset 10"},
		{7, 11, false, Log{To: 40}, "at source offset 11, which replays at most 1 record: "},
		{18, 11, false, Log{To: 40}, "at source offset 11, which replays at most 12 records: from MirrorMaker 2's offset syncs, the nearest one below says that source offset 10 is 5"},
		{19, 25, true, Log{To: 40}, "exact at source offset 25"},
		{40, 26, false, Log{To: 40}, "at most 20 records"},
		{41, status.Unknown, false, Log{To: 40}, "the log of A.orders-0 ends at 40"},
		{19, status.Unknown, false, Log{Err: errors.New("why")}, "the log of A.orders-0 is not known: why"},
		{19, status.Unknown, false, Log{To: 10}, "the remote topic was made anew"},
	} {
		got, exact, says := s.Back(c.at, remote, c.log)
		if got != c.want || exact != c.exact || !strings.Contains(says, c.says) {
			t.Errorf("%+v: %d, exact %v, %s", c, got, exact, says)
		}
	}
}

// TestBackOverSecondCopies: where the target has more offsets between two syncs than the source, the way back is not exact,
// and the bound counts what may have been read beyond the place where MirrorMaker 2 began anew.
func TestBackOverSecondCopies(t *testing.T) {
	const more = "; up to there the target has more offsets than the source, which are second copies after a crash, or end markers of transactions"
	s := syncs([2]int64{20, 20}, [2]int64{30, 61})
	for _, c := range []struct {
		at, want int64
		exact    bool
		says     string
	}{
		{20, 20, true, "exact at source offset 20: from MirrorMaker 2's offset syncs, one is about this very offset"},
		{60, 21, false, "at source offset 21, which replays at most 39 records: from MirrorMaker 2's offset syncs, the nearest one below says that source offset 20 is 20"},
		{61, 30, false, "at source offset 30, which replays at most 31 records: from MirrorMaker 2's offset syncs, one is about this very offset" + more},
		{62, 31, false, "at source offset 31, which replays at most 30 records: from MirrorMaker 2's offset syncs, the nearest one below says that source offset 30 is 61" + more},
		{90, 31, false, "at source offset 31, which replays at most 30 records: from MirrorMaker 2's offset syncs, the nearest one below says that source offset 30 is 61" + more},
	} {
		if got, exact, says := s.Back(c.at, remote, Log{To: 90}); got != c.want || exact != c.exact || says != c.says {
			t.Errorf("%d: %d, exact %v, %q; want %+v", c.at, got, exact, says, c)
		}
	}
}

// TestThere: the way there is MirrorMaker 2's own, fitted to the target's log.
func TestThere(t *testing.T) {
	s := syncs([2]int64{10, 5}, [2]int64{25, 19})
	f := Flow{Policy: mm2.DefaultPolicy{Separator: "."}, SourceAlias: "A", TargetAlias: "B"}
	for _, c := range []struct {
		at   int64
		log  Log
		want int64 // NoPosition: there is a verdict without a place
		none bool  // there is no verdict
		says string
	}{
		{25, Log{To: 40}, 19, false, "exact at offset 19"},
		{24, Log{To: 40}, 6, false, "replays at most 13 records"},
		{9, Log{To: 40}, 0, true, "about source offset 10, and it translates nothing below"},
		{12, Log{From: 10, To: 40}, int64(translate.NoPosition), false, "trimmed"},
		{12, Log{To: 19}, 0, true, "the remote topic was made anew"},
		{12, Log{Err: errors.New("why"), Missing: true}, int64(translate.NoPosition), false, "A.orders-0 is not on the target"},
		{12, Log{Err: errors.New("why")}, int64(translate.NoPosition), false, "not known: why"},
	} {
		v, says := f.There(s, c.at, remote, c.log)
		if (v == nil) != c.none || v != nil && int64(v.Target) != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%+v: %+v, %q", c, v, says)
		}
	}
}

// TestJudge: a checkpoint is never exact, and never later than newer offset syncs and the log's end allow.
func TestJudge(t *testing.T) {
	f := Flow{Policy: mm2.DefaultPolicy{Separator: "."}, SourceAlias: "A", TargetAlias: "B"}
	source := partition.ID{Topic: "orders"}
	for _, c := range []struct {
		name  string
		down  int64
		syncs *Syncs
		log   Log
		want  int64
		says  string
	}{
		{"by the log's end", 30, nil, Log{To: 40}, 30, "replays at most 10 records"},
		{"by a sync", 19, syncs([2]int64{78, 18}), Log{To: 40}, 19, "replays at most 1 record"},
		{"newer syncs are lower", 30, syncs([2]int64{79, 0}, [2]int64{80, 10}), Log{To: 40}, 10, "at offset 10"},
		{"beyond the log", 75, nil, Log{To: 40}, -1, "whose log ends at 40"},
		{"syncs beyond the log", 10, syncs([2]int64{78, 40}), Log{To: 40}, -1, "made anew"},
		{"no topic", 10, nil, Log{Err: errors.New("why"), Missing: true}, -1, "not on the target"},
	} {
		at := mm2.Checkpoint{Group: "g", Topic: "A.orders", Upstream: 80, Downstream: c.down}
		l := &Left{Logs: map[partition.ID]Log{remote: c.log}, Syncs: History{}}
		if c.syncs != nil {
			l.Syncs[source] = c.syncs
		}
		v := f.Judge(l, at)
		if got := int64(v.Target); c.want >= 0 && got != c.want || c.want < 0 && v.HasPosition() || v.IsExact() || !strings.Contains(v.String(), c.says) {
			t.Errorf("%s: %+v, %s", c.name, v, v)
		}
	}
	if v := f.Judge(&Left{}, mm2.Checkpoint{Topic: "A.orders"}); v.HasPosition() {
		t.Errorf("a log that nobody asked for: %+v", v)
	}
}

// TestHistory: a null value forgets what was known of a partition; what is not wanted is not kept.
func TestHistory(t *testing.T) {
	h := History{}
	take := h.Take(func(p partition.ID) bool { return p.Topic == "orders" })
	for i, s := range []mm2.OffsetSync{{Topic: "orders", Upstream: 1}, {Topic: "orders", Upstream: 5, Downstream: 4}, {Topic: "other"}} {
		key, _ := s.AppendKey(nil)
		value, _ := s.AppendValue(nil)
		if err := take(key, value, status.Stored{Written: time.UnixMilli(int64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	orders := h[partition.ID{Topic: "orders"}]
	if len(h) != 1 || orders.Len() != 2 || !orders.At.Equal(time.UnixMilli(1)) {
		t.Errorf("%+v", h)
	}
	key, _ := mm2.OffsetSync{Topic: "orders"}.AppendKey(nil)
	if err := take(key, nil, status.Stored{}); !errors.Is(err, mm2.ErrTombstone) || len(h) != 0 {
		t.Errorf("%v, %+v", err, h)
	}
}
