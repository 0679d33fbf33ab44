package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// rebuilt is one row: batches in, the one output expected of them.
type rebuilt struct {
	name  string
	in    []View
	opt   RebuildOptions
	want  []Record
	spans []Span
	last  int64
}

func checkRebuilt(t *testing.T, rows []rebuilt) {
	t.Helper()
	b := NewBuilder()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			outs, err := b.Rebuild(c.in, c.opt)
			if err != nil || len(outs) != 1 {
				t.Fatalf("%d outputs, %v", len(outs), err)
			}
			sameRecords(t, sourceRecords(t, b, outs, 0), c.want)
			if diff := cmp.Diff(c.spans, outs[0].Spans); diff != "" || outs[0].Last != c.last {
				t.Errorf("last %d, want %d; spans (-want +got):\n%s", outs[0].Last, c.last, diff)
			}
		})
	}
}

// stamped is in with every timestamp ts.
func stamped(in []Record, ts int64) []Record {
	out := slices.Clone(in)
	for i := range out {
		out[i].Timestamp = ts
	}
	return out
}

func TestRebuildBatches(t *testing.T) {
	checkRebuilt(t, []rebuilt{
		{
			name: "gaps at the start, inside and at the end",
			in:   []View{source{base: 8, lastDelta: 9, records: without(recs(10, 6), 12, 13)}.view(t)},
			want: without(recs(10, 6), 12, 13), spans: []Span{{10, 2}, {14, 2}}, last: 18,
		},
		{
			name: "crop",
			in:   []View{source{records: recs(10, 6)}.view(t)}, opt: RebuildOptions{Position: 13},
			want: recs(13, 3), spans: []Span{{13, 3}}, last: 16,
		},
		{
			name: "append time becomes every timestamp",
			in:   []View{source{attrs: attrLogAppendTime, maxTime: 5555, records: recs(10, 3)}.view(t)}, opt: RebuildOptions{KeepAppendTime: true},
			want: stamped(recs(10, 3), 5555), spans: []Span{{10, 3}}, last: 13,
		},
		{
			name: "append time dropped for a target that stamps",
			in:   []View{source{attrs: attrLogAppendTime, maxTime: 5555, records: recs(10, 3)}.view(t)},
			want: recs(10, 3), spans: []Span{{10, 3}}, last: 13,
		},
		{
			name: "delete horizon is no timestamp",
			in:   []View{source{attrs: attrDeleteHorizon, baseTime: 99, records: recs(10, 3)}.view(t)},
			want: recs(10, 3), spans: []Span{{10, 3}}, last: 13,
		},
		{
			name: "merge, touching",
			in:   []View{source{records: recs(10, 3)}.view(t), source{records: recs(13, 2)}.view(t), source{records: recs(15, 1)}.view(t)},
			want: recs(10, 6), spans: []Span{{10, 6}}, last: 16,
		},
		{
			name: "merge over a hole, an empty batch and a transaction",
			in: []View{
				source{base: 5, lastDelta: 4, baseTime: -1, maxTime: -1}.view(t),
				source{codec: LZ4, attrs: attrTransactional, stamp: Stamp{4, 0, 0}, records: recs(10, 3)}.view(t),
				source{codec: LZ4, records: recs(14, 2)}.view(t),
			},
			want: append(recs(10, 3), recs(14, 2)...), spans: []Span{{10, 3}, {14, 2}}, last: 16,
		},
	})
}

func TestRebuildNothingWanted(t *testing.T) {
	b := NewBuilder()
	outs, err := b.Rebuild([]View{source{records: recs(10, 3)}.view(t)}, RebuildOptions{Position: 13})
	if err != nil || len(outs) != 0 {
		t.Fatalf("%d outputs, %v", len(outs), err)
	}
	if outs, err = b.Rebuild(nil, RebuildOptions{}); err != nil || len(outs) != 0 {
		t.Fatalf("no batch: %d outputs, %v", len(outs), err)
	}
}

// incompressible makes n records of size random bytes.
func incompressible(offset int64, n, size int) []Record {
	rnd := rand.New(rand.NewPCG(1, uint64(offset)))
	out := recs(offset, n)
	for i := range out {
		out[i].Value = make([]byte, size)
		for j := range out[i].Value {
			out[i].Value[j] = byte(rnd.Uint32())
		}
	}
	return out
}

func TestRebuildSplits(t *testing.T) {
	b := NewBuilder()
	for _, codec := range allCodecs {
		// Half of it compresses well, half not at all: the ratio of the whole
		// is right for neither.
		in := append(recs(10, 3000), incompressible(3010, 40, 1000)...)
		v := source{codec: codec, records: in}.view(t)
		outs, err := b.Rebuild([]View{v}, RebuildOptions{MaxBytes: 8000})
		if err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
		sameRecords(t, sourceRecords(t, b, outs, 8000), in)
		total := 0
		for _, o := range outs {
			total += len(o.Bytes)
			if c := View(o.Bytes).Codec(); c != codec {
				t.Errorf("%v became %v", codec, c)
			}
		}
		if limit := 2*total/8000 + 3; len(outs) < 2 || len(outs) > limit {
			t.Errorf("%v: %d bytes in %d outputs, want at most %d", codec, total, len(outs), limit)
		}
		if got := outs[len(outs)-1].Last; got != 3050 {
			t.Errorf("%v: last %d", codec, got)
		}
	}
}

