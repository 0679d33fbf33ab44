package lane

import (
	"slices"
	"testing"

	"tidemark/internal/ledger"
)

// takeover lives one take-over: what the ledger says at the first and at the second look, and what InitProducerID gives.
func takeover(t *testing.T, first, second Claimed, got Identity, under string) (steps []Step, how Handover, err error) {
	t.Helper()
	o := Takeover{Reads: ledger.ReadCommitted}
	looks := []Claimed{first, second}
	for {
		steps = append(steps, o.Next())
		switch o.Next() {
		case ReadLedger:
			if err := o.Read(looks[0]); err != nil {
				return steps, 0, err
			}
			looks = looks[1:]
		case Identify:
			o.Identified(got, under)
		case ReadTails, WaitLease, FenceOwn, FenceHeads, ReadControls:
			o.Done()
		case Adopt:
			return steps, o.How(), nil
		}
	}
}

// TestTakeoverSteps: who is fenced, who is waited for, and when the ledger counts.
func TestTakeoverSteps(t *testing.T) {
	const plain, next = "lane.0", "lane.0.1"
	was := Identity{ProducerID: 7, Epoch: 3}
	claim := func(released bool) Claimed {
		return Claimed{Former: &Former{was, released}, Under: plain, Reads: ledger.IsolationUnknown}
	}
	none, lost := Claimed{Under: plain, Reads: ledger.IsolationUnknown}, Claimed{Lost: true, Under: plain, Reads: ledger.IsolationUnknown}
	after, other := Identity{7, 4}, Identity{9, 0}

	begin := []Step{ReadLedger, Identify}
	fresh := slices.Concat(begin, []Step{FenceOwn, ReadLedger, ReadControls, Adopt})
	clean := slices.Concat(begin, []Step{ReadControls, Adopt})
	crashed := slices.Concat(begin, []Step{FenceOwn, ReadLedger, FenceHeads, ReadControls, Adopt})
	unfenced := slices.Concat(begin, []Step{WaitLease, FenceOwn, ReadLedger, FenceHeads, ReadControls, Adopt})
	for _, c := range []struct {
		name          string
		first, second Claimed
		got           Identity
		under         string
		steps         []Step
		how           Handover
	}{
		{"nobody had it", none, none, after, plain, fresh, First},
		{"somebody claimed it between the look and the fence", none, claim(false), after, plain, crashed, Crashed},
		{"a claim that is damaged at the second look", none, lost, after, plain, crashed, Crashed},
		{"released", claim(true), claim(true), after, plain, clean, Clean},
		{"released, and somebody asked for the identity since", claim(true), claim(true), Identity{7, 5}, plain, crashed, Crashed},
		{"not released", claim(false), claim(false), after, plain, crashed, Crashed},
		{"the identity expired", claim(false), claim(false), other, plain, unfenced, Expired},
		{"the identity expired after the release", claim(true), claim(true), other, plain, clean, Clean},
		{"a damaged claim", lost, lost, after, plain, unfenced, Crashed},
		{"the identity hangs", claim(false), claim(false), other, next, unfenced, Expired},
		{"the identity hangs after the release", claim(true), claim(true), other, next, unfenced, Expired},
		{"the identity hangs, nobody had the lane", none, none, other, next, slices.Concat(begin, []Step{WaitLease, FenceOwn, ReadLedger, ReadControls, Adopt}), First},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps, how, err := takeover(t, c.first, c.second, c.got, c.under)
			if err != nil || how != c.how || !slices.Equal(steps, c.steps) {
				t.Errorf("%v by %v (%v), want %v by %v", how, steps, err, c.how, c.steps)
			}
		})
	}
	// Who read something else: tails are looked at before the identity and once more behind the fences.
	reads := func(c Claimed, r ledger.Isolation) Claimed { c.Reads = r; return c }
	for _, c := range []struct {
		first, second ledger.Isolation
		released      bool
		steps         []Step
	}{
		{ledger.ReadCommitted, ledger.ReadCommitted, false, crashed},
		{ledger.IsolationUnknown, ledger.IsolationUnknown, false, crashed},
		{ledger.ReadUncommitted, ledger.ReadUncommitted, false, []Step{ReadLedger, ReadTails, Identify, FenceOwn, ReadLedger, FenceHeads, ReadTails, ReadControls, Adopt}},
		{ledger.ReadUncommitted, ledger.ReadUncommitted, true, []Step{ReadLedger, ReadTails, Identify, ReadTails, ReadControls, Adopt}},
		{ledger.ReadCommitted, ledger.ReadUncommitted, false, []Step{ReadLedger, Identify, FenceOwn, ReadLedger, FenceHeads, ReadTails, ReadControls, Adopt}},
	} {
		if steps, _, err := takeover(t, reads(claim(c.released), c.first), reads(claim(c.released), c.second), after, plain); err != nil || !slices.Equal(steps, c.steps) {
			t.Errorf("%q, then %q: %v (%v), want %v", c.first, c.second, steps, err, c.steps)
		}
	}
	if _, _, err := takeover(t, claim(false), Claimed{Former: &Former{other, false}, Under: next}, after, plain); err == nil {
		t.Error("the lane went on under an identity that was not fenced, and is taken over")
	}
}
