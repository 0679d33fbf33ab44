package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
)

// TestCase07LaggingGroupsAfterARestart: groups that lag far behind get positions and checkpoints again as soon as the flow
// runs again, while they still lag, each one exact and none a step back; also a group that commits for the first time then.
func TestCase07LaggingGroupsAfterARestart(t *testing.T) {
	t.Parallel()
	const topic, step = "c07-t", 250
	f := newFlow(t, "c07", topic, `c07g.*`, ", checkpoints_interval: 200ms")
	f.topic(topic, 1, nil)
	f.transactions(testcluster.Load{Topic: topic, Count: 300}, 7) // offsets of the two sides differ
	f.produce(testcluster.Load{Topic: topic, First: 300, Count: 10000, BatchBytes: 20000})
	lagging, late := spot{"c07g-lagging", topic, 0}, spot{"c07g-late", topic, 0}
	at := spots{}
	stop := f.start()
	f.same(topic) // a commit that is ahead of the mirror would be held, rightly
	committed := int64(0)
	goOn := func(steps int) {
		t.Helper()
		for range steps {
			committed += step
			at.add(lagging.group, topic, 0, committed)
			f.commitAll(at)
		}
		f.exact(at, testcluster.ReadCommitted)
	}
	goOn(15)
	tcl := suite.target.Client(t)
	before := f.checkpoints(tcl, lagging)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.produce(testcluster.Load{Topic: topic, First: 10300, Count: 10000, BatchBytes: 20000})
	for range 10 {
		committed += step
		at.add(lagging.group, topic, 0, committed)
		f.commitAll(at)
	}
	f.start()
	took := timed(t, "a lagging group after a restart")
	f.until(60*time.Second, "a checkpoint of the lagging group", func(context.Context) (bool, string) {
		got := f.checkpoints(tcl, lagging)
		return len(got) > len(before) && got[len(got)-1].Upstream == committed, fmt.Sprint(len(got), " checkpoints")
	})
	took()
	at.add(late.group, topic, 0, 2*step)
	goOn(1)
	for range 5 {
		at.add(late.group, topic, 0, at[late]+step)
		goOn(1)
	}
	f.until(60*time.Second, "checkpoints of every position", func(context.Context) (bool, string) {
		for _, s := range []spot{lagging, late} {
			got := f.checkpoints(tcl, s)
			if len(got) == 0 || got[len(got)-1].Upstream != at[s] {
				return false, fmt.Sprintf("%v has %d, the last one not about %d", s, len(got), at[s])
			}
		}
		return true, ""
	})
	c := f.held(topic, testcluster.ReadCommitted)
	for _, s := range []spot{lagging, late} {
		f.steady(s, f.checkpoints(tcl, s), c)
	}
	f.same(topic)
}

// TestCase41RestartsWithoutDuplicates restarts the worker ten times under a steady trickle, half of them by SIGTERM and half
// by SIGKILL. Nothing stands twice after either.
func TestCase41RestartsWithoutDuplicates(t *testing.T) {
	t.Parallel()
	const topic, parts = "c41-t", 2
	f := newFlow(t, "c41", topic, `c41g.*`, "")
	f.topic(topic, parts, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: parts, Count: 500})
	stop := f.drip(topic, parts, 500, 20*time.Millisecond)
	for i := range 10 {
		w := f.process("--instance-id", "one")
		f.remoteGrows(topic, 30)
		if i%2 == 0 {
			f.term(w)
		} else {
			_ = w.end(syscall.SIGKILL, 10*time.Second)
		}
	}
	w := f.process("--instance-id", "one")
	f.remoteGrows(topic, 30)
	stop()
	f.whole(41, nil, topic)
	f.term(w)
}

// TestCase42NothingIsCopiedAgain: with a ledger that its clean-up policy would empty the flow refuses to start; two
// deployments with one file share the work; and a flow whose ledger is gone stops in front of what the target holds.
// Whether an alias that means another cluster is noticed is in TestAliasMeansAnotherCluster.
func TestCase42NothingIsCopiedAgain(t *testing.T) {
	t.Parallel()
	const topic = "c42-t"
	own := ledger.TopicName("c42")
	f := newFlow(t, "c42", topic, `c42g.*`, "")
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 300})
	s := spot{"c42g-a", topic, 0}
	at := spots{s: 120}
	f.commitAll(at)
	run := func(n int) {
		t.Helper()
		var stops []func() error
		for range n {
			stops = append(stops, f.start())
		}
		f.same(topic)
		f.exact(at, testcluster.ReadCommitted)
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	}
	run(1)
	end := f.end0(topic)
	f.topicConfig(own, "cleanup.policy", "delete")
	f.topicConfig(own, "retention.ms", "3600000")
	f.produce(testcluster.Load{Topic: topic, First: 300, Count: 50})
	err := f.refusedAtStart()
	if err == nil || !strings.Contains(err.Error(), own) || !strings.Contains(err.Error(), "cleanup.policy=delete") {
		t.Fatalf("with a ledger that is emptied the flow says: %v", err)
	}
	if now := f.end0(topic); now != end {
		t.Fatalf("the refused flow wrote: the end went from %d to %d", end, now)
	}
	f.topicConfig(own, "cleanup.policy", "compact")
	run(2)
	f.produce(testcluster.Load{Topic: topic, First: 350, Count: 50})
	at[s] = 380
	f.commitAll(at)
	run(2)
	stood, err := f.position(t.Context(), s.group, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.dst.DeleteTopics(t.Context(), own, ledger.VerdictsName("c42")); err != nil {
		t.Fatal(err)
	}
	f.until(60*time.Second, "the ledger is gone", func(ctx context.Context) (bool, string) {
		names, err := topicNames(ctx, f.dst)
		return err == nil && !strings.Contains(strings.Join(names, " "), own), fmt.Sprint(err)
	})
	end = f.end0(topic)
	f.produce(testcluster.Load{Topic: topic, First: 400, Count: 50})
	at[s] = 420
	f.commitAll(at)
	f.start()
	f.stopped(suite.target.Client(t), s, f.remote(topic), "did not write")
	if now := f.end0(topic); now != end {
		t.Errorf("without its ledger the flow wrote: the end went from %d to %d", end, now)
	}
	if now, err := f.position(t.Context(), s.group, topic, 0); err != nil || now != stood {
		t.Errorf("without its ledger the flow moved a group from %d to %d, %v", stood, now, err)
	}
	f.red(topic, "did not write")
}
