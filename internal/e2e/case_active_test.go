package e2e

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

// TestCase27ActiveOnTheTarget: a group whose consumers run on the target is left alone and said so; its positions
// follow again once they have stopped, and never move back.
func TestCase27ActiveOnTheTarget(t *testing.T) {
	t.Parallel()
	const topic, group = "c27-t", "c27-g"
	f := newFlow(t, "c27", topic, "c27-.*", "")
	log := f.listen()
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 100})
	f.commit(group, map[string]map[int32]int64{topic: {0: 20}})
	f.start()
	f.reaches(group, topic, 0, 20)
	back := f.watch(group, topic)

	m := f.join(group, topic)
	m.commit(m.read(30)[29])
	for c := int64(51); c <= 60; c++ { // the source goes on
		f.commit(group, map[string]map[int32]int64{topic: {0: c}})
	}
	f.until(30*time.Second, "the state in the log", func(context.Context) (bool, string) {
		return log.line("group="+group, "active on the target (Stable)"), ""
	})
	f.exactWhileActive(group, topic, 50)
	m.cl.Close()
	f.reaches(group, topic, 0, 60)

	m = f.join(group, topic)
	m.commit(m.read(30)[29]) // 60 to 89, so the target stands at 90
	f.commit(group, map[string]map[int32]int64{topic: {0: 70}})
	tcl := f.targetClient()
	f.until(30*time.Second, "the flow to know of the commit", func(ctx context.Context) (bool, string) { // else it is ahead by 30
		r, ok, err := row(ctx, tcl, f.alias, spot{group, topic, 0})
		return ok && r.Committed == 70, fmt.Sprint(r.Committed, err)
	})
	m.cl.Close()
	f.until(30*time.Second, "target ahead in the log", func(context.Context) (bool, string) {
		return log.line("group="+group, "the target is ahead of the source by 20"), ""
	})
	f.commit(group, map[string]map[int32]int64{topic: {0: 95}})
	f.reaches(group, topic, 0, 95)
	if err := back(); err != nil {
		t.Error(err)
	}
}

// TestCase27ActiveByTheNewProtocol: consumers of the group protocol of KIP-848 are seen too; for the older look at a
// group they do not exist. Kafka's own consumer runs on the target while the source goes on.
func TestCase27ActiveByTheNewProtocol(t *testing.T) {
	t.Parallel()
	const topic, group = "c27n-t", "c27n-g"
	f := newFlow(t, "c27n", topic, "c27n-.*", "")
	log := f.listen()
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 100})
	f.commit(group, map[string]map[int32]int64{topic: {0: 20}})
	f.start()
	f.reaches(group, topic, 0, 20)
	back := f.watch(group, topic)
	var consumer errgroup.Group
	stay, leave := io.Pipe()
	defer leave.Close()
	consumer.Go(func() error {
		props := map[string]string{"bootstrap.servers": suite.target.BootstrapString(), "group.protocol": "consumer"}
		options := map[string]string{"topic": f.remote(topic), "group": group, "count": "0", "timeout": "600000", "commit": "false"}
		_, err := testcluster.RunJavaInput(t.Context(), stay, "Consume.java", testcluster.JavaArgs(props, options)...)
		return err
	})
	f.until(60*time.Second, "the consumer in its group", func(ctx context.Context) (bool, string) {
		groups, err := f.dst.ListGroups(ctx)
		return err == nil && groups[group].State == "Stable", fmt.Sprint(groups[group], err)
	})
	for c := int64(51); c <= 60; c++ {
		f.commit(group, map[string]map[int32]int64{topic: {0: c}})
	}
	f.until(30*time.Second, "the state in the log", func(context.Context) (bool, string) {
		return log.line("group="+group, "active on the target (Stable)"), ""
	})
	f.exactWhileActive(group, topic, 20)
	leave.Close()
	if err := consumer.Wait(); err != nil {
		t.Fatal(err)
	}
	f.reaches(group, topic, 0, 60)
	if err := back(); err != nil {
		t.Error(err)
	}
}

// commit commits behind a record, as a member.
func (m *member) commit(r *kgo.Record) {
	m.tb.Helper()
	if err := m.cl.CommitRecords(m.tb.Context(), r); err != nil {
		m.tb.Fatal(err)
	}
}

// exactWhileActive asserts that a position did not follow: another group's does, through the same round.
func (f *flow) exactWhileActive(group, topic string, x int64) {
	f.tb.Helper()
	other := spots{}
	other.add(group+"-other", topic, 0, 61)
	f.commitAll(other)
	f.exact(other, testcluster.ReadCommitted)
	if at, err := f.position(f.tb.Context(), group, topic, 0); err != nil || at != x {
		f.tb.Errorf("%s is active on the target and stands at %d there, want its own %d (%v)", group, at, x, err)
	}
}

// watch looks at a position on the target all the time; the returned func ends it and says whether it ever moved back.
func (f *flow) watch(group, topic string) func() error {
	ctx, cancel := context.WithCancel(f.tb.Context())
	var g errgroup.Group
	g.Go(func() error {
		last := int64(-1)
		for paced(ctx) {
			at, err := f.position(ctx, group, topic, 0)
			if err == nil && at < last {
				return fmt.Errorf("%s moved back on the target from %d to %d", group, last, at)
			}
			if err == nil {
				last = at
			}
		}
		return nil
	})
	f.tb.Cleanup(cancel)
	return func() error {
		cancel()
		return g.Wait()
	}
}