// What came in under the limit goes out, although the codec makes it longer.
func TestIncompressibleRecordFits(t *testing.T) {
	b := NewBuilder()
	in := incompressible(10, 1, 5000)
	plain, err := Build(in, None, NoStamp())
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range allCodecs {
		outs, err := b.Rebuild([]View{source{codec: codec, records: in}.view(t)}, RebuildOptions{MaxBytes: int32(len(plain))})
		if err != nil || len(outs) != 1 {
			t.Fatalf("%v: %d outputs, %v", codec, len(outs), err)
		}
		sameRecords(t, sourceRecords(t, b, outs, int32(len(plain))), in)
	}
}

func TestRecordTooLarge(t *testing.T) {
	b := NewBuilder()
	in := append(append(recs(10, 20), incompressible(30, 1, 5000)...), recs(31, 20)...)
	for _, codec := range allCodecs {
		outs, err := b.Rebuild([]View{source{codec: codec, records: in}.view(t)}, RebuildOptions{MaxBytes: 2000})
		var large *RecordTooLargeError
		if !errors.As(err, &large) || large.Offset != 30 || large.Limit != 2000 || large.Size < 5000 {
			t.Fatalf("%v: %v", codec, err)
		}
		sameRecords(t, sourceRecords(t, b, outs, 2000), recs(10, 20))
		if got := outs[len(outs)-1].Last; got != 30 {
			t.Errorf("%v: last %d, want the record's offset", codec, got)
		}
		// And on behind it, as an operator's skip does.
		outs, err = b.Rebuild([]View{source{codec: codec, records: in}.view(t)}, RebuildOptions{MaxBytes: 2000, Position: 31})
		if err != nil {
			t.Fatalf("%v: behind it: %v", codec, err)
		}
		sameRecords(t, sourceRecords(t, b, outs, 2000), recs(31, 20))
	}
}

func TestRebuildRefuses(t *testing.T) {
	b := NewBuilder()
	good := source{codec: Gzip, records: recs(10, 5)}.view(t)
	bad := damaged(good)
	plain := source{records: recs(10, 5)}.view(t)
	for _, c := range []struct {
		name string
		in   []View
		opt  RebuildOptions
		want error
	}{
		{"damaged payload", []View{bad}, RebuildOptions{}, ErrCorrupt},
		{"second batch damaged", []View{source{codec: Gzip, records: recs(1, 5)}.view(t), bad}, RebuildOptions{}, ErrCorrupt},
		{"control batch", []View{marker(t, 10, 5, true)}, RebuildOptions{}, ErrUnsupported},
		{"attribute bit", []View{altered(plain, offAttributes, 1)}, RebuildOptions{}, ErrUnsupported},
		{"codec", []View{altered(plain, offAttributes, 0, 6)}, RebuildOptions{}, ErrUnsupported},
		{"two codecs", []View{plain, source{codec: Gzip, records: recs(15, 1)}.view(t)}, RebuildOptions{}, ErrMixed},
		{"out of order", []View{source{records: recs(15, 1)}.view(t), plain}, RebuildOptions{}, ErrCorrupt},
		{"not the codec it says", []View{altered(plain, offAttributes, 0, byte(LZ4))}, RebuildOptions{}, ErrCorrupt},
		{"one record more than said", []View{altered(plain, offCount, 0, 0, 0, 4)}, RebuildOptions{}, ErrCorrupt},
		{"one record less than said", []View{altered(source{lastDelta: 9, records: recs(10, 5)}.view(t), offCount, 0, 0, 0, 6)}, RebuildOptions{}, ErrCorrupt},
		{"delta past the last", []View{altered(plain, offLastDelta, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0)}, RebuildOptions{}, ErrCorrupt},
		{"record length", []View{altered(plain, HeaderSize, 0x7f)}, RebuildOptions{}, ErrCorrupt},
		{"key length", []View{altered(plain, HeaderSize+4, 0x7f)}, RebuildOptions{}, ErrCorrupt},
	} {
		outs, err := b.Rebuild(c.in, c.opt)
		if !errors.Is(err, c.want) || len(outs) != 0 {
			t.Errorf("%s: %d outputs, %v", c.name, len(outs), err)
		}
	}
}

// One Builder serves all lanes of a process.
func TestBuilderIsConcurrent(t *testing.T) {
	b := NewBuilder()
	in := text(10, 200, 100)
	var views []View
	for _, c := range allCodecs {
		views = append(views, source{codec: c, records: in}.view(t))
	}
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for _, v := range views {
				outs, err := b.Rebuild([]View{v}, RebuildOptions{Position: 12, MaxBytes: 3000})
				if err != nil {
					return err
				}
				n := 2
				for _, o := range outs {
					err := b.Each(o.Bytes, func(r Record) error {
						if !bytes.Equal(r.Value, in[n].Value) {
							return fmt.Errorf("%v: record %d differs", v.Codec(), n)
						}
						n++
						return nil
					})
					if err != nil {
						return err
					}
					b.Release(o)
				}
				if n != len(in) {
					return fmt.Errorf("%v: %d of %d records", v.Codec(), n, len(in))
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
