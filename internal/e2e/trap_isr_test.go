package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

// TestTrap02InDoubtIsNotSeen: while a follower that belongs to the in-sync replicas is frozen, a batch times out and is not
// to be seen; when the follower wakes up the batch is there. So whether it was appended is not a question of looking. Fresh
// data goes again as identical bytes; for old data the partition is fenced first, and then looked at. A worker whose target
// freezes like that loses nothing and writes nothing twice.
func TestTrap02InDoubtIsNotSeen(t *testing.T) {
	t.Parallel()
	r := three(t)
	brokersOfThree.Lock()
	defer brokersOfThree.Unlock()
	k := newRawTimeout(t, r, 700*time.Millisecond)
	tp, neighbour, follower := k.pair("trap02")
	const txid = "trap02"
	id := k.init(txid)
	k.append(tp, k.bytes(id, 0, time.Now(), "a"))
	k.append(neighbour, k.bytes(id, 0, time.Now(), "a"))
	want := []string{"a"}
	// The brokers take the follower out of the replicas in sync after four seconds. A machine under load may need as long
	// for the rest, so this is tried more than once.
	hidden := false
	for seq := int32(1); seq <= 5 && !hidden; seq++ {
		b, at := k.bytes(id, seq, time.Now(), "b"), k.end(tp)
		hidden = k.frozen(follower, tp, b, id, seq)
		want = append(want, "b")
		k.until(20*time.Second, "the batch to show", func(context.Context) (bool, string) {
			end := k.end(tp)
			return end == at+1, fmt.Sprint(end)
		})
		if again := k.append(tp, b); again != at {
			t.Errorf("the identical batch landed at offset %d, want %d as before", again, at)
		}
	}
	if !hidden {
		t.Error("five times a batch was acknowledged or to be seen although a follower was frozen")
	}
	next := int32(len(want))
	k.frozen(follower, tp, k.bytes(id, next, time.Now().Add(-2*day), "old"), id, next)
	own := k.ownFence(txid, id, tp)
	want = append(want, "old")
	k.holds(tp, want...) // what was in doubt is there, or it never comes
	k.refused("the epoch before the partition's own fence", tp, k.bytes(id, next+1, time.Now(), "stale"), kerr.InvalidProducerEpoch)
	k.append(tp, k.bytes(own, 0, time.Now(), "c"))
	k.append(neighbour, k.bytes(id, 1, time.Now(), "b")) // epoch and sequences as before
	k.holds(tp, append(want, "c")...)

	f := newFlow(t, "trap02", `t02-.*`, `trap02g.*`, "").onto(r)
	f.replicated()
	f.rewrite(fmt.Sprintf("{bootstrap: %q}", r.BootstrapString()), fmt.Sprintf("{bootstrap: %q, client: {request_timeout: 1s}}", r.BootstrapString()))
	f.createLoadTopics("t02-")
	stop := f.load("t02-")
	w := f.process()
	f.remoteGrows("t02-plain", 500)
	for i := range 2 {
		if err := r.Freeze(i); err != nil {
			t.Fatal(err)
		}
		pause.For(t.Context(), 2500*time.Millisecond)
		if err := r.Thaw(i); err != nil {
			t.Fatal(err)
		}
		f.remoteGrows("t02-plain", 500)
		f.remoteGrows("t02-old", 200)
	}
	stop()
	f.wellAtLast("t02-", w)
	if !strings.Contains(w.output(), "partition fenced to settle what is in doubt") {
		t.Error("nothing was in doubt: the test shows nothing")
	}
}

// frozen sends a batch while a follower is frozen. It says whether the batch timed out and was not to be seen, although the
// leader knew its sequence.
func (k *raw) frozen(follower int, tp partition.ID, b []byte, id kafka.Identity, seq int32) (hidden bool) {
	k.t.Helper()
	k.inSync(tp)
	before := k.end(tp)
	if err := k.r.Freeze(follower); err != nil {
		k.t.Fatal(err)
	}
	defer func() {
		if err := k.r.Thaw(follower); err != nil {
			k.t.Fatal(err)
		}
	}()
	r := k.send(tp, b)
	s, _, err := k.state(k.t.Context(), tp, id)
	return r.Code == kerr.RequestTimedOut.Code && k.end(tp) == before && err == nil && s.LastSequence == seq
}

// inSync waits until all replicas of a partition are in sync: one that was frozen may have been taken out.
func (k *raw) inSync(tp partition.ID) {
	k.t.Helper()
	adm := kadm.NewClient(k.r.Client(k.t))
	k.until(30*time.Second, "all replicas in sync", func(ctx context.Context) (bool, string) {
		meta, err := adm.Metadata(ctx, tp.Topic)
		isr := meta.Topics[tp.Topic].Partitions[tp.Partition].ISR
		return err == nil && len(isr) == k.r.Brokers(), fmt.Sprint(isr, err)
	})
}

// pair creates a topic and gives two partitions with one leader, and a broker that is a follower of both and leads nothing
// that the test needs.
func (k *raw) pair(topic string) (a, b partition.ID, follower int) {
	k.t.Helper()
	k.topic(topic, 6, nil)
	meta, err := kadm.NewClient(k.r.Client(k.t)).Metadata(k.t.Context(), topic)
	if err != nil {
		k.t.Fatal(err)
	}
	leads := map[int32][]int32{}
	for _, p := range meta.Topics[topic].Partitions {
		leads[p.Leader] = append(leads[p.Leader], p.Partition)
	}
	for leader, ps := range leads {
		if len(ps) < 2 {
			continue
		}
		for i := range k.r.Brokers() {
			if id := k.r.NodeID(i); id != leader && id != meta.Controller {
				return partition.ID{Topic: topic, Partition: ps[0]}, partition.ID{Topic: topic, Partition: ps[1]}, i
			}
		}
	}
	k.t.Fatalf("no two partitions of %s have one leader", topic)
	return a, b, 0
}
