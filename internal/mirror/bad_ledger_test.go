package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

func headKey(tp partition.ID) ledger.Key {
	return ledger.Key{Kind: ledger.KindHead, Topic: tp.Topic, Partition: tp.Partition}
}

// TestDamagedHead: a head that cannot be read stops its partition, says where the damage is, and nothing is mirrored a
// second time; the lane's other partitions go on. Once the record is good again, so does this one.
func TestDamagedHead(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"one bit":  func(b []byte) []byte { return flipped(b, len(b)/2) },
		"garbage":  func([]byte) []byte { return []byte("\x01who wrote this?") },
		"cut":      func(b []byte) []byte { return b[:len(b)-7] },
		"no bytes": func([]byte) []byte { return []byte{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			log := r.listen()
			r.both("orders", 2)
			r.produce("orders", 0, 200)
			run := r.start(r.partitions("orders"))
			r.same("orders")
			run.halt(t)

			bad, good := partition.ID{Topic: "orders", Partition: 0}, partition.ID{Topic: "orders", Partition: 1}
			head := r.kept(headKey(bad))
			at := r.overwrite(head, damage(head.Value))
			before := r.read(r.dst, "A.orders")[0]
			r.write(r.src, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte("more")}, &kgo.Record{Topic: "orders", Partition: 1, Value: []byte("more")})
			run = r.start(r.partitions("orders"))
			r.stopped(run, bad, "ledger", "damaged", fmt.Sprintf("offset %d of", at))
			r.until("the neighbour", func() (bool, string) {
				want, got := r.read(r.src, "orders")[1], r.read(r.dst, "A.orders")[1]
				return firstDifference(map[int32][]string{1: want}, map[int32][]string{1: got}) == "", fmt.Sprint(len(got), len(want), good)
			})
			if after := r.read(r.dst, "A.orders")[0]; len(after) != len(before) {
				t.Errorf("the damaged partition went from %d to %d records", len(before), len(after))
			}
			if !log.line("partition stopped", bad.String(), "damaged") {
				t.Error("the log does not say that the partition stopped")
			}
			run.halt(t)
			if got := r.kept(headKey(bad)).Value; !bytes.Equal(got, damage(head.Value)) {
				t.Error("the damaged record was written over: what it was cannot be found out any more")
			}
			r.overwrite(head, head.Value) // an operator restores the record
			r.start(r.partitions("orders"))
			r.same("orders")
		})
	}
}

// holes writes n one-record batches to partition 0, each followed by a transaction marker, so that every record is a run
// of its own in the offset map.
func (r *rig) holes(topic string, n int) {
	r.t.Helper()
	var leader *kgo.Broker
	cl := r.src.Kgo()
	leader = cl.Broker(int(r.source.LeaderFor(topic, 0)))
	for i := range n {
		r.write1(topic, i)
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed = 4711, 0, true
		mt := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		mt.Topic, mt.Partitions = topic, []int32{0}
		m.Topics = append(m.Topics, mt)
		req.Markers = append(req.Markers, m)
		if _, err := req.RequestWith(r.t.Context(), leader); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) write1(topic string, i int) {
	r.t.Helper()
	rec := &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "seq=%d", i)}
	if err := r.src.Kgo().ProduceSync(r.t.Context(), rec).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// TestDamagedBlock: where a sealed block of the offset map cannot be read, positions are bounded: early by so many
