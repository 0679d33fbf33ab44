package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
)

// TestRemoteTopicCreatedAnew: with no run going on somebody deletes a remote topic, creates it again under its name and
// fills it. What the run has left about the former one is no position in the new one, and the commands that read say so.
func TestRemoteTopicCreatedAnew(t *testing.T) {
	t.Parallel()
	const topic, group = "ran-t", "ran-g"
	f := newFlow(t, "ran", topic, group, "")
	f.properties(map[string]string{"ran->T.enabled": "true", "ran->T.topics": topic, "ran->T.groups": group, "ran->T.sync.group.offsets.enabled": "true"})
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 100})
	at := spots{}
	at.add(group, topic, 0, 40)
	f.commitAll(at)
	stop := f.start()
	f.exact(at, testcluster.ReadCommitted)
	f.reaches(group, topic, 0, 40)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	offset := []string{"translate", "FILE", "--topic", topic, "--partition", "0", "--offset", "40"}
	if tr := document[status.Translation](f, "translate", "FILE", group); len(tr.Offsets) != 1 || tr.Offsets[0].Offset != 40 || !tr.Offsets[0].Exact {
		t.Fatalf("before: %+v", tr)
	}
	if l := document[status.Lookup](f, offset...); l.TargetAt != 40 || !l.Exact {
		t.Fatalf("before: %+v", l)
	}

	if _, err := f.dst.DeleteTopic(t.Context(), f.remote(topic)); err != nil {
		t.Fatal(err)
	}
	f.refuses(group, offset, translate.TopicNotMirrored, "remote topic ran.ran-t is not on the target any more")
	f.until(30*time.Second, "the topic anew", func(ctx context.Context) (bool, string) {
		_, err := f.dst.CreateTopic(ctx, 1, 1, nil, f.remote(topic))
		return err == nil || strings.Contains(err.Error(), kerr.TopicAlreadyExists.Message), fmt.Sprint(err)
	})
	if err := testcluster.Produce(t.Context(), suite.target.ClientOpts(), testcluster.Load{Topic: f.remote(topic), Count: 300}); err != nil {
		t.Fatal(err)
	}
	f.refuses(group, offset, translate.IncarnationChanged, "remote topic ran.ran-t is another one on the target now")
	back := document[status.Lookup](f, append(offset, "--reverse")...)
	if back.SourceAt != status.Unknown || !strings.Contains(back.Sentence, "ran.ran-t is another one") {
		t.Errorf("the way back: %+v", back)
	}
	out, _, _ := f.says("status", "FILE")
	if !strings.Contains(out, "remote topic ran.ran-t was created anew on the target") {
		t.Errorf("status: %s", out)
	}
}

// refuses asserts that the commands that read give no position of a group and of an offset, by what kind and words.
func (f *flow) refuses(group string, offset []string, kind translate.Kind, why string) {
	f.tb.Helper()
	_, errs, code := f.says("translate", "FILE", group)
	if code != 1 || !strings.Contains(errs, why) || !strings.Contains(errs, "has no place on the target") {
		f.tb.Errorf("translate, exit %d: %s", code, errs)
	}
	out, errs, code := f.says("groups", "FILE", group, "--check")
	if code != 3 || !strings.Contains(out, why) || !strings.Contains(errs, why) {
		f.tb.Errorf("groups --check, exit %d: %s%s", code, out, errs)
	}
	if l := document[status.Lookup](f, offset...); l.TargetAt != status.Unknown || l.Verdict == nil || l.Verdict.Kind != kind || !strings.Contains(l.Sentence, why) {
		f.tb.Errorf("one offset: %+v", l)
	}
	if _, _, code := f.says(offset...); code != 1 {
		f.tb.Errorf("one offset: exit %d", code)
	}
}
