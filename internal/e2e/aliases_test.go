package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/testcluster"
)

// fromFile is a flow whose file is one of MirrorMaker 2's, between clusters that it calls source and target, or otherwise.
func fromFile(t *testing.T, alias, source, target, text string) *flow {
	t.Helper()
	text = fmt.Sprintf(`clusters = %[1]s, %[2]s
%[1]s.bootstrap.servers = %[3]s
%[2]s.bootstrap.servers = %[4]s
%[1]s->%[2]s.enabled = true
replication.factor = 1
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
sync.group.offsets.enabled = true
tidemark.lanes = 2
tidemark.positions.interval.ms = 200
%[5]s`, source, target, suite.source.BootstrapString(), suite.target.BootstrapString(), text)
	return &flow{
		tb: t, alias: alias, yaml: text, file: "mm2.properties",
		src: kadm.NewClient(suite.source.Client(t)), dst: kadm.NewClient(suite.target.Client(t)),
	}
}

// there waits until a cluster has the topics.
func (f *flow) there(of *kadm.Client, topics ...string) {
	f.tb.Helper()
	f.until(60*time.Second, fmt.Sprint(topics), func(ctx context.Context) (bool, string) {
		got, err := of.ListTopics(ctx, topics...)
		if err != nil {
			return false, err.Error()
		}
		for _, name := range topics {
			if t := got[name]; t.Err != nil || t.Topic == "" {
				return false, fmt.Sprintf("%s: %v", name, t.Err)
			}
		}
		return true, ""
	})
}

// TestAliasesOfTheSides: source.cluster.alias and target.cluster.alias name remote and internal topics, also where the clusters
// are called source and target, so that the keys look like settings of those. Records and positions are where those names say.
func TestAliasesOfTheSides(t *testing.T) {
	t.Parallel()
	f := fromFile(t, "usdf", "source", "target", "source->target.topics = usd-t\nsource->target.groups = usd-g\nsource.cluster.alias = usdf\ntarget.cluster.alias = ukdf\n")
	f.topic("usd-t", 2, nil)
	f.produce(testcluster.Load{Topic: "usd-t", Partitions: 2, Count: 200})
	w := f.process()
	at := spots{}
	at.add("usd-g", "usd-t", 0, 37)
	at.add("usd-g", "usd-t", 1, 80)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	f.faultless("usd-t")
	f.there(f.dst, "usdf.usd-t", "usdf.checkpoints.internal", "tidemark-ledger.source.internal")
	f.there(f.src, "mm2-offset-syncs.ukdf.internal")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// TestNamesKeptByNoSeparator: with an empty separator and an empty alias topics keep their names, as they did before there was a
// policy for that.
func TestNamesKeptByNoSeparator(t *testing.T) {
	t.Parallel()
	f := fromFile(t, "", "kns", "knt", "kns->knt.topics = kn-t\nkns->knt.groups = kn-g\nreplication.policy.separator =\nsource.cluster.alias =\ntarget.cluster.alias =\n")
	const topic, group = "kn-t", "kn-g"
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 1, Count: 200})
	f.process()
	f.commit(group, map[string]map[int32]int64{topic: {0: 37}})
	f.until(60*time.Second, "the group on the target", func(ctx context.Context) (bool, string) {
		got, err := f.dst.FetchOffsets(ctx, group)
		if err != nil {
			return false, err.Error()
		}
		o, ok := got.Lookup(topic, 0)
		return ok && o.At == 37, fmt.Sprint(o.At)
	})
	source, target := f.read(suite.source, topic), f.read(suite.target, topic)
	if err := testcluster.Compare(source, target).Err(); err != nil {
		t.Error(err)
	}
}