// records at most, never late. Everywhere else they stay exact, and mirroring goes on.
func TestDamagedBlock(t *testing.T) {
	const records = 20_000 // a block takes 16 KiB, and such a run one byte
	r := newRig(t, 1)
	log := r.listen()
	r.both("orders", 1)
	tp := partition.ID{Topic: "orders"}
	r.holes("orders", records)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.halt(t)
	block := r.kept(ledger.Key{Kind: ledger.KindBlock, Topic: "orders"})
	r.replace(block, flipped(block.Value, len(block.Value)/3)) // an older copy of the block would do: blocks never change
	r.write1("orders", records)
	run = r.start(r.partitions("orders"))
	r.same("orders")
	if !log.line("level=WARN", "blocks of the offset map", "orders-0", "blocks=1") {
		t.Error("the log does not say that a block is damaged")
	}
	// Record i stands at source offset 2i and target offset i (the source has a marker behind each).
	bounded := 0
	for _, i := range []int64{0, 1, 17, 5000, 17_000, records - 1, records} {
		v := r.judged(run, fmt.Sprintf("g%d", i), tp, 2*i, func(v translate.Verdict) bool { return v.HasPosition() })
		switch {
		case v.IsExact() && int64(v.Target) != i:
			t.Errorf("record %d: %v, want exact at %d", i, v, i)
		case v.Kind == translate.Bounded:
			bounded++
			if int64(v.Target) > i || int64(v.Target)+v.N < i {
				t.Errorf("record %d: %v, but the first unread record stands at %d", i, v, i)
			}
		case !v.IsExact():
			t.Errorf("record %d: %v", i, v)
		}
	}
	if bounded == 0 || bounded == 7 {
		t.Errorf("%d of 7 positions are bounded: the damaged block holds some and not all", bounded)
	}
}

