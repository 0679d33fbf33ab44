package batch

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestBuildAndEach(t *testing.T) {
	in := []Record{
		{Offset: 0, Timestamp: 100, Key: nil, Value: nil},
		{Offset: 1, Timestamp: 50, Key: []byte{}, Value: []byte{}},
		{Offset: 2, Timestamp: -1, Key: []byte("k"), Value: []byte("v"), Headers: []Header{{"a", nil}, {"", []byte{}}, {"a", []byte("x")}}},
		{Offset: 3, Timestamp: 1 << 50, Key: bytes.Repeat([]byte("k"), 70), Value: bytes.Repeat([]byte("v"), 70_000)},
	}
	b := NewBuilder()
	for _, c := range allCodecs {
		out, err := Build(in, c, Stamp{5, 1, 9})
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(out); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		v := View(out)
		if v.Codec() != c || v.ProducerID() != 5 || v.ProducerEpoch() != 1 || v.BaseSequence() != 9 || v.Count() != 4 {
			t.Errorf("%v: header % x", c, out[:HeaderSize])
		}
		sameRecords(t, decodeAll(t, b, v), in)
	}
	if _, err := Build(nil, None, NoStamp()); err == nil {
		t.Error("a batch without records was built")
	}
	if _, err := Build(in, 5, NoStamp()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("codec 5: %v", err)
	}
}

