package wire

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/failpoint"
)

const (
	// maxProduce is the default of ProduceOptions.RequestBytes.
	maxProduce = 16 << 20
	// produceMargin is added to the broker's time for replication before a
	// connection without answer is given up.
	produceMargin = 5 * time.Second
)

// produceBroker sends to one broker: one goroutine that writes, and the read
// goroutine of the connection that hands out results.
type produceBroker struct {
	p    *Producer
	id   int32
	wake chan struct{} // work was queued, or a request was answered

	// Under Producer.mu.
	ready  []*line // lines with a queue, next first
	flying int     // requests under way
	left   bool    // the last request left something in the queues

	// Used by the goroutine only.
	link  link
	enc   []byte
	cuts  []int
	parts [][]byte
}

// flight is one request under way.
type flight struct {
	version int16
	picks   []pick // by topic and partition
}

// pick is one batch of a request.
type pick struct {
	line *line
	queued
	id [16]byte // of the topic, in requests that name topics by id
}

func newProduceBroker(p *Producer, id int32) *produceBroker {
	return &produceBroker{
		p:    p,
		id:   id,
		wake: make(chan struct{}, 1),
		link: link{net: p.net, broker: id, kind: "produce"},
	}
}

// enlist puts a line into the list if it is not there. The caller holds
// Producer.mu.
func (b *produceBroker) enlist(l *line) {
	if !l.listed {
		l.listed = true
		b.ready = append(b.ready, l)
	}
}

// strike takes a line from the list. The caller holds Producer.mu.
func (b *produceBroker) strike(l *line) {
	if l.listed {
		l.listed = false
		b.ready = slices.DeleteFunc(b.ready, func(have *line) bool { return have == l })
	}
}

