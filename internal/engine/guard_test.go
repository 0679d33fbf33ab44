package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/internal/ledger"
)

// A topic of our own that is deleted under a running flow ends it with an error that names it: without the verdicts topic
// no group is written any more, and without the ledger nothing would be known after the next stop.
func TestOwnTopicDeleted(t *testing.T) {
	for _, name := range []string{ledger.VerdictsName("A"), ledger.TopicName("A")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnds(t, "")
			if _, err := e.src.CreateTopics(t.Context(), 1, 1, nil, "orders"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Second)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- Run(ctx, e.cfg, e.cfg.Flows, Options{Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
			}()
			e.until("the remote topic", func() bool {
				got, err := e.dst.ListTopics(ctx, "A.orders")
				return err == nil && got.Has("A.orders") && got["A.orders"].Err == nil
			})
			if _, err := e.dst.DeleteTopics(ctx, name); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "deleted") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// A process that is told to stop while it starts ends without an error: it owns nothing yet.
func TestStopWhileStarting(t *testing.T) {
	e := newEnds(t, "")
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("told to stop"))
		if err := Run(ctx, e.cfg, e.cfg.Flows, Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
			t.Error(fmt.Errorf("stopped after %v: %w", after, err))
		}
		cancel()
	}
}
