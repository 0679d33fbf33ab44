package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
)

// cluster is an embedded cluster with a client for what administrators do.
type cluster struct {
	*kfake.Cluster
	admin *kadm.Client
}

func startCluster(name string) (*cluster, error) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.ClusterID("demo-"+name))
	if err != nil {
		return nil, fmt.Errorf("start embedded cluster %s: %w", name, err)
	}
	c := &cluster{Cluster: fake}
	cl, err := c.client()
	if err != nil {
		fake.Close()
		return nil, err
	}
	c.admin = kadm.NewClient(cl)
	return c, nil
}

// client makes a client as an application does. Its retries look for metadata at once: the default pause of 5 s is for
// real clusters.
func (c *cluster) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.FetchMaxWait(200 * time.Millisecond), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, opts...)...)
}

// close ends the cluster; what is connected loses its connection. It may be called again.
func (c *cluster) close() {
	c.admin.Close()
	c.Close()
}

// committed are the positions of a group; none where the cluster does not know it.
func (c *cluster) committed(ctx context.Context, group string) (map[partition.ID]int64, error) {
	got, err := c.admin.FetchOffsets(ctx, group)
	if err == nil {
		err = got.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read positions of %s: %w", group, err)
	}
	out := map[partition.ID]int64{}
	got.Each(func(o kadm.OffsetResponse) { out[partition.ID{Topic: o.Topic, Partition: o.Partition}] = o.At })
	return out, nil
}

// ends are the log ends of topics as a read_committed reader sees them.
func (c *cluster) ends(ctx context.Context, topics ...string) (map[partition.ID]int64, error) {
	got, err := c.admin.ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list log ends: %w", err)
	}
	out := map[partition.ID]int64{}
	got.Each(func(o kadm.ListedOffset) { out[partition.ID{Topic: o.Topic, Partition: o.Partition}] = o.Offset })
	return out, nil
}
