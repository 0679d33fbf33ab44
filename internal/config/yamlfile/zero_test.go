package yamlfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/config/setting"
)

// TestZeroIsNoDefault: a number that is written as 0, or below it, is never taken for one that is not written. In YAML it
// is refused with what is allowed; in a properties file it is refused, or what is used instead is said.
func TestZeroIsNoDefault(t *testing.T) {
	const clusters = "clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}}\nflows:\n- {from: A, to: B, "
	seen := 0
	refused := func(text, key, says string) {
		t.Helper()
		seen++
		_, err := Examine("x.yaml", []byte(text)).Result()
		if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), key+": ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\ngot %v, want one problem of %s with %q", text, err, key, says)
		}
	}
	for key, s := range setting.Of("yaml", &config.Flow{}) {
		if kind := s.Value.Kind(); kind < reflect.Int || kind > reflect.Int64 {
			continue
		}
		for _, value := range []string{"0", "-7"} {
			if s.Value.Type() == reflect.TypeFor[time.Duration]() {
				value += "s"
			}
			refused(clusters+key+": "+value+"}", "flows[0]."+key, ";")
		}
	}
	for _, r := range config.Roles() {
		for key, s := range setting.Of("client", &config.ClientSettings{}) {
			if !r.Uses(s.Field) {
				continue
			}
			b := config.Bounds(r)[s.Field]
			says := fmt.Sprintf("is out of bounds (%s to %s)", config.Amount(s.Field, b.Least), config.Amount(s.Field, b.Most))
			for _, value := range []string{"0", "-7"} {
				if s.Kind != "bytes" {
					value += "s"
				}
				refused(fmt.Sprintf("%sclients: {%s: {%s: %s}}}", clusters, r, key, value), fmt.Sprintf("flows[0].clients.%s.%s", r, key), says)
				if config.AnyRole.Uses(s.Field) {
					refused(fmt.Sprintf("clusters: {A: {bootstrap: 'a:1', client: {%s: %s}}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B}]", key, value), "clusters.A.client."+key, "is out of bounds")
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d keys and values", seen)
	}
}

// TestSizesDoNotWrap: what is too small for a number of 64 bits is no size that happens to fit.
func TestSizesDoNotWrap(t *testing.T) {
	_, err := Examine("x.yaml", []byte("clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B, memory: -9007199254740993KiB}]")).Result()
	if err == nil || !strings.Contains(err.Error(), "flows[0].memory: ") {
		t.Errorf("%v", err)
	}
}
