package mm2

import (
	"math"
	"math/rand/v2"
	"testing"
)

// table holds syncs of (upstream, downstream) pairs.
func table(pairs ...[2]int64) *SyncTable {
	var t SyncTable
	for _, p := range pairs {
		t.Add(OffsetSync{Topic: "orders", Upstream: p[0], Downstream: p[1]})
	}
	return &t
}

// TestTranslateBySyncs has the vectors of Kafka's own OffsetSyncStoreTest, and what a table does that is no store of 64.
func TestTranslateBySyncs(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name     string
		syncs    [][2]int64
		upstream int64
		want     int64
	}{
		{"no sync", nil, 5, none},
		{"past the only sync", [][2]int64{{100, 200}}, 150, 201},
		{"equal", [][2]int64{{100, 200}, {150, 251}}, 150, 251},
		{"below all", [][2]int64{{100, 200}, {150, 251}}, 5, none},
		{"between", [][2]int64{{100, 200}, {150, 251}}, 149, 201},
		{"at the live end", [][2]int64{{100, 200}, {150, 251}}, 1000, 252},
		{"downstream went back: the target was made anew", [][2]int64{{100, 200}, {150, 251}, {200, 10}}, 200, 10},
		{"nothing of the old target counts", [][2]int64{{100, 200}, {150, 251}, {200, 10}}, 150, none},
		{"upstream went back", [][2]int64{{100, 200}, {150, 251}, {200, 10}, {20, 20}}, 20, 20},
		{"copied again after a crash", [][2]int64{{0, 0}, {1000, 1000}, {901, 1001}}, 500, none},
		{"and on from there", [][2]int64{{0, 0}, {1000, 1000}, {901, 1001}, {1001, 1101}}, 1000, 1002},
		{"one record copied twice", [][2]int64{{0, 0}, {7, 7}, {7, 8}}, 7, 8},
		{"which forgets nothing", [][2]int64{{0, 0}, {7, 7}, {7, 8}}, 3, 1},
		{"the same sync again", [][2]int64{{0, 0}, {7, 7}, {7, 7}}, 3, 1},
		{"two records cannot be at one offset", [][2]int64{{0, 0}, {7, 7}, {8, 7}}, 7, none},
	} {
		tab := table(c.syncs...)
		got, used, ok := tab.Translate(c.upstream)
		switch {
		case !ok:
			got = none
		case used.Upstream > c.upstream:
			t.Errorf("%s: the sync used is %v", c.name, used)
		}
		if got != c.want {
			t.Errorf("%s: %d gives %d, want %d", c.name, c.upstream, got, c.want)
		}
		oldest, some := tab.Oldest()
		if some != (tab.Len() > 0) || some && ok && oldest.Upstream > used.Upstream {
			t.Errorf("%s: oldest %v %v of %d", c.name, oldest, some, tab.Len())
		}
	}
}

