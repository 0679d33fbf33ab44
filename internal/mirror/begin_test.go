package mirror

import (
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/offsetmap"
)

// fromEnd makes the flow begin at the end, of topics that the source has now, selected or not.
func (r *rig) fromEnd(topics ...string) {
	r.t.Helper()
	r.settings.FromEnd = true
	r.existing = map[partition.ID][16]byte{}
	for _, name := range topics {
		d, err := r.src.DescribeTopics(r.t.Context(), name)
		if err != nil || d[0].Err != nil {
			r.t.Fatal(err, d)
		}
		for i := range d[0].Partitions {
			r.existing[partition.ID{Topic: name, Partition: i}] = d[0].ID
		}
	}
}

// holds waits until the target has the last n records of each of the source's partitions, and nothing else.
func (r *rig) holds(topic string, n map[int32]int) {
	r.t.Helper()
	r.until("the newest records of "+topic, func() (bool, string) {
		want, got := r.read(r.src, topic), r.read(r.dst, "A."+topic)
		for p, all := range want {
			want[p] = all[len(all)-n[p]:]
		}
		if longer(got, want) {
			r.t.Fatalf("%s: %s", topic, firstDifference(want, got))
		}
		diff := firstDifference(want, got)
		return diff == "", diff
	})
}

// claimed waits until the lane's claim is in the ledger: from then on where its partitions begin is settled.
func (run *running) claimed(r *rig, n int32) {
	r.t.Helper()
	r.until("the claim", func() (bool, string) {
		c, err := run.flow.readLedger(r.t.Context(), partition.ID{Topic: r.settings.Ledger, Partition: n})
		return err == nil && c.Claim != nil, fmt.Sprint(err)
	})
}

// What the source has when the flow first starts begins at its end; a partition or a topic that appears later is mirrored
// whole. A crash before the first head moves nothing.
func TestBeginAtTheEnd(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 2)
	r.produce("orders", 0, 1000)
	old := map[int32]int{}
	for p, all := range r.read(r.src, "orders") {
		old[p] = len(all)
	}
	r.fromEnd("orders")
	notYet := r.partitions("orders")
	for tp, p := range notYet {
		p.NotYet = "its remote topic is not there"
		notYet[tp] = p
	}
	run := r.start(notYet)
	run.claimed(r, 0)
	run.kill()
	run.wg.Wait()

	r.produce("orders", 1000, 50)
	newer := map[int32]int{}
	for p, all := range r.read(r.src, "orders") {
		newer[p] = len(all) - old[p]
	}
	r.both("later", 1)
	r.produce("later", 0, 30)
	r.fromEnd("orders", "later") // as the flow sees it now
	run = r.start(r.partitions("orders", "later"))
	r.holds("orders", newer)
	r.same("later")

	// A group below has no position, and waiting would not bring one; one at the beginning goes on exactly.
	for p, n := range old {
		tp := partition.ID{Topic: "orders", Partition: p}
		v := r.judged(run, "low", tp, int64(n-10), func(v translate.Verdict) bool { return v.Kind == translate.NotMirrored })
		if !v.Final() || v.HasPosition() || v.N != 10 {
			t.Errorf("%s: %+v", tp, v)
		}
		r.judged(run, "at", tp, int64(n), func(v translate.Verdict) bool { return v.IsExact() && v.Target == 0 })
	}
	run.halt(t)

	// The file says earliest now: what began stays where it began.
	r.settings.FromEnd = false
	r.produce("orders", 1050, 20)
	for p, all := range r.read(r.src, "orders") {
		newer[p] = len(all) - old[p]
	}
	run = r.start(r.partitions("orders", "later"))
	r.holds("orders", newer)
	r.judged(run, "low", partition.ID{Topic: "orders"}, int64(old[0]-10), func(v translate.Verdict) bool { return v.Kind == translate.NotMirrored && v.Final() })
}

// A topic that was there at the first start and is selected later begins at its end then.
func TestBeginAtTheEndOfATopicSelectedLater(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("payments", 0, 100)
	r.fromEnd("orders", "payments")
	run := r.start(r.partitions("orders"))
	run.claimed(r, 0)
	run.halt(t)
	r.produce("payments", 100, 100)
	run = r.start(r.partitions("orders", "payments"))
	r.until("payments is opened", func() (bool, string) {
		c, err := run.flow.readLedger(t.Context(), partition.ID{Topic: r.settings.Ledger})
		h, ok := c.Heads[partition.ID{Topic: "payments"}]
		return ok && h.Mirrored(), fmt.Sprint(err)
	})
	r.produce("payments", 200, 10)
	r.holds("payments", map[int32]int{0: 10})
}

// A topic deleted and created again under its name is newer than the flow.
func TestBeginOfATopicCreatedAgain(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	run := r.start(map[partition.ID]Partition{})
	run.claimed(r, 0)
	run.halt(t)
	if err := r.source.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	r.src.Kgo().PurgeTopicsFromClient("orders")
	r.create(r.src, "orders", 1, nil)
	r.produce("orders", 500, 40)
	r.start(r.partitions("orders"))
	r.same("orders")
}

