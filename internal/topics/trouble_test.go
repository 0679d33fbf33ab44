package topics

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (p *pair) troubles(words ...string) bool {
	for _, t := range p.syncer.Troubles() {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(t.What+" "+t.Why, w) }) {
			return true
		}
	}
	return false
}

func (p *pair) state(topic string) State {
	p.t.Helper()
	for _, st := range p.round().Topics {
		if st.Name == topic {
			return st
		}
	}
	p.t.Fatalf("no topic %s", topic)
	return State{}
}

// TestSettingsThatCannotBeRead: a right to read settings that is taken away, on either side, stops no topic, neither at once nor
// after a restart. It is said once, stands among the troubles until it is given back, and that is said once too.
func TestSettingsThatCannotBeRead(t *testing.T) {
	for side, topic := range map[string]string{"source": "t", "target": "A.t"} {
		t.Run(side, func(t *testing.T) {
			p := newPair(t, nil)
			p.topic(p.a, "t", map[string]*string{"cleanup.policy": new("delete")})
			if st := p.state("t"); st.NotYet != "" || st.SourceCompacts || st.MaxBytes == 0 || len(p.syncer.Troubles()) != 0 {
				t.Fatalf("at first: %+v, %v", st, p.syncer.Troubles())
			}
			p.log.Reset()
			of := map[string]*kfake.Cluster{"source": p.source, "target": p.target}[side]
			fault := of.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
			for range 3 {
				if st := p.state("t"); st.NotYet != "" || st.SourceCompacts || st.MaxBytes == 0 {
					t.Fatalf("with what was known: %+v", st)
				}
			}
			if got := p.lines("level=WARN"); len(got) != 1 || !strings.Contains(got[0], "DESCRIBE_CONFIGS on topic \\\""+topic+"\\\" is missing") {
				t.Errorf("said %q", got)
			}
			if !p.troubles("settings of topics cannot be read: t", "DESCRIBE_CONFIGS") {
				t.Errorf("troubles: %v", p.syncer.Troubles())
			}
			first := p.syncer
			p.syncer = p.worker(p.log, nil)
			if st := p.state("t"); st.NotYet != "" || !st.SourceCompacts || !st.TargetCompacts {
				t.Errorf("after a restart: %+v", st)
			}
			p.syncer = first
			p.log.Reset()
			fault.Remove()
			p.round()
			if got := p.lines("can be read again"); len(got) != 1 || len(p.syncer.Troubles()) != 0 {
				t.Errorf("in the end: %q, %v", got, p.syncer.Troubles())
			}
		})
	}
}

// TestRefusedSettingsAreTroubles: settings that the target refuses to change stand among the troubles until they follow.
func TestRefusedSettingsAreTroubles(t *testing.T) {
	p := newPair(t, nil)
	p.topic(p.a, "t", nil)
	p.round()
	fault := p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Resource: "A.t", Err: kerr.TopicAuthorizationFailed, Count: -1})
	p.alter(p.a, "t", map[string]*string{"retention.ms": new("1000")})
	p.round()
	if !p.troubles("do not follow the source: A.t", "ALTER_CONFIGS") {
		t.Errorf("troubles: %v", p.syncer.Troubles())
	}
	fault.Remove()
	p.round()
	p.round()
	if got := p.syncer.Troubles(); len(got) != 0 {
		t.Errorf("in the end: %v", got)
	}
}

// TestCreatedWithoutARefusedSetting: a setting that the target does not take keeps no topic from being made. It is named in the
// log and among the troubles, whether settings follow or not.
func TestCreatedWithoutARefusedSetting(t *testing.T) {
	for name, follow := range map[string]bool{"settings follow": true, "they do not": false} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, func(r *Rules) {
				if !follow {
					r.FollowConfigs = 0
				}
			})
			p.topic(p.a, "t", map[string]*string{"retention.ms": new("1000"), "segment.ms": new("5000"), "segment.bytes": new("1048576")})
			p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.InvalidConfig, Count: -1, When: func(req kmsg.Request) bool {
				return slices.ContainsFunc(req.(*kmsg.CreateTopicsRequest).Topics[0].Configs, func(c kmsg.CreateTopicsRequestTopicConfig) bool { return c.Name == "segment.ms" })
			}})
			p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Resource: "A.t", Err: kerr.InvalidConfig, Count: -1})
			if st := p.state("t"); st.NotYet != "" || st.Remotes != 1 {
				t.Fatalf("state %+v", st)
			}
			p.has("A.t", map[string]string{"retention.ms": "1000", "segment.bytes": "1048576"})
			p.round()
			if got := p.lines("created without settings"); len(got) != 1 || !strings.Contains(got[0], "segment.ms=5000") {
				t.Errorf("said %q", got)
			}
			if !p.troubles("A.t", "INVALID_CONFIG") {
				t.Errorf("troubles: %v", p.syncer.Troubles())
			}
		})
	}
}
