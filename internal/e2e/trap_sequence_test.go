package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/testcluster"
)

// TestTrap12SameSequenceOtherBytes: other bytes under a sequence that was used are acknowledged with the old offset and not
// stored. So what is sent again are the identical bytes; that a worker does so is what TestTrap17AgeAtTheRetry shows with
// batches of all sizes whose answers get lost, and a new epoch of the partition allows other bytes.
func TestTrap12SameSequenceOtherBytes(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tp := k.topic("trap12", 1, nil)[0]
	const txid = "trap12"
	id := k.init(txid)
	k.append(tp, k.bytes(id, 0, time.Now(), "a", "b"))
	if at := k.append(tp, k.bytes(id, 0, time.Now(), "x", "y")); at != 0 {
		t.Errorf("other bytes under the same sequences landed at offset %d, they were expected to be dropped with the answer 0", at)
	}
	k.holds(tp, "a", "b")
	k.refused("a part of the range", tp, k.bytes(id, 0, time.Now(), "a"), kerr.OutOfOrderSequenceNumber)
	own := k.ownFence(txid, id, tp)
	if at := k.append(tp, k.bytes(own, 0, time.Now(), "x", "y")); at != 3 { // 2 is the marker
		t.Errorf("in the new epoch they landed at offset %d, want 3", at)
	}
	k.holds(tp, "a", "b", "x", "y")
}

// TestTrap16SecondBeforeTheFirst: where a partition remembers nothing of a producer, any first sequence is taken: a batch
// that is refused before the append lets the one behind it in, and is refused for ever itself. A worker has one batch on
// its way until the first acknowledgement, so that the one behind a refused one waits.
func TestTrap16SecondBeforeTheFirst(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tps := k.topic("trap16", 2, map[string]string{"max.message.bytes": "2000"})
	fresh, known := tps[0], tps[1]
	id, large := k.init("trap16"), strings.Repeat("x", 3000)
	k.append(known, k.bytes(id, 0, time.Now(), "first"))
	for _, c := range []struct {
		name string
		seq  int32
	}{{"without state", 0}, {"with state", 1}} {
		tp := tps[c.seq]
		k.refused("the large batch "+c.name, tp, k.bytes(id, c.seq, time.Now(), large), kerr.MessageTooLarge)
	}
	k.append(fresh, k.bytes(id, 1, time.Now(), "second"))
	for range 2 {
		k.refused("the first sequence behind the second", fresh, k.bytes(id, 0, time.Now(), "first"), kerr.OutOfOrderSequenceNumber)
	}
	k.refused("the second batch where the producer is known", known, k.bytes(id, 2, time.Now(), "third"), kerr.OutOfOrderSequenceNumber)
	k.append(known, k.bytes(id, 1, time.Now(), "second"))

	// The remote topic takes large batches until the worker has looked at it, and then no longer.
	const topic = "t16-t"
	f := newFlow(t, "trap16", topic, `trap16g.*`, "").onto(suite.target)
	f.topic(topic, 1, nil)
	f.start()
	f.until(60*time.Second, "the partition's head", func(context.Context) (bool, string) {
		heads := 0
		for _, c := range f.ledgers(suite.target) {
			heads += len(c.Heads)
		}
		return heads == 1, fmt.Sprintf("%d heads", heads)
	})
	limit := func(bytes string) {
		_, err := f.dst.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &bytes}}, f.remote(topic))
		if err != nil {
			t.Fatal(err)
		}
	}
	limit("100000")
	f.produce(testcluster.Load{Topic: topic, Count: 1, ValueBytes: 300_000}) // larger than what is merged, so it goes alone
	f.produce(testcluster.Load{Topic: topic, First: 1, Count: 50, OneByOne: true})
	f.commit("trap16g", map[string]map[int32]int64{topic: {0: 1}})
	f.stopped(suite.target.Client(t), spot{"trap16g", topic, 0}, "MESSAGE_TOO_LARGE")
	if recs := f.read(suite.target, f.remote(topic)); len(recs) != 0 {
		t.Errorf("behind a refused batch %d records are on the target, the first at offset %d of the source", len(recs), recs[0].Offset)
	}
	limit("1048588")
	f.same(topic)
	at := spots{}
	at.add("trap16g", topic, 0, 30)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
}
