package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
)

// began waits until the flow's first start is in the ledger: from then on where partitions begin is settled, in lanes
// that were not owned yet too.
func (f *flow) began() map[partition.ID]ledger.Begin {
	f.tb.Helper()
	var begins map[partition.ID]ledger.Begin
	look := f.started()
	f.until(60*time.Second, "the flow's first start", func(context.Context) (ok bool, _ string) {
		begins, ok = look()
		return ok, "it is not in the ledger"
	})
	return begins
}

// TestCase29Latest: a flow that begins at the end copies no history, a crash before anything was mirrored does not make it
// pass over what came meanwhile, and what appears later is copied from its first record.
func TestCase29Latest(t *testing.T) {
	t.Parallel()
	const topic, later = "c29-t", "c29-later"
	f := newFlow(t, "c29", "c29-.*", "c29-.*", ", start: latest")
	f.topic(topic, 2, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 1000}) // partition 1 stays empty
	at := spots{}
	at.add("c29-caught-up", topic, 0, 1000)
	at.add("c29-new", topic, 0, 1020)
	f.commitAll(at)
	w := f.process()
	f.began()
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	for seq := range int64(50) {
		f.write(numbered(topic, int32(seq%2), 1000+seq))
	}
	f.topic(later, 1, nil)
	f.produce(testcluster.Load{Topic: later, Count: 200})
	if _, err := f.src.UpdatePartitions(t.Context(), 3, topic); err != nil {
		t.Fatal(err)
	}
	f.until(30*time.Second, "the third partition", func(ctx context.Context) (bool, string) {
		ends, err := f.src.ListEndOffsets(ctx, topic)
		_, ok := ends.Lookup(topic, 2)
		return err == nil && ok, fmt.Sprint(err)
	})
	f.write(numbered(topic, 2, 5000), numbered(topic, 2, 5001))

	f.process()
	var got []testcluster.Rec
	cl := suite.target.Client(t)
	f.until(60*time.Second, "what came after the first start", func(ctx context.Context) (bool, string) {
		var err error
		got, err = testcluster.Read(ctx, cl, f.remote(topic), testcluster.ReadUncommitted)
		return err == nil && len(got) >= 52, fmt.Sprintf("%d records, %v", len(got), err)
	})
	var want []int64
	for seq := range int64(50) {
		want = append(want, 1000+seq)
	}
	want = append(want, 5000, 5001)
	var seqs []int64
	for _, r := range got {
		seq, _ := r.Seq()
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	if !slices.Equal(seqs, want) {
		t.Errorf("the target holds %v", seqs)
	}
	f.same(later)

	// 25 records of partition 0 came after offset 1000, every other number. A fence's marker stands among them.
	for group, first := range map[string]int64{"c29-caught-up": 1000, "c29-new": 1040} {
		f.until(60*time.Second, fmt.Sprintf("%s in front of number %d", group, first), func(ctx context.Context) (bool, string) {
			x, err := f.position(ctx, group, topic, 0)
			i := slices.IndexFunc(got, func(r testcluster.Rec) bool { return r.Partition == 0 && r.Offset >= x })
			if err != nil || x < 0 || i < 0 {
				return false, fmt.Sprintf("at %d, %v", x, err)
			}
			seq, _ := got[i].Seq()
			return seq == first, fmt.Sprintf("at %d, in front of %d", x, seq)
		})
	}
	f.commitAll(spots{{"c29-lagging", topic, 0}: 990, {"c29-lagging", later, 0}: 100})
	f.reaches("c29-lagging", later, 0, 100)
	f.until(30*time.Second, "a word about the group that lags behind", func(ctx context.Context) (bool, string) {
		r, ok, err := row(ctx, cl, f.alias, spot{"c29-lagging", topic, 0})
		return ok && r.Verdict.Kind == translate.NotMirrored && r.Verdict.N == 10 && r.Verdict.Final(), fmt.Sprintf("%v %v", r.Verdict, err)
	})
}

// TestCase29KilledWhileItStarts: a flow that begins at the end is killed at twelve moments of its first seconds, and each
// time a topic is made and records come before it starts again. From what the ledger says about its first start on,
// everything is on the target once.
func TestCase29KilledWhileItStarts(t *testing.T) {
	t.Parallel()
	const topic = "c29k-t"
	f := newFlow(t, "c29k", "c29k-.*", "c29k-.*", ", start: latest")
	f.topic(topic, 6, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 600})
	started := f.started()
	var seq int64
	more := func() {
		for p := range int32(6) {
			f.write(numbered(topic, p, 1000+seq))
			seq++
		}
	}
	var later []string
	var pause time.Duration
	for round := range 12 {
		w := f.process("--instance-id", "c29k") // a static member has its lanes back at once
		// The rounds differ in how far the lanes come: up to the first start in larger steps, a lane waits for a heartbeat.
		f.until(30*time.Second, "lanes", func(context.Context) (bool, string) {
			return strings.Contains(w.output(), "lanes assigned"), w.output()
		})
		moment, cancel := context.WithTimeout(t.Context(), pause)
		<-moment.Done()
		cancel()
		_ = w.end(syscall.SIGKILL, 10*time.Second)
		more()
		if _, ok := started(); !ok {
			pause += 200 * time.Millisecond
		} else {
			pause += 10 * time.Millisecond
			name := fmt.Sprintf("c29k-later-%d", round)
			f.topic(name, 6, nil)
			f.produce(testcluster.Load{Topic: name, Count: 60})
			later = append(later, name)
		}
	}
	f.process()
	begins := f.began()
	more()
	var want []testcluster.Rec
	for _, r := range f.read(suite.source, topic) {
		if r.Offset >= int64(begins[partition.ID{Topic: topic, Partition: r.Partition}].Offset) {
			want = append(want, r)
		}
	}
	key := func(r testcluster.Rec) string { return fmt.Sprintf("%d %s", r.Partition, r.Value) }
	f.until(60*time.Second, "the records since the first start", func(ctx context.Context) (bool, string) {
		got, err := testcluster.Read(ctx, suite.target.Client(t), f.remote(topic), testcluster.ReadUncommitted)
		if err != nil || len(got) < len(want) {
			return false, fmt.Sprintf("%d of %d, %v", len(got), len(want), err)
		}
		if !slices.EqualFunc(got, want, func(a, b testcluster.Rec) bool { return key(a) == key(b) }) {
			t.Fatalf("the target holds %d records that are not the %d since the first start", len(got), len(want))
		}
		return true, ""
	})
	f.same(later...)
	t.Logf("%d topics came after the first start", len(later))
}

// started gives a look at where the flow's first start begins; ok is false while the ledger does not have it.
func (f *flow) started() func() (map[partition.ID]ledger.Begin, bool) {
	cl := suite.target.Client(f.tb)
	return func() (map[partition.ID]ledger.Begin, bool) {
		recs, err := testcluster.Read(f.tb.Context(), cl, ledger.TopicName(f.alias), testcluster.ReadUncommitted)
		if err != nil {
			return nil, false // not made yet
		}
		c := ledger.NewContents()
		for _, r := range recs {
			if r.Partition == 0 {
				if err := c.Apply(r.Offset, r.Key, r.Value); err != nil {
					f.tb.Fatal(err)
				}
			}
		}
		return c.Started()
	}
}