// TestUnknownLedgerVersion: a ledger record of a newer build refuses its lane with a clear error, before anything is
// fenced or written; the other lanes go on.
func TestUnknownLedgerVersion(t *testing.T) {
	r := newRig(t, 2)
	r.both("orders", 4)
	r.produce("orders", 0, 400)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.halt(t)
	mine := partition.ID{Topic: "orders", Partition: 0}
	head := r.kept(headKey(mine))
	newer := append([]byte{9}, head.Value[1:]...)
	r.overwrite(head, newer)
	ends := map[partition.ID]int64{}
	r.produce("orders", 400, 400)
	for i := range int32(4) {
		tp := partition.ID{Topic: "A.orders", Partition: i}
		ends[tp] = r.end(r.dst, tp)
	}
	ledgerEnd := r.end(r.dst, partition.ID{Topic: r.settings.Ledger, Partition: head.Partition})
	run = r.start(r.partitions("orders"))
	r.until("the other lane", func() (bool, string) {
		want, got := r.read(r.src, "orders"), r.read(r.dst, "A.orders")
		for i := range int32(4) {
			if ledger.LaneOf("orders", i, 2) != head.Partition && len(got[i]) < len(want[i]) {
				return false, fmt.Sprintf("%d of %d", len(got[i]), len(want[i]))
			}
		}
		return true, ""
	})
	run.stop()
	run.wg.Wait()
	err := run.errs[head.Partition]
	for _, want := range []string{fmt.Sprintf("lane %d", head.Partition), headKey(mine).String(), "version 9", "reads version 1", "newer"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	if err := run.errs[1-head.Partition]; err != nil {
		t.Errorf("the other lane: %v", err)
	}
	for i := range int32(4) {
		tp := partition.ID{Topic: "A.orders", Partition: i}
		if ledger.LaneOf("orders", i, 2) == head.Partition && r.end(r.dst, tp) != ends[tp] {
			t.Errorf("%s was written to in the refused lane", tp)
		}
	}
	if end := r.end(r.dst, partition.ID{Topic: r.settings.Ledger, Partition: head.Partition}); end != ledgerEnd {
		t.Errorf("the refused lane wrote to its ledger partition: end %d became %d", ledgerEnd, end)
	}
}

// TestLedgerLost: without its ledger a flow finds remote topics that no head knows. It stops them, says so, and does not
// mirror everything a second time.
func TestLedgerLost(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.halt(t)
	if err := r.target.DeleteTopic(r.settings.Ledger); err != nil {
		t.Fatal(err)
	}
	compact := "compact"
	r.create(r.dst, r.settings.Ledger, 1, map[string]*string{"cleanup.policy": &compact})
	r.both("payments", 1)
	r.produce("payments", 0, 100)
	r.produce("orders", 100, 10)
	run = r.start(r.partitions("orders", "payments"))
	r.stopped(run, partition.ID{Topic: "orders"}, "A.orders", "100 offsets", "did not write", "delete the remote topic")
	r.same("payments")
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 100 {
		t.Errorf("the remote topic's end is %d, want 100", end)
	}
}

// TestDamagedClaim: a claim that cannot be read says nothing about who wrote last, so the lane is taken over as after a
// crash: a former owner that lives on is refused at every partition that it wrote.
func TestDamagedClaim(t *testing.T) {
	r := newRig(t, 1)
	r.settings.SessionTimeout = 100 * time.Millisecond // whose lease is waited out: who has the lane is not known
	log := r.listen()
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.halt(t)
	claim := r.kept(ledger.Key{Kind: ledger.KindClaim})
	r.replace(claim, flipped(claim.Value, 3))
	before := r.end(r.dst, partition.ID{Topic: "A.orders"})
	r.start(r.partitions("orders"))
	r.until("the claim's damage is said", func() (bool, string) {
		return log.line("level=WARN", "damaged ledger record", "key=claim"), ""
	})
	r.produce("orders", 100, 100)
	r.same("orders")
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != before+101 {
		t.Errorf("the partition's end went from %d to %d, want a fence's marker and 100 records", before, end)
	}
}

// TestVerdictsWithoutLeader: a verdicts partition that has no leader when a dead owner's lane is taken over keeps news
// from its own groups only. Records are mirrored, and the other groups hear of it.
func TestVerdictsWithoutLeader(t *testing.T) {
	r := newRig(t, 2)
	log := r.listen()
	r.both("orders", 4)
	r.produce("orders", 0, 200)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.kill()
	run.wg.Wait()

	lost := int32(1)
	before := r.target.PartitionInfo(r.settings.Verdicts, lost).HighWatermark
	r.leaderless(r.settings.Verdicts, lost)
	r.produce("orders", 200, 200)
	run = r.start(r.partitions("orders"))
	r.same("orders")
	groups := map[int32]string{}
	for i := 0; len(groups) < 2; i++ {
		g := fmt.Sprint("g", i)
		groups[ledger.GroupLane(g, 2)] = g
	}
	tp := partition.ID{Topic: "orders", Partition: 2}
	for _, g := range groups {
		run.commit(g, tp, 5)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.target.ListenAddrs()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.settings.Verdicts: {1 - lost: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	want := verdicts.Key{Group: groups[1-lost], Topic: tp.Topic, Partition: tp.Partition}
	for heard := false; !heard; {
		fs := cl.PollFetches(t.Context())
		fs.EachRecord(func(rec *kgo.Record) { heard = heard || bytes.Equal(rec.Key, want.EncodeKey()) })
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
	}
	run.stop()
	run.wg.Wait()
	for n, err := range run.errs {
		if !errors.Is(err, ErrUnreleased) {
			t.Errorf("lane %d ended with %v: the next owner would not fence that partition", n, err)
		}
	}
	if end := r.target.PartitionInfo(r.settings.Verdicts, lost).HighWatermark; end != before {
		t.Errorf("%d offsets were written to a partition that is not fenced", end-before)
	}
	if !log.line("has no leader", fmt.Sprintf("%s-%d", r.settings.Verdicts, lost)) {
		t.Error("the log does not say which partition has no leader")
	}
}

// What waits for a verdicts partition's own fence goes out in the epoch of that fence.
func TestVerdictsAfterTheirFence(t *testing.T) {
	_, _, l := bareLane(t)
	j := l.newRowJournal(0)
	j.Hold()
	l.verdicts[0] = j
	l.publish(verdicts.Key{Group: "g", Topic: "t"}, nil)
	l.kick()
	if j.Flying() {
		t.Fatal("written before the fence")
	}
	l.handle(rowsFenced{n: 0, err: context.DeadlineExceeded})
	l.kick()
	if j.Flying() {
		t.Fatal("written though the fence did not complete")
	}
	l.handle(rowsFenced{n: 0, epoch: 12})
	f := j.Next(now())
	if f == nil {
		t.Fatal("not written after the fence")
	}
	if f.Epoch != 12 || f.Sequence != 0 {
		t.Errorf("epoch %d, sequence %d", f.Epoch, f.Sequence)
	}
}
