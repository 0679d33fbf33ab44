package inspect

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/configfile"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/notes"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

const lanes = 4

// world is a flow A->B between two embedded clusters, with hand-made records of ours on the target.
type world struct {
	t              *testing.T
	source, target *testcluster.Fake
	from           string // the source's address in the file; another one makes it unreachable
	extra          string // more keys of the flow
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.source, w.target = testcluster.NewPair(t)
	w.from = w.source.Bootstrap()[0]
	w.topic(w.source, "orders", 2)
	w.topic(w.target, ledger.TopicName("A"), lanes)
	w.topic(w.target, ledger.VerdictsName("A"), lanes)
	return w
}

func (w *world) topic(c *testcluster.Fake, name string, partitions int32) {
	w.t.Helper()
	if err := testcluster.CreateTopic(w.t.Context(), c.ClientOpts(), name, partitions, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) produce(c *testcluster.Fake, recs ...*kgo.Record) {
	w.t.Helper()
	cl := c.Client(w.t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err := cl.ProduceSync(w.t.Context(), recs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// head writes a head with a map of n records from offset 0 on.
func (w *world) head(h ledger.Head, n int64, o offsetmap.Origin) {
	w.t.Helper()
	m := offsetmap.New(o)
	if n > 0 {
		if err := m.Append(offsetmap.Run{Count: n}); err != nil {
			w.t.Fatal(err)
		}
	}
	h.Map = m.AppendTail(nil)
	if h.RemoteTopic == "" {
		h.RemoteTopic = "A." + h.Topic
	}
	key := ledger.Key{Kind: ledger.KindHead, Topic: h.Topic, Partition: h.Partition}
	w.produce(w.target, &kgo.Record{Topic: ledger.TopicName("A"), Partition: ledger.LaneOf(h.Topic, h.Partition, lanes), Key: []byte(key.String()), Value: h.Encode()})
}

func (w *world) row(group string, r verdicts.Row) { w.rowOf(group, "orders", r) }

func (w *world) rowOf(group, topic string, r verdicts.Row) {
	w.t.Helper()
	value, err := r.EncodeRow()
	if err != nil {
		w.t.Fatal(err)
	}
	key := verdicts.Key{Group: group, Topic: topic}.EncodeKey()
	w.produce(w.target, &kgo.Record{Topic: ledger.VerdictsName("A"), Partition: ledger.GroupLane(group, lanes), Key: key, Value: value})
}

// file is the flow's configuration.
func (w *world) file() string {
	return fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows:\n  - {from: A, to: B, lanes: 4%s}\n", w.from, w.target.Bootstrap()[0], w.extra)
}

func (w *world) reader(o Options) *Reader {
	w.t.Helper()
	cfg, err := configfile.Parse("flow.yaml", []byte(w.file()))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := Open(cfg, cfg.Flows[0], o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(r.Close)
	return r
}

func (w *world) flow() status.Flow {
	w.t.Helper()
	got, err := w.reader(Options{}).Flow(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *world) partition(f status.Flow, topic string, n int32) status.Partition {
	w.t.Helper()
	for _, p := range f.Partitions {
		if p.Topic == topic && p.Partition == n {
			return p
		}
	}
	w.t.Fatalf("no row of %s-%d in %+v", topic, n, f.Partitions)
	return status.Partition{}
}

// worker joins the lane group as a worker does, so that every lane has an owner.
func (w *world) worker() *kgo.Client {
	w.t.Helper()
	cl := w.target.Client(w.t, kgo.ConsumerGroup("tidemark.A->B"), kgo.ConsumeTopics(ledger.TopicName("A")), kgo.DisableAutoCommit())
	ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Second)
	defer cancel()
	r := w.reader(Options{})
	err := testcluster.Await(ctx, "an owner of each lane", func(ctx context.Context) (bool, string, error) {
		owners, err := r.owners(ctx)
		return err == nil && len(owners.owner) == lanes, fmt.Sprint(owners), err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return cl
}

// says has a worker say something about itself, as it does in the lane group.
func (w *world) says(worker *kgo.Client, t notes.Trouble) {
	w.t.Helper()
	cl, err := kafka.Open(kafka.Cluster{Alias: "B", Bootstrap: w.target.Bootstrap()}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	id, generation := worker.GroupMetadata()
	note := kafka.Committed{Metadata: notes.Note{Worker: "w1", Member: id, Troubles: []notes.Trouble{t}}.Encode()}
	refused, err := cl.CommitAsMember(w.t.Context(), "tidemark.A->B", kafka.Member{ID: id, Generation: generation}, map[partition.ID]kafka.Committed{{Topic: ledger.TopicName("A")}: note})
	if err != nil || len(refused) > 0 {
		w.t.Fatal(err, refused)
	}
}

// before does something when a cluster gets the first request of a kind, before that is answered.
func (w *world) before(c *testcluster.Fake, which func(kmsg.Request) bool, do func()) {
	w.t.Helper()
	var once sync.Once
	c.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if which(req) {
			once.Do(func() { c.SleepControl(do) })
		}
		return nil, nil, false
	})
}

// deaf is an address that takes connections and never answers: a firewall, a hung broker.
func deaf(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
