package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/configfile"
	"tidemark/internal/engine"
	"tidemark/internal/testcluster"
)

// fakeFlow is a flow between two embedded clusters, for what a real one does not let a test see or break.
func fakeFlow(t *testing.T, source, target *testcluster.Fake, from, to, extra string) *flow {
	t.Helper()
	yaml := fmt.Sprintf(`
clusters:
  %[1]s: {bootstrap: %[2]q}
  %[3]s: {bootstrap: %[4]q}
flows:
  - {from: %[1]s, to: %[3]s, replication_factor: 1, offset_syncs_replication_factor: 1, checkpoints_replication_factor: 1,
     heartbeats_replication_factor: 1, lanes: 2, positions_interval: 100ms, refresh_topics_interval: 200ms%[5]s}
`, from, strings.Join(source.Bootstrap(), ","), to, strings.Join(target.Bootstrap(), ","), extra)
	cfg, err := configfile.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{tb: t, alias: from, yaml: yaml, cfg: cfg, scl: source.Client(t), tcl: target.Client(t)}
	f.src, f.dst = kadm.NewClient(f.scl), kadm.NewClient(f.tcl)
	f.listen()
	return f
}

// topicNames are all topics of a cluster.
func topicNames(ctx context.Context, a *kadm.Client) ([]string, error) {
	got, err := a.ListTopicsWithInternal(ctx)
	return slices.Sorted(maps.Keys(got)), err
}

// TestCase14OneClusterUnderTwoNames: a flow whose two ends are one cluster is refused at start, by either policy, and
// nothing was created there.
func TestCase14OneClusterUnderTwoNames(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"default", "identity"} {
		f := newFlow(t, "c14", ".*", ".*", ", policy: "+policy)
		f.rewrite(suite.target.BootstrapString(), suite.source.BootstrapString())
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		err := engine.Run(ctx, f.cfg, f.cfg.Flows, engine.Options{Log: f.log})
		cancel()
		if !errors.Is(err, engine.ErrSameCluster) || !strings.Contains(err.Error(), suite.source.ClusterID()) {
			t.Errorf("%s policy: got error %v, want one that names the cluster", policy, err)
		}
	}
	names, err := topicNames(t.Context(), kadm.NewClient(suite.source.Client(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.Contains(n, "c14.") || strings.HasPrefix(n, "tidemark-ledger.c14.") {
			t.Errorf("topic %s was created on the source", n)
		}
	}
}

// TestCase14CrossedAliases: two processes, each of which calls the other's cluster "remote", with all topics and
// heartbeats selected: after many rounds in both directions the number of topics is what it was after the first.
func TestCase14CrossedAliases(t *testing.T) {
	t.Parallel()
	a, b := testcluster.NewPair(t)
	there := fakeFlow(t, a, b, "remote", "local", "")
	home := fakeFlow(t, b, a, "remote", "local", "")
	for _, f := range []*flow{there, home} {
		if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
			t.Fatal(err)
		}
		f.start()
	}
	topics := func() (n int) {
		for _, f := range []*flow{there, home} {
			names, err := topicNames(t.Context(), f.src)
			if err != nil {
				t.Fatal(err)
			}
			n += len(names)
		}
		return n
	}
	exists := func(f *flow, topic string) {
		f.until(30*time.Second, topic, func(ctx context.Context) (bool, string) {
			names, err := topicNames(ctx, f.dst)
			return err == nil && slices.Contains(names, topic), fmt.Sprint(names, err)
		})
	}
	for _, f := range []*flow{there, home} {
		for _, topic := range []string{"remote.orders", "remote.heartbeats"} {
			exists(f, topic)
		}
	}
	before := topics()
	for i := range 10 { // each new topic that arrives is the end of a round
		for _, f := range []*flow{there, home} {
			name := fmt.Sprintf("round-%d", i)
			if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, name); err != nil {
				t.Fatal(err)
			}
			exists(f, "remote."+name)
		}
	}
	if after := topics(); after != before+40 { // each of 20 topics and its copy
		names, _ := topicNames(t.Context(), there.src)
		t.Errorf("%d topics became %d after 10 rounds, want %d; one side has %v", before, after, before+40, names)
	}
}

