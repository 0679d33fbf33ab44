package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// TestRehearsal: a consumer that was tried out on the target, and stopped, leaves the group's position there at the end. It
// would not go on where it left off on the source, and groups --check says so until its offsets there are deleted, as
// docs/cli.md has it.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	const topic, never, group = "rhs-t", "rhs-never", "rhs-g"
	f := newFlow(t, "rhs", "rhs-[tn].*", group, "")
	for _, name := range []string{topic, never} {
		f.topic(name, 1, nil)
		f.produce(testcluster.Load{Topic: name, Count: 100})
	}
	at := spots{}
	at.add(group, topic, 0, 40)
	f.commitAll(at)
	f.start()
	f.reaches(group, topic, 0, 40)
	checked := func(code int, within time.Duration, parts ...string) {
		t.Helper()
		f.until(within, fmt.Sprintf("groups --check exits %d", code), func(context.Context) (bool, string) {
			out, errs, got := f.says("groups", "FILE", group, "--check")
			for _, p := range parts {
				if !strings.Contains(errs, p) {
					return false, errs
				}
			}
			return got == code, fmt.Sprintf("exit %d: %s%s", got, out, errs)
		})
	}
	checked(0, 30*time.Second)

	c := suite.target.Client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(f.remote(topic)), kgo.DisableAutoCommit())
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	for n := 0; n < 60; {
		got := c.PollFetches(ctx)
		if err := got.Err0(); err != nil {
			t.Fatal(err)
		}
		n += got.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	checked(3, 10*time.Second, "group "+group+" has members on ") // it lives there now, and nobody has said that it moved
	c.Close()
	// It read a topic there that it has never read on the source.
	var too kadm.Offsets
	too.AddOffset(f.remote(never), 0, 70, -1)
	f.until(30*time.Second, "a commit on the topic that is new to the group", func(ctx context.Context) (bool, string) {
		err := f.dst.CommitAllOffsets(ctx, group, too)
		return err == nil, fmt.Sprint(err)
	})
	checked(3, 30*time.Second, "the target's own commit is ahead by 60: the group would resume there at offset 100, not at 40",
		f.remote(never)+"-0: committed on the target and not on the source", " --group "+group+" --topic "+f.remote(topic)+" --delete-offsets")
	if _, errs, code := f.says("translate", "FILE", group); code != 0 || !strings.Contains(errs, "ahead by 60") {
		t.Errorf("translate, exit %d: %s", code, errs)
	}

	// The command runs as printed. It does not name the topic that was never read on the source: nothing would bring that back.
	_, errs, _ := f.says("groups", "FILE", group, "--check")
	const tool = "kafka-consumer-groups.sh"
	_, command, found := strings.Cut(errs, tool)
	command, _, _ = strings.Cut(tool+command, "; a run then")
	if !found || strings.Contains(command, f.remote(never)) {
		t.Fatalf("no command, or one that deletes too much: %s", errs)
	}
	if out, err := testcluster.RunPrinted(t.Context(), command); err != nil || strings.Contains(out, "Error") {
		t.Fatalf("%s: %s %v", command, out, err)
	}
	f.reaches(group, topic, 0, 40)
	var gone kadm.TopicsSet
	gone.Add(f.remote(never), 0)
	if res, err := f.dst.DeleteOffsets(t.Context(), group, gone); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	checked(0, time.Minute)
	f.reaches(group, topic, 0, 40)
}
