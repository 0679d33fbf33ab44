//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMirrorMakerFormattersAndTranslate runs Kafka's own mirror from source to
// target, and reads what it has left with Kafka's own readers and our oracle.
func TestMirrorMakerFormattersAndTranslate(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	source, target := shared.source, shared.target
	l := Load{Topic: "mirrored", Partitions: 2, Count: 100}
	must(t, CreateTopic(ctx, source.ClientOpts(), l.Topic, 2, nil))
	must(t, Produce(ctx, source.ClientOpts(), l))
	_, err := KcatConsume(ctx, source.KcatProps(), KcatRead{
		Topic: l.Topic, Group: "app", Count: 100,
		Props: map[string]string{"auto.offset.reset": "earliest"},
	})
	must(t, err)

	p, err := MirrorMaker(ctx, mirrorProps(source, target, l.Topic, "app"))
	must(t, err)
	t.Cleanup(func() { must(t, p.Stop(10*time.Second)) })

	cl := target.Client(t)
	src, err := Read(ctx, source.Client(t), l.Topic, ReadCommitted)
	must(t, err)
	err = Await(ctx, "checkpoints", func(ctx context.Context) (bool, string, error) {
		if !p.Running() {
			return false, "", p.Err()
		}
		dst, err := Read(ctx, cl, "A."+l.Topic, ReadCommitted)
		if err != nil || Compare(src, dst).Err() != nil {
			return false, "records are not there yet", nil //nolint:nilerr // the error is the reason that the waiter shows
		}
		recs, err := Read(ctx, cl, "A.checkpoints.internal", ReadUncommitted)
		return err == nil && len(recs) >= 2, "records are there, checkpoints are not", nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.LogTail(40))
	}

	lines, err := ConsoleFormatter(ctx, target.BootstrapString(), "A.checkpoints.internal", CheckpointFormatter)
	must(t, err)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "consumerGroupId=app") || !strings.Contains(text, "A.mirrored-1") {
		t.Errorf("checkpoint formatter printed %q", lines)
	}
	out, err := RunJava(ctx, "Translate.java", JavaArgs(target.JavaProps(), map[string]string{"alias": "A", "group": "app"})...)
	must(t, err)
	dst, err := Read(ctx, cl, "A."+l.Topic, ReadCommitted)
	must(t, err)
	translated := strings.Split(strings.TrimSpace(out), "\n")
	if len(translated) != 2 {
		t.Fatalf("RemoteClusterUtils translates to %q, want two partitions", out)
	}
	for p := range int32(2) {
		var offset int64
		if _, err := fmt.Sscanf(translated[p], fmt.Sprintf("A.mirrored %d %%d", p), &offset); err != nil {
			t.Fatalf("RemoteClusterUtils printed %q: %v", translated[p], err)
		}
		// MirrorMaker 2 may send a group back, but never past unread records.
		err := CheckPosition(OfPartition(src, p), 50, OfPartition(dst, p), offset, 50)
		var pe *PositionError
		if errors.As(err, &pe) && len(pe.Skipped) == 0 && len(pe.Replayed) == int(50-offset) {
			continue
		}
		if err != nil || offset != 50 {
			t.Errorf("partition %d translated to %d: %v", p, offset, err)
		}
	}
}

// mirrorProps are the least with which MirrorMaker 2 mirrors one topic and one
// group between clusters of one broker.
func mirrorProps(source, target *Real, topic, group string) map[string]string {
	props := map[string]string{
		"clusters":                               "A, B",
		"A.bootstrap.servers":                    source.BootstrapString(),
		"B.bootstrap.servers":                    target.BootstrapString(),
		"A->B.enabled":                           "true",
		"A->B.topics":                            topic,
		"A->B.groups":                            group,
		"A->B.emit.checkpoints.interval.seconds": "1",
		"emit.heartbeats.enabled":                "false",
	}
	for _, topic := range []string{"", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "offset.storage.", "config.storage.", "status.storage."} {
		props[topic+"replication.factor"] = "1"
	}
	return props
}
