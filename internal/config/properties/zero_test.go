package properties

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/setting"
)

// numeric says whether a setting is a number, a size or a duration.
func numeric(s setting.Setting) bool {
	return s.Value.Kind() >= reflect.Int && s.Value.Kind() <= reflect.Int64
}

// TestZeroInProperties is the same for keys of MirrorMaker 2; -1 is the socket's own way to say "the system's".
func TestZeroInProperties(t *testing.T) {
	base := "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"
	told := func(line string) bool {
		got := Examine("x.properties", []byte(base+line), provider.Outside{})
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
	for key, s := range setting.Of("mm2", &config.Flow{}) {
		for _, value := range []string{"0", "-7", "-9223372036854775807"} {
			if numeric(s) && !told("A->B."+key+" = "+value) {
				t.Errorf("%s = %s: nothing is said", key, value)
			}
		}
	}
	for key, s := range setting.Of("mm2", &config.ClientSettings{}) {
		prefix := "A.consumer."
		if config.RecordProducer.Uses(s.Field) && !config.SourceConsumer.Uses(s.Field) {
			prefix = "B.producer."
		} else if !config.SourceConsumer.Uses(s.Field) {
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
