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

// NoLane is the Lane of an event that is not about one.
const NoLane = -1

// Event is something that happened.
type Event struct {
	Kind      Kind
	At        time.Time
	Lane      int32  // NoLane: of the whole flow
	Partition string // of the source, as topic-number; empty: not about one
	Details   []slog.Attr
	Tone      Tone
}

// Tone is how loud an event is, where that is not what its kind says.
type Tone uint8

// The tones. Quiet is what is news by its kind but in this case the normal course of things: only for whoever wants all.
const (
	ByKind Tone = iota
	Quiet
	Calm
	Loud
)

// Level is how loud it is: news that every start and every healthy day has, and that trouble is over, are info.
func (e Event) Level() slog.Level {
	switch e.Tone {
	case Quiet:
		return slog.LevelDebug
	case Calm:
		return slog.LevelInfo
	case Loud:
		return slog.LevelWarn
	case ByKind:
	}
	if e.Kind.calm() {
		return slog.LevelInfo
	}
	return slog.LevelWarn
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

// Say publishes an event of the flow, with keys and values in turn.
func (b *Bus) Say(k Kind, details ...any) {
	b.Publish(Event{Kind: k, Lane: NoLane, Details: Details(details...)})
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
