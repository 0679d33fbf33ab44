package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is one topic as the cluster describes it.
type Topic struct {
	Name string
	// ID changes when a topic is deleted and created again under its name.
	ID         [16]byte
	Partitions int32
	// Internal is set for Kafka's own topics, such as __consumer_offsets.
	Internal bool
	// ReplicationFactor is that of the first partition.
	ReplicationFactor int
	// Err says why the rest is not known: *ErrDenied or ErrNoTopic.
	Err error
}

// DescribeTopics describes the named topics, or all topics that we may see if
// none is named, ordered by name. A named topic always has an entry; topics
// without DESCRIBE are left out of a list of all silently.
func (c *Client) DescribeTopics(ctx context.Context, names ...string) ([]Topic, error) {
	what := "list topics"
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		req.Topics = append(req.Topics, t)
		what = fmt.Sprintf("describe %d topics", len(names))
	}
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return nil, c.failed(what, err)
	}
	topics := make([]Topic, 0, len(resp.Topics))
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue // only a topic asked for by id has no name
		}
		topic := Topic{
			Name: *t.Topic, ID: t.TopicID, Internal: t.IsInternal, Partitions: int32(len(t.Partitions)),
			Err: c.topicError(*t.Topic, t.ErrorCode),
		}
		for _, p := range t.Partitions {
			if p.Partition == 0 {
				topic.ReplicationFactor = len(p.Replicas)
			}
		}
		topics = append(topics, topic)
	}
	slices.SortFunc(topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return topics, nil
}

// TopicSpec is a topic to create.
type TopicSpec struct {
	Name       string
	Partitions int32 // -1: the broker's default
	// ReplicationFactor is -1 for the broker's default.
	ReplicationFactor int16
	Configs           map[string]*string
	ValidateOnly      bool // nothing is created: only whether it could be is answered
}

// CreateTopic creates a topic. If the topic exists the error is
// kerr.TopicAlreadyExists (class Exists), which can also be the answer to
// franz-go's retry of a request whose first answer was lost. Without CREATE on
// the topic or the cluster it is *ErrDenied.
func (c *Client) CreateTopic(ctx context.Context, spec TopicSpec) error {
	what := fmt.Sprintf("create topic %q", spec.Name)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly = spec.ValidateOnly
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = spec.Name
	t.NumPartitions = spec.Partitions
	t.ReplicationFactor = spec.ReplicationFactor
	for _, key := range sortedKeys(spec.Configs) {
		conf := kmsg.NewCreateTopicsRequestTopicConfig()
		conf.Name = key
		conf.Value = spec.Configs[key]
		t.Configs = append(t.Configs, conf)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return c.failed(what, err)
	}
	if len(resp.Topics) != 1 {
		return c.failed(what, fmt.Errorf("the controller answered for %d topics", len(resp.Topics)))
	}
	return c.adminResult(what, "CREATE", spec.Name, resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage)
}

// CreatePartitions grows a topic to total partitions. A total that is not more
// than what the topic has is kerr.InvalidPartitions. It needs ALTER on the
// topic.
func (c *Client) CreatePartitions(ctx context.Context, name string, total int32) error {
	what := fmt.Sprintf("grow topic %q to %d partitions", name, total)
	req := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic = name
	t.Count = total
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return c.failed(what, err)
	}
	if len(resp.Topics) != 1 {
		return c.failed(what, fmt.Errorf("the controller answered for %d topics", len(resp.Topics)))
	}
	return c.adminResult(what, "ALTER", name, resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage)
}

// adminResult is the error of one topic in an admin call that needs operation
// on it; nil for code 0. The broker's message is kept: it names the rule that
// was broken.
func (c *Client) adminResult(what, operation, topic string, code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		err = &ErrDenied{Operation: operation, Resource: "topic", Name: topic, Cluster: c.cluster.Alias}
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		err = &ErrDenied{Operation: operation, Resource: "cluster", Cluster: c.cluster.Alias}
	case message != nil && *message != "":
		err = fmt.Errorf("%w (%s)", err, *message)
	}
	return c.failed(what, err)
}
