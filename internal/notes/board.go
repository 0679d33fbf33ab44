package notes

import (
	"maps"
	"slices"
	"time"
)

// Running is the state of a lane that does its work.
const Running = "running"

// SourceSilent is the trouble of a worker whose source does not answer. It is since the source's last answer.
const SourceSilent = "the source does not answer; its last answer was then"

// Board decides which notes of a worker are due. Time comes in as a value, from one clock. Not safe for concurrent use.
type Board struct {
	Worker  string        // as in the notes
	After   time.Duration // how long a lane may not run before that is said
	Settles time.Duration // how long a lane must run until what kept it from that is over
	Pace    time.Duration // how often at most a note is written again because its cause changed

	lanes    map[int32]*laneState // assigned now
	troubles []Trouble
	written  map[int32]written // of lanes that were ever assigned
}

// laneState is one assigned lane.
type laneState struct {
	since     time.Time // from when on it has not run; zero: it runs
	runs      time.Time // since when it runs again; zero: it does not
	what, why string
}

type written struct {
	text string
	at   time.Time
}

// NewBoard makes the Board of a worker, with the times that a flow uses.
func NewBoard(worker string) *Board {
	return &Board{Worker: worker, After: 10 * time.Second, Settles: 5 * time.Second, Pace: 5 * time.Second, lanes: map[int32]*laneState{}, written: map[int32]written{}}
}

// Assigned says that a lane was given to the worker.
func (b *Board) Assigned(n int32, at time.Time) {
	b.lanes[n] = &laneState{since: at, what: "starting", why: "it is being taken over"}
}

// Revoked says that the worker has the lane no more. What it wrote about it stays and is past: whoever reads it sees that
// another member has the lane.
func (b *Board) Revoked(n int32) { delete(b.lanes, n) }

// Report says what an assigned lane does: Running, or in a word or two what it does instead, and why. Of others nothing is
// noted.
func (b *Board) Report(n int32, what, why string, at time.Time) {
	l := b.lanes[n]
	switch {
	case l == nil:
	case what == Running:
		if l.runs.IsZero() {
			l.runs = at
		}
	default:
		b.settle(l, at)
		if l.since.IsZero() {
			l.since = at
		}
		l.runs, l.what, l.why = time.Time{}, what, why
	}
}

// Doing is what was reported last of an assigned lane that does not run; empty where it runs.
func (b *Board) Doing(n int32) string {
	what, _ := b.Waiting(n)
	return what
}

// Waiting is Doing, and why.
func (b *Board) Waiting(n int32) (what, why string) {
	l := b.lanes[n]
	if l == nil || !l.runs.IsZero() || l.since.IsZero() {
		return "", ""
	}
	return l.what, l.why
}

// settle ends a lane's trouble once it has run for long enough.
func (b *Board) settle(l *laneState, at time.Time) {
	if !l.runs.IsZero() && at.Sub(l.runs) >= b.Settles {
		l.since = time.Time{}
	}
}

// Troubles replaces what the worker says about itself.
func (b *Board) Troubles(ts []Trouble) { b.troubles = slices.Clone(ts) }

// Due gives the notes to commit now, by lane; an empty one ends what stands. member is the worker's id in the group.
func (b *Board) Due(member string, at time.Time) map[int32]string {
	due := map[int32]string{}
	lanes := slices.Sorted(maps.Keys(b.lanes))
	for i, n := range lanes {
		l, was := b.lanes[n], b.written[n]
		b.settle(l, at)
		note := Note{Worker: b.Worker, Member: member}
		switch {
		case l.since.IsZero():
		case l.runs.IsZero() && at.Sub(l.since) >= b.After:
			note.Since, note.What, note.Why = l.since.UTC().Truncate(time.Second), l.what, l.why
		case was.text != "" && !l.runs.IsZero():
			continue // whether it goes on running shows soon
		}
		if i == 0 {
			note.Troubles = b.troubles
		}
		text := ""
		if note.What != "" || len(note.Troubles) > 0 {
			text = note.Encode()
		}
		if text != was.text && (text == "" || was.text == "" || at.Sub(was.at) >= b.Pace) {
			due[n] = text
		}
	}
	return due
}

// Wrote says that a lane's note stands.
func (b *Board) Wrote(n int32, text string, at time.Time) { b.written[n] = written{text, at} }
