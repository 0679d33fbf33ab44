package lane

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

const hour = 3_600_000

// chores are those that are due, as text.
func chores(u *Upkeep, ledger *Journal, rows map[int32]*Journal, draining bool, now int64) []string {
	var out []string
	for _, c := range u.Due(ledger, maps.All(rows), draining, now) {
		out = append(out, c.String())
	}
	return out
}

func TestUpkeepIsDue(t *testing.T) {
	const judge, starts, keep, fence = "judge positions anew", "ask for the target's log starts", "refresh the identity by a fence of the ledger", "fence verdicts partition 3"
	ledger, rows := NewJournal(4), map[int32]*Journal{1: NewJournal(4), 3: NewJournal(4)}
	rows[3].Hold()
	u := NewUpkeep("id", hour, 1000)
	for _, c := range []struct {
		now      int64
		draining bool
		want     []string
	}{
		{1000, false, []string{fence, starts, judge}},
		{1199, false, nil},
		{1200, false, []string{judge}},
		{2600, true, nil},
		{2600, false, []string{judge}}, // the first fence is under way
		{11_000, false, []string{starts, judge}},
		{1000 + hour - 1, false, []string{starts, judge}},
		{1000 + hour, false, []string{keep}},
		{1000 + 2*hour, false, []string{starts, judge}}, // the first keepalive is under way
	} {
		if got := chores(u, ledger, rows, c.draining, c.now); !slices.Equal(got, c.want) {
			t.Errorf("at %d: %q, want %q", c.now, got, c.want)
		}
	}
}

// A verdicts partition is fenced again a second later where that failed, and is written in the epoch of its fence.
func TestUpkeepFencesRows(t *testing.T) {
	ledger, j := NewJournal(4), NewJournal(4)
	rows := map[int32]*Journal{3: j}
	j.Hold()
	u := NewUpkeep("id", hour, 0)
	fences := func(now int64) bool {
		return slices.Contains(chores(u, ledger, rows, false, now), "fence verdicts partition 3")
	}
	if !fences(0) || u.RowsFenced(j, 0, Outcome{Err: "no leader", Hangs: true}) != "" || !j.Held() {
		t.Error("the first fence")
	}
	if fences(999) || !fences(1000) {
		t.Error("the second fence is not a second later")
	}
	if gone := u.RowsFenced(j, 0, Outcome{Err: "fenced", Fenced: true}); gone != "fenced" {
		t.Errorf("another owner has the lane: %q", gone)
	}
	if u.RowsFenced(j, 6, Outcome{}); j.Held() || j.Epoch() != 6 {
		t.Errorf("held %t, epoch %d", j.Held(), j.Epoch())
	}
	if fences(3000) {
		t.Error("fenced though nothing is held")
	}
}

// A ledger that has something to send in each tick must not put the keepalive off for ever.
func TestKeepaliveOnABusyLedger(t *testing.T) {
	ledger, u := NewJournal(4), NewUpkeep("id", hour, 0)
	flight := func() *Flight {
		ledger.Add([]byte("x"), []byte("y"), nil, 0) // a head of some busy partition in each tick
		return ledger.Next(0)
	}
	f := flight()
	if got := chores(u, ledger, nil, false, hour); slices.Contains(got, Keepalive{}.String()) || !ledger.Held() {
		t.Fatalf("%q, held %t, while a batch is under way", got, ledger.Held())
	}
	ledger.Answered(f, Result{Answer: Acked}, 0)
	if f := flight(); f != nil {
		t.Fatal("another batch is sent first")
	}
	if got := chores(u, ledger, nil, false, hour+50); !slices.Contains(got, Keepalive{}.String()) {
		t.Fatalf("%q", got)
	}
}

// A lane is told to end between the moment when a keepalive is due and the answer that it waits for: the last heads must not
// wait for a keepalive that never comes.
func TestDrainBeforeAKeepalive(t *testing.T) {
	ledger, u := NewJournal(4), NewUpkeep("id", hour, 0)
	ledger.Add([]byte("x"), []byte("y"), nil, 0)
	f := ledger.Next(0)
	u.Due(ledger, maps.All[map[int32]*Journal](nil), false, hour)
	if !ledger.Held() {
		t.Fatal("not held for the keepalive")
	}
	ledger.Answered(f, Result{Answer: Acked}, 0)
	ledger.Add([]byte("last head"), nil, nil, 0)
	if got := chores(u, ledger, nil, true, hour+50); got != nil || ledger.Next(0) == nil {
		t.Errorf("%q, and the last head is held back", got)
	}
}

// A ledger that a keepalive may have fenced is not written before one has succeeded, also not by a lane that ends.
func TestDrainBehindAFailedKeepalive(t *testing.T) {
	ledger, u := NewJournal(4), NewUpkeep("id", hour, 0)
	u.Due(ledger, maps.All[map[int32]*Journal](nil), false, hour)
	u.Kept(ledger, 5, Outcome{Err: "timed out"}, hour)
	u.Due(ledger, maps.All[map[int32]*Journal](nil), true, hour+50)
	if !ledger.Held() {
		t.Error("written in an epoch that may be fenced")
	}
}

func TestKept(t *testing.T) {
	for _, c := range []struct {
		epoch int16
		o     Outcome
		held  bool
		now   int16
		gone  string
	}{
		{4, Outcome{}, false, 4, ""},
		{4, Outcome{Err: "timed out"}, false, 4, ""}, // its own epoch cannot be fenced by it
		{6, Outcome{Err: "timed out"}, true, 4, ""},  // it may be fenced
		{6, Outcome{}, false, 6, ""},
		{6, Outcome{Err: "fenced", Fenced: true}, true, 4, "fenced"},
	} {
		ledger, u := NewJournal(4), NewUpkeep("id", hour, 0)
		u.Due(ledger, maps.All[map[int32]*Journal](nil), false, hour)
		if gone := u.Kept(ledger, c.epoch, c.o, hour); gone != c.gone || ledger.Held() != c.held || ledger.Epoch() != c.now {
			t.Errorf("%+v: %q, held %t, epoch %d", c, gone, ledger.Held(), ledger.Epoch())
		}
		again := chores(u, ledger, nil, false, hour+keepAgain)
		if failed := c.o.Err != ""; slices.Contains(again, Keepalive{}.String()) != failed {
			t.Errorf("%+v: ten seconds later %q", c, again)
		}
	}
}

// A lane whose identity hangs goes on for five minutes, then it is given up; work that succeeds in between begins the time anew.
func TestIdentityThatHangs(t *testing.T) {
	u := NewUpkeep("id", hour, 0)
	hang := Outcome{Err: "concurrent transactions", Hangs: true}
	worked := func(o Outcome, now int64) string { return u.Worked(o, now) }
	got := fmt.Sprint(worked(hang, 0), worked(hang, wedgedFor), worked(Outcome{}, wedgedFor+1), worked(hang, wedgedFor+2),
		worked(Outcome{Err: "away"}, 2*wedgedFor+2), worked(hang, 2*wedgedFor+2))
	if got != "" {
		t.Errorf("given up too early: %s", got)
	}
	if got := worked(hang, 2*wedgedFor+3); got != "its identity id hangs: concurrent transactions" {
		t.Errorf("%q", got)
	}
	if got := worked(Outcome{Err: "fenced", Fenced: true}, 0); got != "fenced" {
		t.Errorf("fenced: %q", got)
	}
}
