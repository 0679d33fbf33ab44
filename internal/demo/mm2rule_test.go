package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// shape writes a store's slots as "10000@0 9990@5 ...": each sync once, with the first slot that holds it.
func (s *syncStore) shape() string {
	var parts []string
	for i, sync := range s.slot {
		if i == 0 || s.slot[i-1] != sync {
			parts = append(parts, fmt.Sprintf("%d@%d", sync.up, i))
		}
	}
	return strings.Join(parts, " ")
}

func (s *syncStore) addSteps(from, to, step int64) {
	for u := from; u <= to; u += step {
		s.add(offsetSync{up: u, down: u})
	}
}

// Slots that Kafka's own OffsetSyncStoreTest expects, and some computed with Kafka's code.
func TestSyncStoreSlots(t *testing.T) {
	reload := func(latestOnly bool) *syncStore {
		s := &syncStore{latestOnly: latestOnly}
		s.addSteps(0, 1000, 10)
		s.latestOnly = false
		return s
	}
	steps := func(from, to, step int64) *syncStore {
		s := &syncStore{}
		s.addSteps(from, to, step)
		return s
	}
	after := func(s *syncStore, from, to, step int64) *syncStore {
		s.addSteps(from, to, step)
		return s
	}
	list := func(us ...int64) *syncStore {
		s := &syncStore{}
		for _, u := range us {
			s.add(offsetSync{up: u, down: u})
		}
		return s
	}
	for _, c := range []struct {
		name string
		s    *syncStore
		want string
	}{
		{"must read to the end", after(reload(true), 1010, 10000, 10), "10000@0 9990@5 9970@6 9940@7 9880@8 9640@9 9160@10 8680@11 6760@12 4840@13 1000@14"},
		{"load with checkpoints", reload(false), "1000@0 990@5 960@6 900@7 840@8 720@9 480@10 0@11"},
		{"and on from there", after(reload(false), 1010, 10000, 10), "10000@0 9990@5 9960@6 9900@7 9840@8 9600@9 9120@10 8640@11 7680@12 3840@13 0@14"},
		{"step 1 to 4", steps(0, 4, 1), "4@0 3@1 2@2 0@3"},
		{"step 1 to 7", steps(0, 7, 1), "7@0 6@1 4@2 0@3"},
		{"step 1 to 8", steps(0, 8, 1), "8@0 7@1 6@2 4@3 0@4"},
		{"step 100 to 400", steps(0, 400, 100), "400@0 300@8 200@9 0@10"},
		{"step 100 to 800", steps(0, 800, 100), "800@0 700@8 600@9 400@10 0@11"},
		{"step 100 to 1000", steps(0, 1000, 100), "1000@0 900@8 800@9 400@10 0@11"},
		{"short load", list(175, 275, 375, 475), "475@0 375@8 175@9"},
		{"one big jump", list(0, 1, 2, 3, 10, 11, 12, 100, 101, 1000), "1000@0 0@11"},
	} {
		if got := c.s.shape(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestSyncStoreTranslate(t *testing.T) {
	var s syncStore
	check := func(up, want int64) {
		t.Helper()
		got, ok := s.translate(up)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("translate(%d) = %d, want %d", up, got, want)
		}
	}
	check(0, -1)
	s.add(offsetSync{100, 200})
	check(150, 201)
	s.add(offsetSync{150, 251})
	check(150, 251)
	check(5, -1)
	s.add(offsetSync{200, 10})
	check(200, 10)
	s.add(offsetSync{20, 20}) // the source went back
	check(20, 20)

	s = syncStore{}
	s.addSteps(0, 10000, 10)
	s.add(offsetSync{1500, 11000})
	check(1499, -1)
	check(1500, 11000)
	check(2000, 11001)

	s = syncStore{}
	for _, u := range []int64{175, 275, 375, 475} {
		s.add(offsetSync{u, u})
	}
	check(250, 176)
	check(370, 176)
	check(400, 376)
}

// The invariants of the store's comment, whatever the spacing of syncs.
func TestSyncStoreInvariants(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var s syncStore
		first := rng.Int64N(1000)
		for up, n := first, 0; n < 300; n++ {
			s.add(offsetSync{up: up, down: up})
			if s.slot[0].up != up || s.slot[slots-1].up != first {
				t.Fatalf("seed %d: ends are %d and %d, want %d and %d", seed, s.slot[0].up, s.slot[slots-1].up, up, first)
			}
			for i := 1; i < slots; i++ {
				if a, b := s.slot[i-1], s.slot[i]; !nearEnough(a, i-1, b, i) || !farEnough(a, i-1, b) {
					t.Fatalf("seed %d: slots %d and %d: %s", seed, i-1, i, s.shape())
				}
			}
			up += 1 + rng.Int64N(int64(1)<<rng.IntN(12))
		}
	}
}

func TestSyncWriter(t *testing.T) {
	w := newSyncWriter(50)
	for _, c := range []struct {
		up, down int64
		want     bool
	}{
		{0, 100, true},
		{2, 102, true}, // gap
		{3, 152, false},
		{4, 153, true}, // 50 behind
		{5, 154, false},
		{6, 203, false},
		{7, 204, true},
		{2, 206, true}, // source went back
		{3, 207, false},
		{4, 3, true}, // target went back
		{5, 4, false},
		{7, 6, true},
	} {
		if got := w.emits(offsetSync{c.up, c.down}); got != c.want {
			t.Errorf("(%d, %d): %v, want %v", c.up, c.down, got, c.want)
		}
	}
}

// One million records with a sync each hundred: which syncs are kept, and what that makes groups read again.
func TestSyncStoreMillion(t *testing.T) {
	var s syncStore
	s.addSteps(0, 1_000_000, 100)
	var kept []int64
	for i, sync := range s.slot {
		if i == 0 || s.slot[i-1] != sync {
			kept = append(kept, sync.up)
		}
	}
	want := []int64{1000000, 999900, 999800, 999600, 999200, 998400, 995200, 992000, 985600, 972800, 921600, 819200, 614400, 409600, 0}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v\nwant %v", kept, want)
	}
	for _, c := range []struct{ committed, target int64 }{
		{1_000_000, 1_000_000},
		{999_999, 999_901},
		{999_850, 999_801},
		{999_000, 998_401},
		{990_000, 985_601},
		{900_000, 819_201},
		{500_000, 409_601},
		{100_000, 1},
	} {
		if got, ok := s.translate(c.committed); !ok || got != c.target {
			t.Errorf("translate(%d) = %d, want %d", c.committed, got, c.target)
		}
	}
}

