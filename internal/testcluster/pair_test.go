//go:build unix

package testcluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recorder stands in for a *testing.T whose failures are wanted.
type recorder struct {
	*testing.T
	mu     sync.Mutex
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestPairIsTwoClusters(t *testing.T) {
	ctx := within(t)
	source, target := NewPair(t)
	ids := map[string]bool{}
	for _, f := range []*Fake{source, target} {
		meta, err := kadm.NewClient(f.Client(t)).Metadata(ctx)
		must(t, err)
		ids[meta.Cluster] = true
		if len(meta.Brokers) != 1 {
			t.Errorf("%d brokers", len(meta.Brokers))
		}
	}
	if len(ids) != 2 {
		t.Errorf("cluster ids %v are not two", ids)
	}
	// A copy, record by record, is what the oracle must find nothing in.
	l := Load{Topic: "orders", Partitions: 2, Count: 200, Varied: true, Codec: "zstd"}
	for _, f := range []*Fake{source, target} {
		must(t, CreateTopic(ctx, f.ClientOpts(), l.Topic, 2, nil))
	}
	l.Start = time.Now()
	must(t, Produce(ctx, source.ClientOpts(), l))
	must(t, Produce(ctx, target.ClientOpts(), l))
	src, err := Read(ctx, source.Client(t), l.Topic, ReadCommitted)
	must(t, err)
	dst, err := Read(ctx, target.Client(t), l.Topic, ReadCommitted)
	must(t, err)
	if len(src) != 200 {
		t.Errorf("read %d records, want 200", len(src))
	}
	must(t, Compare(src, dst).Err())
}

func TestCheckProduceReportsWhatValidateRefuses(t *testing.T) {
	ctx := within(t)
	_, target := NewPair(t)
	must(t, CreateTopic(ctx, target.ClientOpts(), "orders", 2, nil))
	rec := &recorder{T: t}
	var batches int
	target.CheckProduce(rec, func(batch []byte) error {
		batches++ // on kfake's goroutine only, read after the produce calls
		got, err := parseBatches(batch)
		if err != nil || len(got) != 1 {
			return fmt.Errorf("not one batch: %d, %w", len(got), err)
		}
		if got[0].Count == 3 {
			return errors.New("three is refused")
		}
		return nil
	})
	for _, n := range []int64{2, 3, 4} { // the hook must survive the first request
		must(t, Produce(ctx, target.ClientOpts(), Load{Topic: "orders", Count: n}))
	}
	if batches < 3 || len(rec.errors) != 1 || !strings.Contains(rec.errors[0], "three is refused") {
		t.Errorf("%d batches seen, errors %q", batches, rec.errors)
	}

	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = "orders"
	for range 2 {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition = 1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	if _, err := req.RequestWith(ctx, target.Client(t, kgo.RequestRetries(0)).Broker(0)); err != nil {
		t.Logf("kfake's own answer: %v", err)
	}
	if last := rec.errors[len(rec.errors)-1]; !strings.Contains(strings.Join(rec.errors, "\n"), "twice") {
		t.Errorf("a partition named twice was not reported, last error %q", last)
	}
}

// TestShapesOnKfake fills the standard set, so that fast tests may use it too.
func TestShapesOnKfake(t *testing.T) {
	ctx := within(t)
	source, _ := NewPair(t)
	for _, s := range Shapes("s.") {
		must(t, s.Fill(ctx, source.ClientOpts()))
		recs, err := Read(ctx, source.Client(t), s.Load.Topic, ReadCommitted)
		must(t, err)
		if s.Load.Count == 0 && len(recs) != 0 || s.Load.Count > 0 && len(recs) == 0 {
			t.Errorf("%s holds %d records", s.Load.Topic, len(recs))
		}
		for _, r := range recs {
			if _, ok := r.Seq(); !ok {
				t.Fatalf("%s: record at %d-%d has no number", s.Load.Topic, r.Partition, r.Offset)
			}
		}
	}
}
