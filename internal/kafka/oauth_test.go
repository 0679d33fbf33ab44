package kafka

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTokenFile: a token that others renew is read again for each login. A file without one is an error that names it, and
// is not taken for a token; one that is known to last is used meanwhile.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	o := &OAuth{TokenURL: "file://" + path}
	jwt := func(ends time.Duration) string {
		claims := fmt.Sprintf(`{"exp":%d}`, time.Now().Add(ends).Unix())
		return "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".y"
	}
	ended, lasting := jwt(-time.Hour), jwt(time.Hour)
	for i, step := range []struct{ content, want, problem string }{
		{"\n", "", path + " is empty, or holds nothing but white space"},
		{"first\n", "first", ""},
		{"second", "second", ""},
		{" \n", "", path + " is empty, or holds nothing but white space"},
		{"third", "third", ""},
		{"\x00gone", "", "no such file"},
		{lasting, lasting, ""},
		{"", lasting, ""},
		{"\x00gone", lasting, ""},
		{"fourth", "fourth", ""},
		{ended, ended, ""}, // the broker's business
		{"", "", path + " is empty, or holds nothing but white space"},
	} {
		var err error
		if step.content == "\x00gone" {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(step.content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.current(t.Context())
		if got != step.want || (err == nil) != (step.problem == "") || err != nil && !strings.Contains(err.Error(), step.problem) {
			t.Errorf("step %d: token %q, %v; want %q, %q", i, got, err, step.want, step.problem)
		}
	}
}
