package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/testcluster"
)

// TestTargetWithoutTransactions: a single broker with Kafka's default of three replicas for the topic of transactions, the
// commonest mistake there is, can give no lane an identity. The log says within seconds which topic, which setting and what to
// do; status shows each lane waiting for it, and the check fails.
func TestTargetWithoutTransactions(t *testing.T) {
	t.Parallel()
	r, err := startLater(testcluster.RealOptions{Name: "notxn", Props: map[string]string{"transaction.state.log.replication.factor": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop() })
	f := newFlow(t, "notx", "notx-.*", "none", "")
	f.toward(r)
	f.topic("notx-orders", 2, nil)
	f.produce(testcluster.Load{Topic: "notx-orders", Partitions: 2, Count: 100})
	if out, code := f.tool("lint", "--connect"); code != 1 || !strings.Contains(out, "transaction.state.log.replication.factor is 3 and the cluster has 1 broker") {
		t.Errorf("lint --connect, exit %d:\n%s", code, out)
	}
	log := f.listen()
	took := timed(t, "the log says what is missing")
	f.start()
	f.until(30*time.Second, "a line about the topic of transactions", func(context.Context) (bool, string) {
		return log.line("__transaction_state cannot be created", "transaction.state.log.replication.factor is 3 and the cluster has 1 broker", "set it to at most 1", "COORDINATOR_NOT_AVAILABLE"), "none yet"
	})
	if d := took(); d > 15*time.Second {
		t.Errorf("it took %v", d)
	}
	// Lane after lane asks for its identity; on a busy machine the last one seconds behind the first one.
	f.red("lanes 0, 1, 2, 3 do not run since", "transaction.state.log.replication.factor is 3")
	out, _ := f.tool("status")
	says(t, out, "waiting", "lanes 0, 1, 2, 3 do not run since", "__transaction_state cannot be created")
	n := 0
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, line := range log.lines {
		if strings.Contains(line, "__transaction_state cannot be created") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// TestWorkersWithOtherFiles: two processes of one flow with other topics in their files name each other, with what is not alike,
// and status finds it as long as both run.
func TestWorkersWithOtherFiles(t *testing.T) {
	t.Parallel()
	one, two := newFlow(t, "othf", "othf-(one|two)", "none", ""), newFlow(t, "othf", "othf-(two|three)", "none", "")
	for _, topic := range []string{"othf-one", "othf-two", "othf-three"} {
		one.topic(topic, 2, nil)
	}
	first, second := one.process(), two.process()
	for _, w := range []*worker{first, second} {
		one.until(60*time.Second, "each names the other", func(context.Context) (bool, string) {
			out := w.output()
			return strings.Contains(out, "another worker of this flow runs with another file") && strings.Contains(out, "othf-(one|two)") && strings.Contains(out, "othf-(two|three)"), out
		})
	}
	one.red("runs with another file than", "othf-(one|two)", "othf-(two|three)")
	if err := second.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Error(err)
	}
	one.until(60*time.Second, "nothing is found once one is gone", func(context.Context) (bool, string) {
		out, _ := one.tool("status", "--check")
		return !strings.Contains(out, "another file"), out
	})
	if err := first.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Error(err)
	}
}
