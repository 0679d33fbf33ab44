package lane

import (
	"fmt"
	"slices"
	"testing"
)

func flies(f *Flight) (keys []string) {
	for _, r := range f.Records {
		keys = append(keys, fmt.Sprintf("%s=%s", r.Key, r.Value))
	}
	return keys
}

// Heads of a partition that is tried again and again while the ledger takes nothing: one of them waits.
func TestJournalKeepsTheNewestOfAKey(t *testing.T) {
	j := NewJournal(3)
	j.Add([]byte("claim"), []byte("c"), nil, 0)
	first := j.Next(0)
	var acked []int
	for i := range 360 {
		j.Add([]byte("head"), fmt.Appendf(nil, "%d", i), func() { acked = append(acked, i) }, int64(i))
	}
	if n := j.Waiting(); n != 1 {
		t.Errorf("%d heads of one partition wait; only the last one counts", n)
	}
	if len(j.pending) > 130 {
		t.Errorf("%d places are taken for it", len(j.pending))
	}
	for range 20 { // refused, for a minute
		j.Answered(first, Result{Answer: NotSaved}, 0)
		if j.Next(1000) != first {
			t.Fatal("the flight must go again as it is")
		}
	}
	if !j.Stalled() {
		t.Error("not stalled")
	}
	j.Answered(first, Result{Answer: Acked}, 0)
	second := j.Next(0)
	if got := flies(second); j.Stalled() || !slices.Equal(got, []string{"head=359"}) || second.Sequence != 1 {
		t.Fatalf("stalled %t, flies %v from sequence %d", j.Stalled(), got, second.Sequence)
	}
	j.Answered(first, Result{Answer: Acked}, 0) // a second answer to the first
	if len(acked) > 0 || j.Idle() {
		t.Errorf("acknowledged before it is in the ledger: %d", acked)
	}
	j.Answered(second, Result{Answer: Acked}, 0)
	if len(acked) != 360 || !slices.IsSorted(acked) || !j.Idle() {
		t.Errorf("%d heads are acknowledged, in order %t", len(acked), slices.IsSorted(acked))
	}
}

// A head refers to the blocks that were queued before it: the newer one goes behind them, not into the place of the old one.
func TestJournalKeepsTheOrder(t *testing.T) {
	j := NewJournal(3)
	add := func(k, v string) { j.Add([]byte(k), []byte(v), nil, 0) }
	add("head", "1")
	add("block 1", "b")
	add("head", "2, with block 1")
	add("other", "o")
	add("block 1", "again")
	f := j.Next(0)
	if got := flies(f); !slices.Equal(got, []string{"head=2, with block 1", "other=o", "block 1=again"}) {
		t.Errorf("flies %v", got)
	}
	// What flies stays as it is; a newer record of its key waits.
	add("head", "3")
	if got := flies(f); j.Waiting() != 1 || len(got) != 3 {
		t.Errorf("%d wait, %v flies", j.Waiting(), got)
	}
	// Other keys in between, and many that are replaced: nothing gets lost.
	for i := range 1000 {
		add(fmt.Sprintf("head %d", i%10), fmt.Sprint(i))
	}
	j.Answered(f, Result{Answer: Acked}, 0)
	got := flies(j.Next(0))
	want := []string{"head=3"}
	for i := 990; i < 1000; i++ {
		want = append(want, fmt.Sprintf("head %d=%d", i%10, i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("flies %v, want %v", got, want)
	}
}

// A journal that is held sends nothing new, and begins at sequence 0 in another epoch.
func TestJournalHeld(t *testing.T) {
	j := NewJournal(3)
	j.Add([]byte("a"), nil, nil, 0)
	f := j.Next(0)
	j.Hold()
	j.Add([]byte("b"), nil, nil, 0)
	j.Answered(f, Result{Answer: InDoubt}, 0)
	if j.Next(0) != nil || j.Next(1000) != f || f.Epoch != 3 {
		t.Error("what flies goes on, after a moment")
	}
	j.Answered(f, Result{Answer: Acked}, 0)
	if j.Next(2000) != nil || j.Idle() || j.Flying() {
		t.Error("nothing new while it is held")
	}
	j.Release(3)
	if f = j.Next(0); f.Epoch != 3 || f.Sequence != 1 {
		t.Errorf("epoch %d sequence %d", f.Epoch, f.Sequence)
	}
	j.Answered(f, Result{Answer: Acked}, 0)
	j.Hold()
	j.Release(4)
	j.Add([]byte("c"), nil, nil, 0)
	if f = j.Next(0); f.Epoch != 4 || f.Sequence != 0 {
		t.Errorf("epoch %d sequence %d", f.Epoch, f.Sequence)
	}
	for _, a := range []Answer{Fenced, Sequence, Refused} {
		if why := j.Answered(f, Result{Answer: a, Reason: "no"}, 0); why != "no" {
			t.Errorf("%s: %q", a, why)
		}
	}
}
