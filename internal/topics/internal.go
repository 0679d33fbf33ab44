package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/kafka"
	"tidemark/internal/pause"
)

// InternalTopic is a topic of ours or of MirrorMaker 2's, with the settings that it must be created with.
type InternalTopic struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Configs           map[string]string
	AtLeast           bool // more partitions than ours are fine: MirrorMaker 2 and its readers use partition 0 only
	// Deleted is a clause about what its readers miss where old records are deleted, for a topic that we can do without: such
	// a topic is taken as it is, and the clause is told. Empty: the topic must be compacted and nothing else.
	Deleted string
}

// LedgerTopic is the ledger of a flow. Segments are as small as a broker takes and cleaned early, because a take-over
// reads a partition to its end. LogAppendTime makes the producer's state follow the broker's clock, so that fencing does
// not depend on ours. The compaction lag bounds what a ledger grows to while a broker's cleaner is busy elsewhere.
func LedgerTopic(name string, lanes int32, rf int16) InternalTopic {
	return InternalTopic{Name: name, Partitions: lanes, ReplicationFactor: rf, Configs: map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.1",
		"max.compaction.lag.ms": "3600000", "segment.ms": "3600000", "delete.retention.ms": "86400000",
		"message.timestamp.type": "LogAppendTime", "compression.type": "producer",
	}}
}

// VerdictsTopic is the hand-over of positions between lanes and group owners.
func VerdictsTopic(name string, lanes int32, rf int16) InternalTopic {
	t := LedgerTopic(name, lanes, rf)
	t.Name = name
	return t
}

// ControlsTopic holds what people have decided about flows from one source: one partition, since the order counts.
func ControlsTopic(name string, rf int16) InternalTopic {
	t := LedgerTopic(name, 1, rf)
	t.Name = name
	return t
}

// mm2Topic is what MirrorMaker 2 creates: one partition, compacted, everything else the broker's default. One that somebody
// has created in another way it takes as it is, and so do we: nothing of ours is read from it.
func mm2Topic(name string, rf int16, deleted string) InternalTopic {
	return InternalTopic{
		Name: name, Partitions: 1, ReplicationFactor: rf, AtLeast: true, Configs: map[string]string{"cleanup.policy": "compact"}, Deleted: deleted,
	}
}

// CheckpointsTopic is <source>.checkpoints.internal.
func CheckpointsTopic(name string, rf int16) InternalTopic {
	return mm2Topic(name, rf, "whoever translates by checkpoints misses the positions of groups that have not moved since")
}

// OffsetSyncsTopic is mm2-offset-syncs.<other cluster>.internal.
func OffsetSyncsTopic(name string, rf int16) InternalTopic {
	return mm2Topic(name, rf, "whoever translates by offset syncs finds none of partitions that have been idle since")
}

// HeartbeatsTopic is "heartbeats".
func HeartbeatsTopic(name string, rf int16) InternalTopic {
	return mm2Topic(name, rf, "whoever looks for the last heartbeat of a flow that was stopped finds none")
}

// Ensure creates the topic or checks that the existing one serves. note says what is worth telling: a replication
// factor that had to be lowered to the number of brokers, a topic of MirrorMaker 2's whose old records are deleted. The
// error says how to repair an unfit topic.
func Ensure(ctx context.Context, c *kafka.Client, t InternalTopic) (note string, err error) {
	got, err := c.DescribeTopics(ctx, t.Name)
	if err != nil {
		return "", err
	}
	if len(got) == 1 && got[0].Err == nil {
		if note, err := check(ctx, c, t, got[0]); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return note, err
		}
		return await(ctx, c, t) // another worker has just created it
	}
	if len(got) == 1 && !errors.Is(got[0].Err, kafka.ErrNoTopic) {
		return "", got[0].Err
	}
	err = create(ctx, c, t)
	if errors.Is(err, kerr.InvalidReplicationFactor) {
		brokers, berr := c.Admin().ListBrokers(ctx)
		if berr != nil || len(brokers) == 0 || int(t.ReplicationFactor) <= len(brokers) {
			return "", err
		}
		note = fmt.Sprintf("topic %s gets replication factor %d instead of %d: cluster %s has no more brokers", t.Name, len(brokers), t.ReplicationFactor, c.Cluster().Alias)
		t.ReplicationFactor = int16(len(brokers))
		err = create(ctx, c, t)
	}
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return "", err
	}
	found, err := await(ctx, c, t)
	return cmp.Or(note, found), err
}

