package mm2

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/fuzzing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encode(t testing.TB, r Record) (key, value []byte) {
	t.Helper()
	key, err := r.AppendKey(nil)
	if err != nil {
		t.Fatalf("key of %v: %v", r, err)
	}
	value, err = r.AppendValue(nil)
	if err != nil {
		t.Fatalf("value of %v: %v", r, err)
	}
	return key, value
}

// parse calls the parser of want's kind.
func parse(want Record, key, value []byte) (Record, error) {
	switch want.(type) {
	case OffsetSync:
		return ParseOffsetSync(key, value)
	case Checkpoint:
		return ParseCheckpoint(key, value)
	default:
		return ParseHeartbeat(key, value)
	}
}

// Worked examples of MirrorMaker 2's layouts and of its formatters' lines, byte by
// byte, so that encoder and parser cannot be wrong together.
func TestGoldenBytes(t *testing.T) {
	for _, tc := range []struct {
		record     Record
		key, value string
		line       string
	}{
		{
			OffsetSync{"orders", 3, 1500, 1234},
			"00 06 6f 72 64 65 72 73 00 00 00 03", "00 00 00 00 00 00 05 dc 00 00 00 00 00 00 04 d2",
			"OffsetSync{topicPartition=orders-3, upstreamOffset=1500, downstreamOffset=1234}",
		},
		{
			Checkpoint{"billing", "A.orders", 3, 1600, 1235, ""},
			"00 07 62 69 6c 6c 69 6e 67 00 08 41 2e 6f 72 64 65 72 73 00 00 00 03",
			"00 00 00 00 00 00 00 00 06 40 00 00 00 00 00 00 04 d3 00 00",
			"Checkpoint{consumerGroupId=billing, topicPartition=A.orders-3, upstreamOffset=1600, downstreamOffset=1235, metadata=}",
		},
		{
			Checkpoint{"billing", "A.orders", 3, 1600, 1235, "m1"},
			"00 07 62 69 6c 6c 69 6e 67 00 08 41 2e 6f 72 64 65 72 73 00 00 00 03",
			"00 00 00 00 00 00 00 00 06 40 00 00 00 00 00 00 04 d3 00 02 6d 31",
			"Checkpoint{consumerGroupId=billing, topicPartition=A.orders-3, upstreamOffset=1600, downstreamOffset=1235, metadata=m1}",
		},
		{
			Checkpoint{"caf\u00e9", "A.orders", 0, 1600, 1235, ""},
			"00 05 63 61 66 c3 a9 00 08 41 2e 6f 72 64 65 72 73 00 00 00 00",
			"00 00 00 00 00 00 00 00 06 40 00 00 00 00 00 00 04 d3 00 00",
			"Checkpoint{consumerGroupId=caf\u00e9, topicPartition=A.orders-0, upstreamOffset=1600, downstreamOffset=1235, metadata=}",
		},
		{
			Heartbeat{"A", "B", 1700000000000},
			"00 01 41 00 01 42", "00 00 00 00 01 8b cf e5 68 00",
			"Heartbeat{sourceClusterAlias=A, targetClusterAlias=B, timestamp=1700000000000}",
		},
	} {
		key, value := encode(t, tc.record)
		if want := unhex(t, tc.key); !cmp.Equal(key, want) {
			t.Errorf("%v: key %x, want %x", tc.record, key, want)
		}
		if want := unhex(t, tc.value); !cmp.Equal(value, want) {
			t.Errorf("%v: value %x, want %x", tc.record, value, want)
		}
		if got := tc.record.String(); got != tc.line {
			t.Errorf("line %q, want %q", got, tc.line)
		}
		// Java ignores what follows the last field.
		got, err := parse(tc.record, append(key, 1, 2), append(value, 3))
		if err != nil || got != tc.record {
			t.Errorf("parsed %v, %v, want %v", got, err, tc.record)
		}
	}
}

func TestParseTellsDeletionFromDamage(t *testing.T) {
	sync := OffsetSync{"orders", 3, 1500, 1234}
	point := Checkpoint{"billing", "A.orders", 3, 1600, 1235, "m1"}
	beat := Heartbeat{"A", "B", 1}
	for _, tc := range []struct{ record, keyOnly Record }{
		{sync, OffsetSync{Topic: "orders", Partition: 3}},
		{point, Checkpoint{Group: "billing", Topic: "A.orders", Partition: 3}},
		{beat, Heartbeat{Source: "A", Target: "B"}},
	} {
		key, value := encode(t, tc.record)
		got, err := parse(tc.record, key, nil)
		if !errors.Is(err, ErrTombstone) || got != tc.keyOnly {
			t.Errorf("tombstone of %v: %v, %v", tc.record, got, err)
		}
		var fe *FormatError
		for n := range key {
			if _, err := parse(tc.record, key[:n], value); !errors.As(err, &fe) {
				t.Errorf("%v, %d bytes of the key: %v", tc.record, n, err)
			}
		}
		for n := range value { // an empty value is damage, not a tombstone
			if _, err := parse(tc.record, key, value[:n]); !errors.As(err, &fe) {
				t.Errorf("%v, %d bytes of the value: %v", tc.record, n, err)
			}
		}
		if _, err := parse(tc.record, nil, value); !errors.As(err, &fe) || fe.Reason != "null" {
			t.Errorf("%v, null key: %v", tc.record, err)
		}
		if _, err := parse(tc.record, nil, nil); !errors.As(err, &fe) {
			t.Errorf("%v, null key and value: %v", tc.record, err)
		}
	}
}

