//go:build unix

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEndDuringRebalance tells workers to end while their group waits for one that does not answer: those that end are out
// of the group at once, so that nobody waits for a session of a process that is gone, and what they had goes on exactly.
func TestEndDuringRebalance(t *testing.T) {
	t.Parallel()
	const topic, parts = "er-t", 8
	f := newFlow(t, "er", topic, `erg.*`, "")
	f.topic(topic, parts, nil)
	stop := f.drip(topic, parts, 0, 10*time.Millisecond)
	first, frozen := f.process(), f.process()
	f.owns(first, frozen)
	f.remoteGrows(topic, 100)
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = frozen.cmd.Process.Signal(syscall.SIGCONT) })
	joins := f.process() // begins a rebalance that waits for the frozen one
	f.group("a rebalance", func(state string, _ []string) bool { return state == "PreparingRebalance" })
	took := timed(t, "two of three end during a rebalance")
	for _, w := range []*worker{first, joins} {
		if err := w.end(syscall.SIGTERM, 29*time.Second); err != nil {
			t.Error(err)
		}
	}
	took()
	// The frozen one may be out by now too; those that ended must be.
	f.group("only the frozen worker at most", func(_ string, members []string) bool {
		for _, w := range []*worker{first, joins} {
			if slices.ContainsFunc(members, func(m string) bool { return strings.HasSuffix(m, fmt.Sprintf("-%d", w.cmd.Process.Pid)) }) {
				t.Fatalf("worker %d has ended and is a member: %v", w.cmd.Process.Pid, members)
			}
		}
		return true
	})
	fresh := f.process()
	f.everyPartitionGrows(topic, parts)
	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.owns(fresh, frozen)
	stop()
	f.whole(8, nil, topic)
	f.healthy(60 * time.Second)
	f.term(fresh, frozen)
}

// group waits for what the lane group's coordinator says: its state, and the client ids of its members.
func (f *flow) group(what string, is func(state string, members []string) bool) {
	f.tb.Helper()
	name := "tidemark." + f.alias + "->T"
	f.until(30*time.Second, what, func(ctx context.Context) (bool, string) {
		got, err := f.dst.DescribeGroups(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		var members []string
		for _, m := range got[name].Members {
			members = append(members, m.ClientID)
		}
		return is(got[name].State, members), fmt.Sprintf("%s of %v", got[name].State, members)
	})
}

// TestWorkersEndTogether tells both workers of a flow to end at once, as a service manager does: each hands its lanes to the other
// on the way out, and all are released in the end.
func TestWorkersEndTogether(t *testing.T) {
	t.Parallel()
	const topic, parts = "wet-t", 8
	f := newFlow(t, "wet", topic, `wetg.*`, "")
	f.topic(topic, parts, nil)
	stop := f.drip(topic, parts, 0, 10*time.Millisecond)
	for range 3 {
		one, two := f.process(), f.process()
		f.owns(one, two)
		f.remoteGrows(topic, 50)
		for _, w := range []*worker{one, two} {
			if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range []*worker{one, two} {
			select {
			case <-w.done:
			case <-time.After(patience * 30 * time.Second):
				t.Fatal("a worker does not end")
			}
			if out := w.output(); !strings.Contains(out, "stopped, every lane is released") {
				t.Errorf("worker %d did not release its lanes:\n%s", w.cmd.Process.Pid, out)
			}
		}
	}
	stop()
	last := f.process()
	f.whole(8, nil, topic)
	f.term(last)
}
