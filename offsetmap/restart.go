package offsetmap

import (
	"math"
	"slices"
)

// restartEvery is the distance of kept decoding states, in runs. A lookup
// scans half of it on average, at 1 to 10 ns a run depending on how regular
// the runs are; a state costs 16 bytes, so half a byte a run.
const restartEvery = 32

// restart is the decoding state in front of a run.
type restart struct {
	at      point // one past the run before
	records int64 // records of the segment in front of it
	pos     int   // where the run is encoded in segment.data
}

// restarts are the kept states of one segment. They are kept as 32-bit
// differences to the segment's start, four in a cache line, since a lookup
// costs what its cache misses cost; all are widened once one does not fit (a
// segment that spans more than 4 G offsets, so one of long runs).
type restarts struct {
	from   point
	narrow []narrowRestart
	wide   []restart
}

type narrowRestart struct{ source, target, records, pos uint32 }

func (k *restarts) len() int { return len(k.narrow) + len(k.wide) } // one of them is empty

func (k *restarts) at(i int) restart {
	if len(k.wide) > 0 {
		return k.wide[i]
	}
	n := k.narrow[i]
	return restart{k.point(n), int64(n.records), int(n.pos)}
}

func (k *restarts) point(n narrowRestart) point {
	return point{k.from.source + SourceOffset(n.source), k.from.target + TargetOffset(n.target)}
}

// source is at(i).at.source.
func (k *restarts) source(i int) SourceOffset {
	if len(k.wide) > 0 {
		return k.wide[i].at.source
	}
	return k.from.source + SourceOffset(k.narrow[i].source)
}

// target is at(i).at.target.
func (k *restarts) target(i int) TargetOffset {
	if len(k.wide) > 0 {
		return k.wide[i].at.target
	}
	return k.from.target + TargetOffset(k.narrow[i].target)
}

func (k *restarts) add(r restart) {
	s, t := uint64(r.at.source-k.from.source), uint64(r.at.target-k.from.target)
	fits := max(s, t, uint64(r.records), uint64(r.pos)) <= math.MaxUint32
	switch {
	case len(k.wide) == 0 && fits:
		k.narrow = append(k.narrow, narrowRestart{uint32(s), uint32(t), uint32(r.records), uint32(r.pos)})
		return
	case len(k.wide) == 0:
		k.wide = make([]restart, 0, 2*len(k.narrow)+1)
		for i := range k.narrow {
			n := k.narrow[i]
			k.wide = append(k.wide, restart{k.point(n), int64(n.records), int(n.pos)})
		}
		k.narrow = nil
	}
	k.wide = append(k.wide, r)
}

// clone returns a copy without the spare room of a growing tail.
func (k *restarts) clone() restarts {
	return restarts{k.from, slices.Clone(k.narrow), slices.Clone(k.wide)}
}

// lastBelow returns the last i in [0, n) with below(i), which holds up to some
// i and at 0. It starts at guess and doubles its steps: offsets grow evenly
// enough that a good guess saves most cache misses of a binary search, and a
// bad guess only doubles its probes.
func lastBelow(n, guess int, below func(i int) bool) int {
	lo, hi := guess, guess
	if below(guess) {
		step := 1
		for hi = lo + step; hi < n && below(hi); hi = lo + step {
			lo, step = hi, 2*step
		}
		hi = min(hi, n)
	} else {
		step := 1
		for lo = hi - step; lo > 0 && !below(lo); lo = hi - step {
			hi, step = lo, 2*step
		}
		lo = max(lo, 0)
	}
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// share guesses which of n even parts of a whole the given part ends in.
func share(part, whole int64, n int) int {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return min(int(float64(part)/float64(whole)*float64(n)), n-1)
}
