package topics

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/mm2"
)

// pair is two embedded clusters and a Syncer between them whose every round reads settings.
type pair struct {
	t              *testing.T
	source, target *kfake.Cluster
	a, b           *kafka.Client
	log            *bytes.Buffer
	syncer         *Syncer
}

func newPair(t *testing.T, change func(*Rules)) *pair {
	t.Helper()
	p := &pair{t: t, log: &bytes.Buffer{}}
	start := func(alias string) (*kfake.Cluster, *kafka.Client) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		cl, err := kafka.Open(kafka.Cluster{Alias: alias, Bootstrap: c.ListenAddrs()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return c, cl
	}
	p.source, p.a = start("A")
	p.target, p.b = start("B")
	p.syncer = p.worker(p.log, change)
	return p
}

func (p *pair) worker(log *bytes.Buffer, change func(*Rules)) *Syncer {
	r := rules(p.t, mm2.DefaultPolicy{Aliases: []string{"A", "B"}}, ".*")
	r.ReplicationFactor, r.FollowConfigs = 1, time.Nanosecond
	r.ConfigExcluded = func(k string) bool { return k == "min.insync.replicas" }
	if change != nil {
		change(&r)
	}
	return New(p.a, p.b, r, events.From(slog.New(slog.NewTextHandler(log, nil))))
}

func (p *pair) ctx() context.Context {
	ctx, cancel := context.WithTimeout(p.t.Context(), 150*time.Second)
	p.t.Cleanup(cancel)
	return ctx
}

func (p *pair) topic(c *kafka.Client, name string, configs map[string]*string) {
	p.t.Helper()
	if err := c.CreateTopic(p.ctx(), kafka.TopicSpec{Name: name, Partitions: 1, ReplicationFactor: 1, Configs: configs}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) alter(c *kafka.Client, topic string, changes map[string]*string) {
	p.t.Helper()
	failed, err := c.AlterConfigs(p.ctx(), map[string]map[string]*string{topic: changes})
	if err != nil || len(failed) > 0 {
		p.t.Fatal(failed, err)
	}
}

func (p *pair) round() Result {
	p.t.Helper()
	r, err := p.syncer.Round(p.ctx())
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// has fails unless exactly these values are set on a topic of the target itself.
func (p *pair) has(topic string, want map[string]string) {
	p.t.Helper()
	got, failed, err := p.b.TopicConfigs(p.ctx(), []string{topic})
	if err != nil || len(failed) > 0 {
		p.t.Fatal(failed, err)
	}
	have := map[string]string{}
	for k, e := range got[topic] {
		if e.OfTopic() {
			have[k] = *e.Value
		}
	}
	if !maps.Equal(have, want) {
		p.t.Errorf("%s is set to %v, want %v", topic, have, want)
	}
}

// lines are the log lines since the last call that hold a part.
func (p *pair) lines(part string) (out []string) {
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	p.log.Reset()
	return out
}

func TestSettingsFollow(t *testing.T) {
	p := newPair(t, nil)
	p.topic(p.a, "t", map[string]*string{"retention.ms": new("1000"), "min.insync.replicas": new("1")})
	p.topic(p.b, "A.t", map[string]*string{"retention.bytes": new("99999"), "min.insync.replicas": new("2")})
	p.topic(p.a, "new", map[string]*string{"retention.ms": new("7000"), "min.insync.replicas": new("1")})
	alters := p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Count: -1, Observe: true})
	p.round()
	theirs := map[string]string{"retention.bytes": "99999", "min.insync.replicas": "2"}
	with := func(kv ...string) map[string]string {
		m := maps.Clone(theirs)
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	p.has("A.t", with("retention.ms", "1000"))
	p.has("A.new", map[string]string{"retention.ms": "7000"})
	if got := p.lines("follow the source"); len(got) != 1 || !strings.Contains(got[0], `topic=t remote=A.t set="retention.ms=1000" removed=""`) {
		t.Errorf("log: %q", got)
	}

	p.alter(p.a, "t", map[string]*string{"retention.ms": new("2000"), "max.message.bytes": new("55555"), "cleanup.policy": new("compact")})
	p.alter(p.a, "new", map[string]*string{"retention.ms": nil})
	states := p.round().Topics
	p.has("A.t", with("retention.ms", "2000", "max.message.bytes", "55555", "cleanup.policy", "compact"))
	p.has("A.new", map[string]string{})
	if i := slices.IndexFunc(states, func(s State) bool { return s.Name == "t" }); !states[i].TargetCompacts {
		t.Error("the mirror is not told that the remote topic is compacted from now on")
	}
	if got := p.lines("follow the source"); len(got) != 2 {
		t.Errorf("log: %q", got)
	}
	states = p.round().Topics
	if i := slices.IndexFunc(states, func(s State) bool { return s.Name == "t" }); states[i].MaxBytes != 55555 {
		t.Errorf("the mirror is told %d as the largest batch", states[i].MaxBytes)
	}
	p.alter(p.b, "A.t", map[string]*string{"retention.ms": new("3")})
	p.alter(p.a, "t", map[string]*string{"retention.ms": nil, "max.message.bytes": nil, "cleanup.policy": nil})
	p.round()
	p.has("A.t", with("retention.ms", "3")) // an operator's by now
	p.round()
	if n := alters.Hits(); n != 4 { // the operator's is one
		t.Errorf("%d requests to change settings, want 4: without a difference none is sent", n)
	}
}

// Another worker, or the same after a restart, goes on where the first stopped: what both sides hold alike is ours.
func TestSettingsFollowAfterARestart(t *testing.T) {
	p := newPair(t, nil)
	p.topic(p.a, "t", map[string]*string{"retention.ms": new("1000")})
	p.round()
	owns := false
	p.syncer = p.worker(p.log, func(r *Rules) { r.Owns = func(string) bool { return owns } })
	p.round()
	p.alter(p.a, "t", map[string]*string{"retention.ms": nil})
	p.round()
	p.has("A.t", map[string]string{"retention.ms": "1000"}) // the other worker's to change
	owns = true
	if err := p.syncer.FollowSettings(p.ctx()); err != nil {
		t.Fatal(err)
	}
	p.has("A.t", map[string]string{})
}

func (p *pair) remove(c *kafka.Client, topic string) {
	p.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = &topic
	req.TopicNames, req.Topics = []string{topic}, append(req.Topics, rt)
	if _, err := req.RequestWith(p.ctx(), c.Kgo()); err != nil {
		p.t.Fatal(err)
	}
}

// A topic that was created anew begins anew, on either side: what the former one had says nothing about its settings.
func TestSettingsOfATopicCreatedAnew(t *testing.T) {
	for _, anew := range []string{"source", "target"} {
		p := newPair(t, nil)
		p.topic(p.a, "t", map[string]*string{"retention.ms": new("1000")})
		p.round()
		if anew == "target" {
			p.remove(p.b, "A.t")
			p.topic(p.b, "A.t", map[string]*string{"retention.ms": new("1000")})
			p.alter(p.a, "t", map[string]*string{"retention.ms": nil})
		} else {
			p.remove(p.a, "t")
			p.topic(p.a, "t", nil)
		}
		p.round()
		p.has("A.t", map[string]string{"retention.ms": "1000"})
	}
}

// What was changed is read again with the next round, not a minute later: the mirror must know the new limits.
func TestSettingsAreReadAgainAfterAChange(t *testing.T) {
	p := newPair(t, func(r *Rules) { r.FollowConfigs = time.Minute })
	p.topic(p.a, "t", map[string]*string{"max.message.bytes": new("55555")})
	p.topic(p.b, "A.t", nil)
	if got := p.round().Topics[0].MaxBytes; got == 55555 {
		t.Fatalf("the first round tells %d, which was not read", got)
	}
	if got := p.round().Topics[0].MaxBytes; got != 55555 {
		t.Errorf("the second round tells %d as the largest batch", got)
	}
	reads := p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Count: -1, Observe: true})
	p.round()
	if n := reads.Hits(); n > 0 {
		t.Errorf("settings are read by a round soon after, %d times", n)
	}
}

