package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// aborts writes records of one content in a transaction that is aborted.
func (f *flow) aborts(topic string, count int) {
	f.tb.Helper()
	cl, err := kgo.NewClient(append(suite.source.ClientOpts(), kgo.TransactionalID(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	if err != nil {
		f.tb.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		f.tb.Fatal(err)
	}
	for range count {
		value := make([]byte, 1000)
		copy(value, "same 0")
		if err := cl.ProduceSync(f.tb.Context(), &kgo.Record{Topic: topic, Key: []byte("k"), Value: value}).FirstErr(); err != nil {
			f.tb.Fatal(err)
		}
	}
	if err := cl.EndTransaction(f.tb.Context(), kgo.TryAbort); err != nil {
		f.tb.Fatal(err)
	}
}

// TestTakeoverAfterAnotherIsolation: the file says another isolation after an unclean stop. Counted over what is read now, the
// tail of equal records would end elsewhere, and records would be lost or stand twice: the lane is refused, with what to do,
// until its tail was settled by what wrote it.
func TestTakeoverAfterAnotherIsolation(t *testing.T) {
	for from, to := range map[string]string{"read_uncommitted": "read_committed", "read_committed": "read_uncommitted"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			alias := "tbi" + strings.TrimPrefix(from, "read_")
			f := newFlow(t, alias, alias+"-.*", alias+"[gh].*", ", isolation: "+from).pair(nil, nil)
			l := leaves(t, f, func(topic string) {
				f.aborts(topic, 30)
				f.equal(topic, 600, 1)
			})
			says := func(isolation string) {
				f.yaml = strings.NewReplacer(from, isolation, to, isolation).Replace(f.yaml)
			}
			says(to)
			w := f.process("--instance-id", "one")
			f.until(20*time.Second, "the refusal", func(context.Context) (bool, string) {
				return strings.Contains(w.output(), "isolation is "+to+" in the file"), w.output()
			})
			if out, code := f.tool("status", "--check"); code == 0 || !strings.Contains(out, "isolation is "+to+" in the file") {
				t.Errorf("status --check exits with %d while lanes are refused: %s", code, out)
			}
			if err := w.end(syscall.SIGTERM, 20*time.Second); err != nil {
				t.Error(err)
			}
			if end := f.end0(l.topic); end != l.end {
				t.Errorf("the log end on the target was %d and is %d", l.end, end)
			}
			says(from)
			before := testcluster.ReadCommitted
			if from == "read_uncommitted" {
				before = testcluster.ReadUncommitted
			}
			held := func() []testcluster.Rec {
				recs, err := testcluster.Read(t.Context(), suite.source.Client(t), l.topic, before)
				if err != nil {
					t.Fatal(err)
				}
				return recs
			}
			w = f.process("--instance-id", "one")
			f.until(30*time.Second, "the rest", func(context.Context) (bool, string) {
				return len(f.read(suite.target, f.remote(l.topic))) >= len(held()), w.output()
			})
			if err := w.end(syscall.SIGTERM, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			says(to)
			l.goesOn()
			if err := testcluster.Compare(held(), f.read(suite.target, f.remote(l.topic))).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