func TestReplays(t *testing.T) {
	syncs := table([2]int64{100, 200}, [2]int64{150, 251}, [2]int64{300, 390})
	for _, c := range []struct {
		name                      string
		t                         *SyncTable
		upstream, downstream, end int64
		want                      int64
	}{
		{"nothing is known", table(), 10, 3, NoEnd, 10},
		{"only the log end", table(), 10, 3, 8, 5},
		{"at the log end", table(), 10, 8, 8, 0},
		{"beyond the log end", table(), 10, 9, 8, 0},
		{"one past the sync below", syncs, 151, 252, NoEnd, 0},
		{"49 offsets past it", syncs, 200, 252, NoEnd, 49},
		{"the next sync is nearer", syncs, 299, 380, NoEnd, 10},
		{"the log end is nearer still", syncs, 299, 380, 383, 3},
		{"an older checkpoint", syncs, 200, 230, NoEnd, 71},
		{"exactly a sync", syncs, 300, 390, NoEnd, 0},
		{"below all syncs", syncs, 50, 120, NoEnd, 50},
	} {
		if got := c.t.Replays(c.upstream, c.downstream, c.end); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// history is a partition that was mirrored: records[i] is at source offset and target offset of one record.
type history struct{ source, target []int64 }

func randomHistory(r *rand.Rand) history {
	var h history
	up, down := r.Int64N(100), r.Int64N(100)
	for range 1 + r.IntN(60) {
		h.source, h.target = append(h.source, up), append(h.target, down)
		up, down = up+1+int64(r.IntN(2)*r.IntN(5)), down+1+int64(r.IntN(2)*r.IntN(5))
	}
	return h
}

// next is where the first record at or above a source offset is, or the log end.
func (h history) next(upstream int64) (downstream int64, index int) {
	for i, up := range h.source {
		if up >= upstream {
			return h.target[i], i
		}
	}
	return h.target[len(h.target)-1] + 1, len(h.target)
}

// TestNeverLate: whatever records the syncs are about, a translated offset is not past the first unread record, and no
// more records are read again than Replays says, for any position that is not late.
func TestNeverLate(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 3))
	for range 20_000 {
		h := randomHistory(r)
		var syncs SyncTable
		for i := range h.source {
			if r.IntN(6) == 0 {
				syncs.Add(OffsetSync{Upstream: h.source[i], Downstream: h.target[i]})
			}
		}
		up := r.Int64N(h.source[len(h.source)-1] + 10)
		right, unread := h.next(up)
		end := h.target[len(h.target)-1] + 1 + r.Int64N(3)
		down, used, ok := syncs.Translate(up)
		switch {
		case !ok && syncs.Len() > 0 && func() bool { s, _ := syncs.Oldest(); return s.Upstream <= up }():
			t.Fatalf("%d has a sync below it and no translation", up)
		case ok && down > right:
			t.Fatalf("%d is at %d by %v, the first unread record at %d", up, down, used, right)
		case !ok:
			down = r.Int64N(right + 1)
		case r.IntN(3) == 0:
			down -= r.Int64N(down + 1) // an older translation
		}
		replayed := int64(0)
		for i := range unread {
			if h.target[i] >= down {
				replayed++
			}
		}
		for _, e := range []int64{NoEnd, end} {
			if n := syncs.Replays(up, down, e); n < replayed {
				t.Fatalf("%d at %d replays %d records, at most %d were to be (end %d, %+v)", up, down, replayed, n, e, syncs.syncs)
			}
		}
	}
}

func TestBack(t *testing.T) {
	syncs := table([2]int64{100, 200}, [2]int64{150, 251})
	for _, c := range []struct{ downstream, upstream, replays int64 }{
		{199, -1, 0}, {200, 100, 0}, {201, 101, 0}, {210, 101, 9}, {250, 101, 49}, {251, 150, 1}, {252, 151, 0}, {300, 151, 48},
	} {
		up, n, _, ok := syncs.Back(c.downstream)
		if !ok {
			up = -1
		}
		if up != c.upstream || n != c.replays {
			t.Errorf("%d: %d, %d; want %d, %d", c.downstream, up, n, c.upstream, c.replays)
		}
	}
	if _, _, _, ok := table().Back(5); ok {
		t.Error("a way back without a sync")
	}
	newest, ok := syncs.Newest()
	if _, none := table().Newest(); none || !ok || newest.Upstream != 150 {
		t.Errorf("newest: %v %v %v", newest, ok, none)
	}
}

