package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/pause"
)

const (
	// fetchGrace is how long the next fetch waits for partitions whose records
	// have just been delivered to be armed again. Without it a partition that
	// is armed by another goroutine, some microseconds later, would miss each
	// request and wait for a whole poll.
	fetchGrace = time.Millisecond
	// leastFetch is the room below which a fetch is not worth sending.
	leastFetch = 64 << 10
	// mostEase bounds how small requests become under a quota: 16 KiB of a partition by default.
	mostEase = 6
)

// fetchBroker fetches from one broker: one goroutine, one connection, one
// request at a time (a broker answers the requests of a connection one after
// the other, so a second one would only queue behind the first's long poll).
type fetchBroker struct {
	f    *Fetcher
	id   int32
	wake chan struct{} // a partition was armed or attached

	// Under Fetcher.mu.
	groups []*group
	armed  int // partitions to fetch
	total  int // partitions attached

	// Used by the goroutine only.
	link    link
	pace    pacer
	last    int // bytes of the last response
	ease    int // how often the sizes asked for are halved, since a quota lets no more through
	turn    int // rotates the order of partitions
	request uint64
	lead    *want // first in the request, for a batch that did not fit before; else nil
	req     *kmsg.FetchRequest
	version int16
	out     []Fetched // deliveries of one response
	rested  []*want   // delivered and not armed again when the sink returned
}

// group is one topic's partitions at one broker.
type group struct {
	topic string
	id    [16]byte
	parts []*want // by partition number
}

func newFetchBroker(f *Fetcher, id int32) *fetchBroker {
	return &fetchBroker{
		f:    f,
		id:   id,
		wake: make(chan struct{}, 1),
		link: link{net: f.net, broker: id, kind: "fetch"},
		req:  kmsg.NewPtrFetchRequest(),
	}
}

// eased takes whether a quota has kept a whole response back. A broker answers a fetch that would exceed the quota with
// nothing and a pause, and counts none of it; a request for as much as the quota allows in its whole window is so answered
// for ever while anything else is read in the client's name. So less is asked for next time, and more again once something
// came.
func (b *fetchBroker) eased(throttled bool, records int) {
	switch {
	case throttled && records == 0:
		b.ease = min(b.ease+1, mostEase)
	case records > 0 && !throttled:
		b.ease = max(b.ease-1, 0)
	}
}

// attach makes w one of b's partitions. The caller holds Fetcher.mu.
func (b *fetchBroker) attach(w *want) {
	var g *group
	for _, have := range b.groups {
		if have.topic == w.tp.Topic && have.id == w.id {
			g = have
			break
		}
	}
	if g == nil {
		g = &group{topic: w.tp.Topic, id: w.id}
		b.groups = append(b.groups, g)
	}
	at, _ := g.search(w.tp.Partition)
	g.parts = slices.Insert(g.parts, at, w)
	w.broker, w.group = b, g
	b.total++
	if w.armed {
		b.armed++
	}
}

// detach takes w from its broker, if it has one. The caller holds Fetcher.mu.
func (w *want) detach() {
	b, g := w.broker, w.group
	if b == nil {
		return
	}
	if at, ok := g.search(w.tp.Partition); ok {
		g.parts = slices.Delete(g.parts, at, at+1)
	}
	if len(g.parts) == 0 {
		b.groups = slices.DeleteFunc(b.groups, func(have *group) bool { return have == g })
	}
	b.total--
	if w.armed {
		b.armed--
	}
	w.broker, w.group = nil, nil
}

// search finds a partition, or the place where it would be.
func (g *group) search(partition int32) (int, bool) {
	return slices.BinarySearchFunc(g.parts, partition, func(w *want, p int32) int {
		return int(w.tp.Partition) - int(p)
	})
}

// run fetches until ctx ends or the Net is closed.
func (b *fetchBroker) run(ctx context.Context) error {
	defer b.link.drop(context.Canceled)
	for {
		if err := b.await(ctx); err != nil {
			return err
		}
		err := b.link.connect(ctx)
		if err == nil {
			err = b.fetch(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrClosed):
			return err
		case err != nil:
			b.fail(ctx, err)
		}
	}
}

// await returns when there is something to fetch, and the partitions delivered
// last have had their time to be armed again.
func (b *fetchBroker) await(ctx context.Context) error {
	if b.ready(false) {
		return ctx.Err()
	}
	grace := time.NewTimer(fetchGrace)
	defer grace.Stop()
	late := false
	for !b.ready(late) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grace.C:
			late = true
		case <-b.wake:
		}
	}
	return ctx.Err()
}

func (b *fetchBroker) ready(late bool) bool {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.armed == 0 {
		return false
	}
	if late {
		b.rested = b.rested[:0]
		return true
	}
	// Those that were dropped or moved meanwhile are not waited for.
	b.rested = slices.DeleteFunc(b.rested, func(w *want) bool { return w.armed || w.broker != b })
	return len(b.rested) == 0
}

// fetch does one round: room, request, response, deliveries.
func (b *fetchBroker) fetch(ctx context.Context) error {
	if !pause.For(ctx, b.pace.wait(time.Now(), b.last)) {
		return ctx.Err()
	}
	if err := b.f.opt.Rate.wait(ctx); err != nil {
		return err
	}
	first, need := b.first()
	most := b.f.opt.Rate.most(max(int64(b.f.opt.MaxBytes)>>b.ease, min(leastFetch, int64(b.f.opt.MaxBytes))))
	room, err := b.f.opt.Budget.acquire(ctx, max(need, min(leastFetch, most)), max(need, most))
	if err != nil {
		return err
	}
	hold, err := b.build(first, room)
	if err != nil || hold == 0 {
		b.f.opt.Budget.change(room, 0)
		return err
	}
	b.pace.sent(time.Now())
	buf, err := b.link.conn.roundTrip(ctx, b.req, hold+b.f.net.set.RequestTimeout)
	if err != nil {
		b.f.opt.Budget.change(room, 0)
		return fmt.Errorf("fetch from broker %d: %w", b.id, err)
	}
	buf.charge(b.f.opt.Budget, room)
	defer buf.release()
	b.last = len(buf.b)
	return b.handle(buf)
}

// fail gives up the connection and sends all partitions to find their leaders
// again: the broker may be gone, and they with it to others.
func (b *fetchBroker) fail(ctx context.Context, err error) {
	now, retry := time.Now(), b.link.lose(ctx, err)
	b.out = b.out[:0]
	b.f.mu.Lock()
	for len(b.groups) > 0 {
		w := b.groups[0].parts[0]
		report := w.trouble.add(now)
		b.f.seek(w, true, retry.Sub(now))
		if report && w.armed {
			said := w.tell()
			said.Err = err
			b.out = append(b.out, said)
		}
	}
	b.f.mu.Unlock()
	b.deliver()
}

// deliver calls the sink for what was gathered under the lock.
func (b *fetchBroker) deliver() {
	for _, said := range b.out {
		b.f.sink(said)
	}
	clear(b.out) // no references to buffers
	b.out = b.out[:0]
}
