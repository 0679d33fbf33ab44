package offsetmap

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
