package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
	"tidemark/mm2"
)

// ask lets Kafka's RemoteClusterUtils and MirrorClient answer everything that they can about a cluster, by question.
func (f *flow) ask(r *testcluster.Real, options, client map[string]string) map[string]string {
	f.tb.Helper()
	client["bootstrap.servers"] = r.BootstrapString()
	out, err := testcluster.RunJava(f.tb.Context(), "Ask.java", testcluster.JavaArgs(client, options)...)
	if err != nil {
		f.tb.Fatal(err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(out) {
		question, answer, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			f.tb.Fatalf("Ask.java printed %q", line)
		}
		answers[strings.TrimSuffix(question, " ")] = answer
	}
	return answers
}

// listed says whether an answer of names holds all of some and none of others. Other tests' topics are there too.
func listed(answer string, all, none []string) error {
	has := map[string]bool{}
	for name := range strings.SplitSeq(strings.Trim(answer, "[]"), ", ") {
		has[name] = true
	}
	for _, name := range all {
		if !has[name] {
			return fmt.Errorf("no %s", name)
		}
	}
	for _, name := range none {
		if has[name] {
			return fmt.Errorf("%s is among them", name)
		}
	}
	return nil
}

// chain is A -> B -> C with heartbeats into A, and A -> T by the identity policy; A is an embedded cluster, C is the suite's
// source.
func chain(t *testing.T) (f *flow, a *testcluster.Fake) {
	t.Helper()
	a, _ = testcluster.NewPair(t)
	yaml := fmt.Sprintf(`
clusters:
  hA: {bootstrap: %[1]q}
  hB: {bootstrap: %[2]q}
  hC: {bootstrap: %[3]q}
  hI: {bootstrap: %[1]q}
  hD: {bootstrap: %[2]q}
defaults: {replication_factor: 1, offset_syncs_replication_factor: 1, checkpoints_replication_factor: 1, heartbeats_replication_factor: 1,
  lanes: 2, positions_interval: 200ms, groups: ["hc-.*"], refresh_topics_interval: 1s}
flows:
  - {from: hA, to: hB, topics: ["hc-t"]}
  - {from: hB, to: hC, topics: ["hA.hc-t"], topics_exclude: ["[^h].*[.]heartbeats"], emit_heartbeats: false}
  - {from: hC, to: hA, topics: ["none"], replicate_heartbeats: false, emit_offset_syncs: false}
  - {from: hI, to: hB, topics: ["hc-kept"], policy: identity, offset_syncs_location: target}
  - {from: hD, to: hA, topics: ["none"], enabled: false}
`, a.Bootstrap()[0], suite.target.BootstrapString(), suite.source.BootstrapString())
	cfg, err := configfile.Parse("chain.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	f = newFlow(t, "hA", "hc-t", "hc-.*", "")
	f.yaml, f.cfg = yaml, cfg
	return f, a
}

// enabled are the flows that run; the engine is given those only.
func enabled(cfg *config.Config) []config.Flow {
	var out []config.Flow
	for _, fl := range cfg.Flows {
		if fl.Enabled {
			out = append(out, fl)
		}
	}
	return out
}

// TestJavaAsksAboutAChain: every method of RemoteClusterUtils and MirrorClient answers right on clusters that only Tidemark
// has mirrored to: one and two hops, both policies. Heartbeats have MirrorMaker 2's key and partition, are those of enabled
// flows only, and pass along the chain.
func TestJavaAsksAboutAChain(t *testing.T) {
	t.Parallel()
	f, a := chain(t)
	for _, topic := range []string{"hc-t", "hc-kept"} {
		if err := testcluster.CreateTopic(t.Context(), a.ClientOpts(), topic, 2, nil); err != nil {
			t.Fatal(err)
		}
		if err := testcluster.Produce(t.Context(), a.ClientOpts(), testcluster.Load{Topic: topic, Partitions: 2, Count: 100}); err != nil {
			t.Fatal(err)
		}
	}
	src := kadm.NewClient(a.Client(t))
	for _, group := range []string{"hc-g", "hc-h"} {
		o := kadm.Offsets{}
		for _, topic := range []string{"hc-t", "hc-kept"} {
			o.Add(kadm.Offset{Topic: topic, Partition: 1, At: 33, LeaderEpoch: -1, Metadata: "m"})
		}
		if err := src.CommitAllOffsets(t.Context(), group, o); err != nil {
			t.Fatal(err)
		}
	}
	f.cfg.Flows = enabled(f.cfg)
	f.start()
	bcl, ccl := suite.target.Client(t), suite.source.Client(t)
	f.seen(bcl, "checkpoints of hA", "hA.checkpoints.internal", 2)
	f.seen(bcl, "checkpoints of hI", "hI.checkpoints.internal", 2)
	f.seen(ccl, "checkpoints of hB", "hB.checkpoints.internal", 2)
	f.seen(ccl, "the second hop", "hB.hA.hc-t", 100)
	f.seen(ccl, "heartbeats of two hops", "hB.hA.heartbeats", 1)
	f.seen(ccl, "heartbeats of one hop", "hB.heartbeats", 1)

	t.Run("B", func(t *testing.T) {
		got := f.ask(suite.target, map[string]string{"alias": "hA", "group": "hc-g", "groups": "hc-[gh]", "hops": "hA,hC,hX"}, map[string]string{})
		judge(t, got, map[string]string{
			"replicationHops hA": "1", "replicationHops hC": "-1", "replicationHops hX": "-1",
			"translateOffsets hc-g":    "{hA.hc-t-1=33/m}",
			"translateOffsets hc-[gh]": "{hc-g={hA.hc-t-1=33/m}, hc-h={hA.hc-t-1=33/m}}",
			"remoteTopics hA":          "[hA.hc-t, hA.heartbeats]",
		})
		judgeNames(t, got, "heartbeatTopics", []string{"heartbeats", "hA.heartbeats"}, []string{"hA.hc-t"})
		judgeNames(t, got, "checkpointTopics", []string{"hA.checkpoints.internal", "hI.checkpoints.internal"}, []string{"hA.hc-t"})
		// Flows of other tests bring heartbeats of this chain back to B, as those of a cluster further away.
		judgeNames(t, got, "upstreamClusters", []string{"hA"}, []string{"hX"})
		judgeNames(t, got, "remoteTopics", []string{"hA.hc-t", "hA.heartbeats"}, []string{"hc-kept", "heartbeats", "hA.checkpoints.internal"})
	})
	t.Run("C", func(t *testing.T) {
		got := f.ask(suite.source, map[string]string{"alias": "hB", "group": "hc-g", "groups": "hc-.*", "hops": "hB,hA,hC"}, map[string]string{})
		judge(t, got, map[string]string{
			"replicationHops hB": "1", "replicationHops hA": "2",
			"translateOffsets hc-g": "{hB.hA.hc-t-1=33/m}", "remoteTopics hB": "[hB.hA.hc-t, hB.hA.heartbeats, hB.hI.heartbeats, hB.heartbeats]",
		})
		judgeNames(t, got, "heartbeatTopics", []string{"hB.heartbeats", "hB.hA.heartbeats"}, nil)
		judgeNames(t, got, "upstreamClusters", []string{"hA", "hB", "hI"}, nil)
		judgeNames(t, got, "remoteTopics", []string{"hB.hA.hc-t"}, []string{"hB.checkpoints.internal"})
	})
	t.Run("identity", func(t *testing.T) {
		got := f.ask(suite.target, map[string]string{"alias": "hI", "group": "hc-g", "groups": "hc-.*", "hops": "hI"}, map[string]string{
			"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy", "source.cluster.alias": "hI",
		})
		judge(t, got, map[string]string{
			"replicationHops hI": "1", "translateOffsets hc-g": "{hc-kept-1=33/m}", "translateOffsets hc-.*": "{hc-g={hc-kept-1=33/m}, hc-h={hc-kept-1=33/m}}",
		})
		judgeNames(t, got, "remoteTopics hI", []string{"hc-kept", "hI.heartbeats"}, []string{"heartbeats", "hA.heartbeats", "hI.checkpoints.internal"})
		judgeNames(t, got, "remoteTopics", []string{"hc-kept", "hI.heartbeats"}, []string{"heartbeats"})
		judgeNames(t, got, "upstreamClusters", []string{"hI"}, nil)
	})
	f.beats(bcl, [2]string{"hA", "hB"}, [2]string{"hI", "hB"})
	f.beats(ccl)
	f.beats(a.Client(t), [2]string{"hC", "hA"}) // and none of the flow that is off, or hD
}

func judge(t *testing.T, got, want map[string]string) {
	t.Helper()
	for question, answer := range want {
		if got[question] != answer {
			t.Errorf("%s: %q, want %q", question, got[question], answer)
		}
	}
}

func judgeNames(t *testing.T, got map[string]string, question string, all, none []string) {
	t.Helper()
	if err := listed(got[question], all, none); err != nil {
		t.Errorf("%s: %v: %s", question, err, got[question])
	}
}

// seen waits until a topic holds at least n records.
func (f *flow) seen(cl *kgo.Client, what, topic string, n int) {
	f.tb.Helper()
	f.until(60*time.Second, what, func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, topic, testcluster.ReadUncommitted)
		return err == nil && len(recs) >= n, fmt.Sprint(len(recs), err)
	})
}

// beats asserts that the chain's heartbeats on a cluster have these keys, all in partition 0 and with the record's time.
func (f *flow) beats(cl *kgo.Client, want ...[2]string) {
	f.tb.Helper()
	recs, err := testcluster.Read(f.tb.Context(), cl, mm2.HeartbeatsTopic, testcluster.ReadUncommitted)
	if err != nil && len(want) > 0 {
		f.tb.Fatal(err)
	}
	got := map[[2]string]int{}
	for _, r := range recs {
		h, err := mm2.ParseHeartbeat(r.Key, r.Value)
		if err != nil || r.Partition != 0 || h.Timestamp != r.Timestamp {
			f.tb.Errorf("heartbeat %v at %d-%d, time %v: %v", h, r.Partition, r.Offset, r.Timestamp, err)
		}
		if f.cfg.Clusters[h.Source].Alias != "" {
			got[[2]string{h.Source, h.Target}]++
		}
	}
	for _, key := range want {
		if got[key] == 0 {
			f.tb.Errorf("no heartbeat %v", key)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		f.tb.Errorf("heartbeats of flows that emit none here: %v", got)
	}
}
