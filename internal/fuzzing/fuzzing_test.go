package fuzzing

import (
	"fmt"
	"testing"
)

// failure is a test that notes its failure and goes on.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Helper()                        {}
func (f *failure) Fatalf(format string, a ...any) { f.said = fmt.Sprintf(format, a...) }

func TestWithinSeesWhatIsTaken(t *testing.T) {
	var kept []byte
	for size, fails := range map[int]bool{1 << 10: false, 1 << 20: false, 8 << 20: true} {
		f := &failure{}
		Within(f, 4<<20, func() { kept = make([]byte, size) })
		if (f.said != "") != fails {
			t.Errorf("%d bytes: %q", len(kept), f.said)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		cuts := Cuts(make([]byte, n))
		for i, c := range cuts {
			if (i == 0) != (len(c) == n) || i > 0 && cap(c) != len(c) {
				t.Errorf("cut %d of %d bytes has %d", i, n, len(c))
			}
		}
		if want := min(n, 1)*3 + 1; len(cuts) != want {
			t.Errorf("%d cuts of %d bytes, want %d", len(cuts), n, want)
		}
	}
}
