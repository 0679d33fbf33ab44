package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// checked waits until a check of the flow exits with a code and names all parts.
func (f *flow) checked(code int, args []string, parts ...string) {
	f.tb.Helper()
	f.until(30*time.Second, fmt.Sprintf("%v exits %d", args, code), func(context.Context) (bool, string) {
		out, errs, got := f.says(args...)
		for _, p := range parts {
			if !strings.Contains(errs, p) {
				return false, fmt.Sprintf("exit %d, and no %q: %s%s", got, p, out, errs)
			}
		}
		return got == code, fmt.Sprintf("exit %d: %s%s", got, out, errs)
	})
}

// consumes has a consumer of a group read so many records of a remote topic, and commit.
func (f *flow) consumes(group, topic string, n int) (leave func()) {
	f.tb.Helper()
	c := suite.target.Client(f.tb, kgo.ConsumerGroup(group), kgo.ConsumeTopics(f.remote(topic)), kgo.DisableAutoCommit())
	ctx, cancel := context.WithTimeout(f.tb.Context(), patience*60*time.Second)
	defer cancel()
	for got := 0; got < n; {
		rs := c.PollRecords(ctx, n-got)
		if err := rs.Err0(); err != nil {
			f.tb.Fatal(err)
		}
		got += rs.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		f.tb.Fatal(err)
	}
	return c.Close
}

// TestMovedGroup: a group is started on the target, reads there and commits. That is a finding until somebody says that it has
// moved; from then on nothing that the source says is written there, by the next worker neither, and what somebody commits on the
// source is the finding. Taken back, the group follows the source again.
func TestMovedGroup(t *testing.T) {
	t.Parallel()
	const topic, gone, group, other = "mvd-t", "mvd-gone", "mvd-g", "mvd-g2"
	f := newFlow(t, "mvd", "mvd-[tg].*", "mvd-g.*", ", refresh_topics_interval: 1s")
	for _, name := range []string{topic, gone} {
		f.topic(name, 1, nil)
		f.produce(testcluster.Load{Topic: name, Count: 100})
	}
	at := spots{}
	at.add(group, topic, 0, 40)
	at.add(group, gone, 0, 40)
	at.add(other, topic, 0, 30)
	f.commitAll(at)
	w := f.process()
	f.reaches(group, topic, 0, 40)
	f.reaches(group, gone, 0, 40)
	check := []string{"groups", "FILE", group, "--check"}
	f.checked(0, check)

	leave := f.consumes(group, topic, 20)
	f.checked(3, check, "group "+group+" has members on ")
	f.decides(0, []string{"moved", "FILE", group, "--dry-run"}, "It has members on ", "nothing is decided")
	f.decides(0, []string{"moved", "FILE", group, "--yes", "--reason", "done"}, "has moved to ", "decided, and in force after")
	f.checked(0, check)
	leave()
	f.checked(0, check) // without members it is ahead, and no rehearsal
	f.checked(0, []string{"groups", "FILE", "--check"})
	f.checked(0, []string{"status", "FILE", "--check"})

	// A topic of it ends. Nobody waits for its positions, nor for its partitions.
	if _, err := f.src.DeleteTopic(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	f.until(60*time.Second, "the end of "+gone, func(context.Context) (bool, string) {
		out, errs, code := f.says("forget", "FILE", gone, "--yes")
		return code == 0, out + errs
	})
	f.checked(0, check)
	f.checked(0, []string{"status", "FILE", "--check"})

	// Somebody commits on the source all the same. Workers carry the others on, and not this one.
	f.commit(group, map[string]map[int32]int64{topic: {0: 90}})
	f.checked(3, check, "commits went on at mvd since: "+topic+"-0 at offset 90 (was 40)")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	f.process()
	f.commit(other, map[string]map[int32]int64{topic: {0: 80}})
	f.reaches(other, topic, 0, 80)
	f.checked(3, check, "commits went on at mvd since")
	if at, err := f.position(t.Context(), group, topic, 0); err != nil || at != 60 {
		t.Errorf("the group stands at %d, %v: it has moved, and left at 60", at, err)
	}
	f.checked(0, []string{"status", "FILE", "--check"})

	// Back: not over what it has not read on the target. When it has, it follows.
	undo := []string{"moved", "FILE", group, "--undo", "--yes"}
	f.decides(2, undo, "pass over what it has not read yet on ", "30 offsets of "+f.remote(topic)+"-0")
	f.consumes(group, topic, 40)()
	f.decides(0, undo, "follows mvd again", "decided, and in force after")
	f.checked(3, check, "the target's own commit is ahead by 10")
	f.commit(group, map[string]map[int32]int64{topic: {0: 100}})
	f.reaches(group, topic, 0, 100)
	f.checked(0, check)
	c := document[status.Controls](f, "controls", "FILE")
	if n := len(c.Decisions); n != 3 || c.Decisions[0].State != status.DecisionEnded || c.Decisions[2].Kind != "end of moved" {
		t.Errorf("%+v", c.Decisions)
	}
}
