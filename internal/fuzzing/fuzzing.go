// Package fuzzing is what fuzz targets of several packages need: seeds that end too early, and a limit for the memory
// that a parser may take for its input.
//
// It is imported by tests only. It knows none of the formats: seeds and properties are the packages' own.
package fuzzing

import (
	"runtime/metrics"
	"testing"
)

// Cuts gives a seed whole and cut short: by a byte, in its middle, and in its first part, where lengths are read.
func Cuts(seed []byte) [][]byte {
	out := [][]byte{seed}
	for _, n := range []int{len(seed) - 1, len(seed) / 2, min(7, len(seed)/3)} {
		if n >= 0 && len(seed) > 0 {
			out = append(out, seed[:n:n])
		}
	}
	return out
}

// Within runs fn and fails the test if the heap gave more than most bytes meanwhile. Length fields of an input are
// foreign, and one of them must not be able to ask for gigabytes. Small objects of other goroutines count as well, so
// most is not to be tight; runtime.ReadMemStats would be exact and stops the world, for each input.
func Within(t testing.TB, most int, fn func()) {
	t.Helper()
	before := allocated()
	fn()
	if took := allocated() - before; took > uint64(most) {
		t.Fatalf("%d bytes of memory were taken, at most %d are due", took, most)
	}
}

// allocated is how many bytes the heap has given since the process started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