func TestEachPassesOn(t *testing.T) {
	v := source{codec: LZ4, attrs: attrLogAppendTime, maxTime: 77, base: 10, lastDelta: 9, records: without(recs(10, 5), 11)}.view(t)
	n := 0
	err := Each(v, func(r Record) error {
		if r.Timestamp != 77 {
			t.Errorf("timestamp %d, want the append time", r.Timestamp)
		}
		n++
		if r.Offset == 12 {
			return errors.ErrUnsupported
		}
		return nil
	})
	if !errors.Is(err, errors.ErrUnsupported) || n != 2 {
		t.Errorf("%d calls, %v", n, err)
	}
	v[30] ^= 1
	if err := Each(v, func(Record) error { t.Error("called"); return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
}

func TestValidateRefuses(t *testing.T) {
	good, err := Build(recs(0, 5), None, Stamp{5, 1, 9})
	if err != nil {
		t.Fatal(err)
	}
	set := func(at int, with ...byte) []byte {
		p := bytes.Clone(good)
		copy(p[at:], with)
		View(p).seal()
		return p
	}
	gzip := source{codec: Gzip, records: recs(1, 3)}.view(t)
	Patch(gzip, NoStamp())
	noKey := recs(0, 2)
	noKey[1].Key = nil
	keyless, err := Build(noKey, Snappy, NoStamp())
	if err != nil {
		t.Fatal(err)
	}
	gap := source{base: 1, records: without(recs(1, 5), 3)}.view(t)
	Patch(gap, NoStamp())
	forged := bytes.Clone(gap) // a gap hidden by the header, which brokers store
	copy(forged[offLastDelta:], []byte{0, 0, 0, 3})
	View(forged).seal()

	for _, c := range []struct {
		name  string
		p     []byte
		rules Rules
		want  error
	}{
		{"good", good, Rules{KeysRequired: true, MaxBytes: int32(len(good))}, nil},
		{"good, compressed", gzip, Rules{}, nil},
		{"no key, allowed", keyless, Rules{}, nil},
		{"wrapped sequence", set(offSequence, 0x7f, 0xff, 0xff, 0xff), Rules{}, nil},
		{"max timestamp, target stamps", set(offMaxTimestamp, 0, 1), Rules{AppendTime: true}, nil},
		{"no producer", set(offProducerID, bytes.Repeat([]byte{0xff}, 14)...), Rules{}, nil},

		{"cut", good[:len(good)-1], Rules{}, ErrShort},
		{"two batches", append(bytes.Clone(good), good...), Rules{}, ErrCorrupt},
		{"crc", append(bytes.Clone(good[:len(good)-1]), 0x55), Rules{}, ErrCorrupt},
		{"base offset", set(7, 1), Rules{}, ErrCorrupt},
		{"transactional", set(offAttributes, 0, attrTransactional), Rules{}, ErrCorrupt},
		{"control", set(offAttributes, 0, attrControl), Rules{}, ErrCorrupt},
		{"append time bit", set(offAttributes, 0, attrLogAppendTime), Rules{}, ErrCorrupt},
		{"delete horizon", set(offAttributes, 0, attrDeleteHorizon), Rules{}, ErrCorrupt},
		{"bit 8", set(offAttributes, 1, 0), Rules{}, ErrUnsupported},
		{"codec 7", set(offAttributes, 0, 7), Rules{}, ErrUnsupported},
		{"wrong codec", set(offAttributes, 0, byte(Zstd)), Rules{}, ErrCorrupt},
		{"gaps", gap, Rules{}, ErrCorrupt},
		{"gaps forged away", forged, Rules{}, ErrCorrupt},
		{"no records", source{base: 0, baseTime: -1, maxTime: -1}.view(t), Rules{}, ErrCorrupt},
		{"fewer records than said", set(offLastDelta+3, 5), Rules{}, ErrCorrupt},
		{"max timestamp", set(offMaxTimestamp, 0, 1), Rules{}, ErrCorrupt},
		{"no epoch", set(offProducerEpoch, 0xff, 0xff), Rules{}, ErrCorrupt},
		{"no sequence", set(offSequence, 0xff, 0xff, 0xff, 0xff), Rules{}, ErrCorrupt},
		{"producer id", set(offProducerID, 0xff, 0, 0), Rules{}, ErrCorrupt},
		{"no key", keyless, Rules{KeysRequired: true}, ErrCorrupt},
		{"limit", good, Rules{MaxBytes: int32(len(good)) - 1}, ErrTooLarge},
		{"header key null", setHeaderKeyNull(t), Rules{}, ErrCorrupt},
	} {
		if err := NewBuilder().Validate(c.p, c.rules); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// setHeaderKeyNull makes a batch that Java's reader throws on.
func setHeaderKeyNull(t *testing.T) []byte {
	p, err := Build([]Record{{Value: []byte("v"), Headers: []Header{{Key: "", Value: nil}}}}, None, NoStamp())
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)-2] = 1 // length 0 to -1
	View(p).seal()
	return p
}

// A batch may straddle the wrap of its sequence numbers.
func TestSequenceWrap(t *testing.T) {
	p, err := Build(recs(0, 5), None, Stamp{5, 1, math.MaxInt32 - 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(p); err != nil {
		t.Error(err)
	}
	if got := NextSequence(View(p).BaseSequence(), View(p).Count()); got != 3 {
		t.Errorf("next sequence %d, want 3", got)
	}
}

func TestVarints(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 8191, 8192, -8193, math.MaxInt32, math.MinInt32} {
		p := appendVarintForTest(nil, v)
		if got, n := varint32(p); int64(got) != v || n != len(p) || n != varintSize(v) {
			t.Errorf("%d: read %d in %d bytes, size says %d", v, got, n, varintSize(v))
		}
		if got, n := varint64(p); got != v || n != len(p) {
			t.Errorf("%d: read %d in %d bytes", v, got, n)
		}
		if _, n := varint32(p[:len(p)-1]); n != 0 {
			t.Errorf("%d: a cut varint was read", v)
		}
	}
	for _, bad := range [][]byte{nil, {0x80}, {0x80, 0x80}, bytes.Repeat([]byte{0xff}, 11), {0xff, 0xff, 0xff, 0xff, 0x7f}} {
		if v, n := varint32(bad); n != 0 {
			t.Errorf("% x: read %d", bad, v)
		}
	}
	for _, v := range []int64{math.MaxInt64, math.MinInt64, 1 << 40} {
		p := appendVarintForTest(nil, v)
		if got, n := varint64(p); got != v || n != len(p) || n != varintSize(v) {
			t.Errorf("%d: read %d in %d bytes, size says %d", v, got, n, varintSize(v))
		}
		if got, n := varint32(p); n != 0 {
			t.Errorf("%d: read %d as 32 bits", v, got)
		}
	}
}

// appendVarintForTest is the definition: zigzag, then 7 bits a byte.
func appendVarintForTest(p []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		p = append(p, byte(u)|0x80)
		u >>= 7
	}
	return append(p, byte(u))
}
