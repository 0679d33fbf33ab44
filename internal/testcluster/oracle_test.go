//go:build unix

package testcluster

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// history makes n numbered records in one partition, with offsets from first on.
func history(partition int32, first int64, n int) []Rec {
	var recs []Rec
	for i := range int64(n) {
		recs = append(recs, Rec{
			Partition: partition, Offset: first + i, Timestamp: 1000 + i,
			Key: []byte("k" + strconv.FormatInt(i%3, 10)), Value: Value(int64(partition)*1000+i, 40),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{}}},
		})
	}
	return recs
}

func edited(recs []Rec, edit func(recs []Rec) []Rec) []Rec { return edit(slices.Clone(recs)) }

// TestCompareFindsEachDefect breaks a faultless copy in one way at a time, and
// wants exactly that defect reported.
func TestCompareFindsEachDefect(t *testing.T) {
	source := append(history(0, 0, 10), history(1, 0, 10)...)
	// Offsets differ on the target, as behind transaction markers.
	copied := edited(source, func(r []Rec) []Rec {
		for i := range r {
			r[i].Offset *= 2
		}
		return r
	})
	change := func(f func(*Rec)) func([]Rec) []Rec {
		return func(r []Rec) []Rec { f(&r[4]); return r }
	}
	for name, c := range map[string]struct {
		edit func([]Rec) []Rec
		want [5]int // lost, twice, order, differ, extra
	}{
		"faultless":           {func(r []Rec) []Rec { return r }, [5]int{}},
		"lost in the middle":  {func(r []Rec) []Rec { return slices.Delete(r, 4, 6) }, [5]int{2, 0, 0, 0, 0}},
		"lost at the end":     {func(r []Rec) []Rec { return r[:19] }, [5]int{1, 0, 0, 0, 0}},
		"lost all":            {func([]Rec) []Rec { return nil }, [5]int{20, 0, 0, 0, 0}},
		"twice in a row":      {func(r []Rec) []Rec { return slices.Insert(r, 5, r[4]) }, [5]int{0, 1, 0, 0, 0}},
		"batch twice":         {func(r []Rec) []Rec { return slices.Insert(r, 10, r[7:10]...) }, [5]int{0, 3, 0, 0, 0}},
		"two swapped":         {func(r []Rec) []Rec { r[3], r[4] = r[4], r[3]; return r }, [5]int{0, 0, 1, 0, 0}},
		"first comes last":    {func(r []Rec) []Rec { return append(append(r[1:10:10], r[0]), r[10:]...) }, [5]int{0, 0, 1, 0, 0}},
		"key changed":         {change(func(r *Rec) { r.Key = []byte("other") }), [5]int{0, 0, 0, 1, 0}},
		"key null":            {change(func(r *Rec) { r.Key = nil }), [5]int{0, 0, 0, 1, 0}},
		"payload changed":     {change(func(r *Rec) { r.Value = append(slices.Clone(r.Value), 'x') }), [5]int{0, 0, 0, 1, 0}},
		"header null":         {change(func(r *Rec) { r.Headers = []kgo.RecordHeader{{Key: "h"}} }), [5]int{0, 0, 0, 1, 0}},
		"header lost":         {change(func(r *Rec) { r.Headers = nil }), [5]int{0, 0, 0, 1, 0}},
		"timestamp changed":   {change(func(r *Rec) { r.Timestamp++ }), [5]int{0, 0, 0, 1, 0}},
		"partition changed":   {change(func(r *Rec) { r.Partition = 1 }), [5]int{0, 0, 0, 1, 0}},
		"foreign, unnumbered": {func(r []Rec) []Rec { return append(r, Rec{Value: []byte("hello")}) }, [5]int{0, 0, 0, 0, 1}},
		"foreign, numbered":   {func(r []Rec) []Rec { return append(r, Rec{Value: Value(77, 20)}) }, [5]int{0, 0, 0, 0, 1}},
		"value lost":          {change(func(r *Rec) { r.Value = nil }), [5]int{1, 0, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compare(source, edited(copied, c.edit))
			got := [5]int{len(r.Lost), len(r.Twice), len(r.OrderBroken), len(r.Differ), len(r.Extra)}
			if got != c.want {
				t.Errorf("got %v, want %v: %v", got, c.want, r.Err())
			}
			if (r.Err() == nil) != (c.want == [5]int{}) {
				t.Errorf("Err is %v", r.Err())
			}
		})
	}
}

