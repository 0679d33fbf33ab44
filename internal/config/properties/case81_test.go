package properties

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
)

// level is a place in a properties file, before "key = value".
type level struct {
	prefix string
	weak   bool // has no effect on the client at all
}

// levels are all places where somebody may write a client's setting, for each client the weakest first, as MirrorMaker 2
// builds its clients. Security settings of a cluster win over those of a flow's kind of client there, others do not.
func levelsOf(r config.Role, security bool) []level {
	no := func(prefixes ...string) (out []level) {
		for _, p := range prefixes {
			out = append(out, level{p, true})
		}
		return out
	}
	yes := func(prefixes ...string) (out []level) {
		for _, p := range prefixes {
			out = append(out, level{p, false})
		}
		return out
	}
	side, kind, _ := strings.Cut(string(r), "_")
	own, other := "A.", "B."
	if r == config.RecordProducer || side == "target" {
		own, other = other, own
	}
	if r == config.RecordProducer {
		weak := no("A->B.", "A->B.producer.", "A->B.target.producer.", "A->B.source.producer.", "A.", "A.producer.", "producer.", "B.consumer.", "B.admin.")
		if security {
			return append(weak, yes("", "B.", "B.producer.", "A->B.producer.override.")...)
		}
		return append(append(weak, no("")...), yes("B.", "B.producer.", "A->B.producer.override.")...)
	}
	otherSide := map[string]string{"source": "target", "target": "source"}[side]
	weak := no("A->B.", other, other+kind+".", kind+".", side+"."+kind+".", "A->B."+otherSide+"."+kind+".", "A->B.producer.override.")
	for _, k := range []string{"consumer", "producer", "admin"} {
		if k != kind {
			weak = append(weak, no(own+k+".", "A->B."+k+".", "A->B."+side+"."+k+".")...)
		}
	}
	if security {
		return append(weak, yes("A->B."+kind+".", "", own, own+kind+".", "A->B."+side+"."+kind+".")...)
	}
	return append(append(weak, no("")...), yes(own, "A->B."+kind+".", own+kind+".", "A->B."+side+"."+kind+".")...)
}

// TestCase81Precedence: with a setting at every level, and the stronger levels taken away one by one, each client has the
// value of the strongest level that is left; the dump names the key it comes from; and the levels that mean nothing to a
// client never reach it, although each of them is for somebody.
func TestCase81Precedence(t *testing.T) {
	for _, key := range []struct {
		name     string
		security bool
		value    func(i int) string
		field    string // in the dump
		shown    func(i int) string
	}{
		{"request.timeout.ms", false, func(i int) string { return fmt.Sprint(2000 + 1000*i) }, "request_timeout", func(i int) string { return fmt.Sprintf("%ds", 2+i) }},
		{"client.id", false, func(i int) string { return fmt.Sprintf("id-%d", i) }, "client_id", func(i int) string { return fmt.Sprintf("id-%d", i) }},
		{
			"sasl.jaas.config", true, func(i int) string {
				return fmt.Sprintf(`org.apache.kafka.common.security.plain.PlainLoginModule required username="user-%d" password="hunter2";`, i)
			},
			"username", func(i int) string { return fmt.Sprintf("user-%d", i) },
		},
	} {
		for _, r := range config.Roles() {
			levels := levelsOf(r, key.security)
			for n := len(levels); n > 0; n-- {
				lines := []string{"clusters = A, B", "bootstrap.servers = x:1", "A->B.enabled = true"}
				if key.security {
					// Somebody has to have a login where the client's own level is not there.
					lines = append(lines, "security.protocol = SASL_PLAINTEXT", "sasl.mechanism = PLAIN")
				}
				for i, l := range levels[:n] {
					lines = append(lines, l.prefix+key.name+" = "+key.value(i))
				}
				got := Examine("x.properties", []byte(strings.Join(lines, "\n")), provider.Outside{})
				strongest := levels[n-1]
				if strongest.weak {
					for _, p := range got.Problems {
						if !key.security || !strings.Contains(p.What, "has no sasl.jaas.config") {
							t.Errorf("%s of %s: %v", key.name, r, p)
						}
					}
					if got.Config == nil {
						continue
					}
					for _, u := range got.Config.Uses(config.FlowName{Source: "A", Target: "B"}, r) {
						if u.Name == key.field && u.Key != "" {
							t.Errorf("%s of %s comes from %s, which is not for it", key.name, r, u.Key)
						}
					}
					continue
				}
				if len(got.Problems) > 0 {
					t.Fatalf("%s of %s: %v", key.name, r, got.Problems)
				}
				uses := got.Config.Uses(config.FlowName{Source: "A", Target: "B"}, r)
				i := slices.IndexFunc(uses, func(u config.Used) bool { return u.Name == key.field })
				if want := key.shown(n - 1); i < 0 || uses[i].Value != want || uses[i].Key != strongest.prefix+key.name {
					t.Errorf("%s of %s, strongest level %q: %+v, want %s", key.name, r, strongest.prefix, uses, want)
				}
				for _, u := range uses {
					if strings.Contains(u.Value, "hunter2") {
						t.Errorf("the password shows: %+v", u)
					}
				}
			}
		}
	}
}

// TestCase81EveryLevelIsNamed: a setting at a level where no client reads it is named, once.
func TestCase81EveryLevelIsNamed(t *testing.T) {
	read := []string{"A.", "B.", "A->B.consumer.", "A->B.producer.", "A->B.admin.", "A->B.producer.override."}
	for _, p := range []string{"A.", "B.", "A->B.source.", "A->B.target."} {
		for _, kind := range clientKinds() {
			read = append(read, p+kind+".")
		}
	}
	for _, prefix := range append(read, "", "A->B.", "consumer.", "producer.", "admin.", "source.consumer.", "A.source.consumer.", "A.producer.override.") {
		text := "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n" + prefix + "request.timeout.ms = 5000"
		got := Examine("x.properties", []byte(text), provider.Outside{})
		named := 0
		for _, n := range got.Remarks {
			if n.Line == 4 {
				named++
			}
		}
		want := 1
		if slices.Contains(read, prefix) {
			want = 0
		}
		if named != want || len(got.Problems) > 0 {
			t.Errorf("%srequest.timeout.ms is named %d times, want %d: %v %v", prefix, named, want, got.Remarks, got.Problems)
		}
	}
}