func TestParseRefusesUnknownVersions(t *testing.T) {
	for _, r := range []Record{Checkpoint{"g", "t", 0, 1, 1, ""}, Heartbeat{"A", "B", 1}} {
		key, value := encode(t, r)
		value[1] = 1
		_, err := parse(r, key, value)
		var ve *VersionError
		if !errors.As(err, &ve) || ve.Version != 1 {
			t.Errorf("%v: %v", r, err)
		}
	}
}

func TestRefusedOnBothSides(t *testing.T) {
	long := strings.Repeat("x", 32768)
	for name, r := range map[string]Record{
		"long topic":          OffsetSync{Topic: long},
		"negative partition":  OffsetSync{Topic: "t", Partition: -1},
		"negative upstream":   OffsetSync{Topic: "t", Upstream: -1},
		"negative downstream": OffsetSync{Topic: "t", Downstream: -1},
		"long group":          Checkpoint{Group: long},
		"long metadata":       Checkpoint{Group: "g", Topic: "t", Metadata: long},
		"negative position":   Checkpoint{Group: "g", Topic: "t", Downstream: -1},
		"long alias":          Heartbeat{Source: long},
	} {
		_, kerr := r.AppendKey(nil)
		_, verr := r.AppendValue(nil)
		if _, ok := errors.AsType[*FormatError](first(kerr, verr)); !ok {
			t.Errorf("%s was written", name)
		}
	}
	minus := "ff ff ff ff ff ff ff ff"
	zero := "00 00 00 00 00 00 00 00"
	for name, tc := range map[string]struct {
		kind       Record
		key, value string
	}{
		"sync partition":        {OffsetSync{}, "00 01 74 ff ff ff ff", zero + zero},
		"sync upstream":         {OffsetSync{}, "00 01 74 00 00 00 00", minus + zero},
		"sync downstream":       {OffsetSync{}, "00 01 74 00 00 00 00", zero + minus},
		"sync topic length":     {OffsetSync{}, "ff ff 74 00 00 00 00", zero + zero},
		"checkpoint partition":  {Checkpoint{}, "00 01 67 00 01 74 ff ff ff ff", "00 00" + zero + zero + "00 00"},
		"checkpoint downstream": {Checkpoint{}, "00 01 67 00 01 74 00 00 00 00", "00 00" + zero + minus + "00 00"},
	} {
		_, err := parse(tc.kind, unhex(t, tc.key), unhex(t, tc.value))
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func drawRecord(t *rapid.T) Record {
	text := rapid.String()
	offset := rapid.Int64Min(0)
	partition := rapid.Int32Min(0).Draw(t, "partition")
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return OffsetSync{text.Draw(t, "topic"), partition, offset.Draw(t, "up"), offset.Draw(t, "down")}
	case 1:
		return Checkpoint{text.Draw(t, "group"), text.Draw(t, "topic"), partition, offset.Draw(t, "up"), offset.Draw(t, "down"), text.Draw(t, "metadata")}
	default:
		return Heartbeat{text.Draw(t, "source"), text.Draw(t, "target"), rapid.Int64().Draw(t, "time")}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		key, err := r.AppendKey([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		value, err := r.AppendValue([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(r, key[len("before"):], value[len("before"):])
		if err != nil || got != r {
			t.Fatalf("%v became %v, %v", r, got, err)
		}
	})
}

// FuzzParse: parsers take anything without a panic, and what they accept is
// written back as the bytes it was read from.
func FuzzParse(f *testing.F) {
	for _, r := range []Record{
		OffsetSync{"orders", 3, 1500, 1234}, Checkpoint{"billing", "A.orders", 3, 1600, 1235, "m1"}, Heartbeat{"A", "B", 1700000000000},
	} {
		key, value := encode(f, r)
		f.Add(key, append(value, 0))
		f.Add(key[:len(key)-1], value)
		for _, cut := range fuzzing.Cuts(value) {
			f.Add(key, cut)
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, kind := range []Record{OffsetSync{}, Checkpoint{}, Heartbeat{}} {
			r, err := parse(kind, key, value)
			if err != nil {
				continue
			}
			k, v := encode(t, r)
			if len(k) > len(key) || len(v) > len(value) || !cmp.Equal(k, key[:len(k)]) || !cmp.Equal(v, value[:len(v)]) {
				t.Fatalf("%v: wrote %x %x, read from %x %x", r, k, v, key, value)
			}
		}
	})
}
