package testcluster

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fake is an embedded kfake cluster. kfake is no oracle for what real brokers
// check on produce: it never decodes records, accepts null keys on compacted
// topics, does not abort the open transaction of a predecessor, counts producer
// epochs per producer and not per partition, and has no __consumer_offsets to
// read. [Fake.CheckProduce] closes the first of these gaps.
//
// Clients of a Fake should set kgo.MetadataMinAge to some 100 ms, as
// [Fake.ClientOpts] does: every retry of kgo waits for it, and its default of
// 5 s makes three injected faults cost 15 s.
type Fake struct {
	*kfake.Cluster
}

// Bootstrap returns the addresses of all brokers.
func (f *Fake) Bootstrap() []string { return f.ListenAddrs() }

// ClientOpts are the options with which a kgo client reaches the cluster, when
// it has neither SASL nor TLS.
func (f *Fake) ClientOpts() []kgo.Opt { return clientOpts(f.Bootstrap()) }

// Client makes a client that is closed with the test.
func (f *Fake) Client(t T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return NewClient(t, f.ClientOpts(), opts...)
}

// CheckProduce has validate look at the records of every Produce request, as
// they arrive: one whole batch for one partition. A batch that it refuses fails
// the test, and is stored all the same, so that one defect does not show as
// another. A request that names a partition twice fails too: a real broker
// would silently keep one of the two (both are in one map there).
func (f *Fake) CheckProduce(t T, validate func(batch []byte) error) {
	t.Helper()
	f.ObserveProduce(func(topic string, partition int32, batch []byte) {
		if err := validate(batch); err != nil {
			t.Errorf("produce to %s-%d: %v", topic, partition, err)
		}
	}, func(err error) { t.Errorf("%v", err) })
}

// ObserveProduce calls batch for what each Produce request holds, and malformed
// for a request that names a partition twice. Both run on kfake's own goroutine
// and must not call back into the cluster. Since version 13 a request names
// topics by id only: topic is then the id in hex.
func (f *Fake) ObserveProduce(batch func(topic string, partition int32, batch []byte), malformed func(error)) {
	f.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		type tp struct {
			topic     string
			partition int32
		}
		seen := map[tp]bool{}
		for _, t := range kreq.(*kmsg.ProduceRequest).Topics {
			name := t.Topic
			if name == "" {
				name = fmt.Sprintf("%x", t.TopicID)
			}
			for _, p := range t.Partitions {
				if seen[tp{name, p.Partition}] {
					malformed(fmt.Errorf("one produce request names %s-%d twice", name, p.Partition))
				}
				seen[tp{name, p.Partition}] = true
				batch(name, p.Partition, p.Records)
			}
		}
		return nil, nil, false // kfake answers as usual
	})
}

// Pair is two embedded clusters with different cluster ids.
type Pair struct {
	Source, Target *Fake

	once sync.Once
}

// StartPair starts two embedded clusters of one broker each, unless the options
// say otherwise. It takes a few milliseconds.
func StartPair(source, target []kfake.Opt) (*Pair, error) {
	src, err := startFake("source", source)
	if err != nil {
		return nil, err
	}
	dst, err := startFake("target", target)
	if err != nil {
		src.Close()
		return nil, err
	}
	return &Pair{Source: src, Target: dst}, nil
}

func startFake(name string, opts []kfake.Opt) (*Fake, error) {
	// Cluster ids must differ, as a mirror tells clusters by them; kfake's
	// default is one constant.
	all := append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("kfake-" + name)}, opts...)
	c, err := kfake.NewCluster(all...)
	if err != nil {
		return nil, fmt.Errorf("start embedded %s cluster: %w", name, err)
	}
	return &Fake{Cluster: c}, nil
}

// Close ends both clusters. It may be called more than once.
func (p *Pair) Close() {
	p.once.Do(func() {
		p.Source.Close()
		p.Target.Close()
	})
}

// NewPair starts a pair, with the same options on both sides, that is closed
// with the test.
func NewPair(t T, opts ...kfake.Opt) (source, target *Fake) {
	t.Helper()
	p, err := StartPair(opts, opts)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(p.Close)
	return p.Source, p.Target
}
