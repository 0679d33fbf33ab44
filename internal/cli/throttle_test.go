package cli

import "testing"

func TestPerSecond(t *testing.T) {
	for text, want := range map[string]int64{"50MB": 50_000_000, "64 MiB": 64 << 20, "1GiB": 1 << 30, "3kB": 3000, "7": 7, "2GB": 2_000_000_000, "9KiB": 9216, "1KB": 1000} {
		if n, off, err := perSecond(text); n != want || off || err != nil {
			t.Errorf("%q is %d, %t, %v, want %d", text, n, off, err, want)
		}
	}
	if n, off, err := perSecond("off"); n != 0 || !off || err != nil {
		t.Error(n, off, err)
	}
	for _, text := range []string{"", "0", "-5MB", "50Mb", "5.5MB", "MB", "9999999999GB", "on"} {
		if n, off, err := perSecond(text); err == nil {
			t.Errorf("%q is taken as %d, %t", text, n, off)
		}
	}
}
