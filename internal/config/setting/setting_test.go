package setting_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/config/setting"
)

type example struct {
	On      bool          `key:"on,omitempty"`
	Level   string        `key:"level" choice:"LOW HIGH" fold:"upper"`
	Mark    string        `key:"mark" kind:"separator"`
	Factor  int16         `key:"factor"`
	Lanes   int           `key:"lanes"`
	Memory  int64         `key:"memory"`
	Size    int64         `key:"size" kind:"bytes"`
	Names   []string      `key:"names" kind:"patterns"`
	Wait    time.Duration `key:"wait"`
	Ignored string
}

// TestSet: a text becomes the value of its field, or a fault leaves the field as it was.
func TestSet(t *testing.T) {
	for _, tc := range []struct {
		key, text string
		want      any // nil: a fault
	}{
		{"on", "True", true},
		{"on", "yes", nil},
		{"level", "high", "HIGH"},
		{"level", "middle", nil},
		{"mark", "_", "_"},
		{"mark", "/", nil},
		{"mark", "", ""},
		{"factor", "-1", int16(-1)},
		{"factor", "0", nil},
		{"factor", "32768", nil},
		{"lanes", "1000", 1000},
		{"lanes", "1001", nil},
		{"memory", "64 MiB", int64(64 << 20)},
		{"memory", "1KiB", nil},
		{"size", "1KiB", int64(1 << 10)},
		{"size", "1KB", nil},
		{"size", "9007199254740993KiB", nil},
	} {
		var have example
		one := setting.Of("key", &have)[tc.key]
		before := one.Value.Interface()
		f := one.Set(tc.text)
		want := tc.want
		if want == nil {
			want = before
		}
		if got := one.Value.Interface(); (f == nil) != (tc.want != nil) || got != want {
			t.Errorf("%s: %q gives %v, fault %v; want %v", tc.key, tc.text, got, f, tc.want)
		}
	}
}

// TestKeys: the fields that have a tag are found by it, sorted or in their own order.
func TestKeys(t *testing.T) {
	inOrder, all := setting.InOrder("key", &example{})
	if want := strings.Fields("on level mark factor lanes memory size names wait"); !slices.Equal(inOrder, want) {
		t.Errorf("got %q, want %q", inOrder, want)
	}
	if sorted := setting.Keys(all); !slices.Equal(sorted, slices.Sorted(slices.Values(inOrder))) || all["on"].Field != "On" {
		t.Errorf("got %q, %q", sorted, all["on"].Field)
	}
}

// TestText: a value that is written is read as the same.
func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1: "1", 1 << 10: "1KiB", 1<<20 + 1: "1048577", 3 << 30: "3GiB"} {
		var have example
		if f := setting.Of("key", &have)["size"].Set(setting.Size(n)); setting.Size(n) != want || f != nil || have.Size != n {
			t.Errorf("%d is written %q and read as %d, %v; want %q", n, setting.Size(n), have.Size, f, want)
		}
	}
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Second: "1m30s", 500 * time.Millisecond: "500ms"} {
		if back, err := time.ParseDuration(setting.Duration(d)); setting.Duration(d) != want || err != nil || back != d {
			t.Errorf("%v is written %q and read as %v, %v; want %q", d, setting.Duration(d), back, err, want)
		}
	}
	if got := setting.SplitList(" a, ,b "); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}
