package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// load keeps writing to topics until it is stopped.
func (f *flow) load(prefix string) (stop func()) {
	f.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	conn := f.reads().ClientOpts()
	g.Go(func() error {
		return f.rounds(ctx, conn, testcluster.Load{Topic: prefix + "plain", Partitions: 3, Count: 120, Codec: "lz4", BatchBytes: 1200})
	})
	g.Go(func() error {
		for i := int64(0); paced(ctx); i++ {
			l := testcluster.Load{Topic: prefix + "tx", Partitions: 2, First: i * 60, Count: 60}
			_, _, err := testcluster.ProduceTransactions(context.WithoutCancel(ctx), conn, l, testcluster.Transactions{Seed: uint64(i)})
			f.wrote(err)
		}
		return nil
	})
	g.Go(func() error {
		return f.rounds(ctx, conn, testcluster.Load{
			Topic: prefix + "old", Partitions: 2, Count: 60, BatchBytes: 1000,
			Start: time.Date(2023, time.March, 1, 0, 0, 0, 0, time.UTC), Step: time.Second,
		})
	})
	stop = func() {
		cancel()
		if err := g.Wait(); err != nil {
			f.tb.Errorf("load: %v", err)
		}
	}
	return stop
}

// rounds writes one load after the other, a dozen small batches each, until ctx ends. What makes a fault find batches on
// their way is how many there are, not how large they are.
func (f *flow) rounds(ctx context.Context, conn []kgo.Opt, l testcluster.Load) error {
	i := int64(0)
	for ctx.Err() == nil {
		p, err := testcluster.NewProducer(conn, l)
		if err != nil {
			return err
		}
		for err == nil && paced(ctx) {
			err = p.Write(context.WithoutCancel(ctx), i*l.Count)
			i++
		}
		p.Close()
		f.wrote(err) // and a new producer goes on
	}
	return nil
}

// wrote takes the end of one round of load. One that meets a killed broker can fail in part; what counts is what the
// source holds in the end.
func (f *flow) wrote(err error) {
	if err != nil {
		f.tb.Logf("load: %v", err)
	}
}

// paced leaves the brokers time for the mirror: the load is to last, not to be large.
func paced(ctx context.Context) bool {
	return pause.For(ctx, 30*time.Millisecond)
}

func (f *flow) createLoadTopics(prefix string) {
	f.tb.Helper()
	for topic, n := range map[string]int32{"plain": 3, "tx": 2, "old": 2} {
		if err := testcluster.CreateTopic(f.tb.Context(), f.reads().ClientOpts(), prefix+topic, n, nil); err != nil {
			f.tb.Fatal(err)
		}
	}
}

func (f *flow) faultless(topics ...string) {
	f.tb.Helper()
	for _, topic := range topics {
		source, target := f.mirrored(topic)
		if err := testcluster.Compare(source, target).Err(); err != nil {
			f.tb.Errorf("%s: %v", topic, err)
		}
		f.tb.Logf("%s: %d records compared", topic, len(source))
	}
}

// remoteGrows waits until the target holds n more records of a topic than now.
func (f *flow) remoteGrows(topic string, n int64) {
	f.tb.Helper()
	cl := f.targetClient()
	total := func(ctx context.Context) (sum int64, err error) {
		ends, err := testcluster.Ends(ctx, cl, f.alias+"."+topic, testcluster.ReadUncommitted)
		for _, e := range ends {
			sum += e
		}
		return sum, err
	}
	from := int64(-1) // an end that cannot be read is no end of 0: whatever is there would count as growth
	f.until(60*time.Second, fmt.Sprintf("%d more records of %s", n, topic), func(ctx context.Context) (bool, string) {
		now, err := total(ctx)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			now = 0 // it is created by the worker
		case err != nil:
			return false, err.Error()
		}
		if from < 0 {
			from = now
		}
		return now >= from+n, fmt.Sprintf("%d of %d", now-from, n)
	})
}

// TestKillAndStart ends the mirror by SIGKILL under load, again and again; every start goes on without loss or
// duplicate. Most starts are static members, which get their lanes back at once; the others wait out the dead one's
// session.
func TestKillAndStart(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "kill", `ki-.*`, `none`, "")
	f.createLoadTopics("ki-")
	stop := f.load("ki-")
	rnd := rand.New(rand.NewPCG(3, 5))
	for i := range 8 {
		w := f.process([]string{"--instance-id", "one"}[:2*min(i%4, 1)]...)
		f.remoteGrows("ki-plain", 200+rnd.Int64N(1500))
		_ = w.end(syscall.SIGKILL, 10*time.Second)
	}
	stop()
	w := f.process("--instance-id", "one")
	f.faultless("ki-plain", "ki-tx", "ki-old")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// TestCleanStopAndStart: a clean stop exits 0 and the next start needs no look at the tail.
func TestCleanStopAndStart(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "clean", `cl-.*`, `none`, "")
	f.createLoadTopics("cl-")
	stop := f.load("cl-")
	for range 3 {
		w := f.process()
		f.remoteGrows("cl-plain", 500)
		if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
			t.Fatalf("SIGTERM: %v", err)
		}
	}
	stop()
	f.process()
	f.faultless("cl-plain", "cl-tx", "cl-old")
}
