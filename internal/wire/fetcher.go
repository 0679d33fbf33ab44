package wire

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// FetchOptions tune a Fetcher. Zero values are replaced as each field says.
type FetchOptions struct {
	// Isolation is 0 for read_uncommitted and 1 for read_committed.
	Isolation int8
	// MaxWait is how long a broker may hold a fetch that finds nothing; 500 ms
	// if zero. It is shortened to 50 ms while a partition of the broker is not
	// in the request, because that one's next Want waits for this answer.
	MaxWait time.Duration
	// MinBytes is how much a broker waits for, up to MaxWait, before it answers;
	// 1 if zero. More makes larger batches and larger delays.
	MinBytes int32
	// MaxBytes bounds the records of one response; 4 MiB if zero. The Budget
	// can make it less. A batch larger than that still comes, alone.
	MaxBytes int32
	// PartitionMaxBytes bounds one partition's records in a response; 1 MiB if
	// zero.
	PartitionMaxBytes int32
	// Budget bounds what is fetched and not released; one of 64 MiB, not
	// shared, if nil.
	Budget *Budget
	// Rate bounds the record bytes a second; nil bounds nothing.
	Rate *Rate
}

// shortWait is the longest a broker may hold a fetch that some partition is
// not part of.
const shortWait = 50 * time.Millisecond

// EpochEnd is a broker's answer to a fetch whose last epoch does not fit its
// log (KIP-595): the largest epoch it has that is not above ours, and the
// offset where that epoch ends. Records from End on are not the ones we saw.
type EpochEnd struct {
	Epoch int32
	End   int64
}

// Fetched is what a Fetcher tells about one partition. It is one of:
//   - Records: whole batches. The partition is disarmed until the next Want.
//   - Code other than 0: a refusal that will not pass by itself, such as
//     OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED or CORRUPT_MESSAGE, or
//     UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID for a topic that is gone
//     or was created again. Disarmed. The offsets may be -1.
//   - Diverging: the source's log was truncated below Offset. Disarmed.
//   - Err: trouble that has lasted for 5 s and is reported every 10 s while it
//     lasts. Still armed; no action is needed.
//   - none of them: the offsets have changed without records, or reported
//     trouble is over. Still armed.
type Fetched struct {
	TP     partition.ID
	Offset int64 // as given to Want; the first batch may begin before it
	// Records are one or more whole batches (or legacy message sets) as the
	// broker stores them. They may be changed in place until Release.
	Records []byte
	// Release gives Records back; nil if there are none. It must be called
	// exactly once, from any goroutine; a second call panics.
	Release       func()
	HighWatermark int64
	LastStable    int64
	LogStart      int64
	Aborted       []batch.Aborted // read_committed only; not sorted by all brokers
	Diverging     *EpochEnd
	Code          int16
	Err           error
}

// Fetcher reads partitions of one cluster, each from the offset that Want names
// and one response at a time. Want and Drop may be called at any time, before
// Run too, and from the sink.
type Fetcher struct {
	net    *Net
	opt    FetchOptions
	sink   func(Fetched)
	router *router

	mu       sync.Mutex
	wants    map[partition.ID]*want
	brokers  map[int32]*fetchBroker
	requests uint64 // numbers requests over all brokers
}

// want is one partition of a Fetcher. All fields are under Fetcher.mu.
type want struct {
	tp        partition.ID
	offset    int64
	lastEpoch int32
	armed     bool
	gen       uint64 // counts Wants; answers to older ones are dropped (W5)

	seeking bool         // the router looks for its leader
	broker  *fetchBroker // nil while seeking, or stopped
	group   *group       // where broker keeps it
	epoch   int32        // leader epoch
	// id is the topic id met first. Another one means that the topic was
	// created again, whose offsets mean something else.
	id [16]byte

	request uint64 // the request that it is or was part of, and gen then
	sentGen uint64
	// fragment is the size of the batch that did not fit into the last
	// response, in bytes; 0: all is well.
	fragment int64
	seen     ends
	trouble  trouble
}

// ends are the offsets that a response tells about a partition.
type ends struct{ highWatermark, lastStable, logStart int64 }

// NewFetcher makes a Fetcher; nothing is sent before Run.
//
// The sink is called from the goroutine of the partition's broker, so never
// twice at a time for one partition, and should return soon: that broker's
// other partitions wait. A call that has begun when Drop or a new Want comes
// from elsewhere may still be seen after it.
func (n *Net) NewFetcher(o FetchOptions, sink func(Fetched)) *Fetcher {
	o.MaxWait = cmp.Or(o.MaxWait, 500*time.Millisecond)
	o.MinBytes = cmp.Or(o.MinBytes, 1)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<20)
	o.PartitionMaxBytes = cmp.Or(o.PartitionMaxBytes, 1<<20)
	if o.Budget == nil {
		o.Budget = NewBudget(64 << 20)
	}
	f := &Fetcher{
		net:     n,
		opt:     o,
		sink:    sink,
		router:  newRouter(n),
		wants:   map[partition.ID]*want{},
		brokers: map[int32]*fetchBroker{},
	}
	f.router.failed = f.unfound
	return f
}

