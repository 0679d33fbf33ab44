package offsetmap

import (
	"fmt"
	"math"
)

// Append adds the records of r, as acknowledged by the target. A run that
// continues the last one on both sides is merged with it. Through and
// TargetEnd advance to the end of r; source offsets between Through and
// r.Source hold no data, target offsets between TargetEnd and r.Target that
// were not reported by [Map.Marker] count as foreign. The error is ErrRange or
// ErrOrder, and the map is then unchanged.
func (m *Map) Append(r Run) error {
	if r.Count <= 0 || r.Source < 0 || r.Target < 0 ||
		int64(r.Source) > math.MaxInt64-r.Count || int64(r.Target) > math.MaxInt64-r.Count {
		return fmt.Errorf("append run (source %d, target %d, count %d): %w", r.Source, r.Target, r.Count, ErrRange)
	}
	if r.Source < m.through || r.Target < m.targetEnd {
		return fmt.Errorf("append run (source %d, target %d) below (%d, %d): %w",
			r.Source, r.Target, m.through, m.targetEnd, ErrOrder)
	}
	m.push(r)
	end := r.end()
	m.through, m.targetEnd = end.source, end.target
	return nil
}

// push makes r the open run, or a part of it.
func (m *Map) push(r Run) {
	switch {
	case m.open.Count == 0:
		m.open = r
		m.tail.first = r.start()
	case m.open.end() == r.start():
		m.open.Count += r.Count
	default:
		m.tail.add(m.open)
		m.open = r
	}
}

// Advance moves Through to s: source offsets below it that are in no run hold
// no data. The error is ErrOrder if s is below Through.
func (m *Map) Advance(s SourceOffset) error {
	if s < m.through {
		return fmt.Errorf("advance to source %d below %d: %w", s, m.through, ErrOrder)
	}
	m.through = s
	return nil
}

// Marker says that the target offsets [TargetEnd, to) are our own markers,
// which positions may skip. The error is ErrOrder if to is below TargetEnd.
func (m *Map) Marker(to TargetOffset) error {
	if to < m.targetEnd {
		return fmt.Errorf("marker up to target %d below %d: %w", to, m.targetEnd, ErrOrder)
	}
	if to == m.targetEnd {
		return nil
	}
	if n := len(m.markers); n > 0 && m.markers[n-1].to == m.targetEnd {
		m.markers[n-1].to = to
	} else {
		m.markers = append(m.markers, span{m.targetEnd, to})
	}
	m.targetEnd = to
	return nil
}

// Foreign says that the target offsets [TargetEnd, to) were written by others
// and are not to be skipped. The error is ErrOrder if to is below TargetEnd.
func (m *Map) Foreign(to TargetOffset) error {
	if to < m.targetEnd {
		return fmt.Errorf("foreign up to target %d below %d: %w", to, m.targetEnd, ErrOrder)
	}
	m.targetEnd = to
	return nil
}

// Lose says that the source offsets [Through, to) are lost: trimmed before
// they were mirrored, or skipped by an operator. records is how many records
// they held at most. Through advances to to. The error is ErrOrder if to is
// below Through and ErrRange if records cannot have fitted in.
func (m *Map) Lose(to SourceOffset, records int64) error {
	if to < m.through {
		return fmt.Errorf("lose up to source %d below %d: %w", to, m.through, ErrOrder)
	}
	if records < 0 || records > int64(to-m.through) {
		return fmt.Errorf("lose %d records in source [%d, %d): %w", records, m.through, to, ErrRange)
	}
	if records > 0 {
		m.lost = append(m.lost, lostSpan{m.through, to, records})
	}
	m.through = to
	return nil
}

// EpochStart says at which source offset a leader epoch began.
type EpochStart struct {
	Epoch int32
	Start SourceOffset
}

// NoteEpoch records that a batch at source offset at carries this leader
// epoch. As in Kafka's LeaderEpochFileCache, a repeated epoch changes nothing
// and entries that contradict the new one (higher epoch, or start at or above
// it) are removed. A negative epoch (none, as in old batches) is ignored.
func (m *Map) NoteEpoch(epoch int32, at SourceOffset) {
	if epoch < 0 || at < 0 {
		return
	}
	n := len(m.epochs)
	if n > 0 && m.epochs[n-1].Epoch == epoch && m.epochs[n-1].Start <= at {
		return
	}
	for n > 0 && (m.epochs[n-1].Epoch >= epoch || m.epochs[n-1].Start >= at) {
		n--
	}
	m.epochs = append(m.epochs[:n], EpochStart{epoch, at})
}

// Epochs returns the source's leader epochs, oldest first.
func (m *Map) Epochs() []EpochStart { return append([]EpochStart(nil), m.epochs...) }

// LastEpoch returns the newest leader epoch noted, -1 if none.
func (m *Map) LastEpoch() int32 {
	if len(m.epochs) == 0 {
		return -1
	}
	return m.epochs[len(m.epochs)-1].Epoch
}
