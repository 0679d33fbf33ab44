package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/engine"
	"tidemark/internal/testcluster"
)

// refusedAtStart runs a flow that must not start, and gives the error.
func (f *flow) refusedAtStart() error {
	f.tb.Helper()
	ctx, cancel := context.WithTimeout(f.tb.Context(), 150*time.Second)
	defer cancel()
	return engine.Run(ctx, f.cfg, f.cfg.Flows, engine.Options{Log: f.log})
}

// TestCase62InternalTopicsMadeWrongly: a broker that created one of our topics by itself gave it its default partition
// count and clean-up policy. The flow refuses to start on it, names what is wrong and the command that repairs it, and
// starts once that was done.
func TestCase62InternalTopicsMadeWrongly(t *testing.T) {
	t.Parallel()
	compact := map[string]string{"cleanup.policy": "compact"}
	for _, c := range []struct {
		alias, topic string
		partitions   int32
		configs      map[string]string
		says         []string
	}{
		{"c62a", "tidemark-ledger.c62a.internal", 8, compact, []string{"8 partitions", "needs 4", "kafka-topics", "--delete"}},
		{"c62b", "tidemark-ledger.c62b.internal", 4, nil, []string{"cleanup.policy=delete", "kafka-configs", "--add-config cleanup.policy=compact"}},
		{"c62c", "tidemark-verdicts.c62c.internal", 4, map[string]string{"cleanup.policy": "compact,delete"}, []string{"cleanup.policy=compact,delete", "kafka-configs", "--add-config cleanup.policy=compact"}},
	} {
		f := newFlow(t, c.alias, c.alias+"-t", c.alias+"-.*", "")
		if err := testcluster.CreateTopic(t.Context(), suite.target.ClientOpts(), c.topic, c.partitions, c.configs); err != nil {
			t.Fatal(err)
		}
		err := f.refusedAtStart()
		if err == nil {
			t.Errorf("%s: the flow started", c.topic)
			continue
		}
		for _, part := range append(c.says, c.topic, suite.target.Bootstrap()[0]) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", c.topic, part, err)
			}
		}
	}

	// What the errors say to do, done.
	value := "compact"
	f := newFlow(t, "c62b", "c62b-t", "c62b-.*", "")
	if _, err := f.dst.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &value}}, "tidemark-ledger.c62b.internal"); err != nil {
		t.Fatal(err)
	}
	f.mirrorsOne("c62b-t")
	f = newFlow(t, "c62a", "c62a-t", "c62a-.*", "")
	f.rewrite("lanes: 4", "lanes: 8")
	f.mirrorsOne("c62a-t")
}

// mirrorsOne starts the flow and sees a topic through.
func (f *flow) mirrorsOne(topic string) {
	f.tb.Helper()
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 20})
	stop := f.start()
	f.same(topic)
	if err := stop(); err != nil {
		f.tb.Error(err)
	}
}

// TestCase62FewerBrokersThanReplicas: the default of three replicas for internal topics on a cluster of one broker is
// lowered, and that is said, for each topic.
func TestCase62FewerBrokersThanReplicas(t *testing.T) {
	t.Parallel()
	const topic = "c62r-t"
	f := newFlow(t, "c62r", topic, "c62r-.*", "")
	log := f.listen()
	f.rewrite("offset_syncs_replication_factor: 1", "offset_syncs_replication_factor: 3")
	f.rewrite("checkpoints_replication_factor: 1", "checkpoints_replication_factor: 3")
	f.mirrorsOne(topic)
	for _, name := range []string{"tidemark-ledger.c62r.internal", "tidemark-verdicts.c62r.internal", "c62r.checkpoints.internal"} {
		if !log.line(name, "replication factor 1 instead of 3") {
			t.Errorf("nothing says that %s has fewer replicas", name)
		}
	}
	configs, err := f.dst.DescribeTopicConfigs(t.Context(), "tidemark-ledger.c62r.internal")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range configs[0].Configs {
		got[c.Key] = c.MaybeValue()
	}
	if got["cleanup.policy"] != "compact" || got["message.timestamp.type"] != "LogAppendTime" {
		t.Errorf("the ledger's settings are %v", got)
	}
}
