package lane

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/offsetmap"
)

func alignHash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// alignContent reads "k=v" (key k, value v), "k=" (tombstone) or "v" (no key).
func alignContent(s string) (hash, key uint64, tombstone bool) {
	k, v, keyed := strings.Cut(s, "=")
	if keyed {
		key = alignHash(k)
	}
	return alignHash(s), key, keyed && v == ""
}

// alignSource reads "offset:content" words; content "#" is a blank.
func alignSource(t *testing.T, text string) (out []SourceRecord) {
	for word := range strings.FieldsSeq(text) {
		at, content, _ := strings.Cut(word, ":")
		r := SourceRecord{Offset: offsetmap.SourceOffset(alignNumber(t, at)), Blank: content == "#"}
		r.Hash, r.Key, r.Tombstone = alignContent(content)
		out = append(out, r)
	}
	return out
}

// alignTail reads "target/index:content" words; without an index the record is foreign.
func alignTail(t *testing.T, text string) (out []TailRecord) {
	for word := range strings.FieldsSeq(text) {
		at, content, _ := strings.Cut(word, ":")
		target, index, ours := strings.Cut(at, "/")
		r := TailRecord{Target: offsetmap.TargetOffset(alignNumber(t, target)), Ours: ours}
		if ours {
			r.Index = alignNumber(t, index)
		}
		r.Hash, r.Key, _ = alignContent(content)
		out = append(out, r)
	}
	return out
}