// run sends until ctx ends or the Net is closed.
func (b *produceBroker) run(ctx context.Context) error {
	// ctx has ended by then, or the Net was closed: both end all.
	defer func() { b.link.drop(context.Canceled) }()
	for {
		if err := b.await(ctx); err != nil {
			return err
		}
		err := b.link.connect(ctx)
		if err == nil && (!b.allowed(ctx) || b.dropLate()) {
			continue
		}
		if err == nil {
			err = b.produce()
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

// allowed asks whether to write. If not, the queues of lines with nothing under
// way come back; the others follow when their answers are in.
func (b *produceBroker) allowed(ctx context.Context) bool {
	if b.p.opt.Allowed == nil || b.p.opt.Allowed() {
		return true
	}
	var left []verdict
	b.p.mu.Lock()
	for _, l := range slices.Clone(b.ready) {
		if l.flying == 0 && l.telling == 0 {
			left = append(left, l.drain(unsent(errNotAllowed))...)
		}
	}
	b.p.mu.Unlock()
	b.p.tell(left)
	pause := time.NewTimer(10 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
	return false
}

// dropLate gives back what waited for too long, and says whether there was any.
// Lines with something under way follow when its answer is in.
func (b *produceBroker) dropLate() bool {
	var left []verdict
	now := time.Now()
	b.p.mu.Lock()
	for _, l := range slices.Clone(b.ready) {
		if l.flying == 0 && l.telling == 0 && l.late(now) {
			left = append(left, l.drain(unsent(errLate))...)
		}
	}
	b.p.mu.Unlock()
	b.p.tell(left)
	return len(left) > 0
}

// await returns when there is a free slot and something to send in it.
func (b *produceBroker) await(ctx context.Context) error {
	for !b.due() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.wake:
		}
	}
	return ctx.Err()
}

// due says whether to send now. One request may always be under way. More only
// while a queue remains behind it: as long as we keep up, what arrives during
// a request makes the next one larger, which is cheaper for both sides than
// many small ones.
func (b *produceBroker) due() bool {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if b.flying >= b.p.opt.Depth {
		return false
	}
	backlog := b.flying == 0 || b.left
	some := false
	now := time.Now()
	for _, l := range b.ready {
		if l.flying == 0 && l.telling == 0 && l.late(now) {
			return true // for dropLate
		}
		some = some || b.eligible(l)
		backlog = backlog || len(l.queue) > 1
		if some && backlog {
			return true
		}
	}
	return false
}

// eligible says whether l's next batch may be sent by b now: not if it is too
// late for it, and not while results of an earlier connection are being told, or
// a later result could overtake them. The caller holds Producer.mu.
func (b *produceBroker) eligible(l *line) bool {
	return !l.late(time.Now()) && (l.telling == 0 || l.lastConn == b.link.conn)
}

// produce sends one request with the next batch of every line that has one.
func (b *produceBroker) produce() error {
	c := b.link.conn
	version, err := c.pick(int16(kmsg.Produce))
	if err != nil {
		return err
	}
	f := b.take(c)
	if len(f.picks) == 0 {
		return nil
	}
	f.version = b.version(version, f)
	cl := &call{
		key:     int16(kmsg.Produce),
		timeout: b.p.opt.Timeout + b.p.margin,
	}
	cl.done = func(buf *buffer, err error) { b.answered(c, f, cl, buf, err) }
	if err := c.send(b.encode(f), cl); err != nil {
		// The connection broke since connect looked. Nothing was written. The
		// results of what was under way come first.
		c.close(err)
		b.giveBack(f)
		return err
	}
	failpoint.Hit("after-produce")
	return nil
}

// version is the highest that can name every topic of the request.
func (b *produceBroker) version(highest int16, f *flight) int16 {
	if highest <= produceByName {
		return highest
	}
	var zero [16]byte
	for i := range f.picks {
		k := &f.picks[i]
		if k.id = k.topicID; k.id != zero {
			continue
		}
		id, err := b.p.net.md.TopicID(k.line.tp.Topic)
		if err != nil || id == zero {
			return produceByName
		}
		k.id = id
	}
	return highest
}

// take makes a request of the heads of the queues, in turn and within
// RequestBytes.
func (b *produceBroker) take(c *conn) *flight {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	f := &flight{picks: make([]pick, 0, len(b.ready))}
	size := 0
	var wait, served []*line
	for _, l := range b.ready {
		next := l.queue[0]
		if !b.eligible(l) || size > 0 && size+len(next.bytes) > b.p.opt.RequestBytes {
			wait = append(wait, l)
			continue
		}
		size += len(next.bytes)
		f.picks = append(f.picks, pick{line: l, queued: next})
		l.queue[0] = queued{}
		l.queue = l.queue[1:]
		l.flying++
		l.lastConn = c
		if len(l.queue) > 0 {
			served = append(served, l)
		} else {
			l.listed = false
		}
	}
	b.ready = append(append(b.ready[:0], wait...), served...)
	b.left = len(b.ready) > 0
	if len(f.picks) > 0 {
		b.flying++
	}
	slices.SortFunc(f.picks, func(x, y pick) int { return x.line.tp.Compare(y.line.tp) })
	return f
}

// giveBack undoes take for a request that was not written.
func (b *produceBroker) giveBack(f *flight) {
	var verdicts []verdict
	b.p.mu.Lock()
	b.flying--
	for _, k := range f.picks {
		l := k.line
		l.flying--
		l.queue = slices.Insert(l.queue, 0, k.queued)
		if l.halted {
			verdicts = l.resume(verdicts)
		} else {
			b.enlist(l)
		}
	}
	b.p.mu.Unlock()
	b.p.tell(verdicts)
}

// fail gives the connection up. Lines with a queue find their leader again, or
// end if they have waited for too long.
func (b *produceBroker) fail(ctx context.Context, err error) {
	retry := b.link.lose(ctx, err)
	now := time.Now()
	var left []verdict
	b.p.mu.Lock()
	for len(b.ready) > 0 {
		l := b.ready[0]
		b.strike(l)
		l.broker = nil
		l.stale = true
		if l.expired(now, b.p.opt.Timeout) && l.telling == 0 {
			left = append(left, l.drain(unsent(err))...)
			continue
		}
		l.after = retry
		b.p.settle(l)
	}
	b.p.mu.Unlock()
	b.p.tell(left)
}
