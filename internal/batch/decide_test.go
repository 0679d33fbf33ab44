package batch

import (
	"bytes"
	"errors"
	"testing"
)

// decision is one row: what Decide must answer.
type decision struct {
	name    string
	v       View
	aborted bool
	c       Case
	action  Action
	reason  Reason
}

func checkDecisions(t *testing.T, rows []decision) {
	t.Helper()
	for _, c := range rows {
		action, reason := Decide(c.v, c.aborted, c.c)
		if action != c.action || reason != c.reason {
			t.Errorf("%s: %v (%s), want %v (%s)", c.name, action, reason, c.action, c.reason)
		}
	}
}

// altered is v with bytes replaced and its CRC right.
func altered(v View, at int, with ...byte) View {
	v = bytes.Clone(v)
	copy(v[at:], with)
	v.seal()
	return v
}

// damaged is v with a bit flipped under its CRC.
func damaged(v View) View {
	v = bytes.Clone(v)
	v[offBaseTimestamp] ^= 1
	return v
}

func TestDecide(t *testing.T) {
	plain := source{records: recs(10, 5)}.view(t)
	gaps := source{base: 10, records: without(recs(10, 5), 12)}.view(t)
	tailGap := source{base: 10, lastDelta: 8, codec: LZ4, records: recs(10, 5)}.view(t)
	empty := source{base: 10, lastDelta: 4, baseTime: -1, maxTime: -1}.view(t)
	appendTime := source{attrs: attrLogAppendTime, records: recs(10, 5)}.view(t)
	txn := source{attrs: attrTransactional, stamp: Stamp{5, 0, 0}, records: recs(10, 5)}.view(t)
	horizon := source{attrs: attrDeleteHorizon, baseTime: 1, records: recs(10, 5)}.view(t)

	checkDecisions(t, []decision{
		{"plain batch", plain, false, Case{Position: 10}, Raw, ReasonNone},
		{"every codec", source{codec: Zstd, records: recs(10, 5)}.view(t), false, Case{Position: 10}, Raw, ReasonNone},
		{"hole before the batch", plain, false, Case{Position: 4}, Raw, ReasonNone},
		{"exactly the limit", plain, false, Case{MaxBytes: int32(len(plain))}, Raw, ReasonNone},
		{"committed transaction", txn, false, Case{Position: 10}, Raw, ReasonNone},
		{"delete horizon", horizon, false, Case{Position: 10}, Raw, ReasonNone},
		{"append time to a target that stamps", appendTime, false, Case{}, Raw, ReasonNone},

		{"behind", plain, false, Case{Position: 15}, Skip, ReasonBehind},
		{"behind and damaged", damaged(plain), false, Case{Position: 15}, Skip, ReasonBehind},
		{"commit marker", marker(t, 10, 5, true), false, Case{}, Skip, ReasonControl},
		{"abort marker", marker(t, 10, 5, false), false, Case{}, Skip, ReasonControl},
		{"marker of unknown kind", altered(marker(t, 10, 5, true), HeaderSize+8, 9), false, Case{}, Skip, ReasonControl},
		{"emptied marker", altered(empty, offAttributes, 0, attrControl|attrTransactional), false, Case{}, Skip, ReasonEmpty},
		{"aborted data", txn, true, Case{}, Skip, ReasonAborted},
		{"empty batch", empty, false, Case{Position: 10}, Skip, ReasonEmpty},

		{"crop", plain, false, Case{Position: 12}, Rebuild, ReasonCrop},
		{"gap inside", gaps, false, Case{Position: 10}, Rebuild, ReasonGaps},
		{"gap at the end", tailGap, false, Case{Position: 10}, Rebuild, ReasonGaps},
		{"append time kept", appendTime, false, Case{KeepAppendTime: true}, Rebuild, ReasonAppendTime},
		{"create time, append time kept", plain, false, Case{KeepAppendTime: true}, Raw, ReasonNone},

		{"larger than the limit", plain, false, Case{MaxBytes: int32(len(plain) - 1)}, Split, ReasonSize},
		{"gap wins over size", gaps, false, Case{Position: 10, MaxBytes: 80}, Rebuild, ReasonGaps},
	})
}