// What a real MirrorMaker 2 (4.3.0, defaults) made groups read again on a plain partition of one million records, by lag.
// Lags in between are left out: which of the older syncs a real one kept depends on its timing, for a sync that waits to be
// written is replaced by the next one of its partition.
func TestReadAgainAsMeasured(t *testing.T) {
	const records = 1_000_000
	offsets := make([]int64, records)
	for i := range offsets {
		offsets[i] = int64(i)
	}
	p := newMM2Partition(&log{offsets: offsets})
	for _, c := range []struct{ lag, again int64 }{{0, 99}, {1, 98}, {50, 49}, {100, 0}, {900_000, 99_999}} {
		if got := p.readAgain(records - c.lag); got != c.again {
			t.Errorf("lag %d: reads %d again, measured %d", c.lag, got, c.again)
		}
	}
}

func TestReadAgain(t *testing.T) {
	holes := []int64{10, 11, 12, 20, 21, 22} // syncs at 10 and 20, the first records after a hole
	for _, c := range []struct {
		name             string
		offsets          []int64
		committed, again int64
	}{
		{"nothing mirrored", nil, 5, 0},
		{"before the first record", holes, 0, 0},
		{"on a sync", holes, 20, 0},
		{"in a hole", holes, 15, 2},
		{"at the end", holes, 30, 2},
	} {
		if got := newMM2Partition(&log{offsets: c.offsets}).readAgain(c.committed); got != c.again {
			t.Errorf("%s: %d, want %d", c.name, got, c.again)
		}
	}
}
