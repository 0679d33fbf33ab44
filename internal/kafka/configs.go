package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// configChunk is how many topics one config request names. A topic has some
// thirty entries of fifty bytes, so an answer stays under a megabyte.
const configChunk = 500

// ConfigEntry is one configuration value of a topic.
type ConfigEntry struct {
	// Value is nil for sensitive entries, which brokers do not reveal.
	Value *string
	// Source says where the value comes from, as Kafka names it:
	// DYNAMIC_TOPIC_CONFIG is set on the topic itself, DEFAULT_CONFIG and the
	// others are inherited.
	Source              string
	ReadOnly, Sensitive bool
}

// OfTopic says whether the value is set on the topic itself.
func (e ConfigEntry) OfTopic() bool { return e.Source == kmsg.ConfigSourceDynamicTopicConfig.String() }

// TopicConfigs reads the configuration of topics. The second result holds the
// topics that could not be read: *ErrDenied (DESCRIBE_CONFIGS is missing) or
// the broker's reason.
func (c *Client) TopicConfigs(ctx context.Context, names []string) (map[string]map[string]ConfigEntry, map[string]error, error) {
	configs := make(map[string]map[string]ConfigEntry, len(names))
	failed := map[string]error{}
	for chunk := range slices.Chunk(names, configChunk) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, name := range chunk {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType = kmsg.ConfigResourceTypeTopic
			r.ResourceName = name
			req.Resources = append(req.Resources, r)
		}
		resp, err := req.RequestWith(ctx, asks{c})
		if err != nil {
			return nil, nil, c.failed(fmt.Sprintf("read the configuration of %d topics", len(names)), err)
		}
		for _, r := range resp.Resources {
			what := fmt.Sprintf("read the configuration of topic %q", r.ResourceName)
			if err := c.adminResult(what, "DESCRIBE_CONFIGS", r.ResourceName, r.ErrorCode, r.ErrorMessage); err != nil {
				failed[r.ResourceName] = err
				continue
			}
			entries := make(map[string]ConfigEntry, len(r.Configs))
			for _, e := range r.Configs {
				entries[e.Name] = ConfigEntry{Value: e.Value, Source: e.Source.String(), ReadOnly: e.ReadOnly, Sensitive: e.IsSensitive}
			}
			configs[r.ResourceName] = entries
		}
		for _, name := range chunk {
			if configs[name] == nil && failed[name] == nil {
				failed[name] = fmt.Errorf("topic %q on cluster %s: the broker's answer left it out", name, c.cluster.Alias)
			}
		}
	}
	return configs, failed, nil
}

// AlterConfigs sets single configuration values of topics (KIP-339); a nil
// value takes the topic's own value away, and what is not named stays. The map
// holds the topics that were refused, none of whose values were changed:
// *ErrDenied (ALTER_CONFIGS is missing) or the broker's reason.
func (c *Client) AlterConfigs(ctx context.Context, changes map[string]map[string]*string) (map[string]error, error) {
	failed := map[string]error{}
	for chunk := range slices.Chunk(sortedKeys(changes), configChunk) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		for _, topic := range chunk {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType = kmsg.ConfigResourceTypeTopic
			r.ResourceName = topic
			for _, key := range sortedKeys(changes[topic]) {
				conf := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
				conf.Name = key
				conf.Value = changes[topic][key]
				conf.Op = kmsg.IncrementalAlterConfigOpSet
				if conf.Value == nil {
					conf.Op = kmsg.IncrementalAlterConfigOpDelete
				}
				r.Configs = append(r.Configs, conf)
			}
			req.Resources = append(req.Resources, r)
		}
		resp, err := req.RequestWith(ctx, asks{c})
		if err != nil {
			return failed, c.failed(fmt.Sprintf("change the configuration of %d topics", len(changes)), err)
		}
		answered := map[string]bool{}
		for _, r := range resp.Resources {
			answered[r.ResourceName] = true
			what := fmt.Sprintf("change the configuration of topic %q", r.ResourceName)
			if err := c.adminResult(what, "ALTER_CONFIGS", r.ResourceName, r.ErrorCode, r.ErrorMessage); err != nil {
				failed[r.ResourceName] = err
			}
		}
		for _, topic := range chunk {
			if !answered[topic] {
				failed[topic] = fmt.Errorf("topic %q on cluster %s: the broker's answer left it out", topic, c.cluster.Alias)
			}
		}
	}
	return failed, nil
}

// CannotAlterConfigs are those of topics whose settings we may not change, each with *ErrDenied (KIP-430). Clusters that do not
// tell rights deny none: those without an authorizer, before Kafka 2.3, or that do not even say that we see the topic. Asking
// with a change that is only validated was rejected: it takes a broker more work, and needs a value to set.
func (c *Client) CannotAlterConfigs(ctx context.Context, topics []string) (map[string]error, error) {
	denied := map[string]error{}
	for chunk := range slices.Chunk(topics, configChunk) {
		req := kmsg.NewPtrMetadataRequest()
		req.IncludeTopicAuthorizedOperations = true
		for _, name := range chunk {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = new(name)
			req.Topics = append(req.Topics, t)
		}
		resp, err := req.RequestWith(ctx, asks{c})
		if err != nil {
			return denied, c.failed(fmt.Sprintf("ask for our rights on %d topics", len(topics)), err)
		}
		for _, t := range resp.Topics {
			told := t.AuthorizedOperations != rightsNotTold && t.AuthorizedOperations&(1<<kmsg.ACLOperationDescribe) != 0
			if t.Topic == nil || t.ErrorCode != 0 || !told || t.AuthorizedOperations&(1<<kmsg.ACLOperationAlterConfigs) != 0 {
				continue
			}
			what := fmt.Sprintf("change the configuration of topic %q", *t.Topic)
			denied[*t.Topic] = c.adminResult(what, "ALTER_CONFIGS", *t.Topic, kerr.TopicAuthorizationFailed.Code, nil)
		}
	}
	return denied, nil
}