// TestCase17SettingsAreThereBeforeData: the request that creates a remote topic carries its settings, nothing is
// produced before, and no request ever asks for a topic to be created by the way.
func TestCase17SettingsAreThereBeforeData(t *testing.T) {
	t.Parallel()
	a, b := testcluster.NewPair(t)
	f := fakeFlow(t, a, b, "A", "B", "")
	configs := map[string]*string{"cleanup.policy": new("compact"), "retention.ms": new("1000"), "min.insync.replicas": new("1")}
	if _, err := f.src.CreateTopic(t.Context(), 3, 1, configs, "state"); err != nil {
		t.Fatal(err)
	}
	lastYear := testcluster.Load{Topic: "state", Partitions: 3, Count: 90, Keys: 30, Start: time.Now().AddDate(-1, 0, 0)}
	if err := testcluster.Produce(t.Context(), a.ClientOpts(), lastYear); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	created := map[string]map[string]string{}
	b.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			created[t.Topic] = map[string]string{"partitions": fmt.Sprint(t.NumPartitions)}
			for _, c := range t.Configs {
				created[t.Topic][c.Name] = str(c.Value)
			}
		}
		return nil, nil, false
	})
	for _, c := range []*testcluster.Fake{a, b} {
		c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			// A request for all topics creates none, whatever it says.
			if m := req.(*kmsg.MetadataRequest); m.AllowAutoTopicCreation && len(m.Topics) > 0 {
				t.Errorf("a metadata request for %d topics, one %q, allows that they are created", len(m.Topics), str(m.Topics[0].Topic))
			}
			return nil, nil, false
		})
	}
	f.start()
	f.until(30*time.Second, "the remote topic's records", func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, b.Client(t), "A.state", testcluster.ReadUncommitted)
		return err == nil && ends[0] == 30 && ends[1] == 30 && ends[2] == 30, fmt.Sprint(ends, err)
	})
	mu.Lock()
	defer mu.Unlock()
	want := map[string]string{"partitions": "3", "cleanup.policy": "compact", "retention.ms": "1000"} // min.insync.replicas is excluded
	if got := created["A.state"]; !maps.Equal(got, want) {
		t.Errorf("the remote topic was created with %v, want %v", got, want)
	}
}

// TestCase17OldCompactedDataSurvives: records of last year in a compacted topic whose retention, under another clean-up
// policy, would delete them within a second of their arrival: all of them stay on the target.
func TestCase17OldCompactedDataSurvives(t *testing.T) {
	t.Parallel()
	const topic = "c17-t"
	configs := map[string]string{"cleanup.policy": "compact", "retention.ms": "1000"}
	f := newFlow(t, "c17", topic, "c17-.*", "")
	f.topic(topic, 1, configs)
	f.produce(testcluster.Load{Topic: topic, Count: 60, Start: time.Now().AddDate(-1, 0, 0), Step: time.Second})
	f.start()
	f.exists(topic, 1, configs)
	f.same(topic)
	// A topic with the other policy shows when the broker has gone over its logs, twice.
	for i := range 2 {
		name := fmt.Sprintf("c17-canary-%d", i)
		if err := testcluster.CreateTopic(t.Context(), suite.target.ClientOpts(), name, 1, map[string]string{"retention.ms": "1000"}); err != nil {
			t.Fatal(err)
		}
		if err := testcluster.Produce(t.Context(), suite.target.ClientOpts(), testcluster.Load{Topic: name, Count: 1, Start: time.Now().AddDate(-1, 0, 0)}); err != nil {
			t.Fatal(err)
		}
		f.until(60*time.Second, "retention on the target", func(ctx context.Context) (bool, string) {
			starts, err := testcluster.Starts(ctx, suite.target.Client(t), name)
			return err == nil && starts[0] == 1, fmt.Sprint(starts, err)
		})
	}
	f.same(topic)
}

