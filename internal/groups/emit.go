package groups

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/pause"
	"tidemark/mm2"
)

const (
	// emitEvery is how long news for MirrorMaker 2's topics are gathered: the newest value of a key is what counts.
	emitEvery = time.Second
	// lastWords is how long the last records may take when the flow ends.
	lastWords = 2 * time.Second
)

// Emitter writes MirrorMaker 2's records: checkpoints or offset syncs, both in partition 0 of a compacted topic, the
// newest record of a key wins. Nothing waits for it, and what is offered stays until it is acknowledged or replaced.
// It does not remember what it wrote: what is news is for those to judge who offer.
type Emitter struct {
	client *kafka.Client
	topic  string
	events *events.Bus

	mu   sync.Mutex
	want map[string]mm2.Record // by key bytes
}

// NewEmitter writes to partition 0 of topic. The client must have a manual partitioner.
func NewEmitter(client *kafka.Client, topic string, bus *events.Bus) *Emitter {
	return &Emitter{client: client, topic: topic, events: bus, want: map[string]mm2.Record{}}
}

// Offer takes a record to be written in place of an older one of its key.
func (e *Emitter) Offer(r mm2.Record) {
	key, err := r.AppendKey(nil)
	if err != nil {
		return // a name too long for the format; the same name is in no topic of MirrorMaker's either
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.want[string(key)] = r
}

// Checkpoint offers a checkpoint. Owner hands over only those that are news.
func (e *Emitter) Checkpoint(c mm2.Checkpoint) { e.Offer(c) }

// Run writes what is offered, every second until ctx ends, and once more at the end.
func (e *Emitter) Run(ctx context.Context) error {
	failing := false
	for {
		more := pause.For(ctx, emitEvery)
		err := e.last(ctx, more)
		switch {
		case err != nil && !failing && more:
			e.events.Say(events.EmitFails, "topic", e.topic, "error", err)
		case err == nil && failing:
			e.events.Say(events.EmitBack, "topic", e.topic)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	return e.flush(ctx)
}

// flush writes what is wanted and waits for the answers, or for ctx: an idempotent producer does not give up a record
// that it has sent, so its own wait could last as long as the target is away.
func (e *Emitter) flush(ctx context.Context) error {
	e.mu.Lock()
	var recs []*kgo.Record
	var of []mm2.Record
	for key, r := range e.want {
		value, err := r.AppendValue(nil)
		if err != nil {
			delete(e.want, key) // metadata too long for the format
			continue
		}
		recs = append(recs, &kgo.Record{Topic: e.topic, Partition: 0, Key: []byte(key), Value: value})
		of = append(of, r)
	}
	e.mu.Unlock()
	if len(recs) == 0 {
		return nil
	}
	answers := make(chan error, len(recs))
	for i, rec := range recs {
		e.client.Kgo().Produce(ctx, rec, func(rec *kgo.Record, err error) {
			if err == nil {
				e.written(string(rec.Key), of[i])
			}
			answers <- err
		})
	}
	var first error
	for range recs {
		select {
		case err := <-answers:
			if first == nil {
				first = err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return e.client.Denied(e.topic, "WRITE", first)
}

// written takes an acknowledged record off the list, unless a newer one of its key was offered since.
func (e *Emitter) written(key string, r mm2.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.want[key] == r {
		delete(e.want, key)
	}
	failpoint.Hit("after-checkpoint")
}
