// Package controls reads and writes the topic in which people's decisions about flows stand (internal/control), on the target
// of those flows. Workers look for what is new in it now and then; a command that writes a decision reads it back, since
// somebody else may have been first.
package controls

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/control"
	"tidemark/internal/partition"
	"tidemark/internal/topiclog"
	"tidemark/internal/topics"
)

// Read reads the decisions to the topic's end. Where there is no topic nobody has decided anything: a login that may not
// DESCRIBE it sees none either.
func Read(ctx context.Context, c *topiclog.Client, topic string) (*control.Log, error) {
	t, ok, err := c.Topic(ctx, topic)
	if err != nil || !ok {
		return control.NewLog([16]byte{}), err
	}
	log, p := control.NewLog(t.ID), partition.ID{Topic: topic}
	ends, failed, err := c.Extents(ctx, []partition.ID{p})
	if err = errors.Join(err, failed[p]); err != nil {
		return nil, fmt.Errorf("read %s: %w", topic, err)
	}
	err = c.Read(ctx, p, ends[p], func(r topiclog.Record) error {
		log.Add(r.Offset, r.Key, r.Value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", topic, err)
	}
	log.ReadTo(ends[p].To)
	return log, nil
}

// ErrVoid says that somebody else decided about the same at the same time, and was first.
var ErrVoid = errors.New("somebody else has decided about the same meanwhile, so this does not count: see tidemark controls")

// Write writes a decision, creates the topic if it must, and reads back whether the decision counts: with ErrVoid it does
// not. rf is the topic's replication factor. It gives what is in force then.
func Write(ctx context.Context, c *topiclog.Client, source string, rf int16, d control.Decision) (*control.Set, control.Decision, error) {
	topic := control.TopicName(source)
	if _, err := topics.Ensure(ctx, c.Client, topics.ControlsTopic(topic, rf)); err != nil {
		return nil, d, err
	}
	k, v, err := d.Encode()
	if err != nil {
		return nil, d, err
	}
	r := c.Kgo().ProduceSync(ctx, &kgo.Record{Topic: topic, Key: k, Value: v})
	if err := r.FirstErr(); err != nil {
		return nil, d, fmt.Errorf("write to %s: %w", topic, c.Denied(topic, "WRITE", err))
	}
	log, err := Read(ctx, c, topic)
	if err != nil {
		return nil, d, err
	}
	s := log.Set(d.Scope.Flow)
	for _, void := range s.Void() {
		if void.ID == d.ID {
			return s, d, ErrVoid
		}
	}
	if last, ok := s.Last(d.Kind, d.Scope); ok && last.ID == d.ID {
		d = last
	}
	return s, d, nil
}

// Mark is how far a topic of decisions was read.
type Mark struct {
	topic [16]byte
	end   int64
}

// News reads the decisions if there are others than at the mark; nil: there are none. It moves the mark.
func News(ctx context.Context, c *topiclog.Client, topic string, have *Mark) (*control.Log, error) {
	now := Mark{}
	switch t, ok, err := c.Topic(ctx, topic); {
	case err != nil:
		return nil, err
	case ok:
		p := partition.ID{Topic: topic}
		ends, failed, err := c.Extents(ctx, []partition.ID{p})
		if err := errors.Join(err, failed[p]); err != nil {
			return nil, err
		}
		now = Mark{t.ID, ends[p].To}
	}
	if now == *have {
		return nil, nil //nolint:nilnil // nothing is new, and nothing is wrong
	}
	log, err := Read(ctx, c, topic)
	if err == nil {
		*have = now
	}
	return log, err
}