func create(ctx context.Context, c *kafka.Client, t InternalTopic) error {
	configs := map[string]*string{}
	for k, v := range t.Configs {
		configs[k] = &v
	}
	return c.CreateTopic(ctx, kafka.TopicSpec{Name: t.Name, Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor, Configs: configs})
}

// describedWithin is how long brokers may take to hear of a topic that their controller has made: milliseconds as a rule. One whose
// machine is busy has taken more than a quarter of a minute.
const describedWithin = time.Minute

// await waits until the topic that was just created is described by whichever broker is asked, and checks it: somebody
// else may have created it first.
func await(ctx context.Context, c *kafka.Client, t InternalTopic) (note string, err error) {
	deadline := time.Now().Add(describedWithin)
	for {
		got, err := c.DescribeTopics(ctx, t.Name)
		switch {
		case err != nil:
		case len(got) == 1 && got[0].Err == nil && got[0].Partitions > 0:
			// Settings are told by any broker, also by one that has not heard of the topic yet.
			if note, err = check(ctx, c, t, got[0]); !errors.Is(err, kerr.UnknownTopicOrPartition) {
				return note, err
			}
		case len(got) == 1 && got[0].Err != nil:
			err = got[0].Err
		default:
			err = kerr.UnknownTopicOrPartition
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("topic %s was created on cluster %s but is not described after %v: %w", t.Name, c.Cluster().Alias, describedWithin, err)
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			return "", ctx.Err()
		}
	}
}

// check refuses an existing topic that would lose state: a wrong partition count moves partitions between lanes, and a
// clean-up by age deletes what was never superseded. Of a topic that we can do without the note says what is lost.
func check(ctx context.Context, c *kafka.Client, t InternalTopic, got kafka.Topic) (note string, err error) {
	if got.Partitions != t.Partitions && (!t.AtLeast || got.Partitions < t.Partitions) {
		return "", fmt.Errorf("topic %s on cluster %s has %d partitions, this flow needs %d: set lanes to %d, or if the topic was never used delete it (kafka-topics --bootstrap-server %s --delete --topic %s) and start again",
			t.Name, c.Cluster().Alias, got.Partitions, t.Partitions, got.Partitions, c.Cluster().Bootstrap[0], t.Name)
	}
	configs, failed, err := c.TopicConfigs(ctx, []string{t.Name})
	if err != nil {
		return "", err
	}
	if err := failed[t.Name]; err != nil {
		return "", err
	}
	policy := value(configs[t.Name], "cleanup.policy")
	if OnlyCompacts(policy) {
		return "", nil
	}
	repair := fmt.Sprintf("kafka-configs --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config cleanup.policy=compact",
		c.Cluster().Bootstrap[0], t.Name)
	if t.Deleted != "" {
		return fmt.Sprintf("topic %s on cluster %s has cleanup.policy=%s, so its old records are deleted: %s; to keep the newest of each key: %s",
			t.Name, c.Cluster().Alias, policy, t.Deleted, repair), nil
	}
	return "", fmt.Errorf("topic %s on cluster %s has cleanup.policy=%s, which deletes state: %s", t.Name, c.Cluster().Alias, policy, repair)
}

// OnlyCompacts says whether a cleanup.policy keeps the newest record of every key, however old it is.
func OnlyCompacts(policy string) bool {
	names := strings.Split(strings.ReplaceAll(policy, " ", ""), ",")
	return slices.Contains(names, "compact") && !slices.Contains(names, "delete")
}