// TestCase59CreationThatHeals: a remote topic that cannot be created is tried again each round and says why; the other
// topics of the same round do not wait for it.
func TestCase59CreationThatHeals(t *testing.T) {
	t.Parallel()
	a, b := testcluster.NewPair(t)
	f := fakeFlow(t, a, b, "A", "B", "")
	log := f.listen()
	var mu sync.Mutex
	refused, healed := 0, false
	b.ControlKey(int16(kmsg.CreateTopics), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := kreq.(*kmsg.CreateTopicsRequest)
		mu.Lock()
		defer mu.Unlock()
		if healed || req.Topics[0].Topic != "A.m-bad" {
			return nil, nil, false
		}
		refused++
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic, rt.ErrorCode, rt.ErrorMessage = req.Topics[0].Topic, kerr.InvalidReplicationFactor.Code, new("only 1 broker is there")
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	for _, topic := range []string{"a-good", "m-bad", "z-good"} {
		if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
		if err := testcluster.Produce(t.Context(), a.ClientOpts(), testcluster.Load{Topic: topic, Count: 10}); err != nil {
			t.Fatal(err)
		}
		f.commit("g-"+topic, map[string]map[int32]int64{topic: {0: 4}})
	}
	f.start()
	at := func(topic string) func(context.Context) (bool, string) {
		return func(ctx context.Context) (bool, string) {
			x, err := f.position(ctx, "g-"+topic, topic, 0)
			return err == nil && x == 4, fmt.Sprint(x, err)
		}
	}
	f.until(30*time.Second, "a-good", at("a-good"))
	f.until(30*time.Second, "z-good", at("z-good"))
	f.stopped(b.Client(t), spot{"g-m-bad", "m-bad", 0}, "INVALID_REPLICATION_FACTOR", "only 1 broker is there")
	f.until(30*time.Second, "several tries", func(context.Context) (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		return refused >= 5, fmt.Sprint(refused)
	})
	if !log.line("topic=m-bad", "INVALID_REPLICATION_FACTOR") {
		t.Error("the log does not say why the topic is not there")
	}
	mu.Lock()
	healed = true
	mu.Unlock()
	f.until(30*time.Second, "m-bad", at("m-bad"))
	f.until(30*time.Second, "its records", func(ctx context.Context) (bool, string) {
		ends, err := testcluster.Ends(ctx, b.Client(t), "A.m-bad", testcluster.ReadUncommitted)
		return err == nil && ends[0] == 10, fmt.Sprint(ends, err)
	})
}

// TestCase59RemoteTopicDeleted: a remote topic that is deleted while it is written to stops, with a reason, and is not
// filled again from the middle; the other topics go on.
func TestCase59RemoteTopicDeleted(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "c59", "c59-.*", "c59-.*", ", refresh_topics_interval: 500ms")
	at := spots{}
	for _, topic := range []string{"c59-kept", "c59-gone"} {
		f.topic(topic, 1, nil)
		f.produce(testcluster.Load{Topic: topic, Count: 50})
		at.add("g"+topic, topic, 0, 20)
	}
	f.rewrite(`groups: ["c59-.*"]`, `groups: ["gc59-.*"]`)
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	if _, err := f.dst.DeleteTopic(t.Context(), f.remote("c59-gone")); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"c59-kept", "c59-gone"} {
		f.produce(testcluster.Load{Topic: topic, First: 50, Count: 50})
	}
	f.same("c59-kept")
	tcl := suite.target.Client(t)
	f.stopped(tcl, spot{"gc59-gone", "c59-gone", 0}, "deleted")
	f.produce(testcluster.Load{Topic: "c59-kept", First: 100, Count: 50})
	f.same("c59-kept")
	ends, err := testcluster.Ends(t.Context(), tcl, f.remote("c59-gone"), testcluster.ReadUncommitted)
	if err == nil && ends[0] > 0 || err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("the deleted topic was filled again from the middle: ends %v, %v", ends, err)
	}
}