// TestCompareTreatsEqualContentsAsMultiset uses records without numbers, as
// real producers repeat them.
func TestCompareTreatsEqualContentsAsMultiset(t *testing.T) {
	a, b := Rec{Value: []byte("a")}, Rec{Value: []byte("b")}
	source := []Rec{a, b, a}
	if err := Compare(source, []Rec{a, b, a}).Err(); err != nil {
		t.Error(err)
	}
	if r := Compare(source, []Rec{a, b}); len(r.Lost) != 1 {
		t.Errorf("one of two equal records lost: %+v", r)
	}
	if r := Compare(source, []Rec{a, b, a, a}); len(r.Twice) != 1 || len(r.Lost) != 0 {
		t.Errorf("three instead of two equal records: %+v", r)
	}
}

func TestReportErrShowsCountsAndExamples(t *testing.T) {
	err := Compare(history(2, 0, 9), nil).Err()
	if err == nil {
		t.Fatal("nothing reported")
	}
	for _, want := range []string{"9 lost", "seq 2000 in partition 2, source offset 0", "and 4 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestCompareCompacted(t *testing.T) {
	full := history(0, 0, 9) // keys k0 k1 k2 k0 k1 k2 k0 k1 k2
	keep := func(offsets ...int64) []Rec {
		var out []Rec
		for _, r := range full {
			if slices.Contains(offsets, r.Offset) {
				out = append(out, r)
			}
		}
		return out
	}
	tombstone := func(offset int64) Rec {
		r := full[offset]
		r.Value = nil
		r.Headers = []kgo.RecordHeader{{Key: "seq", Value: strconv.AppendInt(nil, offset, 10)}}
		return r
	}
	for name, c := range map[string]struct {
		source, target []Rec
		c              Compaction
		want           [5]int // lost, twice, order, differ, extra
	}{
		"copied before compaction":        {keep(5, 6, 7, 8), full, Compaction{}, [5]int{}},
		"both compacted, differently":     {keep(3, 5, 6, 7, 8), keep(4, 6, 7, 8), Compaction{Target: true}, [5]int{}},
		"target compacted, not allowed":   {full, keep(6, 7, 8), Compaction{}, [5]int{6, 0, 0, 0, 0}},
		"survivor lost":                   {keep(6, 7, 8), keep(0, 1, 2, 3, 6, 8), Compaction{Target: true}, [5]int{1, 0, 0, 0, 0}},
		"last of its key lost":            {full, keep(0, 1, 2, 3, 4, 5, 6, 7), Compaction{Target: true}, [5]int{1, 0, 0, 0, 0}},
		"extra without a successor":       {keep(3, 4, 5), full, Compaction{}, [5]int{0, 0, 0, 0, 3}},
		"superseded copied twice":         {keep(6, 7, 8), append(keep(0, 1), append(keep(1), keep(6, 7, 8)...)...), Compaction{}, [5]int{0, 1, 0, 0, 0}},
		"superseded out of order":         {keep(6, 7, 8), append(keep(6, 7, 8), keep(1)...), Compaction{}, [5]int{0, 0, 1, 0, 0}},
		"survivors out of order":          {keep(6, 7, 8), append(keep(7), keep(6, 8)...), Compaction{}, [5]int{0, 0, 1, 0, 0}},
		"tombstone expired on the source": {keep(7, 8), []Rec{full[0], tombstone(6), full[7], full[8]}, Compaction{Tombstones: true}, [5]int{}},
		"tombstone must not expire yet":   {keep(7, 8), []Rec{full[0], tombstone(6), full[7], full[8]}, Compaction{}, [5]int{0, 0, 0, 0, 2}},
		"tombstone expired on the target": {[]Rec{full[1], tombstone(6)}, keep(1), Compaction{Target: true, Tombstones: true}, [5]int{}},
		"tombstone lost":                  {[]Rec{full[1], tombstone(6)}, keep(1), Compaction{Target: true}, [5]int{1, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := CompareCompacted(c.source, c.target, c.c)
			got := [5]int{len(r.Lost), len(r.Twice), len(r.OrderBroken), len(r.Differ), len(r.Extra)}
			if got != c.want {
				t.Errorf("got %v, want %v: %v", got, c.want, r.Err())
			}
		})
	}
}

// TestCheckPosition has a source with a hole at 3 and 4 (an aborted
// transaction), and a target where the copy begins at offset 0 and a marker
// of ours lies at 5.
func TestCheckPosition(t *testing.T) {
	source := slices.Delete(history(0, 0, 10), 3, 5) // offsets 0 1 2 5 6 7 8 9
	target := edited(source, func(r []Rec) []Rec {
		for i := range r {
			r[i].Offset = int64(i) // 0 1 2 3 4, marker, 6 7 8
			if i >= 5 {
				r[i].Offset++
			}
		}
		return r
	})
	const end = 9
	foreign := Rec{Offset: 9, Value: []byte("foreign")}
	cases := map[string]struct {
		committed, translated int64
		target                []Rec
		end                   int64
		wantSkipped           int
		wantReplayed          int
		wantDetail            string
	}{
		"start":                          {0, 0, target, end, 0, 0, ""},
		"in a run":                       {2, 2, target, end, 0, 0, ""},
		"in the hole":                    {4, 3, target, end, 0, 0, ""},
		"behind the hole":                {5, 3, target, end, 0, 0, ""},
		"before our marker":              {7, 5, target, end, 0, 0, ""},
		"behind our marker":              {7, 6, target, end, 0, 0, ""},
		"at the end":                     {10, 9, target, end, 0, 0, ""},
		"at the end, markers on source":  {15, 9, target, end, 0, 0, ""},
		"replays two":                    {5, 1, target, end, 0, 2, ""},
		"replays all at the end":         {10, 0, target, end, 0, 8, ""},
		"skips one":                      {5, 4, target, end, 1, 0, ""},
		"skips everything":               {0, 9, target, end, 8, 0, ""},
		"lag of a marker at the end":     {10, 9, target, 10, 0, 0, "should be the target's log end 10"},
		"past the end":                   {10, 11, target, end, 0, 0, "past the target's log end"},
		"negative":                       {0, -1, target, end, 0, 0, "negative"},
		"foreign at the end is read":     {10, 9, append(slices.Clone(target), foreign), 10, 0, 0, ""},
		"foreign at the end is skipped":  {10, 10, append(slices.Clone(target), foreign), 10, 0, 0, ""},
		"unread record not copied":       {9, 8, target[:7], 8, 0, 0, "seq 9 at source offset 9, is not on the target"},
		"a second copy would be reread":  {9, 8, append(slices.Clone(target), Rec{Offset: 9, Value: target[0].Value}), 10, 0, 1, ""},
		"a second copy of an unread one": {9, 8, append(slices.Clone(target), Rec{Offset: 9, Value: target[7].Value}), 10, 0, 1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckPosition(source, c.committed, c.target, c.translated, c.end)
			if c.wantSkipped == 0 && c.wantReplayed == 0 && c.wantDetail == "" {
				if err != nil {
					t.Errorf("right position refused: %v", err)
				}
				return
			}
			var pe *PositionError
			if !errors.As(err, &pe) {
				t.Fatalf("wrong position accepted: %v", err)
			}
			if len(pe.Skipped) != c.wantSkipped || len(pe.Replayed) != c.wantReplayed || !strings.Contains(pe.Detail, c.wantDetail) {
				t.Errorf("got %d skipped, %d replayed, %q; want %d, %d, %q",
					len(pe.Skipped), len(pe.Replayed), pe.Detail, c.wantSkipped, c.wantReplayed, c.wantDetail)
			}
		})
	}
}

