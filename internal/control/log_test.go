package control

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/internal/partition"
)

func decision(id string, k Kind, s Scope) Decision {
	s.Flow = "A->B"
	if s.Topic == "" {
		s.Partition = AllPartitions
	}
	d := Decision{ID: id, Kind: k, Scope: s, At: time.Unix(1_800_000_000, 0).UTC(), By: "ann@ops1", Reason: "why not"}
	switch k {
	case Restart:
		d.From, d.Incarnation = "earliest", 7
	case Throttle:
		d.Bytes = 50
	case Forget:
		d.TopicID = TopicID{1, 2}
	case Pause, Skip, Moved:
	}
	return d
}

// add writes a decision into a log, as the command does: behind what is the newest one there.
func add(t testing.TB, l *Log, d Decision) {
	t.Helper()
	k, v, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	l.Add(l.end, k, v)
}

// TestDecisionsReadBack: what is written is read as it was.
func TestDecisionsReadBack(t *testing.T) {
	for _, d := range []Decision{
		decision("1", Pause, Scope{}),
		decision("2", Pause, Scope{Topic: "orders", Partition: AllPartitions}),
		decision("3", Skip, Scope{Topic: "orders", Partition: 3, First: 5, Last: 9}),
		decision("4", Restart, Scope{Topic: "orders", Partition: AllPartitions}),
		decision("5", Forget, Scope{Topic: "orders", Partition: AllPartitions}),
		decision("6", Moved, Scope{Group: "billing \"x\""}),
		decision("7", Throttle, Scope{}),
	} {
		k, v, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(k, v)
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%s %s became %+v, %v", k, v, got, err)
		}
	}
}

// TestWhatIsNotKnownIsNotPassedOver (CT2): a record of another version, kind or shape stands among the unknown.
func TestWhatIsNotKnownIsNotPassedOver(t *testing.T) {
	l := NewLog([16]byte{})
	for i, r := range []string{
		`{"kind":"pause","scope":{"flow":"A->B","partition":-1},"id":"1"} {"version":2,"by":"x"}`,
		`{"kind":"promote","scope":{"flow":"A->B","partition":-1},"id":"2"} {"version":1,"by":"x"}`,
		`{"kind":"skip","scope":{"flow":"A->B","topic":"t","partition":-1},"id":"3"} {"version":1,"by":"x"}`,
		`nonsense {}`,
		`{"kind":"pause","scope":{"flow":"A->B","partition":-1},"id":"4"} nonsense`,
		`{"kind":"pause","scope":{"flow":"B->A","partition":-1},"id":"5"} {"version":2,"by":"x"}`, // of another flow
	} {
		k, v, _ := bytes.Cut([]byte(r), []byte(" "))
		l.Add(int64(i), k, v)
	}
	s := l.Set("A->B")
	if len(s.Unknown()) != 5 || len(s.InForce()) != 0 || s.End() != 6 {
		t.Errorf("unknown %q, in force %v, end %d", s.Unknown(), s.InForce(), s.End())
	}
	for i, r := range s.Unknown() {
		t.Log(i, r)
	}
}

// TestNarrowestPause: of several pauses the narrowest is named; when it ends the wider one still holds.
func TestNarrowestPause(t *testing.T) {
	l := NewLog([16]byte{})
	flow, topic := decision("flow", Pause, Scope{}), decision("topic", Pause, Scope{Topic: "orders", Partition: AllPartitions})
	add(t, l, topic)
	add(t, l, flow)
	p := partition.ID{Topic: "orders", Partition: 1}
	if d, ok := l.Set("A->B").Paused(p); !ok || d.ID != "topic" {
		t.Errorf("%v %t", d, ok)
	}
	topic.ID, topic.Supersedes, topic.Off = "resumed", "topic", true
	add(t, l, topic)
	if d, ok := l.Set("A->B").Paused(p); !ok || d.ID != "flow" {
		t.Errorf("%v %t", d, ok)
	}
	var none *Set
	if _, ok := none.Paused(p); ok {
		t.Error("nobody has decided anything")
	}
}

