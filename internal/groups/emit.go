package groups

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/kafka"
	"tidemark/mm2"
)

// emitEvery is how long news for MirrorMaker 2's topics are gathered: the newest value of a key is what counts.
const emitEvery = time.Second

// Emitter writes MirrorMaker 2's records: checkpoints or offset syncs, both in partition 0 of a compacted topic, the
// newest record of a key wins. Nothing waits for it, and a record that could not be written is written with the next
// news or at the next try, because what is offered stays until it is acknowledged.
type Emitter struct {
	client *kafka.Client
	topic  string
	log    *slog.Logger

	mu   sync.Mutex
	want map[string]mm2.Record // by key bytes
	sent map[string]string     // key to value, as acknowledged
}

// NewEmitter writes to partition 0 of topic. The client must have a manual partitioner.
func NewEmitter(client *kafka.Client, topic string, log *slog.Logger) *Emitter {
	return &Emitter{client: client, topic: topic, log: log, want: map[string]mm2.Record{}, sent: map[string]string{}}
}

// Offer takes a record to be written unless its key already has this value.
func (e *Emitter) Offer(r mm2.Record) {
	key, err := r.AppendKey(nil)
	if err != nil {
		return // a name too long for the format; the same name is in no topic of MirrorMaker's either
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.want[string(key)] = r
}

// Checkpoint offers a checkpoint under MirrorMaker 2's rule (KIP-545): a lower target offset only where the group's
// source offset went back too.
func (e *Emitter) Checkpoint(c mm2.Checkpoint) {
	key, err := c.AppendKey(nil)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old, ok := e.want[string(key)].(mm2.Checkpoint); ok && c.Downstream < old.Downstream && c.Upstream >= old.Upstream {
		return
	}
	e.want[string(key)] = c
}

// Run writes what is news, every second until ctx ends, and once more at the end.
func (e *Emitter) Run(ctx context.Context) error {
	failing := false
	for {
		more := sleep(ctx, emitEvery)
		err := e.last(ctx, more)
		switch {
		case err != nil && !failing && more:
			e.log.Warn("records for MirrorMaker 2's readers cannot be written, trying again", "topic", e.topic, "error", err)
		case err == nil && failing:
			e.log.Info("records for MirrorMaker 2's readers are written again", "topic", e.topic)
		}
		failing = err != nil
		if !more {
			return nil
		}
	}
}

// last flushes; at the end it may go on for a moment after ctx.
func (e *Emitter) last(ctx context.Context, more bool) error {
	if more {
		return e.flush(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return e.flush(ctx)
}

func (e *Emitter) flush(ctx context.Context) error {
	e.mu.Lock()
	var recs []*kgo.Record
	for key, r := range e.want {
		value, err := r.AppendValue(nil)
		if err != nil || e.sent[key] == string(value) {
			continue
		}
		recs = append(recs, &kgo.Record{Topic: e.topic, Partition: 0, Key: []byte(key), Value: value})
	}
	e.mu.Unlock()
	if len(recs) == 0 {
		return nil
	}
	res := e.client.Kgo().ProduceSync(ctx, recs...)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range res {
		if r.Err == nil {
			e.sent[string(r.Record.Key)] = string(r.Record.Value)
		}
	}
	return res.FirstErr()
}