func TestDecideHalts(t *testing.T) {
	plain := source{records: recs(10, 5)}.view(t)
	empty := source{base: 10, lastDelta: 4, baseTime: -1, maxTime: -1}.view(t)
	txn := source{attrs: attrTransactional, stamp: Stamp{5, 0, 0}, records: recs(10, 5)}.view(t)
	one := source{records: recs(10, 1)}.view(t)

	checkDecisions(t, []decision{
		{"one record larger than the limit", one, false, Case{MaxBytes: int32(len(one) - 1)}, Halt, ReasonTooLarge},
		{"codec 5", altered(plain, offAttributes, 0, 5), false, Case{}, Halt, ReasonUnknown},
		{"codec 7", altered(plain, offAttributes, 0, 7), false, Case{}, Halt, ReasonUnknown},
		{"attribute bit 7", altered(plain, offAttributes, 0, 0x80), false, Case{}, Halt, ReasonUnknown},
		{"attribute bit 15", altered(plain, offAttributes, 0x80, 0), false, Case{}, Halt, ReasonUnknown},
		{"unknown, even behind", altered(plain, offAttributes, 0x80, 0), false, Case{Position: 99}, Halt, ReasonUnknown},
		{"aborted and damaged", damaged(txn), true, Case{}, Halt, ReasonCorrupt},
		{"marker damaged", damaged(marker(t, 10, 5, true)), false, Case{}, Halt, ReasonCorrupt},
		{"marker without key", altered(source{attrs: attrControl, records: []Record{{Offset: 10}}}.view(t), 0), false, Case{}, Halt, ReasonCorrupt},
		{"marker with a short value", source{attrs: attrControl, records: []Record{{Offset: 10, Key: make([]byte, 4), Value: []byte{0}}}}.view(t), false, Case{}, Halt, ReasonCorrupt},
		{"empty and damaged", damaged(empty), false, Case{}, Halt, ReasonCorrupt},
	})
}

// options carry a decision out.
func options(c Case) RebuildOptions {
	return RebuildOptions(c)
}

// What Decide sends to Rebuild comes back as a batch it would forward.
func TestDecisionIsCarriedOut(t *testing.T) {
	b := NewBuilder()
	for name, c := range map[string]struct {
		v View
		c Case
	}{
		"crop": {source{records: recs(10, 5)}.view(t), Case{Position: 12}},
		"gaps": {source{base: 10, records: without(recs(10, 5), 12)}.view(t), Case{Position: 10}},
		"time": {source{attrs: attrLogAppendTime, records: recs(10, 5)}.view(t), Case{Position: 10, KeepAppendTime: true}},
		"size": {source{records: recs(10, 5)}.view(t), Case{Position: 10, MaxBytes: 100}},
	} {
		if a, _ := Decide(c.v, false, c.c); a != Rebuild && a != Split {
			t.Fatalf("%s: %v", name, a)
		}
		outs, err := b.Rebuild([]View{c.v}, options(c.c))
		if err != nil || len(outs) == 0 {
			t.Fatalf("%s: %d outputs, %v", name, len(outs), err)
		}
		again := c.c
		again.Position = 0
		for _, o := range outs {
			if a, r := Decide(o.Bytes, false, again); a != Raw {
				t.Errorf("%s: rebuilt batch is %v (%s)", name, a, r)
			}
		}
	}
}

func TestActionNames(t *testing.T) {
	for a, want := range map[Action]string{0: "undecided", Raw: "raw", Skip: "skip", Rebuild: "rebuild", Split: "split", Halt: "halt"} {
		if a.String() != want {
			t.Errorf("action %d is called %q, want %q", a, a, want)
		}
	}
}

func TestMarker(t *testing.T) {
	for _, commit := range []bool{true, false} {
		got, epoch, err := Marker(marker(t, 10, 5, commit))
		if err != nil || got != commit || epoch != 9 {
			t.Errorf("commit %v: got %v, epoch %d, %v", commit, got, epoch, err)
		}
	}
	if _, _, err := Marker(source{records: recs(1, 1)}.view(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("data batch: %v", err)
	}
}

func TestAbortFilter(t *testing.T) {
	data := func(offset, pid int64) View {
		return source{attrs: attrTransactional, stamp: Stamp{pid, 0, 0}, records: recs(offset, 2)}.view(t)
	}
	// Two producers, interleaved; the list is unsorted, as Redpanda may send it.
	f := NewAbortFilter([]Aborted{{ProducerID: 2, FirstOffset: 20}, {ProducerID: 1, FirstOffset: 6}, {ProducerID: 1, FirstOffset: 40}})
	for _, c := range []struct {
		name string
		v    View
		drop bool
	}{
		{"1 before its first abort", data(2, 1), false},
		{"1 aborted", data(6, 1), true},
		{"2 not yet", data(8, 2), false},
		{"2 commits", marker(t, 10, 2, true), false},
		{"plain data", source{records: recs(12, 2)}.view(t), false},
		{"idempotent data of 1", source{stamp: Stamp{1, 0, 5}, records: recs(14, 2)}.view(t), false},
		{"1 still aborted", data(16, 1), true},
		{"1 ends", marker(t, 18, 1, false), false},
		{"1 goes on and commits", data(19, 1), false},
		{"2 aborted, starting inside", data(20, 2), true},
		{"a commit of 1 changes nothing for 2", marker(t, 22, 1, true), false},
		{"2 still aborted", data(23, 2), true},
		{"2 ends", marker(t, 25, 2, false), false},
		{"2 clean", data(26, 2), false},
		{"1 aborted again", data(40, 1), true},
		{"emptied marker does not end it", source{attrs: attrControl | attrTransactional, base: 42, lastDelta: 0, stamp: Stamp{1, 0, -1}}.view(t), false},
		{"1 still", data(43, 1), true},
	} {
		if got := f.Drop(c.v); got != c.drop {
			t.Errorf("%s: drop %v, want %v", c.name, got, c.drop)
		}
	}
}
