// Package events has what happens in a running flow as values: a partition stopped, a lane was taken over, a group was
// written. They are published in one place per process, a Bus; the log hangs from it, and whatever else wants to know.
//
// An event is something that changes what an operator would do or believe. What only helps to read the code (a retry, a
// connection) is logged where it happens, at debug level.
package events

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Kind says what happened. Its text is the line in the log, and part of what programs match on: it does not change.
type Kind string

// What happens to a partition. Details: reason, was, at_most, ... as the log shows them.
const (
	PartitionStopped   Kind = "partition stopped"                                                                                                                                 // reason
	PartitionGoesOn    Kind = "partition goes on"                                                                                                                                 // was
	PartitionWaits     Kind = "partition is not mirrored yet"                                                                                                                     // what, since
	PartitionFenced    Kind = "partition fenced to settle what is in doubt"                                                                                                       // epoch
	PartitionReadAgain Kind = "reading starts again"                                                                                                                              // why, next, source_end, last_stable, asked, held, paused
	RecordsTwice       Kind = "resume is not exact: some records may stand twice on the target"                                                                                   // at_most
	RecordsUncertain   Kind = "what stood on the target was gone before it could be looked at: some records may be written twice"                                                 // at_most
	RecordsLost        Kind = "source records were removed before they were mirrored"                                                                                             // lost_at_most, source_log_start
	SourceTruncated    Kind = "source log was truncated"                                                                                                                          // leader_epoch, end, mirrored_to
	OthersWrite        Kind = "another producer writes to the remote topic: if that is a mirror too, such as a MirrorMaker 2 under the same alias, its records stand there twice" // remote, offsets
	MapIncomplete      Kind = "blocks of the offset map are missing or damaged: positions there are bounded, not exact"                                                           // blocks
)

// What happens to a lane, or to the flow's own topics.
const (
	LaneTaken       Kind = "taking over"                                                                                                                           // how, producer_id, epoch
	LaneUnfenced    Kind = "the former owner wrote under another identity than the one that we have, so it cannot be fenced; waiting until its lease has run out"  // former, wait
	LaneIdentity    Kind = "the lane's identity on the target hangs in a transaction whose marker cannot be written; going on under another one (docs/stopped.md)" // transactional_id, next, error
	JournalStalled  Kind = "our own topic cannot be written: mirroring waits for it"                                                                               // partition, reason, since
	JournalUnfenced Kind = "groups wait: their partition of our own topic has no leader"                                                                           // partition
	JournalWritten  Kind = "our own topic is written again"                                                                                                        // partition
	LedgerDamaged   Kind = "damaged ledger record"                                                                                                                 // key, offset, error
	KeepaliveFailed Kind = "keepalive on the target did not succeed, trying again"                                                                                 // error
	FirstStart      Kind = "the flow starts for the first time: what the source has now is mirrored from its end on, what is created later whole"                  // partitions
	FirstStartAway  Kind = "the ends of partitions of the source cannot be asked: they are mirrored from where their ends are when that is possible"               // partitions, one, error
	FirstStartWaits Kind = "lanes wait for lane 0: its owner writes down where a flow that begins at the end begins, which it does not while it runs with another file or an older build"
	SourceAway      Kind = "partitions of the source cannot be read for now" // partitions, one, error
	SourceBack      Kind = "the source can be read again"
)

// NoLane is the Lane of an event that is not about one.
const NoLane = -1

// Event is something that happened.
type Event struct {
	Kind      Kind
	At        time.Time
	Lane      int32  // NoLane: of the whole flow
	Partition string // of the source, as topic-number; empty: not about one
	Details   []slog.Attr
	Quiet     bool // of a kind that is news, but in this case the normal course of a start: only for whoever wants all
}

// Level is how loud it is: news that every start and every healthy day has are info.
func (e Event) Level() slog.Level {
	if e.Quiet {
		return slog.LevelDebug
	}
	switch e.Kind {
	case PartitionGoesOn, PartitionFenced, JournalWritten, FirstStart, SourceBack, LaneTaken:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// String is the event as one line for people.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	for _, a := range e.attrs() {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
	}
	return b.String()
}

// Details makes an event's details of keys and values in turn, as slog takes them.
func Details(pairs ...any) (out []slog.Attr) {
	var r slog.Record
	r.Add(pairs...)
	r.Attrs(func(a slog.Attr) bool {
		out = append(out, a)
		return true
	})
	return out
}

func (e Event) attrs() []slog.Attr {
	var out []slog.Attr
	if e.Lane != NoLane {
		out = append(out, slog.Int("lane", int(e.Lane)))
	}
	if e.Partition != "" {
		out = append(out, slog.String("partition", e.Partition))
	}
	return append(out, e.Details...)
}

// Bus hands events to whoever listens, in the order in which they are published. Safe for concurrent use.
type Bus struct {
	mu    sync.Mutex
	next  int
	sinks []sink
}

type sink struct {
	id   int
	take func(Event)
}

// Listen has take called with every event from now on, one at a time; it must not block, nor publish. end stops that.
func (b *Bus) Listen(take func(Event)) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	id := b.next
	b.sinks = append(b.sinks, sink{id, take})
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for i, s := range b.sinks {
			if s.id == id {
				b.sinks = append(b.sinks[:i:i], b.sinks[i+1:]...)
				return
			}
		}
	}
}

// Publish hands an event to all who listen; one without a time gets the present.
func (b *Bus) Publish(e Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sinks {
		s.take(e)
	}
}