// Run fetches until ctx ends, and returns its error, or ErrClosed. All
// goroutines and connections have ended when it returns. Run is called once.
func (f *Fetcher) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	f.router.found = func(tp partition.ID, l kafka.Leader) { f.place(ctx, g, tp, l) }
	g.Go(func() error { return f.router.run(ctx) })
	return g.Wait()
}

// Want arms a partition: its next records are fetched from offset on. lastEpoch
// is the leader epoch of the last batch below offset, which lets the broker
// find out that its log and what we read are not the same (Diverging); -1 asks
// for no such check.
//
// A broker that has never heard of lastEpoch answers OFFSET_OUT_OF_RANGE, so
// give -1 rather than a guess.
func (f *Fetcher) Want(tp partition.ID, offset int64, lastEpoch int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.wants[tp]
	if w == nil {
		w = &want{tp: tp, seen: ends{-1, -1, -1}}
		f.wants[tp] = w
	}
	if w.armed && w.offset == offset && w.lastEpoch == lastEpoch {
		return
	}
	if offset != w.offset {
		w.fragment = 0
	}
	w.offset, w.lastEpoch = offset, lastEpoch
	w.gen++
	w.arm(true)
	if w.broker == nil && !w.seeking {
		f.seek(w, false, 0)
	}
	if w.broker != nil {
		signal(w.broker.wake)
	}
}

// Drop forgets a partition. An answer that is under way is thrown away.
func (f *Fetcher) Drop(tp partition.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.wants[tp]
	if w == nil {
		return
	}
	f.halt(w)
	delete(f.wants, tp)
}

// arm sets whether w is to be fetched. The caller holds mu.
func (w *want) arm(on bool) {
	if w.armed == on {
		return
	}
	w.armed = on
	if w.broker != nil {
		w.broker.armed += step(on)
	}
}

func step(up bool) int {
	if up {
		return 1
	}
	return -1
}

// seek takes w from its broker and looks for its leader. The caller holds mu.
func (f *Fetcher) seek(w *want, stale bool, delay time.Duration) {
	w.detach()
	w.seeking = true
	f.router.find(w.tp, stale, delay)
}

// halt disarms w and takes it from its broker and the router, so that it no
// longer shortens its broker's long polls. The caller holds mu.
func (f *Fetcher) halt(w *want) {
	w.arm(false)
	w.detach()
	if w.seeking {
		w.seeking = false
		f.router.forget(w.tp)
	}
	w.id, w.trouble, w.fragment = [16]byte{}, trouble{}, 0
}

// place gives a partition to its leader's goroutine, which is started for the
// first one. It runs in the router's goroutine.
func (f *Fetcher) place(ctx context.Context, g *errgroup.Group, tp partition.ID, l kafka.Leader) {
	f.mu.Lock()
	w := f.wants[tp]
	if w == nil || !w.seeking {
		f.mu.Unlock()
		return
	}
	w.seeking = false
	if l.TopicID == [16]byte{} {
		l.TopicID = w.id // told by a broker too old for ids, in a rolling upgrade
	}
	if w.id != l.TopicID && w.id != [16]byte{} {
		armed, said := w.armed, w.tell()
		said.Code = kerr.UnknownTopicID.Code
		f.halt(w)
		f.mu.Unlock()
		if armed {
			f.sink(said)
		}
		return
	}
	w.id, w.epoch = l.TopicID, l.Epoch
	b := f.brokers[l.Broker]
	if b == nil {
		b = newFetchBroker(f, l.Broker)
		f.brokers[l.Broker] = b
		g.Go(func() error { return b.run(ctx) })
	}
	b.attach(w)
	f.mu.Unlock()
	signal(b.wake)
}

// tell starts a message about w, without offsets.
func (w *want) tell() Fetched {
	return Fetched{TP: w.tp, Offset: w.offset, HighWatermark: -1, LastStable: -1, LogStart: -1}
}

// unfound is the router's report that a partition has no leader.
func (f *Fetcher) unfound(tp partition.ID, err error, misses int) bool {
	f.mu.Lock()
	w := f.wants[tp]
	if w == nil || !w.seeking {
		f.mu.Unlock()
		return true
	}
	said := w.tell()
	report := w.trouble.add(time.Now()) && w.armed
	final := misses >= goneAfter && errors.Is(err, kafka.ErrNoTopic)
	_, denied := errors.AsType[*kafka.ErrDenied](err)
	switch {
	case final:
		said.Code = kerr.UnknownTopicOrPartition.Code
	case denied:
		said.Code = kerr.TopicAuthorizationFailed.Code
	default:
		said.Err = err
	}
	if said.Code != 0 {
		report = w.armed
		w.seeking = false // the router ends the search itself
		f.halt(w)
	}
	f.mu.Unlock()
	if report {
		f.sink(said)
	}
	return said.Code != 0
}