// Without a readable record of where mirroring begins nothing is guessed: neither history nor what is new.
func TestDamagedBegin(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	notYet := maps.Clone(r.partitions("orders"))
	for tp, p := range notYet {
		p.NotYet = "its remote topic is not there"
		notYet[tp] = p
	}
	run := r.start(notYet)
	run.claimed(r, 0)
	run.halt(t)
	begin := r.kept(ledger.Key{Kind: ledger.KindBegin, Topic: "orders"})
	at := r.overwrite(begin, flipped(begin.Value, len(begin.Value)/2))
	run = r.start(r.partitions("orders"))
	r.stopped(run, partition.ID{Topic: "orders"}, "ledger", "damaged", fmt.Sprintf("offset %d of", at))
	run.halt(t)
	r.overwrite(begin, begin.Value)
	r.produce("orders", 100, 7)
	r.start(r.partitions("orders"))
	r.holds("orders", map[int32]int{0: 7})
}

// Where a begin was "at the end", it is settled by the first look that sees the end, also while the partition is stopped for
// another reason: what comes from then on is mirrored, after a stop, a kill, and when it is mirrored anew.
func TestBeginAtTheEndIsSettledAtTheFirstLook(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("payments", 0, 100)
	r.write(r.dst, &kgo.Record{Topic: "A.payments", Value: []byte("of another mirror")})
	r.fromEnd("orders", "payments")
	run := r.start(r.partitions("orders"))
	run.claimed(r, 0)
	run.halt(t)
	run = r.start(r.partitions("orders", "payments"))
	tp := partition.ID{Topic: "payments"}
	r.stopped(run, tp, "holds 1 offsets")
	settled := func() (bool, string) {
		b, err := ledger.DecodeBegin(r.kept(ledger.Key{Kind: ledger.KindBegin, Topic: "payments"}).Value)
		return b.Offset == 100, fmt.Sprint(b, err)
	}
	r.until("the begin to be settled", settled)
	r.produce("payments", 100, 50)
	run.kill()
	run.wg.Wait()
	if err := r.target.DeleteTopic("A.payments"); err != nil {
		t.Fatal(err)
	}
	r.create(r.dst, "A.payments", 1, nil)
	r.dst.Kgo().PurgeTopicsFromClient("A.payments")
	run = r.start(r.partitions("orders", "payments"))
	r.holds("payments", map[int32]int{0: 50})
	r.produce("payments", 150, 5)
	r.holds("payments", map[int32]int{0: 55})
	run.halt(t)

	// "Mirror it anew" (docs/stopped.md).
	r.overwrite(r.kept(headKey(tp)), nil)
	if err := r.target.DeleteTopic("A.payments"); err != nil {
		t.Fatal(err)
	}
	r.create(r.dst, "A.payments", 1, nil)
	r.dst.Kgo().PurgeTopicsFromClient("A.payments")
	r.start(r.partitions("orders", "payments"))
	r.holds("payments", map[int32]int{0: 55})
}

// A damaged begin record of a lane that was never claimed is no claim: the others begin at the end.
func TestDamagedBeginIsNoClaim(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 2)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	rec := ledger.Begin{TopicID: r.existing[partition.ID{Topic: "orders"}], Offset: 50}
	key := ledger.Key{Kind: ledger.KindBegin, Topic: "orders"}
	r.overwrite(testcluster.Rec{Key: []byte(key.String())}, flipped(rec.Encode(), 5))
	run := r.start(r.partitions("orders"))
	run.claimed(r, 0)
	r.write(r.src, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte("new")}, &kgo.Record{Topic: "orders", Partition: 1, Value: []byte("new")})
	r.holds("orders", map[int32]int{0: 1, 1: 1})
}

// What an owner wrote down that died before its claim is kept, but for a topic that was created again since.
func TestBeginOfATopicWrittenDownBefore(t *testing.T) {
	_, f, l := bareLane(t)
	f.FromEnd = true
	old, id := [16]byte{1}, [16]byte{2}
	c := ledger.NewContents()
	c.SetStart(ledger.Start{ProducerID: 7}, map[string]ledger.StartTopic{"t": {TopicID: id, Offsets: []offsetmap.SourceOffset{50, 50}}})
	c.SetBegin(partition.ID{Topic: "t"}, ledger.Begin{TopicID: old, Offset: 900})
	c.SetBegin(partition.ID{Topic: "t", Partition: 1}, ledger.Begin{TopicID: id, Offset: 40})
	if err := l.begin(t.Context(), c, lane.First); err != nil {
		t.Fatal(err)
	}
	for n, want := range []ledger.Begin{{TopicID: id, Offset: 50}, {TopicID: id, Offset: 40}} {
		if got := c.Begins[partition.ID{Topic: "t", Partition: int32(n)}]; got != want {
			t.Errorf("partition %d: %+v, want %+v", n, got, want)
		}
	}
}

// Begins stand in the ledger in front of the claim: where the claim is, nothing is decided anew.
func TestBeginsInFrontOfTheClaim(t *testing.T) {
	_, _, l := bareLane(t)
	l.sent()
	c := ledger.NewContents()
	for n := range int32(3) {
		c.SetBegin(partition.ID{Topic: "t", Partition: n}, ledger.Begin{Offset: 5})
	}
	l.adopt(c, lane.First)
	begins := 0
	for _, rec := range l.sent() {
		switch k, err := ledger.ParseKey(rec.Key); {
		case err != nil:
			t.Fatal(err)
		case k.Kind == ledger.KindBegin:
			begins++
		case k.Kind == ledger.KindClaim && begins != 3:
			t.Errorf("%d begins of 3 stand in front of the claim", begins)
		}
	}
}