// TestBackOverSecondCopies: MirrorMaker 2 was killed and copied records again. What the reader has read beyond the place where
// it began anew is counted, until the mirror is past it.
func TestBackOverSecondCopies(t *testing.T) {
	for _, c := range []struct {
		name                          string
		syncs                         [][2]int64
		downstream, upstream, replays int64
	}{
		{"0 to 150, and again from 120", [][2]int64{{100, 100}, {120, 151}}, 151, 120, 31},
		{"the first of them again", [][2]int64{{100, 100}, {120, 151}}, 152, 121, 30},
		{"and some of them", [][2]int64{{100, 100}, {120, 151}}, 160, 121, 30},
		{"and more than them", [][2]int64{{100, 100}, {120, 151}}, 190, 121, 38},
		{"in front of it", [][2]int64{{100, 100}, {120, 151}}, 150, 101, 49},
		{"at the next sync", [][2]int64{{100, 100}, {120, 151}, {130, 161}}, 161, 130, 21},
		{"past all of them", [][2]int64{{100, 100}, {120, 151}, {151, 182}}, 182, 151, 0},
		{"from below the last sync", [][2]int64{{0, 0}, {1000, 1000}, {901, 1001}}, 1001, 901, 100},
		{"one record twice", [][2]int64{{0, 0}, {7, 7}, {7, 8}}, 8, 7, 1},
		{"gaps of the source only", [][2]int64{{100, 100}, {200, 150}}, 150, 200, 0},
		{"the target made anew", [][2]int64{{100, 100}, {120, 151}, {130, 5}}, 5, 130, 0},
		{"both made anew", [][2]int64{{100, 100}, {120, 151}, {3, 5}}, 5, 3, 0},
		{"the largest numbers", [][2]int64{{1, 1}, {2, math.MaxInt64 - 1}, {3, math.MaxInt64 - 1}, {4, 5}, {math.MaxInt64 - 1, 9}, {math.MaxInt64 - 2, 20}}, 20, math.MaxInt64 - 2, 2},
	} {
		up, n, _, ok := table(c.syncs...).Back(c.downstream)
		if !ok || up != c.upstream || n != c.replays {
			t.Errorf("%s: %d, %d, %v; want %+v", c.name, up, n, ok, c)
		}
	}
}

// TestBackAfterRestarts: MirrorMaker 2 is killed now and then and copies again from further below; mostly its first record
// then has a sync, and every lag-th after it. Nobody who moves back misses a record, or reads more again than Back says.
func TestBackAfterRestarts(t *testing.T) {
	twice := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var target []int64 // the source offset of each record
		var syncs SyncTable
		next, lag, last := int64(0), 1+r.Int64N(20), int64(-1)
		for range 200 {
			lost := false
			if next > 0 && r.IntN(60) == 0 {
				next -= min(next, r.Int64N(30))
				last, lost = -1, r.IntN(4) == 0
			}
			if at := int64(len(target)); last < 0 || at-last >= lag {
				last = at
				if !lost {
					syncs.Add(OffsetSync{Topic: "orders", Upstream: next, Downstream: at})
				}
			}
			target = append(target, next)
			next++
		}
		end := int64(0) // below it everything was read: a restart leaves no gap
		for d := range int64(len(target)) + 1 {
			if d > 0 {
				end = max(end, target[d-1]+1)
			}
			up, most, used, ok := syncs.Back(d)
			switch {
			case !ok:
			case up > end:
				t.Fatalf("seed %d: %d goes on at %d by %v and misses %d", seed, d, up, used, end)
			case end-up > most:
				t.Fatalf("seed %d: %d goes on at %d by %v and reads %d records again, at most %d were to be", seed, d, up, used, end-up, most)
			case most > max(0, d-used.Downstream-1):
				twice++
			}
		}
	}
	if twice == 0 {
		t.Error("no second copies were seen")
	}
}

// TestBackNeverLate: whoever has read everything on the target below an offset misses no record on the source, and reads
// no more again than Back says.
func TestBackNeverLate(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 4))
	for range 20_000 {
		h := randomHistory(r)
		var syncs SyncTable
		for i := range h.source {
			if r.IntN(6) == 0 {
				syncs.Add(OffsetSync{Upstream: h.source[i], Downstream: h.target[i]})
			}
		}
		down := r.Int64N(h.target[len(h.target)-1] + 2)
		up, most, used, ok := syncs.Back(down)
		if !ok {
			if s, some := syncs.Oldest(); some && s.Downstream <= down {
				t.Fatalf("%d has %v below it and no way back", down, s)
			}
			continue
		}
		replayed := int64(0)
		for i := range h.source {
			switch read := h.target[i] < down; {
			case read && h.source[i] >= up:
				replayed++
			case !read && h.source[i] < up:
				t.Fatalf("%d goes on at %d by %v and misses the record at %d", down, up, used, h.source[i])
			}
		}
		if replayed > most {
			t.Fatalf("%d goes on at %d by %v and reads %d records again, at most %d were to be", down, up, used, replayed, most)
		}
	}
}
