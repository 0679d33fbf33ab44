package topics

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/testcluster"
)

// TestEnsureWhileAnotherWorkerCreates: a topic that another worker has just created is known to the broker that describes
// it, and not yet to the one that is asked for its settings. That passes, and must not end the process.
func TestEnsureWhileAnotherWorkerCreates(t *testing.T) {
	_, target := testcluster.NewPair(t)
	c, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: target.Bootstrap()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic := LedgerTopic("A", 2, 1)
	if _, err := Ensure(t.Context(), c, topic); err != nil {
		t.Fatal(err)
	}
	behind := 3 // answers that come from a broker that has not heard of the topic
	target.ControlKey(int16(kmsg.DescribeConfigs), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		target.KeepControl()
		if behind == 0 {
			return nil, nil, false
		}
		behind--
		req := kreq.(*kmsg.DescribeConfigsRequest)
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.Resources {
			one := kmsg.NewDescribeConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode = r.ResourceType, r.ResourceName, kerr.UnknownTopicOrPartition.Code
			resp.Resources = append(resp.Resources, one)
		}
		return resp, nil, true
	})
	if _, err := Ensure(t.Context(), c, topic); err != nil {
		t.Errorf("a topic that is there is refused: %v", err)
	}
	if behind != 0 {
		t.Errorf("%d answers of a broker that is behind were not asked for", behind)
	}
}

// TestEnsureTakesMirrorMakersTopicsAsTheyAre: a topic of MirrorMaker 2's whose old records are deleted is told and used, as
// it does; one of ours, which would lose what it must remember, is refused.
func TestEnsureTakesMirrorMakersTopicsAsTheyAre(t *testing.T) {
	_, target := testcluster.NewPair(t)
	c, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: target.Bootstrap()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	create := func(name, policy string, partitions int32) {
		t.Helper()
		if err := c.CreateTopic(t.Context(), kafka.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1, Configs: map[string]*string{"cleanup.policy": &policy}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, topic := range []InternalTopic{HeartbeatsTopic("heartbeats", 1), CheckpointsTopic("A.checkpoints.internal", 1), OffsetSyncsTopic("mm2-offset-syncs.B.internal", 1)} {
		create(topic.Name, "delete", 1)
		note, err := Ensure(t.Context(), c, topic)
		if err != nil {
			t.Errorf("%s is refused: %v", topic.Name, err)
		}
		for _, part := range []string{
			"topic " + topic.Name + " on cluster T has cleanup.policy=delete, so its old records are deleted: " + topic.Deleted + "; to keep the newest of each key: kafka-configs --bootstrap-server ",
			" --alter --entity-type topics --entity-name " + topic.Name + " --add-config cleanup.policy=compact",
		} {
			if !strings.Contains(note, part) {
				t.Errorf("%s: told %q, want in it %q", topic.Name, note, part)
			}
		}
	}
	create("both", "compact,delete", 1)
	if note, err := Ensure(t.Context(), c, HeartbeatsTopic("both", 1)); err != nil || !strings.Contains(note, "has cleanup.policy=compact,delete") {
		t.Errorf("compacted and deleted: %q, %v", note, err)
	}
	create("compacted", "compact", 2)
	if note, err := Ensure(t.Context(), c, HeartbeatsTopic("compacted", 1)); err != nil || note != "" {
		t.Errorf("compacted: %q, %v", note, err)
	}
	for _, topic := range []InternalTopic{LedgerTopic("ledger", 2, 1), VerdictsTopic("verdicts", 2, 1), ControlsTopic("controls", 1)} {
		create(topic.Name, "delete", topic.Partitions)
		if _, err := Ensure(t.Context(), c, topic); err == nil || !strings.Contains(err.Error(), "has cleanup.policy=delete, which deletes state: kafka-configs") {
			t.Errorf("%s: %v", topic.Name, err)
		}
	}
}