func TestSettingsAreNotFollowedWhenOff(t *testing.T) {
	p := newPair(t, func(r *Rules) { r.FollowConfigs = 0 })
	p.topic(p.a, "t", map[string]*string{"retention.ms": new("1000")})
	p.round()
	p.alter(p.a, "t", map[string]*string{"retention.ms": new("2000")})
	if err := p.syncer.FollowSettings(p.ctx()); err != nil {
		t.Fatal(err)
	}
	p.has("A.t", map[string]string{"retention.ms": "1000"})
	if every := (Rules{}).SettingsEvery(); every != time.Minute {
		t.Errorf("settings are read every %v", every)
	}
	if every := (Rules{FollowConfigs: time.Second}).SettingsEvery(); every != time.Second {
		t.Errorf("settings are read every %v with an interval of a second", every)
	}
}

// What cannot be changed is said once, with the missing right or the broker's reason; other topics and the other keys of
// the same topic are not kept waiting.
func TestSettingsThatAreRefused(t *testing.T) {
	p := newPair(t, nil)
	for _, topic := range []string{"denied-1", "denied-2", "odd", "well"} {
		p.topic(p.a, topic, nil)
	}
	p.round()
	for _, topic := range []string{"A.denied-1", "A.denied-2"} {
		p.target.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Resource: topic, Err: kerr.TopicAuthorizationFailed, Count: -1})
	}
	odd := p.target.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Resource: "A.odd", Err: kerr.PolicyViolation, Count: -1,
		When: func(req kmsg.Request) bool {
			return slices.ContainsFunc(req.(*kmsg.IncrementalAlterConfigsRequest).Resources, func(r kmsg.IncrementalAlterConfigsRequestResource) bool {
				return r.ResourceName == "A.odd" && slices.ContainsFunc(r.Configs, func(c kmsg.IncrementalAlterConfigsRequestResourceConfig) bool { return c.Name == "segment.ms" })
			})
		},
	})
	p.log.Reset()
	for _, topic := range []string{"denied-1", "denied-2", "odd", "well"} {
		p.alter(p.a, topic, map[string]*string{"retention.ms": new("1000"), "segment.ms": new("5000")})
	}
	p.alter(p.a, "well", map[string]*string{"segment.ms": nil})
	p.round()
	p.has("A.well", map[string]string{"retention.ms": "1000"})
	p.has("A.odd", map[string]string{"retention.ms": "1000"})
	p.has("A.denied-1", map[string]string{})
	log := p.log.String()
	p.round()
	if again := strings.TrimPrefix(p.log.String(), log); again != "" {
		t.Errorf("said again in the next round: %s", again)
	}
	warnings := p.lines("level=WARN")
	if len(warnings) != 2 {
		t.Fatalf("warnings: %q", warnings)
	}
	slices.Sort(warnings)
	for i, parts := range [][]string{{"topic=odd", "POLICY_VIOLATION"}, {`ALTER_CONFIGS on topic \"A.denied-`, "is missing on cluster B", "topics=2", "A.denied-1", "A.denied-2"}} {
		for _, part := range parts {
			if !strings.Contains(warnings[i], part) {
				t.Errorf("%q does not hold %q", warnings[i], part)
			}
		}
	}
	odd.Remove()
	p.round()
	p.has("A.odd", map[string]string{"retention.ms": "1000", "segment.ms": "5000"})
	if got := p.lines("again"); len(got) != 1 || !strings.Contains(got[0], "topic=odd") {
		t.Errorf("log: %q", got)
	}
}

// A cluster that writes a value in its own way gets it with each look, but is not told of each time.
func TestSettingsThatDoNotStay(t *testing.T) {
	p := newPair(t, nil)
	p.topic(p.a, "t", nil)
	p.round()
	p.alter(p.a, "t", map[string]*string{"retention.ms": new("1000")})
	for range 3 {
		p.round()
		p.alter(p.b, "A.t", map[string]*string{"retention.ms": new("60000")})
	}
	if got := p.lines("follow the source"); len(got) != 1 {
		t.Errorf("log: %q", got)
	}
	p.alter(p.b, "A.t", map[string]*string{"retention.ms": new("1000")})
	p.round()
	p.alter(p.b, "A.t", map[string]*string{"retention.ms": new("60000")})
	p.round()
	if got := p.lines("follow the source"); len(got) != 1 {
		t.Errorf("log after a while of peace: %q", got)
	}
}
