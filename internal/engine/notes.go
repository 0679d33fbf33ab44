package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/notes"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

// retries is the state of a lane that ended and is taken over again.
const retries = "trying again"

// noteEvery is how often it is looked whether a note is due.
const noteEvery = time.Second

// board is what this worker says about its lanes, for all who say something.
type board struct {
	mu sync.Mutex
	*notes.Board
}

func newBoard(worker string) *board { return &board{Board: notes.NewBoard(worker)} }

func (b *board) do(f func(*notes.Board)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.Board)
}

// report says what an assigned lane does: notes.Running, or in a word or two what it does instead, and why.
func (m *members) report(lane int32, what, why string) {
	m.board.do(func(b *notes.Board) { b.Report(lane, what, why, time.Now()) })
}

// doing takes what a lane says of itself while it does not run. A lane that is tried again goes on to show what ended the try
// before, unless it knows why it waits now.
func (m *members) doing(lane int32, what, why string) {
	m.board.do(func(b *notes.Board) {
		if what != "" && (why != "" || b.Doing(lane) != retries) {
			b.Report(lane, what, why, time.Now())
		}
	})
}

// writeNotes keeps notes about lanes that do not run, and about what this worker waits for, where "status" finds them,
// until ctx ends.
func (m *members) writeNotes(ctx context.Context) error {
	said := ""
	for pause.For(ctx, noteEvery) {
		err := m.writeDue(ctx)
		switch {
		case ctx.Err() != nil || rejoins(err):
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			m.events.Say(events.NotesFail, "error", err)
		}
	}
	return nil
}

// rejoins says that an error is of a membership that is about to be another one: the note is written then.
func rejoins(err error) bool {
	_, live := errors.AsType[*kafka.ErrGroupLive](err)
	return live
}

// writeDue commits what is due, in one request. A commit needs no more than the membership does: READ on the group, and READ
// on the ledger.
func (m *members) writeDue(ctx context.Context) error {
	id, generation := m.client.Kgo().GroupMetadata()
	if id == "" || generation < 0 {
		return nil
	}
	var due map[int32]string
	held := m.held() // before the board's lock: whoever gives lanes takes that one under ours
	run := 0
	m.board.do(func(b *notes.Board) {
		for _, n := range held {
			if m.runs != nil && m.runs(n) {
				b.Report(n, notes.Running, "", time.Now())
				run++
			}
		}
		if m.troubles != nil {
			b.Troubles(m.troubles())
		}
		due = b.Due(id, time.Now())
	})
	if all := run > 0 && run == len(held); all != m.allRun {
		m.allRun = all
		if all { // who saw "lanes assigned" waits for this
			m.events.Say(events.LanesRun, "held", run)
		}
	}
	if len(due) == 0 {
		return nil
	}
	pos := make(map[partition.ID]kafka.Committed, len(due))
	for n, text := range due {
		pos[partition.ID{Topic: m.topic, Partition: n}] = kafka.Committed{Metadata: text}
	}
	bounded, cancel := context.WithTimeout(ctx, session)
	defer cancel()
	refused, err := m.client.CommitAsMember(bounded, m.group, kafka.Member{ID: id, Instance: m.instance, Generation: generation}, pos)
	if err != nil {
		return err
	}
	m.board.do(func(b *notes.Board) {
		for n, text := range due {
			why := refused[partition.ID{Topic: m.topic, Partition: n}]
			if why == nil {
				m.tell(n, text)
			}
			if why == nil || errors.Is(why, kerr.OffsetMetadataTooLarge) { // offset.metadata.max.bytes is less than Kafka's default
				b.Wrote(n, text, time.Now())
			}
			err = errors.Join(err, why)
		}
	})
	return err
}

// tell says in the log what is noted about a lane, where nothing else has: that it ended, and why, is said then.
func (m *members) tell(lane int32, text string) {
	note, standing, err := notes.Parse(text)
	switch {
	case err != nil: // we wrote it
	case !standing || note.What == "":
		if m.noted[lane] != "" {
			m.events.Publish(events.Event{Kind: events.LaneRuns, Lane: lane})
		}
		delete(m.noted, lane)
	default:
		if note.What != retries && note.Why != m.noted[lane] {
			m.events.Publish(events.Event{Kind: events.LaneWaits, Lane: lane, Details: events.Details("since", note.Since.Format(time.RFC3339), "state", note.What, "why", note.Why)})
		}
		m.noted[lane] = note.Why
	}
}

// held are the lanes that are assigned now.
func (m *members) held() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]int32, 0, len(m.lanes))
	for n := range m.lanes {
		out = append(out, n)
	}
	return out
}
