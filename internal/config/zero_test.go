package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/config/provider"
	"tidemark/internal/config/setting"
)

// numeric says whether a setting is a number, a size or a duration.
func numeric(s setting.Setting) bool {
	return s.Value.Kind() >= reflect.Int && s.Value.Kind() <= reflect.Int64
}

// TestZeroIsNoDefault: a number that is written as 0, or below it, is never taken for one that is not written. In YAML it
// is refused with what is allowed; in a properties file it is refused, or what is used instead is said.
func TestZeroIsNoDefault(t *testing.T) {
	const clusters = "clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}}\nflows:\n- {from: A, to: B, "
	seen := 0
	refused := func(text, key, says string) {
		t.Helper()
		seen++
		_, err := ExamineYAML("x.yaml", []byte(text)).Result()
		if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), key+": ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\ngot %v, want one problem of %s with %q", text, err, key, says)
		}
	}
	for key, s := range setting.Of("yaml", &Flow{}) {
		if !numeric(s) {
			continue
		}
		for _, value := range []string{"0", "-7"} {
			if s.Value.Type() == reflect.TypeFor[time.Duration]() {
				value += "s"
			}
			refused(clusters+key+": "+value+"}", "flows[0]."+key, ";")
		}
	}
	for _, r := range Roles() {
		for key, s := range setting.Of("client", &ClientSettings{}) {
			if !r.uses(s.Field) {
				continue
			}
			b := bounds(r)[s.Field]
			says := fmt.Sprintf("is out of bounds (%s to %s)", amount(s.Field, b.least), amount(s.Field, b.most))
			for _, value := range []string{"0", "-7"} {
				if s.Kind != "bytes" {
					value += "s"
				}
				refused(fmt.Sprintf("%sclients: {%s: {%s: %s}}}", clusters, r, key, value), fmt.Sprintf("flows[0].clients.%s.%s", r, key), says)
				if anyRole.uses(s.Field) {
					refused(fmt.Sprintf("clusters: {A: {bootstrap: 'a:1', client: {%s: %s}}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B}]", key, value), "clusters.A.client."+key, "is out of bounds")
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d keys and values", seen)
	}
}

// TestZeroInProperties is the same for keys of MirrorMaker 2; -1 is the socket's own way to say "the system's".
func TestZeroInProperties(t *testing.T) {
	base := "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"
	told := func(line string) bool {
		got := ExamineProperties("x.properties", []byte(base+line), provider.Outside{})
		key, _, _ := strings.Cut(line, " ")
		for _, p := range got.Problems {
			if p.Key == key {
				return true
			}
		}
		for _, n := range got.Remarks {
			if n.Line == 4 && strings.HasPrefix(n.Text, key+" is out of bounds: ") {
				return true
			}
		}
		return false
	}
	for key, s := range setting.Of("mm2", &Flow{}) {
		for _, value := range []string{"0", "-7", "-9223372036854775807"} {
			if numeric(s) && !told("A->B."+key+" = "+value) {
				t.Errorf("%s = %s: nothing is said", key, value)
			}
		}
	}
	for key, s := range setting.Of("mm2", &ClientSettings{}) {
		prefix := "A.consumer."
		if RecordProducer.uses(s.Field) && !SourceConsumer.uses(s.Field) {
			prefix = "B.producer."
		} else if !SourceConsumer.uses(s.Field) {
			prefix = "A.admin."
		}
		for _, value := range []string{"0", "-1", "-7"} {
			socket := s.Field == "SendBuffer" || s.Field == "ReceiveBuffer"
			if got := told(prefix + key + " = " + value); got != !(socket && value != "-7") {
				t.Errorf("%s%s = %s: something is said: %v", prefix, key, value, got)
			}
		}
	}
}

// TestSizesDoNotWrap: what is too small for a number of 64 bits is no size that happens to fit.
func TestSizesDoNotWrap(t *testing.T) {
	_, err := ExamineYAML("x.yaml", []byte("clusters: {A: {bootstrap: 'a:1'}, B: {bootstrap: 'b:1'}}\nflows: [{from: A, to: B, memory: -9007199254740993KiB}]")).Result()
	if err == nil || !strings.Contains(err.Error(), "flows[0].memory: ") {
		t.Errorf("%v", err)
	}
}
