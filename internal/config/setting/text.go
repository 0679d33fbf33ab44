package setting

import (
	"fmt"
	"strings"
	"time"
)

// SplitList cuts a list the way Kafka's ConfigDef does: at commas, blanks around elements removed, empty text: no
// elements. Empty elements are dropped; in Java they match nothing either.
func SplitList(text string) []string {
	var out []string
	for e := range strings.SplitSeq(text, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// Duration is a duration without units that are zero: 10m, not 10m0s.
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Size writes bytes with the largest unit that divides them.
func Size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one && n%one == 0 {
			return fmt.Sprintf("%d%s", n/one, unit)
		}
	}
	return fmt.Sprint(n)
}
