//go:build capture

// Command capture records what real producers write and a real broker stores,
// as golden files for the tests of internal/batch. It starts one Kafka broker
// on 127.0.0.1, produces with kcat (librdkafka) and with Kafka's Java producer,
// takes the bytes of raw Fetch responses, and what franz-go's consumer decodes
// from the same partitions as the expectation. README.md says how to run it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Golden is the file beside the bytes. A []byte is base64, or null.
type Golden struct {
	About   string   `json:"about"`
	Codec   string   `json:"codec"`
	Records []Record `json:"records"` // without transaction markers
}

// Record is one expected record.
type Record struct {
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers,omitempty"`
}

// Header is one expected header.
type Header struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

type capture struct {
	libs, dir, out, source string
	cl                     *kgo.Client
	adm                    *kadm.Client
}

func main() {
	var c capture
	flag.StringVar(&c.libs, "libs", "", "folder with Kafka's jars")
	flag.StringVar(&c.out, "out", "", "folder for the golden files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		stop()
		os.Exit(1)
	}
}

func (c *capture) run(ctx context.Context) error {
	if c.libs == "" || c.out == "" {
		return errors.New("-libs and -out are needed")
	}
	_, self, _, _ := runtime.Caller(0)
	c.source = filepath.Join(filepath.Dir(self), "Produce.java")
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	var err error
	if c.dir, err = os.MkdirTemp("", "capture"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	stop, err := startBroker(ctx, c.libs, c.dir)
	if stop != nil {
		defer stop()
	}
	if err != nil {
		return err
	}
	if c.cl, err = kgo.NewClient(kgo.SeedBrokers(listen)); err != nil {
		return err
	}
	defer c.cl.Close()
	c.adm = kadm.NewClient(c.cl)
	return c.all(ctx)
}

func (c *capture) all(ctx context.Context) error {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		err := c.golden(ctx, "java-"+codec, codec, "Java producer, idempotent, two batches", nil,
			func(topic string) error { return c.java(ctx, topic, codec, "plain") })
		if err != nil {
			return err
		}
		err = c.golden(ctx, "librdkafka-"+codec, codec, "kcat (librdkafka), headers, null keys and values", nil,
			func(topic string) error { return c.kcat(ctx, topic, codec) })
		if err != nil {
			return err
		}
	}
	err := c.golden(ctx, "java-transactions", "lz4", "Java producer, transactions committed and aborted in turn", nil,
		func(topic string) error { return c.java(ctx, topic, "lz4", "txn") })
	if err != nil {
		return err
	}
	err = c.golden(ctx, "java-appendtime", "zstd", "Java producer, topic with message.timestamp.type=LogAppendTime",
		map[string]*string{"message.timestamp.type": kadm.StringPtr("LogAppendTime")},
		func(topic string) error { return c.java(ctx, topic, "zstd", "plain") })
	if err != nil {
		return err
	}
	err = c.golden(ctx, "java-compacted", "gzip", "Java producer, then the broker's cleaner: gaps inside a batch and at its end, a batch without records",
		map[string]*string{
			"cleanup.policy":            kadm.StringPtr("compact"),
			"min.cleanable.dirty.ratio": kadm.StringPtr("0.001"),
			"segment.ms":                kadm.StringPtr("100"),
		},
		func(topic string) error { return c.compact(ctx, topic) })
	if err != nil {
		return err
	}
	return c.back(ctx)
}

// golden makes a topic, fills it and writes its two files.
func (c *capture) golden(ctx context.Context, topic, codec, about string, configs map[string]*string, fill func(topic string) error) error {
	if _, err := c.adm.CreateTopic(ctx, 1, 1, configs, topic); err != nil {
		return fmt.Errorf("create %s: %w", topic, err)
	}
	if err := fill(topic); err != nil {
		return fmt.Errorf("fill %s: %w", topic, err)
	}
	raw, err := c.fetch(ctx, topic)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", topic, err)
	}
	g := Golden{About: about, Codec: codec}
	if g.Records, err = c.consume(ctx, topic); err != nil {
		return fmt.Errorf("consume %s: %w", topic, err)
	}
	again, err := c.fetch(ctx, topic)
	if err != nil {
		return fmt.Errorf("fetch %s again: %w", topic, err)
	}
	if !bytes.Equal(raw, again) {
		return fmt.Errorf("%s was cleaned while it was read, run once more", topic)
	}
	text, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(c.out, topic)
	fmt.Printf("%s: %d bytes, %d records\n", topic, len(raw), len(g.Records))
	return errors.Join(os.WriteFile(name+".bin", raw, 0o644), os.WriteFile(name+".json", append(text, '\n'), 0o644))
}

