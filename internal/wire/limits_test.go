package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/partition"
)

// oneRecordLog is a log of count batches with one record each, of the given
// sizes in turn; batch i has offset i.
func oneRecordLog(t testing.TB, count int, sizes ...int) [][]byte {
	t.Helper()
	log := make([][]byte, count)
	for i := range log {
		log[i] = numbered(t, i, 1, sizes[i%len(sizes)], -1)
		binary.BigEndian.PutUint64(log[i], uint64(i))
	}
	return log
}

// drain reads every partition of a strict broker to its end and checks each
// record, holding what was fetched for a moment.
func drain(t *testing.T, f *fetcher, logs map[int32][][]byte) {
	t.Helper()
	left := 0
	for part, log := range logs {
		left += len(log)
		f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	var held []func()
	for left > 0 {
		x := f.next()
		if x.Code != 0 || x.Err != nil {
			t.Fatalf("%+v", x)
		}
		pos := x.Offset
		for rest := x.Records; len(rest) > 0; {
			v, behind, err := batch.Next(rest)
			if err != nil {
				t.Fatalf("%v: a delivery holds a cut batch: %v", x.TP, err)
			}
			if v.BaseOffset() != pos || !bytes.Equal(v[8:], logs[x.TP.Partition][pos][8:]) {
				t.Fatalf("%v: batch %d is not the one at offset %d", x.TP, v.BaseOffset(), pos)
			}
			rest = behind
			pos++
			left--
		}
		f.Want(x.TP, pos, -1)
		if held = append(held, x.Release); len(held) > 3 {
			held[0]()
			held = held[1:]
		}
	}
	for _, release := range held {
		release()
	}
}

func TestFetchProgressesOverLimits(t *testing.T) {
	c := fake(t, 1, "t", 5)
	s := &strictBroker{logs: map[int32][][]byte{}}
	for part := range int32(5) {
		// Every third batch is larger than a partition's share, some larger
		// than a whole response.
		s.logs[part] = oneRecordLog(t, 30, 100, 3000, 40_000)
	}
	s.serve(c)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{MaxBytes: 16_000, PartitionMaxBytes: 4_000, MaxWait: 10 * time.Millisecond})
	drain(t, f, s.logs)
}

func TestFetchPutsACutBatchFirst(t *testing.T) {
	// Which partition leads the first request is the order in which their leaders were found. One that leads, or is the only
	// one with data, gets its batch whole at once: then it is tried again.
	for range 20 {
		c := fake(t, 1, "t", 3)
		s := &strictBroker{logs: map[int32][][]byte{
			0: oneRecordLog(t, 50, 900),
			1: oneRecordLog(t, 1, 5000),
			2: oneRecordLog(t, 50, 900),
		}}
		s.serve(c)
		f := startFetcher(t, netTo(t, c, nil), FetchOptions{MaxBytes: 8_000, PartitionMaxBytes: 1_000, MaxWait: 10 * time.Millisecond})
		drain(t, f, s.logs)
		f.stop()
		if cut, led := s.cutAndLed(1); cut >= 0 {
			if led <= cut || led > cut+3 {
				t.Errorf("the batch was cut in request %d and led request %d, want one of the next", cut, led)
			}
			return
		}
	}
	t.Error("the large batch was never cut")
}

// cutAndLed are the number of the request in which the first batch of a partition came cut, and of the one that it led to come
// whole; -1 each: none.
func (s *strictBroker) cutAndLed(part int32) (cut, led int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int32(len(s.logs[part][0]))
	var asked []int
	led = -1
	for i, r := range s.requests {
		for n, p := range r.Topics[0].Partitions {
			if p.Partition != part || p.FetchOffset != 0 {
				continue
			}
			asked = append(asked, i)
			if n == 0 && led < 0 && p.PartitionMaxBytes == size && r.MaxBytes >= size {
				led = i
			}
		}
	}
	if len(asked) < 2 { // asked for once, so it came whole
		return -1, led
	}
	return asked[0], led
}

func TestFetchStaysWithinBudget(t *testing.T) {
	c := fake(t, 1, "t", 6)
	s := &strictBroker{logs: map[int32][][]byte{}}
	for part := range int32(6) {
		s.logs[part] = oneRecordLog(t, 200, 700, 20_000, 2_000)
	}
	s.serve(c)
	n := netTo(t, c, nil)
	budget := NewBudget(300_000)
	f := startFetcher(t, n, FetchOptions{Budget: budget, MaxBytes: 100_000, PartitionMaxBytes: 50_000, MaxWait: 10 * time.Millisecond})
	drain(t, f, s.logs)
	// A response is a few bytes larger than its records.
	if peak := budget.Peak(); peak > 300_000+30_000 || peak < 100_000 {
		t.Errorf("at most %d bytes were taken of %d", peak, budget.Total())
	}
	f.stop()
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are gone", used)
	}
}

