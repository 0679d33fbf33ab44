package mirror

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Records of another producer on a remote topic, such as a second mirror under the same alias, are told: while the flow
// runs, and when it starts after them. Fences and kills of our own are none.
func TestAnotherProducerIsTold(t *testing.T) {
	const word = "another producer writes to the remote topic"
	r := newRig(t, 1)
	log := r.listen()
	r.both("orders", 1)
	r.produce("orders", 0, 200)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	run.kill()
	run.wg.Wait()
	r.produce("orders", 200, 200)
	run = r.start(r.partitions("orders"))
	r.same("orders")
	if log.line(word) {
		t.Error("a fence of our own is taken for another producer")
	}

	foreign := func(n int) {
		for i := range n {
			r.write(r.dst, &kgo.Record{Topic: "A.orders", Value: fmt.Appendf(nil, "other-%d", i)})
		}
	}
	foreign(3)
	r.produce("orders", 400, 10)
	r.until("a word about it", func() (bool, string) { return log.line(word, "partition=orders-0", "offsets=3"), "" })
	run.halt(t)
	foreign(5)
	r.start(r.partitions("orders"))
	r.until("a word about what came meanwhile", func() (bool, string) { return log.line(word, "partition=orders-0", "offsets=5"), "" })
	if n := log.count(word); n != 2 {
		t.Errorf("told %d times", n)
	}
}
