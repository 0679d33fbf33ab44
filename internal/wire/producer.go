package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// ErrUnsent means that a batch was not written to any connection: a batch
// before it failed, no leader was found in time, or the producer ended. Unlike
// every other Result.Err it is not in doubt.
var ErrUnsent = errors.New("batch was not sent")

// ProduceOptions tune a Producer. Zero values are replaced as each field says.
type ProduceOptions struct {
	// Timeout is the time that brokers get to replicate a batch (acks=all);
	// the cluster's Settings.RequestTimeout if zero. A connection that does not answer 5 s after that is given
	// up, and a batch that found no leader for that long is ErrUnsent.
	Timeout time.Duration
	// RequestBytes bounds the batches of one request; 16 MiB if zero. A larger
	// batch goes alone. Brokers refuse requests above socket.request.max.bytes
	// (100 MiB).
	RequestBytes int
	// Depth is how many requests may be under way on a connection while a queue
	// remains; 1 if zero. One is enough when caught up, two hide the round trip
	// when catching up; more only make smaller requests. Above 5 a broker could
	// not tell a repeated batch any more.
	Depth int
	// Allowed is asked right before a request is written; nil allows. While it
	// says no, what is queued comes back as ErrUnsent: a batch can wait here for
	// a leader longer than the caller may write.
	Allowed func() bool
}

var (
	errNotAllowed = errors.New("not allowed to write any more")
	errLate       = errors.New("it waited here for longer than it may be written")
)

// Batch is one record batch to append. Bytes are a whole v2 batch, with base
// offset 0 and the producer's stamp.
type Batch struct {
	TP partition.ID
	// TopicID is the topic that is meant; a topic with another id under the same
	// name then answers UNKNOWN_TOPIC_ID. Zero means whichever has the name now.
	// Brokers before 4.0 are told the name only.
	TopicID [16]byte
	Bytes   []byte
	// NotAfter is when it is too late to write the batch, by the wall clock: it
	// then comes back as ErrUnsent. Zero is never. A batch can wait here for a
	// leader or a connection longer than brokers remember its producer.
	NotAfter time.Time
	// Done is called exactly once, from a goroutine of the producer or, after
	// the end of Run, from Send. It may call Send, and should return soon: the
	// answers of other partitions of the broker wait for it.
	Done func(Result)
}

// Result is what became of a batch.
type Result struct {
	// BaseOffset is the offset of the first record, also if the broker knew the
	// batch already; -1 on errors.
	BaseOffset int64
	// LogAppendTime is in milliseconds; -1 unless the topic uses it.
	LogAppendTime int64
	LogStart      int64
	// Code is the broker's error code. Message is its text, if it gave one.
	Code    int16
	Message string
	// Err means that there was no answer. Unless it is ErrUnsent the batch may
	// have been appended, or may still be.
	Err error
	// Sent is when the writing of the request began; zero if it did not.
	Sent time.Time
}

// failed says whether batches behind this one must not be sent as they are.
func (r Result) failed() bool { return r.Code != 0 || r.Err != nil }

// Producer appends batches, in the order of Send for each partition. It never
// sends a batch twice.
//
// After a failure (a code or an error) the batches of that partition that are
// still queued, and those sent to the queue until the answers of all batches
// under way are there, come back as ErrUnsent: in front of them one is missing.
// The caller sends again, in order, when it has all results. A partition whose
// leader moved or was lost waits by itself, longer each time; after any other
// code, such as NOT_ENOUGH_REPLICAS, the wait before sending again is the
// caller's.
type Producer struct {
	net    *Net
	opt    ProduceOptions
	margin time.Duration // see produceMargin; tests shorten it
	router *router

	mu      sync.Mutex
	lines   map[partition.ID]*line
	brokers map[int32]*produceBroker
	ended   bool
}

// line is one partition's queue. All fields are under Producer.mu.
type line struct {
	tp      partition.ID
	queue   []queued
	seeking bool           // the router looks for its leader
	broker  *produceBroker // nil while seeking, and after the leader moved
	listed  bool           // is in broker's list of lines to serve
	stale   bool           // metadata is to be refreshed before the next search
	after   time.Time      // no search before this

	flying   int   // batches under way
	telling  int   // Done calls that were decided on and have not returned
	lastConn *conn // where the last batch went
	halted   bool  // a batch failed: nothing more is sent until flying is 0
	moved    bool  // and then the leader is to be looked for
	failures int   // batches that failed in a row
}

type queued struct {
	topicID  [16]byte // zero: by name
	bytes    []byte
	done     func(Result)
	since    time.Time
	notAfter time.Time
}

// late says whether the next batch of a line must not be written any more.
func (l *line) late(now time.Time) bool {
	at := l.queue[0].notAfter
	return !at.IsZero() && now.After(at)
}

// verdict is a result and whom to tell it.
type verdict struct {
	line   *line
	done   func(Result)
	result Result
}

// NewProducer makes a Producer; nothing is sent before Run.
func (n *Net) NewProducer(o ProduceOptions) *Producer {
	o.Timeout = cmp.Or(o.Timeout, n.set.RequestTimeout)
	o.RequestBytes = cmp.Or(o.RequestBytes, maxProduce)
	o.Depth = min(max(o.Depth, 1), 5)
	p := &Producer{
		net:     n,
		opt:     o,
		margin:  produceMargin,
		router:  newRouter(n),
		lines:   map[partition.ID]*line{},
		brokers: map[int32]*produceBroker{},
	}
	p.router.failed = p.unfound
	return p
}

