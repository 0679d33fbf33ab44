//go:build capture

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
)

// back produces every golden file again in all the forms that internal/batch
// can give it, patched, built or rebuilt with each codec, to a topic of the same
// broker: the broker must take each batch, and a consumer must find the same
// records.
func (c *capture) back(ctx context.Context) error {
	const topic = "back"
	if _, err := c.adm.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		return fmt.Errorf("create %s: %w", topic, err)
	}
	files, err := filepath.Glob(filepath.Join(c.out, "*.bin"))
	if err != nil {
		return err
	}
	b := batch.NewBuilder()
	var want []Record
	batches := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		forms, err := allForms(b, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, v := range forms {
			err := b.Each(v, func(r batch.Record) error { want = append(want, expected(r, len(want))); return nil })
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			batch.Patch(v, batch.NoStamp())
			if err := c.produce(ctx, topic, v); err != nil {
				return fmt.Errorf("%s, batch of %d bytes with %v: %w", file, len(v), v.Codec(), err)
			}
			batches++
		}
	}
	got, err := c.consume(ctx, topic)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the broker gave %d records back, not the %d sent", len(got), len(want))
	}
	fmt.Printf("back: the broker took %d batches, %d records are the same\n", batches, len(got))
	return nil
}

// allForms are the data batches of raw as they are, where that is allowed, and
// all of their records with each codec, whole and rebuilt in small pieces.
func allForms(b *batch.Builder, raw []byte) ([]batch.View, error) {
	var data, forms []batch.View
	for len(raw) > 0 {
		v, rest, err := batch.Next(raw)
		if err != nil {
			return nil, err
		}
		raw = rest
		switch action, reason := batch.Decide(v, false, batch.Case{KeepAppendTime: true}); action {
		case batch.Raw:
			forms = append(forms, v)
			data = append(data, v)
		case batch.Rebuild:
			data = append(data, v)
		case batch.Skip:
		default:
			return nil, fmt.Errorf("%v: %s", action, reason)
		}
	}
	outs, err := b.Rebuild(data, batch.RebuildOptions{KeepAppendTime: true})
	if err != nil {
		return nil, err
	}
	var records []batch.Record
	for _, o := range outs {
		forms = append(forms, o.Bytes)
		err := b.Each(o.Bytes, func(r batch.Record) error {
			e := batch.Record{Timestamp: r.Timestamp, Key: clone(r.Key), Value: clone(r.Value)}
			for _, h := range r.Headers {
				e.Headers = append(e.Headers, batch.Header{Key: h.Key, Value: clone(h.Value)})
			}
			records = append(records, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		whole, err := b.Build(records, codec, batch.NoStamp())
		if err != nil {
			return nil, err
		}
		pieces, err := b.Rebuild([]batch.View{whole}, batch.RebuildOptions{MaxBytes: 500})
		if err != nil {
			return nil, err
		}
		forms = append(forms, whole)
		for _, o := range pieces {
			forms = append(forms, o.Bytes)
		}
	}
	return forms, nil
}

func expected(r batch.Record, offset int) Record {
	e := Record{Offset: int64(offset), Timestamp: r.Timestamp, Key: clone(r.Key), Value: clone(r.Value)}
	for _, h := range r.Headers {
		e.Headers = append(e.Headers, Header{Key: h.Key, Value: clone(h.Value)})
	}
	return e
}

func clone(p []byte) []byte {
	if p == nil {
		return nil
	}
	return append([]byte{}, p...)
}

func (c *capture) produce(ctx context.Context, topic string, v batch.View) error {
	topics, err := c.adm.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = v
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, topics[topic].ID
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = append(req.Topics, t)
	resp, err := c.cl.Broker(1).Request(ctx, req)
	if err != nil {
		return err
	}
	got := resp.(*kmsg.ProduceResponse)
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		return errors.New("produce answered no partition")
	}
	answer := got.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		if answer.ErrorMessage != nil {
			return fmt.Errorf("%s: %w", *answer.ErrorMessage, err)
		}
		return err
	}
	return nil
}