func alignNumber(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAlignStories pins single decisions. The anchor is source 10, target 100 in all of them.
func TestAlignStories(t *testing.T) {
	still := AlignInput{SourceStill: true}
	compacts := AlignInput{SourceCompacts: true, SourceKeepsTombstones: true}
	both := AlignInput{SourceCompacts: true, SourceKeepsTombstones: true, TargetCompacts: true, TargetKeepsTombstones: true}
	stories := []struct {
		name         string
		in           AlignInput
		start, end   int64 // source log start (0: 10) and end
		source       string
		tstart, tend int64 // target log start (0: 100) and end
		tail         string
		count        int64
		want         string // place, runs as source>target+count, duplicates, exact
	}{
		{"nothing was written since the anchor", still, 0, 13, "10:a 11:b 12:c", 0, 100, "", 0, "10 [] 0 exact"},
		{"walk by count over equal records", still, 0, 14, "10:a 11:a 12:a 13:a", 0, 102, "100/0:a 101/1:a", 2, "12 [10>100+2] 0 exact"},
		{
			"walk over source markers, our marker and a foreign record", still, 0, 16, "10:a 12:b 13:c 15:d", 0, 106,
			"100/0:a 102/1:b 103:x 104/2:c", 3, "14 [10>100+1 12>102+1 13>104+1] 0 exact",
		},
		{"a position between the last record and the next one stays just behind the record", still, 0, 20, "10:a 19:b", 0, 101, "100/0:a", 1, "11 [10>100+1] 0 exact"},
		{"another record than the source's stops", still, 0, 12, "10:a 11:b", 0, 102, "100/0:a 101/1:c", 2, "mismatch 11 101"},
		{"more was written than the source holds", still, 0, 11, "10:a", 0, 102, "100/0:a 101/1:b", 2, "mismatch 11 -1"},
		{"the target lost an acknowledged record in the middle", still, 0, 13, "10:a 11:b 12:c", 0, 103, "100/0:a 102/2:c", 3, "mismatch -1 102"},
		{"the whole tail has expired, headers gone: begin again, all of it may be there", AlignInput{SourceStill: true}, 0, 14, "10:a 11:b 12:c 13:d", 103, 103, "", -1, "10 [] 3 choice"},
		{"the whole tail has expired, count known from the producer's state", still, 0, 14, "10:a 11:b 12:c 13:d", 103, 103, "", 3, "13 [] 0 exact"},
		{"expired up to the middle", still, 0, 14, "10:a 11:b 12:c 13:d", 101, 103, "101/1:b 102/2:c", -1, "13 [11>101+2] 0 exact"},

		{"a b a' where a = a' was mirrored and then compacted away: b is still to come", compacts, 0, 13, "11:k=b 12:j=a", 0, 101, "100/0:j=a", 1, "11 [10>100+1] 0 exact"},
		{"the same with a marker's offset in front: one place only, two offsets for a", compacts, 0, 14, "12:k=b 13:j=a", 0, 101, "100/0:j=a", 1, "11 [] 0 choice"},
		{"equal copies: the tail can be the removed one or the one that is there", compacts, 0, 13, "11:j=a 12:k=b", 0, 101, "100/0:j=a", 1, "11 [] 1 choice"},
		{"equal copies, but the first offset was a control record", compacts, 0, 13, "10:# 11:j=a 12:k=b", 0, 101, "100/0:j=a", 1, "12 [11>100+1] 0 exact"},
		{"a removed record between two that are there", compacts, 0, 15, "10:a=1 12:c=1 13:b=2 14:d=1", 0, 103, "100/0:a=1 101/1:b=1 102/2:c=1", 3, "13 [10>100+3] 0 exact"},
		{"a removed record in a wide gap is put at the gap's end", compacts, 0, 20, "10:a=1 15:c=1 16:b=2", 0, 103, "100/0:a=1 101/1:b=1 102/2:c=1", 3, "13 [10>100+1] 1 choice"},
		{"the same with the end certain", compacts, 0, 20, "10:a=1 15:c 16:b=2", 0, 103, "100/0:a=1 101/1:b=1 102/2:c", 3, "16 [10>100+1 15>102+1] 0 choice"},
		{"a record without a key cannot have been compacted away", compacts, 0, 13, "11:b 12:c", 0, 102, "100/0:a 101/1:b", 2, "mismatch 11 100"},
		{"a record with a key goes only if a later one is there", compacts, 0, 12, "11:b=1", 0, 102, "100/0:a=1 101/1:b=1", 2, "mismatch 11 100"},
		{"unless that was a tombstone which has aged", AlignInput{SourceCompacts: true}, 0, 12, "11:b=1", 0, 102, "100/0:a=1 101/1:b=1", 2, "12 [10>100+2] 0 exact"},

		{"trimmed in front of the tail's middle", AlignInput{}, 12, 15, "12:c 13:d 14:e", 0, 104, "100/0:a 101/1:b 102/2:c 103/3:d", 4, "14 [10>100+4] 0 exact"},
		{"trimmed past the mirror: the place is where it stood, the caller reports the loss", AlignInput{}, 15, 17, "15:f 16:g", 0, 102, "100/0:a 101/1:b", 2, "12 [] 0 choice"},
		{"everything gone on both sides", AlignInput{}, 20, 20, "", 105, 105, "", -1, "10 [] 0 exact"},

		{"superseded on the target by a later record of the key", both, 0, 14, "10:a=1 11:b=1 12:a=2 13:c=1", 0, 103, "101/1:b=1 102/2:a=2", 3, "13 [11>101+2] 0 exact"},
		{"superseded on the target by a foreign record", both, 0, 12, "10:a=1 11:b=1", 0, 102, "101:a=9", 1, "11 [] 0 exact"},
		{"gone on the target without a reason", both, 0, 12, "10:a=1 11:b=1", 0, 102, "101/1:b=1", 2, "mismatch 10 101"},
		{"gone on both sides", both, 0, 14, "11:b=1 12:a=2 13:c=1", 0, 103, "101/1:b=1 102/2:a=2", 3, "13 [11>101+2] 0 exact"},
	}
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			in := s.in
			in.Through, in.Target, in.SourceStart, in.SourceEnd = 10, 100, offsetmap.SourceOffset(max(s.start, 10)), offsetmap.SourceOffset(s.end)
			in.TargetStart, in.TargetEnd, in.Count = offsetmap.TargetOffset(max(s.tstart, 100)), offsetmap.TargetOffset(s.tend), s.count
			in.Source, in.Tail = alignSource(t, s.source), alignTail(t, s.tail)
			if got := alignDescribe(Align(in)); got != s.want {
				t.Errorf("got %s, want %s", got, s.want)
			}
		})
	}
}

func alignDescribe(a Alignment) string {
	if a.Mismatch != nil {
		return fmt.Sprintf("mismatch %d %d", a.Mismatch.Source, a.Mismatch.Target)
	}
	runs := []string{}
	for _, r := range a.Runs {
		runs = append(runs, fmt.Sprintf("%d>%d+%d", r.Source, r.Target, r.Count))
	}
	return fmt.Sprintf("%d %v %d %s", a.Place, runs, a.Duplicates, map[bool]string{true: "exact", false: "choice"}[a.Exact])
}

