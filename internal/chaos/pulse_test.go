package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// rhythm is how often the partitions of a pulse get a record.
type rhythm struct {
	partitions int32
	every      time.Duration
	probe      int32 // each probe-th partition gets a record every time, and its pauses count; the others get one in forty times
}

// probes says whether the pauses of a partition count.
func (r rhythm) probes(n int32) bool { return n%r.probe == 0 }

// due says whether a partition gets a record in a turn.
func (r rhythm) due(n int32, turn int) bool { return r.probes(n) || n%40 == int32(turn%40) }

// pulse writes a record to every partition of a topic all the time, and notes when each comes to the target.
type pulse struct {
	rhythm
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	arrivals [][]time.Time // by partition
	failed   error
}

// startPulse begins to write. The source is asked for one batch each time, so a partition that is mirrored without a
// pause has an arrival every time.
func startPulse(ctx context.Context, src, dst []kgo.Opt, topic, remote string, r rhythm) (*pulse, error) {
	opts := append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0)}, src...)
	from, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	// The remote topic is there once the mirror has begun.
	opts = append([]kgo.Opt{
		kgo.ConsumeTopics(remote), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.UnknownTopicRetries(-1), kgo.FetchMaxWait(500 * time.Millisecond),
	}, dst...)
	to, err := kgo.NewClient(opts...)
	if err != nil {
		from.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &pulse{rhythm: r, cancel: cancel, arrivals: make([][]time.Time, r.partitions)}
	p.wg.Go(func() {
		defer from.Close()
		p.write(ctx, from, topic)
	})
	p.wg.Go(func() {
		defer to.Close()
		p.watch(ctx, to)
	})
	return p, nil
}

func (p *pulse) write(ctx context.Context, cl *kgo.Client, topic string) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	seq := int64(0)
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			if err := cl.Flush(context.WithoutCancel(ctx)); err != nil {
				p.fail(err)
			}
			return
		case <-tick.C:
		}
		for n := range p.partitions {
			if !p.due(n, turn) {
				continue
			}
			r := &kgo.Record{Topic: topic, Partition: n, Value: testcluster.Value(seq, 60)}
			seq++
			cl.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) {
				if err != nil {
					p.fail(err)
				}
			})
		}
	}
}

func (p *pulse) watch(ctx context.Context, cl *kgo.Client) {
	for ctx.Err() == nil {
		fs := cl.PollFetches(ctx)
		at := time.Now()
		p.mu.Lock()
		fs.EachRecord(func(r *kgo.Record) { p.arrivals[r.Partition] = append(p.arrivals[r.Partition], at) })
		p.mu.Unlock()
	}
}

func (p *pulse) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = fmt.Errorf("pulse: %w", err)
	}
}

// stop ends the writing, and gives what went wrong with it.
func (p *pulse) stop() error {
	p.cancel()
	p.wg.Wait()
	return p.failed
}

// beatsOn waits until every partition has had as many arrivals more.
func (p *pulse) beatsOn(ctx context.Context, more int) error {
	p.mu.Lock()
	from := make([]int, len(p.arrivals))
	for i, a := range p.arrivals {
		from[i] = len(a)
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	return testcluster.Await(ctx, fmt.Sprintf("%d records more in every partition", more), func(context.Context) (bool, string, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.failed != nil {
			return false, "", p.failed
		}
		for i, a := range p.arrivals {
			if len(a) < from[i]+more {
				return false, fmt.Sprintf("partition %d has had %d", i, len(a)-from[i]), nil
			}
		}
		return true, "", nil
	})
}

// pauses are the largest gaps between two arrivals of each partition, of those that end after since.
func (p *pulse) pauses(since time.Time) []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]time.Duration, len(p.arrivals))
	for n, a := range p.arrivals {
		first := max(1, slices.IndexFunc(a, func(at time.Time) bool { return at.After(since) }))
		for i := first; i < len(a); i++ {
			out[n] = max(out[n], a[i].Sub(a[i-1]))
		}
	}
	return out
}

// firsts are how long after since each partition had its next arrival.
func (p *pulse) firsts(since time.Time) []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]time.Duration, len(p.arrivals))
	for n, a := range p.arrivals {
		if i := slices.IndexFunc(a, func(at time.Time) bool { return at.After(since) }); i >= 0 {
			out[n] = a[i].Sub(since)
		}
	}
	return out
}
