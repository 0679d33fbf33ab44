package batch

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden is the .json beside a file of raw batches, see testdata/capture.
type golden struct {
	About   string `json:"about"`
	Codec   string `json:"codec"`
	Records []struct {
		Offset    int64  `json:"offset"`
		Timestamp int64  `json:"timestamp"`
		Key       []byte `json:"key"`
		Value     []byte `json:"value"`
		Headers   []struct {
			Key   string `json:"key"`
			Value []byte `json:"value"`
		} `json:"headers"`
	} `json:"records"`
}

func readGolden(t testing.TB, path string) (raw []byte, codec string, want []Record) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(path, ".bin") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Records {
		rec := Record{Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, Header{Key: h.Key, Value: h.Value})
		}
		want = append(want, rec)
	}
	return raw, g.Codec, want
}

// TestGolden walks what real brokers stored of real producers' batches: they
// are read right, and whether forwarded raw, merged or cut into small ones,
// the records come out the same.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden batches (%v); testdata/capture/README.md says how to capture them", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".bin"), func(t *testing.T) {
			raw, codec, want := readGolden(t, file)
			seen[codec] = true
			checkGolden(t, raw, codec, want)
		})
	}
	for _, c := range allCodecs {
		if !seen[c.String()] {
			t.Errorf("no golden batch with codec %v", c)
		}
	}
}

func checkGolden(t *testing.T, raw []byte, codec string, want []Record) {
	b := NewBuilder()
	var data []View
	var got []Record
	next := int64(0)
	for rest := raw; len(rest) > 0; {
		v, after, err := Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		if err := v.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		c := Case{Position: next, KeepAppendTime: true}
		action, reason := Decide(v, false, c)
		next = v.NextOffset()
		switch {
		case v.Control():
			if _, _, err := Marker(v); err != nil || action != Skip {
				t.Errorf("marker at %d: %v, %v", v.BaseOffset(), action, err)
			}
			continue
		case v.Count() == 0:
			if action != Skip {
				t.Errorf("empty batch at %d: %v", v.BaseOffset(), action)
			}
			continue
		case v.Codec().String() != codec:
			t.Errorf("batch at %d has codec %v, want %s", v.BaseOffset(), v.Codec(), codec)
		}
		records := decodeAll(t, b, v)
		got = append(got, records...)
		data = append(data, v)
		if action == Raw {
			forwarded := bytes.Clone(v)
			Patch(forwarded, Stamp{77, 3, 12})
			if err := b.Validate(forwarded, Rules{}); err != nil {
				t.Errorf("batch at %d, forwarded: %v", v.BaseOffset(), err)
			}
			continue
		}
		outs, err := b.Rebuild([]View{v}, options(c))
		if err != nil || action != Rebuild {
			t.Fatalf("batch at %d: %v (%s), %v", v.BaseOffset(), action, reason, err)
		}
		sameRecords(t, sourceRecords(t, b, outs, 0), records)
	}
	sameRecords(t, got, want)

	for _, opt := range []RebuildOptions{
		{KeepAppendTime: true},
		{KeepAppendTime: true, MaxBytes: 400},
	} {
		outs, err := b.Rebuild(data, opt)
		if err != nil {
			t.Fatalf("rebuild with %+v: %v", opt, err)
		}
		sameRecords(t, sourceRecords(t, b, outs, opt.MaxBytes), want)
	}
}

// The capture of a topic with transactions shows the abort filter real
// markers: transactions 1 and 3 of four were committed, five records each.
func TestGoldenTransactions(t *testing.T) {
	raw, _, want := readGolden(t, "testdata/golden/java-transactions.bin")
	var aborted []Aborted
	var open View
	for rest := raw; len(rest) > 0; {
		v, after, err := Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		if !v.Control() {
			open = v
		} else if commit, _, err := Marker(v); err != nil {
			t.Fatal(err)
		} else if !commit {
			aborted = append(aborted, Aborted{v.ProducerID(), open.BaseOffset()})
		}
	}
	if len(aborted) != 2 {
		t.Fatalf("%d aborted transactions, want 2", len(aborted))
	}
	f := NewAbortFilter(aborted)
	var kept []Record
	for rest := raw; len(rest) > 0; {
		v, after, err := Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		switch action, reason := Decide(v, f.Drop(v), Case{}); action {
		case Raw:
			kept = append(kept, decodeAll(t, NewBuilder(), v)...)
		case Skip:
		default:
			t.Errorf("batch at %d: %v (%s)", v.BaseOffset(), action, reason)
		}
	}
	sameRecords(t, kept, append(want[:5:5], want[10:15]...))
}

// The cleaner left all three shapes behind.
func TestGoldenCompaction(t *testing.T) {
	raw, _, _ := readGolden(t, "testdata/golden/java-compacted.bin")
	seen := map[Reason]bool{}
	for rest := raw; len(rest) > 0; {
		v, after, err := Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		_, reason := Decide(v, false, Case{})
		seen[reason] = true
	}
	for _, want := range []Reason{ReasonGaps, ReasonEmpty, ReasonNone} {
		if !seen[want] {
			t.Errorf("no batch with %q", want)
		}
	}
}
