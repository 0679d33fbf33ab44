package ledger

import (
	"strings"
	"testing"
)

// TestComplaintAboutALongKeyIsShort: a foreign record's key can have megabytes, and what is said of it goes to the log and
// to status. A topic in a key is no longer than Kafka allows.
func TestComplaintAboutALongKeyIsShort(t *testing.T) {
	long := strings.Repeat("[", 20_000)
	for _, key := range []string{long, "head/0/" + long, "configs/" + long} {
		c := NewContents()
		err := c.Apply(7, []byte(key), []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Other) != 1 || c.Other[0].Offset != 7 {
			t.Fatalf("%.20s: %d complaints", key, len(c.Other))
		}
		if said := c.Other[0].Key + c.Other[0].Err.Error(); len(said) > 300 {
			t.Errorf("%.20s: a complaint of %d bytes", key, len(said))
		}
	}
}