// Run sends until ctx ends, and returns its error, or ErrClosed. When it
// returns, all goroutines and connections have ended and every batch has its
// result: those under way are in doubt, those queued are ErrUnsent. Run is
// called once.
func (p *Producer) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	p.router.found = func(tp partition.ID, l kafka.Leader) { p.place(ctx, g, tp, l) }
	g.Go(func() error { return p.router.run(ctx) })
	err := g.Wait()
	p.mu.Lock()
	p.ended = true
	var left []verdict
	for _, l := range p.lines {
		left = append(left, l.drain(unsent(err))...)
	}
	p.mu.Unlock()
	p.tell(left)
	return err
}

// Send queues a batch. It never waits. The bytes must stay as they are until
// Done is called.
func (p *Producer) Send(b Batch) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		b.Done(unsent(errors.New("the producer has ended")))
		return
	}
	l := p.lines[b.TP]
	if l == nil {
		l = &line{tp: b.TP}
		p.lines[b.TP] = l
	}
	l.queue = append(l.queue, queued{b.TopicID, b.Bytes, b.Done, time.Now(), b.NotAfter})
	wake := p.settle(l)
	p.mu.Unlock()
	if wake != nil {
		signal(wake.wake)
	}
}

// settle brings a line whose queue or state has changed to where it belongs:
// its broker's list, or the router. It returns the broker to wake, if any. The
// caller holds mu.
func (p *Producer) settle(l *line) *produceBroker {
	if len(l.queue) == 0 || l.halted {
		return nil
	}
	if l.broker != nil {
		l.broker.enlist(l)
		return l.broker
	}
	if !l.seeking {
		l.seeking = true
		// The first time at once: a new leader is in office by the time the
		// old one says so.
		p.router.find(l.tp, l.stale, max(p.net.seekBackoff().after(l.failures-1), time.Until(l.after)))
		l.stale = false
	}
	return nil
}

// place gives a line to its leader's goroutine, which is started for the first
// one.
func (p *Producer) place(ctx context.Context, g *errgroup.Group, tp partition.ID, leader kafka.Leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[tp]
	if l == nil || !l.seeking {
		return
	}
	l.seeking = false
	b := p.brokers[leader.Broker]
	if b == nil {
		b = newProduceBroker(p, leader.Broker)
		p.brokers[leader.Broker] = b
		g.Go(func() error { return b.run(ctx) })
	}
	l.broker = b
	if p.settle(l) != nil {
		signal(b.wake)
	}
}

// unfound is the router's report that a partition has no leader.
func (p *Producer) unfound(tp partition.ID, err error, misses int) bool {
	p.mu.Lock()
	l := p.lines[tp]
	if l == nil || !l.seeking {
		p.mu.Unlock()
		return true
	}
	r := unsent(err)
	_, denied := errors.AsType[*kafka.ErrDenied](err)
	switch {
	case misses >= goneAfter && errors.Is(err, kafka.ErrNoTopic):
		r = Result{BaseOffset: -1, LogAppendTime: -1, LogStart: -1, Code: kerr.UnknownTopicOrPartition.Code, Message: err.Error()}
	case denied:
		r = Result{BaseOffset: -1, LogAppendTime: -1, LogStart: -1, Code: kerr.TopicAuthorizationFailed.Code, Message: err.Error()}
	case !l.expired(time.Now(), p.opt.Timeout):
		p.mu.Unlock()
		return false
	}
	if l.telling > 0 {
		// Results of this partition are on their way, in another goroutine;
		// these must not overtake them.
		p.mu.Unlock()
		return false
	}
	l.seeking = false
	l.stale = true
	left := l.drain(r)
	p.mu.Unlock()
	p.tell(left)
	return true
}

// expired says whether the oldest queued batch has waited for too long.
func (l *line) expired(now time.Time, timeout time.Duration) bool {
	return len(l.queue) > 0 && now.Sub(l.queue[0].since) > timeout
}

// drain empties the queue and returns the verdicts to tell; the first batch
// gets r, and those behind it are unsent. The caller holds Producer.mu.
func (l *line) drain(r Result) []verdict {
	left := make([]verdict, 0, len(l.queue))
	for i, q := range l.queue {
		if i == 1 && r.Err == nil {
			r = unsent(fmt.Errorf("a batch before it failed: %w", kerr.ErrorForCode(r.Code)))
		}
		left = append(left, verdict{l, q.done, r})
	}
	l.telling += len(left)
	l.queue = nil
	if l.broker != nil {
		l.broker.strike(l)
	}
	return left
}

// tell calls the Done functions, in order and without locks.
func (p *Producer) tell(verdicts []verdict) {
	for _, v := range verdicts {
		v.done(v.result)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range verdicts {
		v.line.telling--
		if b := v.line.broker; v.line.telling == 0 && b != nil {
			signal(b.wake)
		}
	}
}

// unsent is the result of a batch that was not written, and why.
func unsent(why error) Result {
	return Result{BaseOffset: -1, LogAppendTime: -1, LogStart: -1, Err: fmt.Errorf("%w: %w", ErrUnsent, why)}
}
