package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// spot is a position of a group on the source.
type spot struct {
	group, topic string // without prefix and remote name
	partition    int32
}

func (s spot) String() string { return fmt.Sprintf("%s on %s-%d", s.group, s.topic, s.partition) }

// sample is a position seen on the target, and the furthest that the group had tried to commit on the source by then.
type sample struct {
	spot
	at, tried int64
}

// commits are groups that read forward on the source and commit all the time, and the positions that the target is seen
// to hold meanwhile.
type commits struct {
	prefix, alias string
	src, dst      *kgo.Client
	groups        map[string][]string // their topics
	cancel        context.CancelFunc
	wg            sync.WaitGroup

	mu      sync.Mutex
	tried   map[spot]int64
	done    map[spot]int64 // acknowledged
	seen    map[spot]int64 // the furthest on the target
	below   map[spot]int   // looks in a row that found a position below that
	samples []sample
	faults  []string
	looks   int
}

func startCommits(ctx context.Context, src, dst *kgo.Client, alias, prefix string, seed uint64) *commits {
	ctx, cancel := context.WithCancel(ctx)
	c := &commits{
		prefix: prefix, alias: alias, src: src, dst: dst, groups: map[string][]string{}, cancel: cancel,
		tried: map[spot]int64{}, done: map[spot]int64{}, seen: map[spot]int64{}, below: map[spot]int{},
	}
	rnd := rand.New(rand.NewPCG(seed, 99))
	for i := range 8 {
		g := fmt.Sprintf("%s-g%d", alias, i)
		for _, s := range streams() {
			if i == 0 || rnd.IntN(2) == 0 {
				c.groups[g] = append(c.groups[g], s.name)
			}
		}
		if len(c.groups[g]) == 0 {
			c.groups[g] = []string{"hot"}
		}
	}
	c.wg.Go(func() { c.commitAll(ctx, rnd) })
	c.wg.Go(func() { c.watch(ctx) })
	return c
}

func (c *commits) names() []string { return slices.Sorted(maps.Keys(c.groups)) }

// commitAll has one group after the other read on a little.
func (c *commits) commitAll(ctx context.Context, rnd *rand.Rand) {
	adm := kadm.NewClient(c.src)
	names := c.names()
	for pause.For(ctx, 60*time.Millisecond) {
		c.step(ctx, adm, names[rnd.IntN(len(names))], func(from, end int64) int64 {
			if rnd.IntN(3) == 0 {
				return end
			}
			return from + rnd.Int64N(end-from+1)
		})
	}
}

// step commits one group at places that choose gives, between the last one and the end of the source.
func (c *commits) step(ctx context.Context, adm *kadm.Client, group string, choose func(from, end int64) int64) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	to := kadm.Offsets{}
	at := map[spot]int64{}
	for _, topic := range c.groups[group] {
		ends, err := testcluster.Ends(ctx, c.src, c.prefix+topic, testcluster.ReadCommitted)
		if err != nil {
			return // a broker is away
		}
		for _, p := range slices.Sorted(maps.Keys(ends)) {
			s := spot{group, topic, p}
			c.mu.Lock()
			next := choose(c.tried[s], max(ends[p], c.tried[s]))
			c.tried[s] = next
			c.mu.Unlock()
			to.AddOffset(c.prefix+topic, p, next, -1)
			at[s] = next
		}
	}
	if err := adm.CommitAllOffsets(ctx, group, to); err != nil {
		return // in doubt: it was tried
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.done, at)
}

// watch looks at the target's positions.
func (c *commits) watch(ctx context.Context) {
	adm := kadm.NewClient(c.dst)
	for pause.For(ctx, 300*time.Millisecond) {
		fctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		got := adm.FetchManyOffsets(fctx, c.names()...)
		cancel()
		c.mu.Lock()
		c.looks++
		for group, topics := range c.groups {
			if got[group].Err != nil {
				continue
			}
			for _, topic := range topics {
				for _, o := range got[group].Fetched[c.alias+"."+c.prefix+topic] {
					c.saw(spot{group, topic, o.Partition}, o.At)
				}
			}
		}
		c.mu.Unlock()
	}
}

// saw notes one position. A look that was answered by a coordinator that has just been replaced may be old, so one alone
// is no fault.
func (c *commits) saw(s spot, at int64) {
	if at < 0 {
		return
	}
	was, known := c.seen[s]
	switch {
	case known && at < was:
		if c.below[s]++; c.below[s] == 3 {
			c.faults = append(c.faults, fmt.Sprintf("%v went back from %d to %d on the target", s, was, at))
		}
		return
	case known && at == was:
		c.below[s] = 0
		return
	}
	c.below[s] = 0
	c.seen[s] = at
	c.samples = append(c.samples, sample{s, at, c.tried[s]})
}

// stop ends the commits with one that is acknowledged, for every group, at random places.
func (c *commits) stop(ctx context.Context, rnd *rand.Rand) error {
	c.cancel()
	c.wg.Wait()
	adm := kadm.NewClient(c.src)
	for _, g := range c.names() {
		for {
			c.step(ctx, adm, g, func(from, end int64) int64 { return from + rnd.Int64N(end-from+1) })
			if c.settled(g) {
				break
			}
			if !pause.For(ctx, 100*time.Millisecond) {
				return fmt.Errorf("last commit of %s: %w", g, context.Cause(ctx))
			}
		}
	}
	return nil
}

// settled says that what a group tried last was acknowledged.
func (c *commits) settled(group string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, at := range c.tried {
		if s.group == group && c.done[s] != at {
			return false
		}
	}
	return true
}
