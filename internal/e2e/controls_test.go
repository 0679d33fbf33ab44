package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// decides runs a command that decides something, which must end with an exit code and say all parts.
func (f *flow) decides(code int, args []string, parts ...string) {
	f.tb.Helper()
	out, errs, got := f.says(args...)
	if got != code {
		f.tb.Fatalf("%v: exit %d, want %d: %s%s", args, got, code, out, errs)
	}
	for _, p := range parts {
		if !strings.Contains(out+errs, p) {
			f.tb.Errorf("%v does not say %q: %s%s", args, p, out, errs)
		}
	}
}

// sum is how many offsets the partitions of a remote topic have together.
func (f *flow) sum(topic string) (n int64) {
	f.tb.Helper()
	ends, err := testcluster.Ends(f.tb.Context(), f.targetClient(), f.remote(topic), testcluster.ReadUncommitted)
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, e := range ends {
		n += e
	}
	return n
}

// TestControlsPause: what is paused gets nothing, also from a worker that starts later, until it is told to resume; then it is
// whole. Who asks before there is a worker, without a terminal, or for what is not there is told.
func TestControlsPause(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "ctl", `ctl-.*`, `ctl-g.*`, ", refresh_topics_interval: 1s")
	a, b := testcluster.Load{Topic: "ctl-a", Partitions: 3, Count: 300}, testcluster.Load{Topic: "ctl-b", Partitions: 1, Count: 100}
	for _, l := range []testcluster.Load{a, b} {
		f.topic(l.Topic, l.Partitions, nil)
		f.produce(l)
	}
	w := f.process()
	f.copied("ctl-a", testcluster.ReadCommitted)
	f.copied("ctl-b", testcluster.ReadCommitted)
	f.decides(2, []string{"pause", "FILE", "ctl-a"}, "no terminal", "--yes")
	f.decides(2, []string{"pause", "FILE", "ctl-x", "--yes"}, `does not mirror topic "ctl-x"`)
	f.decides(2, []string{"resume", "FILE", "ctl-a", "--yes"}, "no pause of topic ctl-a is in force")
	f.decides(0, []string{"pause", "FILE", "ctl-a", "--dry-run"}, "3 partitions", "nothing is decided")
	f.decides(0, []string{"pause", "FILE", "ctl-a", "--yes", "--reason", "the disk is full"}, "decided, and in force after")
	f.decides(2, []string{"pause", "FILE", "ctl-a", "--yes"}, "in force since")
	f.red("paused by", "the disk is full")
	was := f.sum("ctl-a")
	a.First, b.First = a.Count, b.Count
	f.produce(a)
	f.produce(b)
	f.copied("ctl-b", testcluster.ReadCommitted)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	w = f.process("--instance-id", "again")
	b.First += b.Count
	f.produce(b)
	f.copied("ctl-b", testcluster.ReadCommitted)
	out, _ := f.tool("controls")
	says(t, out, "pause", "topic ctl-a", "in force", "the disk is full")
	if now := f.sum("ctl-a"); now > was+3 { // the fences of the take-over
		t.Errorf("%d offsets were written while the topic was paused", now-was)
	}
	at := spots{}
	at.add("ctl-g", "ctl-a", 1, 120)
	f.decides(0, []string{"resume", "FILE", "ctl-a", "--yes"}, "decided, and in force after")
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	f.faultless("ctl-a", "ctl-b")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	f.decides(0, []string{"pause", "FILE", "--yes"}, "no worker runs, and the next start obeys")
	w = f.process()
	f.until(60*time.Second, "the start to obey", func(context.Context) (bool, string) {
		c := document[status.Controls](f, "controls", "FILE")
		last := c.Decisions[len(c.Decisions)-1]
		return last.State == status.DecisionInForce, fmt.Sprint(last)
	})
	_ = w.end(syscall.SIGKILL, 10*time.Second)
}

