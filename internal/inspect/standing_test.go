package inspect

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/offsetmap"
)

// TestStanding: a lane has an owner, its head says that the partition runs, and records wait on the source. Where nothing
// moves the partition stands, whatever the owner would say. Where the target's log grows or the head follows it runs, as it
// does where what waits is on the target already.
func TestStanding(t *testing.T) {
	for _, tc := range []struct {
		name    string
		target  int64                   // records on the target
		during  func(w *world, n int64) // what goes on while somebody looks
		stands  bool
		younger bool // the head was written just now
	}{
		{name: "nothing moves", target: 3, stands: true},
		{name: "a part was written behind the head", target: 5, stands: true},
		{name: "all was written behind the head", target: 10},
		{name: "the head is young", target: 3, younger: true},
		{name: "the target grows", target: 3, during: func(w *world, _ int64) {
			w.produce(w.target, &kgo.Record{Topic: "A.orders", Partition: 0, Value: []byte("v")})
		}},
		{name: "the head follows", target: 3, during: func(w *world, n int64) {
			w.head(ledger.Head{Topic: "orders", SourceEnd: 10, At: time.Now().Add(-time.Minute)}, 3+n, offsetmap.Origin{})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.topic(w.target, "A.orders", 2)
			for range 10 {
				w.produce(w.source, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte("v")})
			}
			for range tc.target {
				w.produce(w.target, &kgo.Record{Topic: "A.orders", Partition: 0, Value: []byte("v")})
			}
			at := time.Now()
			if !tc.younger {
				at = at.Add(-time.Minute)
			}
			w.head(ledger.Head{Topic: "orders", SourceEnd: 10, At: at}, 3, offsetmap.Origin{})
			w.worker()
			var goesOn sync.WaitGroup
			stop := make(chan struct{})
			if tc.during != nil {
				goesOn.Go(func() {
					for n := int64(1); n <= 5; n++ {
						select {
						case <-stop:
							return
						case <-time.After(300 * time.Millisecond):
							tc.during(w, n)
						}
					}
				})
			}
			got, err := w.reader(Options{Standing: time.Second}).Flow(t.Context())
			close(stop)
			goesOn.Wait()
			if err != nil {
				t.Fatal(err)
			}
			p := w.partition(got, "orders", 0)
			found := strings.Contains(strings.Join(got.Findings(), "\n"), "orders-0 is standing")
			if (p.State == status.Standing) != tc.stands || found != tc.stands {
				t.Errorf("state %s (%s), findings %q", p.State, p.Reason, got.Findings())
			}
			if tc.stands && !strings.Contains(p.Reason, "offsets of the source wait, and nothing moved in 1s") {
				t.Errorf("reason %q", p.Reason)
			}
		})
	}
}
