package testcluster

import (
	"fmt"
	"strings"
)

// PositionError says what a consumer that resumed at a translated position
// would suffer.
type PositionError struct {
	Committed  int64   // on the source
	Translated int64   // on the target
	Skipped    []int64 // target offsets of unread records below the position
	Replayed   []int64 // target offsets of records at or above it that were read
	Detail     string  // what else is wrong
}

func (e *PositionError) Error() string {
	var parts []string
	if n := len(e.Skipped); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records would never be read (target offsets from %d)", n, e.Skipped[0]))
	}
	if n := len(e.Replayed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records would be read again (target offsets from %d)", n, e.Replayed[0]))
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	return fmt.Sprintf("committed offset %d became %d: %s", e.Committed, e.Translated, strings.Join(parts, "; "))
}

// CheckPosition judges one translated position. source and target are the
// records of one partition as read_committed sees them, targetEnd is the log end
// of the target. A consumer that goes on at translated must read exactly what it
// had not read at committed: no record at or above committed may lie below the
// position, none below it at or above. Where the source holds nothing more, the
// position must be the target's log end, so that the group shows lag 0.
//
// Records on the target that never were on the source (foreign ones) may lie on
// either side: nobody has read them. Records that the source has compacted away
// since are placed by their sequence numbers.
//
// Ask it when the mirror has caught up: an unread record that is not on the
// target is an error, unless a later one with its key is. The error is a
// *PositionError.
func CheckPosition(source []Rec, committed int64, target []Rec, translated, targetEnd int64) error {
	e := &PositionError{Committed: committed, Translated: translated}
	m := matchRecords(source, target)
	m.judgePairs(e)
	unread := m.judgeUnread(e)
	foreign := m.judgeExtra(e, unread)
	switch {
	case translated < 0:
		e.Detail = "a negative position"
	case translated > targetEnd:
		e.Detail = fmt.Sprintf("it is past the target's log end %d", targetEnd)
	case unread < 0 && !foreign && translated != targetEnd:
		e.Detail = fmt.Sprintf("the source holds nothing more, so it should be the target's log end %d", targetEnd)
	}
	if len(e.Skipped) == 0 && len(e.Replayed) == 0 && e.Detail == "" {
		return nil
	}
	return e
}

// judgePairs counts skips and replays among the records that are on both sides.
func (m match) judgePairs(e *PositionError) {
	for j, t := range m.target {
		i := m.of[j]
		isCopy := i < 0
		if isCopy {
			i = m.copyOf[j]
		}
		if i < 0 {
			continue
		}
		s := m.source[i]
		switch {
		case s.Offset >= e.Committed && t.Offset < e.Translated && !isCopy:
			e.Skipped = append(e.Skipped, t.Offset)
		case s.Offset < e.Committed && t.Offset >= e.Translated,
			s.Offset >= e.Committed && t.Offset >= e.Translated && isCopy:
			e.Replayed = append(e.Replayed, t.Offset)
		}
	}
}

// judgeUnread returns the index of the first unread source record, -1 where
// there is none, and says so when that record cannot be read on the target.
func (m match) judgeUnread(e *PositionError) int {
	unread := -1
	for i, s := range m.source {
		if s.Offset >= e.Committed {
			unread = i
			break
		}
	}
	if unread < 0 {
		return -1
	}
	s := m.source[unread]
	for _, i := range m.lost {
		if i == unread && !lastByKey(m.target)[keyOf(s)].after(s) {
			e.Detail = fmt.Sprintf("the first unread record, %s at source offset %d, is not on the target", identify(s), s.Offset)
		}
	}
	return unread
}

// judgeExtra places target records without a source record by their sequence
// numbers. It reports whether a foreign one is still to be read.
func (m match) judgeExtra(e *PositionError, unread int) (foreignAhead bool) {
	lastRead, firstUnread := int64(-1), int64(-1)
	for _, s := range m.source {
		if seq, ok := s.Seq(); ok && s.Offset < e.Committed {
			lastRead = max(lastRead, seq)
		}
	}
	if unread >= 0 {
		if seq, ok := m.source[unread].Seq(); ok {
			firstUnread = seq
		}
	}
	for _, j := range m.extra {
		t := m.target[j]
		seq, numbered := t.Seq()
		switch {
		case numbered && seq <= lastRead:
			if t.Offset >= e.Translated {
				e.Replayed = append(e.Replayed, t.Offset)
			}
		case numbered && firstUnread >= 0 && seq > firstUnread:
			if t.Offset < e.Translated {
				e.Skipped = append(e.Skipped, t.Offset)
			}
		case t.Offset >= e.Translated:
			foreignAhead = true
		}
	}
	return foreignAhead
}