// TestSkipsAreApart: decisions about the same offsets become one stretch.
func TestSkipsAreApart(t *testing.T) {
	l := NewLog([16]byte{})
	for i, r := range []Range{{20, 29}, {5, 9}, {8, 12}, {13, 13}, {40, 40}} {
		add(t, l, decision(fmt.Sprint(i), Skip, Scope{Topic: "orders", Partition: 1, First: int64(r.First), Last: int64(r.Last)}))
	}
	got := l.Set("A->B").Skips(partition.ID{Topic: "orders", Partition: 1})
	if want := []Range{{5, 13}, {20, 29}, {40, 40}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTwoOperators (CT1): two operators decide beside each other, each by what he last read. For each kind and scope the valid
// decisions are a chain, each made by somebody who knew the one before; all others are void, and none is missing. A log that was
// compacted says the same.
func TestTwoOperators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLog([16]byte{9})
		var seen [2]*Set
		valid := map[slot][]Decision{}
		void := 0
		for i := range rapid.IntRange(1, 30).Draw(t, "decisions") {
			who := rapid.IntRange(0, 1).Draw(t, "who")
			if rapid.Bool().Draw(t, "reads") {
				seen[who] = l.Set("A->B")
			}
			d := decision(fmt.Sprint(i), Pause, Scope{Topic: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "topic"), Partition: AllPartitions})
			last, had := seen[who].Last(d.Kind, d.Scope)
			d.Supersedes, d.Off = last.ID, had && !last.Off
			k, v, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			l.Add(l.end, k, v)
			chain := valid[d.slot()]
			if n := len(chain); n == 0 && d.Supersedes == "" || n > 0 && d.Supersedes == chain[n-1].ID {
				valid[d.slot()] = append(chain, d)
			} else {
				void++
			}
		}
		s := l.Set("A->B")
		for at, chain := range valid {
			got, ok := s.Last(at.kind, at.scope)
			if want := chain[len(chain)-1]; !ok || got.ID != want.ID {
				t.Fatalf("%v: in force is %q, want %q", at, got.ID, want.ID)
			}
		}
		if len(s.Void()) != void || len(s.All()) != int(l.end) {
			t.Fatalf("%d void of %d, want %d of %d", len(s.Void()), len(s.All()), void, l.end)
		}
		if s.Topic() != [16]byte{9} {
			t.Fatal(s.Topic())
		}
	})
}

// TestIncarnationGrows also where a clock goes back.
func TestIncarnationGrows(t *testing.T) {
	l := NewLog([16]byte{})
	d := decision("1", Restart, Scope{Topic: "orders", Partition: AllPartitions})
	d.Incarnation = 1000
	add(t, l, d)
	if got := l.Set("A->B").Incarnation(500); got != 1001 {
		t.Errorf("%d", got)
	}
	if got := (*Set)(nil).Incarnation(500); got != 500 {
		t.Errorf("%d", got)
	}
}

// FuzzDecode: a record is read or refused, and what is read is written as a record that says the same.
func FuzzDecode(f *testing.F) {
	for _, d := range []Decision{decision("1", Pause, Scope{}), decision("3", Skip, Scope{Topic: "orders", Partition: 3, First: 5, Last: 9}), decision("5", Forget, Scope{Topic: "orders", Partition: AllPartitions})} {
		k, v, err := d.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(k, v)
	}
	f.Fuzz(func(t *testing.T, k, v []byte) {
		d, err := Decode(k, v)
		if err != nil {
			return
		}
		again, val, err := d.Encode()
		if err != nil {
			return // a time that JSON cannot hold
		}
		d.At = d.At.UTC().Truncate(time.Second)
		if got, err := Decode(again, val); err != nil || !got.At.Equal(d.At) {
			t.Fatalf("%+v became %+v, %v", d, got, err)
		}
	})
}

// TestThrottleIsReplaced: another bound takes the place of one that is in force; the same one is told so.
func TestThrottleIsReplaced(t *testing.T) {
	l := NewLog([16]byte{1})
	ask := func(bytes int64, off bool) (means []string, err error) {
		w := World{Flow: "A->B", Set: l.Set("A->B"), ID: fmt.Sprint(l.end), Now: time.Unix(1_800_000_000, 0), By: "ann@ops1"}
		d, means, err := w.Decide(Request{Kind: Throttle, Partition: AllPartitions, Bytes: bytes, Off: off})
		if err == nil {
			add(t, l, d)
		}
		return means, err
	}
	inForce := func(want int64) {
		t.Helper()
		if d, is := l.Set("A->B").Throttle(); d.Bytes != want || is != (want > 0) {
			t.Errorf("%+v %t, want %d", d, is, want)
		}
	}
	if _, err := ask(0, true); err == nil || err.Error() != "no throttle of flow A->B is in force" {
		t.Error(err)
	}
	if _, err := ask(0, false); err == nil {
		t.Error("0 bytes a second are decided")
	}
	inForce(0)
	if means, err := ask(50_000_000, false); err != nil || means[0] != "flow A->B copies 50 MB a second at most, all workers together: each of them has the share of its partitions." {
		t.Error(means, err)
	}
	inForce(50_000_000)
	if _, err := ask(50_000_000, false); err == nil {
		t.Error("the same is decided again")
	}
	if _, err := ask(1<<20, false); err != nil {
		t.Error(err)
	}
	inForce(1 << 20)
	if _, err := ask(0, true); err != nil {
		t.Error(err)
	}
	inForce(0)
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{50_000_000: "50 MB", 1 << 20: "1 MiB", 64 << 20: "64 MiB", 5e9: "5 GB", 1 << 30: "1 GiB", 3000: "3 kB", 2048: "2 KiB", 7: "7 bytes", 0: "0 bytes"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