func TestFetchWaitsForBudget(t *testing.T) {
	c := fake(t, 1, "t", 2)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 20, 50_000), 1: oneRecordLog(t, 20, 50_000)}}
	s.serve(c)
	n := netTo(t, c, nil)
	budget := NewBudget(200_000)
	f := startFetcher(t, n, FetchOptions{Budget: budget, MaxWait: 10 * time.Millisecond})
	for part := range int32(2) {
		f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	var held []Fetched
	for budget.Total()-budget.Used() >= leastFetch {
		x := f.next()
		held = append(held, x)
		got, err := numbers(x.Records, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Want(x.TP, x.Offset+int64(len(got)), -1)
	}
	f.silent(100 * time.Millisecond)
	for _, x := range held {
		x.Release()
	}
	f.next().Release()
}

func TestBuffersAreNotReusedBeforeRelease(t *testing.T) {
	c := fake(t, 1, "t", 4)
	s := &strictBroker{logs: map[int32][][]byte{}}
	for part := range int32(4) {
		s.logs[part] = oneRecordLog(t, 300, 500, 1500)
	}
	s.serve(c)
	n := netTo(t, c, nil)
	n.pool.freed = func(b []byte) {
		for i := range b {
			b[i] = 0xdb
		}
	}
	f := startFetcher(t, n, FetchOptions{MaxBytes: 20_000, PartitionMaxBytes: 6_000, MaxWait: 10 * time.Millisecond})
	var mu sync.Mutex
	var held []Fetched
	// Deliveries are checked long after they came, in any order, while other
	// responses are read.
	check := func(x Fetched) {
		pos := x.Offset
		for rest := x.Records; len(rest) > 0; pos++ {
			v, behind, err := batch.Next(rest)
			if err != nil || !bytes.Equal(v[8:], s.logs[x.TP.Partition][pos][8:]) {
				t.Fatalf("%v at offset %d was overwritten before its release: %v", x.TP, pos, err)
			}
			rest = behind
		}
		x.Release()
	}
	left := 0
	for part, log := range s.logs {
		left += len(log)
		f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	for left > 0 {
		x := f.next()
		nums, err := numbers(x.Records, 0)
		if err != nil {
			t.Fatal(err)
		}
		left -= len(nums)
		f.Want(x.TP, x.Offset+int64(len(nums)), -1)
		mu.Lock()
		held = append(held, x)
		if len(held) > 20 {
			i := rand.N(len(held))
			check(held[i])
			held = slices.Delete(held, i, i+1)
		}
		mu.Unlock()
	}
	for _, x := range held {
		check(x)
	}
}

func TestFetchRotatesPartitions(t *testing.T) {
	c := fake(t, 1, "t", 4)
	s := &strictBroker{logs: map[int32][][]byte{}}
	for part := range int32(4) {
		s.logs[part] = oneRecordLog(t, 4000, 300)
	}
	s.serve(c)
	n := netTo(t, c, nil)
	// One batch a response: whoever is first gets it.
	f := startFetcher(t, n, FetchOptions{MaxBytes: 300, PartitionMaxBytes: 300})
	for part := range int32(4) {
		f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	served := map[int32]int{}
	serve := func() {
		x := f.next()
		served[x.TP.Partition]++
		f.Want(x.TP, x.Offset+1, -1)
		x.Release()
	}
	for len(served) < 4 { // on a busy machine the first ones are read while the leaders of the others are still looked for
		serve()
	}
	clear(served)
	for range 40 {
		serve()
	}
	for part := range int32(4) {
		if served[part] < 8 || served[part] > 12 {
			t.Errorf("partition %d was served %d times of 40", part, served[part])
		}
	}
}

func TestFetchHoldsShortWhilePartitionsAreMissing(t *testing.T) {
	c := fake(t, 1, "t", 2)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 1, 100)}}
	s.serve(c)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{MaxWait: 400 * time.Millisecond})
	f.Want(partition.ID{Topic: "t"}, 0, -1)
	x := f.next() // partition 0 is disarmed now
	f.Want(partition.ID{Topic: "t", Partition: 1}, 0, -1)
	holds := func(parts int, millis int32) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			r := s.requests[len(s.requests)-1]
			return len(r.Topics[0].Partitions) == parts && r.MaxWaitMillis == millis
		}
	}
	eventually(t, "one of two partitions is asked for, for 50 ms", holds(1, 50))
	f.Want(x.TP, 1, -1)
	x.Release()
	eventually(t, "both are asked for, for 400 ms", holds(2, 400))
}

func TestFetchIsPacedAboveARate(t *testing.T) {
	c := fake(t, 1, "t", 1)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 2500, 100)}}
	s.serve(c)
	n := netTo(t, c, nil)
	f := startFetcher(t, n, FetchOptions{PartitionMaxBytes: 1})
	tp := partition.ID{Topic: "t"}
	f.Want(tp, 0, -1)
	for range 2500 {
		x := f.next()
		f.Want(tp, x.Offset+1, -1)
		x.Release()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The first ones come as fast as they can, later ones at most 1,000/s, as
	// long as the machine is fast enough for any pacing at all.
	last := s.times[len(s.times)-200:]
	rate := float64(len(last)-1) / last[len(last)-1].Sub(last[0]).Seconds()
	if rate > paceOn {
		t.Errorf("%.0f fetches/s", rate)
	}
}
