package lane

import "iter"

// Release is the order in which a lane that was told to end is given up: what is in flight is settled, every head is
// written, then the word "released". Without that word the next owner fences and looks, so nothing is lost.
type Release struct {
	unclean bool
	asked   bool
}

// ReleaseStep is what a release waits for, or how it ended.
type ReleaseStep uint8

// The steps of a release.
const (
	ReleaseWaits   ReleaseStep = iota // for what is in flight, and for journals
	ReleaseClaim                      // write the claim with the word "released"
	ReleaseDone                       // it is acknowledged
	ReleaseNothing                    // nothing was ever written in this claim's name
	ReleaseUnclean                    // records of a stopped partition may be on the target without our knowing
)

// Rest is what a lane still has to write besides its partitions' units.
type Rest struct {
	LedgerIdle bool
	RowsIdle   bool // journals of the verdicts topic, but for those that are held
	RowsHeld   bool // a verdicts partition was never fenced, so it is still the former owner's to write
	Claimed    bool // our claim is in the ledger
	Unfenced   bool // so is a partition that could not be fenced when the lane was taken over
	Released   bool // the claim of ReleaseClaim is acknowledged
}

// Next says what to do now. The caller has asked each partition to Drain, and before each call to Flush.
func (r *Release) Next(parts iter.Seq[*Partition], rest Rest) ReleaseStep {
	for p := range parts {
		if p.Clean() {
			continue
		}
		if !p.Is(Stopped) {
			return ReleaseWaits
		}
		r.unclean = true
	}
	r.unclean = r.unclean || rest.RowsHeld
	switch {
	case !rest.LedgerIdle || !rest.RowsIdle:
		return ReleaseWaits
	case !rest.Claimed:
		return ReleaseNothing
	case r.unclean || rest.Unfenced:
		return ReleaseUnclean
	case !r.asked:
		r.asked = true
		return ReleaseClaim
	case rest.Released:
		return ReleaseDone
	}
	return ReleaseWaits
}