// TestAlignRefuses gives what no pair of logs can hold.
func TestAlignRefuses(t *testing.T) {
	base := func() AlignInput {
		return AlignInput{
			Through: 10, Target: 100, SourceStart: 10, SourceEnd: 13, TargetStart: 100, TargetEnd: 103, Count: 2,
			Source: alignSource(t, "10:a 11:b 12:c"), Tail: alignTail(t, "100/0:a 101/1:b"),
		}
	}
	for name, spoil := range map[string]func(*AlignInput){
		"source out of order":     func(in *AlignInput) { in.Source[0].Offset = 11 },
		"source below the anchor": func(in *AlignInput) { in.Source[0].Offset = 9 },
		"tail out of order":       func(in *AlignInput) { in.Tail[0].Target = 101 },
		"tail below the anchor":   func(in *AlignInput) { in.Tail[0].Target = 99 },
		"tail beyond the end":     func(in *AlignInput) { in.TargetEnd = 101 },
		"a foreign record inside": func(in *AlignInput) { in.Tail = append(in.Tail, TailRecord{Target: 101}) },
		"a sequence twice":        func(in *AlignInput) { in.Tail[1].Index = 0 },
		"no room for a sequence": func(in *AlignInput) {
			in.Source, in.SourceEnd = alignSource(t, "10:a 12:b 13:c"), 14
			in.SourceCompacts, in.TargetCompacts, in.Tail[1].Index, in.Count = true, true, 2, 3
		},
		"count below the tail":        func(in *AlignInput) { in.Count = 1 },
		"count beyond the target end": func(in *AlignInput) { in.Count = 4 },
	} {
		t.Run(name, func(t *testing.T) {
			in := base()
			if out := Align(in); out.Mismatch != nil || out.Place != 12 {
				t.Fatalf("sound input: %+v", out)
			}
			spoil(&in)
			out := Align(in)
			if out.Mismatch == nil || out.Place != 10 || out.Runs != nil {
				t.Fatalf("got %+v", out)
			}
			if s := out.Mismatch.String(); !strings.Contains(s, out.Mismatch.Reason) || !strings.Contains(s, "offset") {
				t.Errorf("text %q", s)
			}
		})
	}
}

// TestAlignWalkIsAlignment: walking by count and aligning with nothing lost are written apart and must agree.
func TestAlignWalkIsAlignment(t *testing.T) {
	for n, mix := range alignMixes() {
		if !mix.still {
			continue
		}
		for i := range 10_000 {
			rnd := rand.New(rand.NewPCG(uint64(2000+n), uint64(i)))
			in := newAlignHistory(mix, rnd).input()
			if i%4 == 0 {
				alignDamage(&in, rnd)
			}
			walked := Align(in)
			in.SourceStill = false
			aligned := Align(in)
			if (walked.Mismatch == nil) != (aligned.Mismatch == nil) {
				t.Fatalf("seed %d: walked %v, aligned %v", i, walked.Mismatch, aligned.Mismatch)
			}
			walked.Mismatch, aligned.Mismatch = nil, nil
			if diff := cmp.Diff(walked, aligned); diff != "" {
				t.Fatalf("seed %d: %s", i, diff)
			}
		}
	}
}

// TestAlignRunsAppend feeds the answers to a real offset map.
func TestAlignRunsAppend(t *testing.T) {
	mix := alignMixes()[len(alignMixes())-2]
	for i := range 5_000 {
		h := newAlignHistory(mix, rand.New(rand.NewPCG(3000, uint64(i))))
		out := Align(h.input())
		m := offsetmap.New(offsetmap.Origin{SourceStart: offsetmap.SourceOffset(h.through), Base: offsetmap.TargetOffset(h.anchor)})
		for _, r := range out.Runs {
			if int64(r.Target) > int64(m.TargetEnd()) {
				if err := m.Foreign(r.Target); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Append(r); err != nil {
				t.Fatalf("seed %d: %v", i, err)
			}
		}
		if err := m.Advance(out.Place); err != nil {
			t.Fatalf("seed %d: %v", i, err)
		}
	}
}
