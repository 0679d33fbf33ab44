package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// BrokerConfigs gives the values that the cluster's brokers have for the given settings, by key, in no order: one for each
// broker that knows the key. Each broker is asked for itself, because only then does it tell what stands in its file and
// what is Kafka's default; asked without an id it tells the cluster's dynamic values alone. DESCRIBE_CONFIGS on the cluster
// is needed. The error is of brokers that did not tell; what the others said is there beside it.
func (c *Client) BrokerConfigs(ctx context.Context, keys ...string) (map[string][]string, error) {
	brokers, err := c.Admin().ListBrokers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the brokers of cluster %s: %w", c.cluster.Alias, err)
	}
	got, err := c.Admin().DescribeBrokerConfigs(ctx, brokers.NodeIDs()...)
	denied := errors.Is(err, kerr.ClusterAuthorizationFailed)
	wanted := map[string]bool{}
	for _, k := range keys {
		wanted[k] = true
	}
	out := map[string][]string{}
	for _, rc := range got {
		denied = denied || errors.Is(rc.Err, kerr.ClusterAuthorizationFailed)
		if rc.Err != nil {
			err = errors.Join(err, fmt.Errorf("settings of broker %s: %w", rc.Name, rc.Err))
		}
		for _, e := range rc.Configs {
			if wanted[e.Key] && e.Value != nil {
				out[e.Key] = append(out[e.Key], *e.Value)
			}
		}
	}
	if denied {
		return out, &ErrDenied{Operation: "DESCRIBE_CONFIGS", Resource: "cluster", Cluster: c.cluster.Alias}
	}
	return out, err
}
