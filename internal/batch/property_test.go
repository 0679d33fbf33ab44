package batch

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// genBytes draws null, empty, short, and sometimes long compressible bytes.
func genBytes(t *rapid.T, name string) []byte {
	switch rapid.IntRange(0, 9).Draw(t, name+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return bytes.Repeat([]byte("abcd"), rapid.IntRange(1, 400).Draw(t, name+" words"))
	}
	return rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, name)
}

// genSource draws one batch at or after offset from, with compaction gaps.
func genSource(t *rapid.T, from int64, codec Codec) source {
	s := source{
		codec:    codec,
		base:     from + rapid.Int64Range(0, 3).Draw(t, "hole before"),
		attrs:    rapid.SampledFrom([]uint16{0, 0, attrLogAppendTime, attrTransactional, attrDeleteHorizon}).Draw(t, "attributes"),
		baseTime: rapid.Int64Range(1, 1<<41).Draw(t, "base time"),
		stamp:    Stamp{rapid.Int64Range(-1, 9).Draw(t, "pid"), 3, 17},
	}
	next := s.base
	for range rapid.IntRange(1, 40).Draw(t, "records") {
		next += rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, 2, 200}).Draw(t, "gap")
		r := Record{
			Offset:    next,
			Timestamp: rapid.SampledFrom([]int64{-1, s.baseTime, s.baseTime + 1, s.baseTime - 70_000, s.baseTime + 1<<36}).Draw(t, "time"),
			Key:       genBytes(t, "key"),
			Value:     genBytes(t, "value"),
		}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "headers") {
			r.Headers = append(r.Headers, Header{Key: rapid.StringN(0, 5, 10).Draw(t, "header"), Value: genBytes(t, "header value")})
		}
		s.records = append(s.records, r)
		next++
	}
	s.lastDelta = int32(next-1-s.base) + int32(rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "gap at end"))
	s.maxTime = -1
	for _, r := range s.records {
		s.maxTime = max(s.maxTime, r.Timestamp)
	}
	if s.attrs&attrLogAppendTime != 0 {
		s.maxTime = rapid.Int64Range(1, 1<<41).Draw(t, "append time")
	}
	return s
}

// model is Rebuild without bytes: which records.
func model(in []source, o RebuildOptions) (want []Record) {
	for _, s := range in {
		for _, r := range s.records {
			if r.Offset < o.Position {
				continue
			}
			if s.attrs&attrLogAppendTime != 0 && o.KeepAppendTime {
				r.Timestamp = s.maxTime
			}
			want = append(want, r)
		}
	}
	return want
}

func TestRebuildAgainstModel(t *testing.T) {
	b := NewBuilder()
	rapid.Check(t, func(rt *rapid.T) {
		codec := rapid.SampledFrom(allCodecs).Draw(rt, "codec")
		var in []source
		var views []View
		from := rapid.Int64Range(1, 1<<40).Draw(rt, "from")
		next := from
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			s := genSource(rt, next, codec)
			v := s.view(rt)
			in, views = append(in, s), append(views, v)
			next = v.NextOffset()
		}
		opt := RebuildOptions{
			Position:       rapid.SampledFrom([]int64{0, from, from + 7, from + 100}).Draw(rt, "position"),
			MaxBytes:       rapid.SampledFrom([]int32{0, 90, 300, 2000, 1 << 20}).Draw(rt, "max bytes"),
			KeepAppendTime: rapid.Bool().Draw(rt, "keep append time"),
		}
		checkAgainstModel(rt, b, in, views, opt, next)
	})
}

func checkAgainstModel(rt *rapid.T, b *Builder, in []source, views []View, opt RebuildOptions, next int64) {
	want := model(in, opt)
	wantCodec := in[0].codec
	outs, err := b.Rebuild(views, opt)
	var large *RecordTooLargeError
	wantLast := next
	switch {
	case errors.As(err, &large):
		wantLast = large.Offset
		want = cutAt(rt, want, large, wantCodec)
	case err != nil:
		rt.Fatalf("rebuild: %v", err)
	}
	got := sourceRecords(rt, b, outs, opt.MaxBytes)
	sameRecords(rt, got, want)
	for _, o := range outs {
		v := View(o.Bytes)
		if v.Codec() != wantCodec && (v.Codec() != None || v.Count() != 1) {
			rt.Fatalf("codec %v, want %v", v.Codec(), wantCodec)
		}
	}
	if n := len(outs); n > 0 && outs[n-1].Last != wantLast {
		rt.Fatalf("last %d, want %d", outs[n-1].Last, wantLast)
	}
	for _, o := range outs {
		b.Release(o)
	}
}

// cutAt checks that the named record is too large indeed, both as it would be
// compressed and plain, and returns the records before it.
func cutAt(rt *rapid.T, want []Record, large *RecordTooLargeError, c Codec) []Record {
	for i, r := range want {
		if r.Offset != large.Offset {
			continue
		}
		for _, codec := range []Codec{c, None} {
			alone, err := Build([]Record{r}, codec, NoStamp())
			if err != nil || len(alone) <= large.Limit {
				rt.Fatalf("record at %d fits: %d bytes with %v, %v", r.Offset, len(alone), codec, err)
			}
		}
		return want[:i]
	}
	rt.Fatalf("record at %d was not wanted", large.Offset)
	return nil
}