// TestCheckPositionWithCompactedSource has records that only the target still
// holds: their numbers tell whether a group had read them.
func TestCheckPositionWithCompactedSource(t *testing.T) {
	target := history(0, 0, 9) // keys k0 k1 k2 k0 k1 k2 k0 k1 k2
	source := slices.Clone(target[4:])
	for translated, wantErr := range map[int64]bool{4: true, 5: true, 6: false, 7: true} {
		if err := CheckPosition(source, 6, target, translated, 9); (err != nil) != wantErr {
			t.Errorf("position %d: %v", translated, err)
		}
	}
	// The target was compacted: the first unread record was superseded there.
	compacted := slices.Delete(slices.Clone(target), 5, 6)
	if err := CheckPosition(source, 5, compacted, 5, 9); err != nil {
		t.Errorf("superseded on the target: %v", err)
	}
	if err := CheckPosition(source, 5, compacted, 7, 9); err == nil {
		t.Error("a skip behind the superseded record was accepted")
	}
	// Source offsets 0 to 3 are gone; a group that stood at 2 may read 0 to 3
	// from the target or not, but nothing above.
	if err := CheckPosition(source, 2, target, 2, 9); err != nil {
		t.Errorf("compacted away below the first unread record: %v", err)
	}
	if err := CheckPosition(source, 2, target, 5, 9); err == nil {
		t.Error("a skip was accepted")
	}
}

func TestSequenceNumbers(t *testing.T) {
	for _, seq := range []int64{0, 7, 123456789, 1 << 40} {
		for _, size := range []int{0, 5, 60, 1000} {
			v := Value(seq, size)
			if got, ok := SeqOf(v); !ok || got != seq {
				t.Errorf("SeqOf(%q) = %d, %v", v, got, ok)
			}
			if min := len("seq=|") + len(strconv.FormatInt(seq, 10)); len(v) != max(size, min) {
				t.Errorf("value of seq %d, size %d has %d bytes", seq, size, len(v))
			}
		}
	}
	for _, v := range []string{"", "seq=", "seq=12", "seq=x|", "payload|seq=1|"} {
		if got, ok := SeqOf([]byte(v)); ok {
			t.Errorf("SeqOf(%q) = %d", v, got)
		}
	}
}
