package mirror

import (
	"fmt"
	"testing"
	"time"

	"tidemark/internal/control"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
)

// throttled is a topic of decisions whose last one is a bound; 0: the end of one.
func throttled(t *testing.T, topic byte, bounds ...int64) *control.Set {
	t.Helper()
	l := control.NewLog([16]byte{topic})
	for i, n := range bounds {
		d := control.Decision{ID: fmt.Sprint(i), Kind: control.Throttle, Scope: control.Scope{Flow: "A->B", Partition: control.AllPartitions}, Bytes: n, Off: n == 0, At: time.Unix(1_800_000_000, 0), By: "ann"}
		if i > 0 {
			d.Supersedes = fmt.Sprint(i - 1)
		}
		k, v, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.Add(int64(i), k, v)
	}
	return l.Set("A->B")
}

// TestThrottleIsShared: each worker has the share of its partitions, which together are never more than the bound; none of them has
// none, which would be no bound.
func TestThrottleIsShared(t *testing.T) {
	const bound, lanes, workers = 1000, 8, 3
	all := map[partition.ID]Partition{}
	for i := range int32(7) {
		all[partition.ID{Topic: "orders", Partition: i}] = Partition{}
	}
	sum := int64(0)
	for w := range int32(workers) {
		f := &Flow{Settings: Settings{Lanes: lanes}, rate: &wire.Rate{}, lanes: map[int32]*Lane{}}
		f.heard(nil)
		if n := f.allowed(); n != 0 {
			t.Errorf("nobody has decided anything, and %d bytes are allowed", n)
		}
		f.heard(throttled(t, 1, bound))
		if n := f.allowed(); n != 1 {
			t.Errorf("%d bytes are allowed without a partition, want 1", n)
		}
		f.partitions = all
		own := 0
		for n := w; n < lanes; n += workers {
			f.lanes[n] = &Lane{}
			for tp := range all {
				if ledger.LaneOf(tp.Topic, tp.Partition, lanes) == n {
					own++
				}
			}
		}
		if n, want := f.allowed(), max(1, int64(bound*own/len(all))); n != want {
			t.Errorf("%d bytes are allowed for %d of %d partitions, want %d", n, own, len(all), want)
		}
		sum += f.allowed()
		f.lanes = map[int32]*Lane{}
		for n := range int32(lanes) {
			f.lanes[n] = &Lane{}
		}
		if n := f.allowed(); n != bound {
			t.Errorf("%d bytes are allowed for all, want %d", n, bound)
		}
	}
	if sum > bound+workers {
		t.Errorf("%d bytes are allowed together, want %d", sum, bound)
	}
}

// TestThrottleOfTheNewestRead: a lane that is taken over can have read further than what the flow follows.
func TestThrottleOfTheNewestRead(t *testing.T) {
	f := &Flow{Settings: Settings{Lanes: 1}, rate: &wire.Rate{}, lanes: map[int32]*Lane{0: {}}, partitions: map[partition.ID]Partition{{Topic: "orders"}: {}}}
	for _, c := range []struct {
		s    *control.Set
		want int64
	}{{throttled(t, 1, 100, 200), 200}, {throttled(t, 1, 100), 200}, {throttled(t, 1, 100, 200, 0), 0}, {throttled(t, 2, 50), 50}} {
		if f.heard(c.s); f.allowed() != c.want {
			t.Errorf("%d bytes are allowed, want %d", f.allowed(), c.want)
		}
	}
}
