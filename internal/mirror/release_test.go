package mirror

import (
	"testing"
	"time"

	"tidemark/internal/lane"
)

// The lane ends once the word "released" is in the ledger, not when it is on its way.
func TestReleasedWhenTheLedgerHasIt(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	l.drain()
	ends := func() bool {
		finished, err := l.drained(time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return finished
	}
	for range 2 {
		if ends() || l.ledger.Idle() {
			t.Fatal("it ends before the word is in the ledger")
		}
	}
	f := l.ledger.Next(now())
	if ends() {
		t.Fatal("it ends while the word is on its way")
	}
	l.ledger.Answered(f, lane.Result{Answer: lane.Acked}, now())
	if !ends() {
		t.Error("it does not end")
	}
}