func (c *capture) java(ctx context.Context, topic, codec, mode string) error {
	return java(ctx, c.libs, c.dir, c.source, listen, topic, codec, mode).Run()
}

// kcat writes two batches; -Z makes empty keys and values null. Values repeat,
// because librdkafka leaves a batch plain that does not get smaller.
func (c *capture) kcat(ctx context.Context, topic, codec string) error {
	for part := range 2 {
		var in bytes.Buffer
		for i := range 25 {
			key, value := fmt.Sprintf("key-%d-%d", part, i), strings.Repeat(fmt.Sprintf("value %d ", i), 12)
			if i%5 == 1 {
				key = ""
			}
			if i%7 == 3 {
				value = ""
			}
			fmt.Fprintf(&in, "%s|%s\n", key, value)
		}
		cmd := exec.CommandContext(ctx, "kcat", "-P", "-b", listen, "-t", topic, "-p", "0", "-z", codec, "-K", "|", "-Z",
			"-H", "first=1", "-H", "second=", "-X", "linger.ms=500", "-X", "batch.num.messages=25")
		cmd.Stdin, cmd.Stderr = &in, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// compact returns when the cleaner has been at the first batch and has left a
// header without records behind.
func (c *capture) compact(ctx context.Context, topic string) error {
	for _, mode := range []string{"keys", "roll", "roll"} {
		if err := c.java(ctx, topic, "gzip", mode); err != nil {
			return err
		}
	}
	return waitFor(ctx, "the cleaner has run", func() (bool, error) {
		raw, err := c.fetch(ctx, topic)
		if err != nil {
			return false, err
		}
		gaps, empty := false, false
		for len(raw) > 0 {
			var b kmsg.RecordBatch
			if err := b.ReadFrom(raw); err != nil {
				return false, err
			}
			gaps = gaps || b.NumRecords > 0 && b.NumRecords <= b.LastOffsetDelta
			empty = empty || b.NumRecords == 0
			raw = raw[12+b.Length:]
		}
		return gaps && empty, nil
	})
}

// fetch takes the partition's bytes as the broker sends them. One response
// holds one segment at most, so it asks again until the end.
func (c *capture) fetch(ctx context.Context, topic string) ([]byte, error) {
	topics, err := c.adm.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	var all []byte
	for next, end := int64(0), int64(1); next < end; {
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset, p.PartitionMaxBytes = next, 8<<20
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = topic, topics[topic].ID
		t.Partitions = append(t.Partitions, p)
		answer, err := c.fetchOnce(ctx, t)
		if err != nil {
			return nil, err
		}
		end = answer.HighWatermark
		all = append(all, answer.RecordBatches...)
		for rest := answer.RecordBatches; len(rest) > 0; {
			var b kmsg.RecordBatch
			if err := b.ReadFrom(rest); err != nil {
				return nil, err
			}
			next = b.FirstOffset + int64(b.LastOffsetDelta) + 1
			rest = rest[12+b.Length:]
		}
	}
	return all, nil
}

func (c *capture) fetchOnce(ctx context.Context, t kmsg.FetchRequestTopic) (*kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = 8 << 20
	req.Topics = append(req.Topics, t)
	resp, err := c.cl.Broker(1).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	got := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return nil, err
	}
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetch answered no partition")
	}
	answer := &got.Topics[0].Partitions[0]
	return answer, kerr.ErrorForCode(answer.ErrorCode)
}

// consume reads what franz-go's consumer sees, aborted records too.
func (c *capture) consume(ctx context.Context, topic string) ([]Record, error) {
	ends, err := c.adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(topic, 0)
	cl, err := kgo.NewClient(kgo.SeedBrokers(listen), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var out []Record
	for next := int64(0); next < end.Offset; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			e := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				e.Headers = append(e.Headers, Header{Key: h.Key, Value: h.Value})
			}
			out = append(out, e)
		})
	}
	return out, nil
}
