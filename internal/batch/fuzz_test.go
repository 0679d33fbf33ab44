package batch

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

// packer compresses what fuzzed packs. One for all: the runtime keeps a dropped
// sync.Pool and what is in it for two collections, so a Builder per input made
// each collection's live heap as large as what the last two had allocated, and
// the worker grew without bound.
var packer = NewBuilder()

// fuzzed gives data to the decoders as a batch whose framing and CRC are
// right: otherwise no mutation would get past the first check. With pack the
// records are taken as plain bytes and compressed, to reach behind the codec.
func fuzzed(data []byte, pack bool) (View, bool) {
	if len(data) < HeaderSize {
		return nil, false
	}
	v := View(bytes.Clone(data))
	v[offMagic] = 2
	v[0] &= 0x3f
	if pack && v.Codec() <= Zstd {
		out, err := packer.compress(bytes.Clone(v[:HeaderSize]), framing{codec: v.Codec()}, v.Payload())
		if err != nil {
			return nil, false
		}
		v = out
	}
	n := len(v) - prefixSize
	copy(v[offLength:], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	v.seal()
	v, _, err := Next(v)
	return v, err == nil
}

func addSources(f *testing.F, add func(data []byte, pack bool)) {
	rich := recs(3, 4)
	rich[1].Headers = []Header{{"h", nil}, {"", []byte("x")}}
	rich[2].Key, rich[3].Value = nil, []byte{}
	for _, c := range allCodecs {
		s := source{codec: c, attrs: attrTransactional, stamp: Stamp{1, 2, 3}, records: rich}
		add(s.view(f), false)
		// The same with plain records behind the codec's bits.
		s.codec = None
		v := bytes.Clone(s.view(f))
		v[offAttributes+1] |= byte(c)
		add(v, true)
	}
	add(source{attrs: attrLogAppendTime, base: 1, lastDelta: 20, records: without(recs(3, 9), 5, 6)}.view(f), false)
	add(marker(f, 5, 3, true), false)
	add(source{base: 3, lastDelta: 7, baseTime: -1, maxTime: -1}.view(f), false)
	for _, raw := range stored(f) {
		v, _, err := Next(raw)
		if err != nil {
			f.Fatal(err)
		}
		add(v, false)
		add(v[:HeaderSize+len(v.Payload())/2], false)
	}
}

// stored are logs that real brokers stored of real producers' batches.
func stored(f *testing.F) [][]byte {
	files, err := filepath.Glob("testdata/golden/*.bin")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden batches: %v", err)
	}
	var out [][]byte
	for _, file := range files {
		raw, _, _ := readGolden(f, file)
		out = append(out, raw)
	}
	return out
}

func FuzzEach(f *testing.F) {
	addSources(f, func(data []byte, pack bool) { f.Add(data, pack) })
	b := NewBuilderLimit(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte, pack bool) {
		v, ok := fuzzed(data, pack)
		if !ok {
			return
		}
		n, last := int32(0), v.BaseOffset()-1
		err := b.Each(v, func(r Record) error {
			if r.Offset <= last || r.Offset > v.LastOffset() {
				t.Fatalf("offset %d after %d, batch ends at %d", r.Offset, last, v.LastOffset())
			}
			last = r.Offset
			n++
			return nil
		})
		if err == nil && n != v.Count() {
			t.Fatalf("%d of %d records", n, v.Count())
		}
		if commit, _, err := Marker(v); commit && err != nil {
			t.Fatalf("a commit with %v", err)
		}
		NewAbortFilter([]Aborted{{v.ProducerID(), v.BaseOffset()}}).Drop(v)
	})
}

// FuzzRebuild: whatever comes out passes Validate and holds the records that
// Each finds in the source.
func FuzzRebuild(f *testing.F) {
	addSources(f, func(data []byte, pack bool) { f.Add(data, pack, uint16(0), uint8(0)) })
	addSources(f, func(data []byte, pack bool) { f.Add(data, pack, uint16(120), uint8(0xff)) })
	b := NewBuilderLimit(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte, pack bool, maxBytes uint16, flags uint8) {
		v, ok := fuzzed(data, pack)
		if !ok {
			return
		}
		opt := RebuildOptions{
			MaxBytes:       int32(maxBytes),
			KeepAppendTime: true,
			Position:       v.BaseOffset() + int64(flags>>6),
		}
		outs, err := b.Rebuild([]View{v}, opt)
		if _, named := namedRecord(err); err != nil && !named {
			if len(outs) != 0 {
				t.Fatalf("%d outputs with %v", len(outs), err)
			}
			return
		}
		var want []Record
		stop := errors.New("stop")
		at, _ := namedRecord(err)
		if eachErr := b.Each(v, func(r Record) error {
			if err != nil && r.Offset >= at {
				return stop
			}
			if r.Offset >= opt.Position {
				want = append(want, clone(r))
			}
			return nil
		}); eachErr != nil && !errors.Is(eachErr, stop) {
			t.Fatalf("rebuilt what cannot be read: %v", eachErr)
		}
		sameRecords(t, sourceRecords(t, b, outs, opt.MaxBytes), want)
		for _, o := range outs {
			b.Release(o)
		}
	})
}

// FuzzValidate: what passes is forwarded raw by Decide and is Rebuild's fixed
// point as far as records go.
func FuzzValidate(f *testing.F) {
	addSources(f, func(data []byte, pack bool) {
		v := View(bytes.Clone(data))
		Patch(v, NoStamp())
		f.Add([]byte(v), pack)
	})
	b := NewBuilderLimit(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte, pack bool) {
		v, ok := fuzzed(data, pack)
		if !ok || b.Validate(v, Rules{}) != nil {
			return
		}
		if action, reason := Decide(v, false, Case{KeepAppendTime: true}); action != Raw {
			t.Fatalf("valid, yet %v (%s)", action, reason)
		}
		outs, err := b.Rebuild([]View{v}, RebuildOptions{})
		if err != nil || len(outs) != 1 {
			t.Fatalf("%d outputs, %v", len(outs), err)
		}
		sameRecords(t, decodeAll(t, b, outs[0].Bytes), decodeAll(t, b, v))
	})
}
