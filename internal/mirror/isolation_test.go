package mirror

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
)

// aborted writes n records of one content in a transaction that is aborted.
func (r *rig) aborted(topic string, n int) {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.source.ListenAddrs()...), kgo.TransactionalID("tx"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		r.t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		r.t.Fatal(err)
	}
	if err := cl.ProduceSync(r.t.Context(), sameRecords(topic, n)...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
	if err := cl.EndTransaction(r.t.Context(), kgo.TryAbort); err != nil {
		r.t.Fatal(err)
	}
}

func sameRecords(topic string, n int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("same")}
	}
	return recs
}

// ledgerOf is what the ledger of lane 0 says.
func (r *rig) ledgerOf() *ledger.Contents {
	r.t.Helper()
	recs, err := testcluster.Read(r.t.Context(), r.dst.Kgo(), r.settings.Ledger, testcluster.ReadUncommitted)
	if err != nil {
		r.t.Fatal(err)
	}
	c := ledger.NewContents()
	for _, rec := range recs {
		if err := c.Apply(rec.Offset, rec.Key, rec.Value); err != nil {
			r.t.Fatal(err)
		}
	}
	return c
}

// headless is how many target offsets of the first partition of orders no head knows of.
func (r *rig) headless() int64 {
	r.t.Helper()
	m, err := r.ledgerOf().Map(partition.ID{Topic: "orders"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.end(r.dst, partition.ID{Topic: "A.orders"}) - int64(m.TargetEnd())
}

// die mirrors orders, with a tail of equal records that no head knows of when the owner dies, and more of them on the source.
func (r *rig) die() {
	r.t.Helper()
	r.both("orders", 1)
	r.produce("orders", 0, 40)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	r.until("a head", func() (bool, string) { n := r.headless(); return n == 0, fmt.Sprint(n) })
	r.aborted("orders", 30)
	r.write(r.src, sameRecords("orders", 300)...)
	wrote := int64(300)
	if !r.settings.Committed {
		wrote += 30
	}
	r.until("the tail", func() (bool, string) {
		n := r.end(r.dst, partition.ID{Topic: "A.orders"})
		return n >= 40+wrote, fmt.Sprint(n)
	})
	run.kill()
	run.wg.Wait()
	if r.headless() == 0 {
		r.t.Fatal("a head knows of all")
	}
	r.write(r.src, sameRecords("orders", 50)...)
}

// TestIsolationChangedBehindATail: an owner leaves a tail; the next one has the same isolation and ends in order, but could not
// open the partition, or did not mirror it. The lane is refused to a third one with another isolation all the same, and taken by
// one with the first.
func TestIsolationChangedBehindATail(t *testing.T) {
	for i := range 4 {
		committed, excluded := i&1 == 0, i&2 != 0
		t.Run(fmt.Sprint("committed first ", committed, ", topic left out ", excluded), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.settings.Committed = committed
			r.die()
			silent := make(chan struct{})
			named := r.partitions("orders")
			if excluded {
				r.both("payments", 1)
				named = r.partitions("payments")
			} else {
				r.source.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
					r.source.KeepControl()
					r.source.SleepControl(func() { <-silent })
					return nil, nil, false
				})
			}
			r.settings.Owner = "second"
			run := r.start(named)
			r.until("the second's claim", func() (bool, string) {
				c := r.ledgerOf().Claim
				return c.Owner == "second", fmt.Sprintf("%+v", c)
			})
			run.stop()
			run.wg.Wait()
			close(silent)

			r.settings.Committed, r.settings.Owner = !committed, "third"
			run = r.start(r.partitions("orders"))
			ended := make(chan struct{})
			go func() { run.wg.Wait(); close(ended) }()
			select {
			case <-ended:
			case <-time.After(100 * time.Second):
				t.Fatal("the lane is taken")
			}
			if err := run.errs[0]; err == nil || !strings.Contains(err.Error(), "what the former owner wrote last to A.orders-0") {
				t.Errorf("the lane ended with %v", err)
			}
			run.stop()
			r.settings.Committed, r.settings.Owner = committed, "fourth"
			r.start(r.partitions("orders"))
			want := 350
			if !committed {
				want += 30
			}
			r.write(r.src, &kgo.Record{Topic: "orders", Value: []byte("last")})
			var got []string
			r.until("the last record", func() (bool, string) {
				got = r.read(r.dst, "A.orders")[0]
				return got[len(got)-1] == "last", fmt.Sprint(len(got))
			})
			if n := len(got) - len(slices.DeleteFunc(got, func(v string) bool { return v == "same" })); n != want {
				t.Errorf("%d equal records, want %d", n, want)
			}
		})
	}
}

// TestIsolationNotAtStake: another isolation after a kill is taken where no partition has a tail: nothing was mirrored ever, the
// remote topic is gone, or a former build that does not write its isolation had the lane last.
func TestIsolationNotAtStake(t *testing.T) {
	for name, last := range map[string]func(r *rig){
		"nothing mirrored": func(r *rig) {
			run := r.start(nil)
			r.until("the claim", func() (bool, string) { return r.ledgerOf().Claim != nil, "" })
			run.kill()
			run.wg.Wait()
		},
		"remote topic gone": func(r *rig) {
			r.both("gone", 1)
			r.produce("gone", 0, 40)
			run := r.start(r.partitions("gone"))
			r.same("gone")
			run.kill()
			run.wg.Wait()
			if err := r.target.DeleteTopic("A.gone"); err != nil {
				r.t.Fatal(err)
			}
			r.dst.Kgo().PurgeTopicsFromClient("A.gone")
		},
		"a former build": func(r *rig) {
			r.settings.Owner = "new"
			run := r.start(nil)
			r.until("the claim", func() (bool, string) { return r.ledgerOf().Claim != nil, "" })
			run.stop()
			run.wg.Wait()
			iso := r.kept(ledger.Key{Kind: ledger.KindIsolation})
			r.settings.Owner = "former"
			r.die()
			r.overwrite(iso, iso.Value)
			c := r.kept(ledger.Key{Kind: ledger.KindClaim})
			r.overwrite(c, c.Value)
			if got := r.ledgerOf().Reads(); got != ledger.IsolationUnknown {
				r.t.Errorf("the former build's isolation is %v", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			last(r)
			r.settings.Committed, r.settings.Owner = false, "next"
			r.both("payments", 1)
			r.produce("payments", 0, 10)
			r.start(r.partitions("payments"))
			r.same("payments")
		})
	}
}