// TestControlsSkip: one record of a batch is larger than the remote topic takes. Passed over, the partition goes on; its
// neighbours in the batch are there, and positions behind it are exact.
func TestControlsSkip(t *testing.T) {
	t.Parallel()
	const topic = "cts-t"
	f := newFlow(t, "cts", topic, "cts-g.*", "")
	f.topic(topic, 1, nil)
	f.emptyRemote(topic, 1, map[string]string{"max.message.bytes": "3000"})
	large := make([]byte, 6000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(large)
	for i := range int64(10) {
		f.write(numbered(topic, 0, i))
	}
	f.write(numbered(topic, 0, 10), &kgo.Record{Topic: topic, Value: large}, numbered(topic, 0, 12))
	f.write(numbered(topic, 0, 13))
	f.process()
	f.red("cts-t", "3000")
	f.decides(2, []string{"skip", "FILE", topic, "0", "11", "--yes"}, "--reason")
	f.decides(2, []string{"skip", "FILE", topic, "0", "3", "--yes", "--reason", "x"}, "is mirrored up to offset 10")
	f.decides(2, []string{"skip", "FILE", topic, "0", "99", "--yes", "--reason", "x"}, "ends at offset 14")
	f.decides(0, []string{"skip", "FILE", topic, "0", "11", "--yes", "--reason", "nobody needs it"}, "offset 11", "never copied", "in force after")
	var got []int64
	f.until(60*time.Second, "thirteen records", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, f.targetClient(), f.remote(topic), testcluster.ReadUncommitted)
		got = nil
		for _, r := range recs {
			seq, _ := r.Seq()
			got = append(got, seq)
		}
		return len(got) >= 13, fmt.Sprint(len(recs), err)
	})
	if want := "[0 1 2 3 4 5 6 7 8 9 10 12 13]"; fmt.Sprint(got) != want {
		t.Errorf("the copy holds %v, want %s", got, want)
	}
	f.commit("cts-g", map[string]map[int32]int64{topic: {0: 11}})
	f.until(60*time.Second, "the group behind what was skipped", func(ctx context.Context) (bool, string) {
		at, err := f.position(ctx, "cts-g", topic, 0)
		return err == nil && at == 11, fmt.Sprintf("%d, %v: the record behind it stands at 11", at, err)
	})
}

// TestControlsAnew: a remote topic was deleted, and a source topic ended. The one is copied anew, with a position that is exact in
// the new copy; the other is forgotten, and nothing reports it any more.
func TestControlsAnew(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "cta", `cta-.*`, `cta-g.*`, ", refresh_topics_interval: 1s")
	for _, topic := range []string{"cta-a", "cta-gone"} {
		f.topic(topic, 2, nil)
		f.produce(testcluster.Load{Topic: topic, Partitions: 2, Count: 200})
	}
	f.process()
	f.copied("cta-a", testcluster.ReadCommitted)
	f.copied("cta-gone", testcluster.ReadCommitted)
	if _, err := f.dst.DeleteTopic(t.Context(), f.remote("cta-a")); err != nil {
		t.Fatal(err)
	}
	f.decides(2, []string{"forget", "FILE", "cta-gone", "--yes"}, "leave it out in the file first")
	if _, err := f.src.DeleteTopic(t.Context(), "cta-gone"); err != nil {
		t.Fatal(err)
	}
	f.red("cta-a", "the remote topic was deleted and created again")
	f.decides(2, []string{"restart", "FILE", "cta-a", "--from", "tomorrow", "--yes"}, "earliest, latest")
	f.decides(0, []string{"restart", "FILE", "cta-a", "--from", "earliest", "--yes"}, "copied anew from the oldest record", "in force after")
	at := spots{}
	at.add("cta-g", "cta-a", 0, 37)
	at.add("cta-g", "cta-a", 1, 91)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	f.faultless("cta-a")
	f.decides(0, []string{"forget", "FILE", "cta-gone", "--yes"}, "2 partitions", "in force after")
	if out, _ := f.tool("status"); strings.Contains(out, "cta-gone") {
		t.Errorf("status still shows it:\n%s", out)
	}
	f.healthy(60 * time.Second)
}

// TestControlsDamagedHead: a partition whose record in the ledger is damaged is copied anew from where somebody says, after a
// fence of its own. A decision that was obeyed before the damage does not count again.
func TestControlsDamagedHead(t *testing.T) {
	t.Parallel()
	const topic = "ctd-t"
	f := newFlow(t, "ctd", topic, "none", "")
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 1, Count: 50})
	w := f.process()
	f.copied(topic, testcluster.ReadCommitted)
	f.decides(0, []string{"restart", "FILE", topic, "--from", "latest", "--yes"}, "in force after")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	key := ledger.Key{Kind: ledger.KindHead, Topic: topic}.String()
	cl := suite.target.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	rec := &kgo.Record{Topic: ledger.TopicName("ctd"), Partition: ledger.LaneOf(topic, 0, 4), Key: []byte(key), Value: []byte("\x01garbage")}
	if err := cl.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
	f.process()
	f.red(topic, "the ledger's record of this partition is damaged")
	was := f.sum(topic)
	f.produce(testcluster.Load{Topic: topic, Partitions: 1, First: 50, Count: 10})
	f.decides(0, []string{"restart", "FILE", topic, "0", "--from", "55", "--yes"}, "from source offset 55", "in force after")
	f.until(60*time.Second, "the last five records", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, f.targetClient(), f.remote(topic), testcluster.ReadUncommitted)
		if err != nil || len(recs) < 55 {
			return false, fmt.Sprint(len(recs), err)
		}
		seq, _ := recs[50].Seq()
		return len(recs) == 55 && seq == 55 && recs[50].Offset >= was, fmt.Sprintf("%d records, the 51st is %d at %d", len(recs), seq, recs[50].Offset)
	})
	f.healthy(60 * time.Second)
}
