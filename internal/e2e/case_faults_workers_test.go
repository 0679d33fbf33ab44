package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/testcluster"
)

// TestCase43PartitionsMoveBetweenWorkers: workers come and go, cleanly and killed, under sparse traffic on many partitions,
// so that most of them have one record on its way when they change hands.
func TestCase43PartitionsMoveBetweenWorkers(t *testing.T) {
	t.Parallel()
	const topic, parts = "c43-t", 32
	f := newFlow(t, "c43", topic, `c43g.*`, "")
	f.rewrite("lanes: 4", "lanes: 8")
	f.topic(topic, parts, nil)
	stop := f.drip(topic, parts, 0, 3*time.Millisecond)
	workers := []*worker{f.process(), f.process(), f.process()}
	f.owns(workers...)
	f.remoteGrows(topic, 300)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		w := f.process()
		f.owns(w)
		f.remoteGrows(topic, 300)
		if sig == syscall.SIGTERM {
			f.term(workers[0])
		} else {
			_ = workers[0].end(sig, 10*time.Second)
		}
		workers = append(workers[1:], w)
		f.remoteGrows(topic, 300)
	}
	stop()
	f.whole(43, nil, topic)
	f.healthy(60 * time.Second)
	f.term(workers...)
}

// TestCase52RebalancesUnderLoad: one of two workers stops and starts again and again under load, and each time a topic comes
// that neither knew. Nothing that was on its way stands twice, and whoever finds a topic, it is created and mirrored.
func TestCase52RebalancesUnderLoad(t *testing.T) {
	t.Parallel()
	const topic, parts = "c52-t", 8
	f := newFlow(t, "c52", `c52-.*`, `c52g.*`, ", refresh_topics_interval: 500ms")
	f.topic(topic, parts, nil)
	stop := f.drip(topic, parts, 0, 2*time.Millisecond)
	topics := []string{topic}
	workers := []*worker{f.process(), f.process()}
	f.owns(workers...)
	for i := range 4 {
		fresh := fmt.Sprintf("c52-new-%d", i)
		f.topic(fresh, 4, nil)
		f.produce(testcluster.Load{Topic: fresh, Partitions: 4, Count: 400})
		topics = append(topics, fresh)
		f.remoteGrows(topic, 200)
		f.term(workers[i%2])
		workers[i%2] = f.process()
		f.owns(workers[i%2])
		f.remoteGrows(topic, 200)
	}
	stop()
	f.whole(52, nil, topics...)
	f.healthy(60 * time.Second)
	f.term(workers...)
}

// TestCase57PartitionsAddedWithSeveralWorkers: partitions and topics that are added while three workers run are mirrored
// from their first record, by whichever worker has them; so too when the worker that came first was killed, and while the
// workers are restarted one by one with a changed file.
func TestCase57PartitionsAddedWithSeveralWorkers(t *testing.T) {
	t.Parallel()
	const topic, fresh = "c57-t", "c57-new"
	f := newFlow(t, "c57", `c57-.*`, `c57g.*`, ", refresh_topics_interval: 1s")
	f.rewrite("lanes: 4", "lanes: 6")
	f.topic(topic, 3, nil)
	next := int64(0)
	produce := func(topic string, parts int32) {
		t.Helper()
		f.produce(testcluster.Load{Topic: topic, Partitions: parts, First: next, Count: 240})
		next += 240
	}
	scl := suite.source.Client(t)
	grow := func(parts int) {
		t.Helper()
		if got, err := f.src.UpdatePartitions(t.Context(), parts, topic); err != nil || got[topic].Err != nil {
			t.Fatal(err, got[topic].Err)
		}
		f.until(30*time.Second, "the partitions on the source", func(ctx context.Context) (bool, string) {
			ends, err := testcluster.Ends(ctx, scl, topic, testcluster.ReadUncommitted)
			return err == nil && len(ends) == parts, fmt.Sprint(ends, err)
		})
		produce(topic, int32(parts))
	}
	produce(topic, 3)
	workers := []*worker{f.process("--instance-id", "w0"), f.process("--instance-id", "w1"), f.process("--instance-id", "w2")}
	f.owns(workers...)
	f.same(topic)

	took := timed(t, "5 partitions more")
	grow(8)
	f.same(topic)
	took()
	f.topic(fresh, 2, nil)
	produce(fresh, 2)
	took = timed(t, "a new topic")
	f.same(fresh)
	took()

	f.rewrite("positions_interval: 200ms", "positions_interval: 300ms")
	for i := range workers {
		f.term(workers[i])
		workers[i] = f.process("--instance-id", fmt.Sprintf("w%d", i))
		f.owns(workers[i])
		grow(9 + i)
	}
	f.same(topic)

	_ = workers[0].end(syscall.SIGKILL, 10*time.Second)
	took = timed(t, "partitions added after the first worker was killed")
	grow(14)
	f.whole(57, nil, topic, fresh)
	took()
	f.term(workers[1:]...)
}

