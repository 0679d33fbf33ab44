package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

// TestGoneGroupOutlivesRetention: where the target keeps offsets for a minute, those of a group that the source no longer holds are
// there at every look, also after others of the same age have expired.
func TestGoneGroupOutlivesRetention(t *testing.T) {
	t.Parallel()
	const topic, group, other = "gor-t", "gor-g", "gor-by-hand"
	target, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{Name: "short", HeapMB: 384, Props: map[string]string{
		"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "500",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := newFlow(t, "gor", topic, group, "").onto(target)
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 100})
	at := spots{}
	at.add(group, topic, 0, 40)
	f.commitAll(at)
	f.start()
	f.reaches(group, topic, 0, 40)
	if res, err := f.src.DeleteGroups(t.Context(), group); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	var byHand kadm.Offsets
	byHand.AddOffset(f.remote(topic), 0, 5, -1)
	if err := f.dst.CommitAllOffsets(t.Context(), other, byHand); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watch errgroup.Group
	watch.Go(func() error {
		for paced(ctx) {
			if x, err := f.position(ctx, group, topic, 0); ctx.Err() == nil && (err != nil || x != 40) {
				return fmt.Errorf("the group stands at %d on the target (%v)", x, err) //nolint:errorlint // it may be none
			}
		}
		return nil
	})
	f.until(3*time.Minute, "what nobody renews to expire", func(ctx context.Context) (bool, string) {
		x, err := f.position(ctx, other, topic, 0)
		return x == -1 && (err == nil || errors.Is(err, kerr.GroupIDNotFound)), fmt.Sprint(x, err)
	})
	cancel()
	if err := watch.Wait(); err != nil {
		t.Error(err)
	}
}