// TestCase90GroupsThatComeAndGo: groups that appear and vanish on topics that are not mirrored disturb nothing: no lane is
// taken again, the groups of the flow follow their commits, and one more group is one more group.
func TestCase90GroupsThatComeAndGo(t *testing.T) {
	t.Parallel()
	const topic, other, stable = "c90-t", "x90-t", 20
	f := newFlow(t, "c90", topic, `(c90g|console-consumer)-.*`, "")
	f.rewrite(", lanes: 4", ", groups_exclude: [], lanes: 4")
	log := f.listen()
	f.topic(topic, 4, nil)
	f.topic(other, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 4, Count: 4000})
	f.produce(testcluster.Load{Topic: other, Count: 100})
	at := spots{}
	move := func(round int64) {
		for g := range stable {
			for p := range int32(4) {
				at.add(fmt.Sprintf("c90g-%d", g), topic, p, 100*round+int64(g))
			}
		}
		f.commitAll(at)
	}
	move(1)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	for round := range int64(4) {
		var names []string
		churn := spots{}
		for i := range 50 {
			name := fmt.Sprintf("console-consumer-%d", 1000*round+int64(i))
			churn.add(name, other, 0, int64(i))
			names = append(names, name)
		}
		f.commitAll(churn)
		move(2 + round)
		took := timed(t, "20 groups among 50 that come and go")
		f.exact(at, testcluster.ReadCommitted)
		took()
		if _, err := f.src.DeleteGroups(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
	}
	quiet := f.commitsOfTarget("c90g-")
	at.add("c90g-new", topic, 2, 77)
	f.commitAll(spots{{"c90g-new", topic, 2}: 77})
	f.exact(at, testcluster.ReadCommitted)
	for group, n := range f.commitsOfTarget("c90g-") {
		if group != "c90g-new" && n != quiet[group] {
			t.Errorf("a new group made the flow commit %s again: %d commits became %d", group, quiet[group], n)
		}
	}
	if n := log.count("lanes assigned"); n != 1 {
		t.Errorf("lanes were assigned %d times", n)
	}
	for _, word := range []string{"lanes go to another worker", "lanes lost", "lane ended"} {
		if log.line(word) {
			t.Errorf("the log says %q", word)
		}
	}
	f.same(topic)
}

// count says how many lines of the log have a text.
func (h *heard) count(text string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// commitsOfTarget counts the commits that the target's log of positions holds, by group, of those that begin with prefix.
func (f *flow) commitsOfTarget(prefix string) map[string]int {
	f.tb.Helper()
	out := map[string]int{}
	f.until(60*time.Second, "the commits on the target", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, f.targetClient(), "__consumer_offsets", testcluster.ReadCommitted)
		if err != nil {
			return false, err.Error()
		}
		clear(out)
		for _, r := range recs {
			if group, ok := groupOfCommit(r.Key); ok && r.Value != nil && strings.HasPrefix(group, prefix) {
				out[group]++
			}
		}
		return true, ""
	})
	return out
}

// groupOfCommit is the group of a key of the log of positions, if it is the key of a commit.
func groupOfCommit(key []byte) (string, bool) {
	if len(key) < 2 || key[0] != 0 || key[1] > 1 { // version 2 is a group's state
		return "", false
	}
	k := kmsg.NewOffsetCommitKey()
	err := k.ReadFrom(key)
	return k.Group, err == nil
}
