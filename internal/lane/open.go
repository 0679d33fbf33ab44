package lane

import (
	"cmp"
	"errors"
	"fmt"

	"tidemark/offsetmap"
)

// Why a partition stops for good when a topic has another id than the one that was mirrored.
const (
	recreatedSource = "the source topic was deleted and created again (its topic id changed): positions of the old one do not carry over; tidemark restart copies it anew (docs/stopped.md)"
	recreatedRemote = "the remote topic was deleted and created again: what was mirrored is gone; tidemark restart copies it anew (docs/stopped.md)"
)

// Known is what a look at both logs of a partition begins with.
type Known struct {
	Facts
	Map     *offsetmap.Map // nil: never mirrored
	Epoch   int16          // of the head that Map is of: what the next batch behind it would have had
	Seq     int32
	Begin   *Begin  // where mirroring begins by choice; nil: with the oldest record
	Restart Restart // where that is newer than the map, it is copied anew and all that was known is of no meaning
	Damaged string  // why the ledger's record of it cannot be used
	Again   bool    // only the source's side is new: the lane has written since it owns the partition
	Remote  string  // name of the remote topic
	Filler  string  // who may have filled it, for people; empty: nothing is known
	// Committed: only committed records are mirrored, so the source's end is the last stable offset.
	Committed                      bool
	SourceCompacts, TargetCompacts bool
}

// Begin is a choice where mirroring begins.
type Begin struct {
	TopicID [16]byte // of the source topic that it is about; another one begins with its oldest record
	Offset  offsetmap.SourceOffset
	AtEnd   bool // at the log's end, which nobody has seen yet; Offset is of no meaning
}

// Ends are the boundaries of a partition's logs as a look finds them.
type Ends struct {
	SourceStart, SourceEnd offsetmap.SourceOffset
	TargetStart, TargetEnd offsetmap.TargetOffset
}

// Logs reads a partition's logs for a look. What it answers with an error is tried again later.
type Logs interface {
	// Tail gives the target's batches from an offset up to another, in order, and the records of those that batch answers
	// true for; Target, Hash and Key of each are set.
	Tail(from, to offsetmap.TargetOffset, batch func(Landed) (records bool, err error), record func(TailRecord)) error
	// Survivors gives the source's batches and records from s.From on up to an offset, or until s has enough.
	Survivors(s *Survivors, to offsetmap.SourceOffset) error
	// EpochEnd gives the source's newest leader epoch at or below one, and where it ends; -1 where that is not known.
	EpochEnd(epoch int32) (found int32, end offsetmap.SourceOffset, err error)
}

// Probe is a look at both logs of a partition that is to be mirrored: what its ends say, and Settle for the rest.
type Probe struct {
	known Known
	ends  Ends
	// Begins is where mirroring begins whose begin was at the end; nil: it was not, or is not known.
	Begins *offsetmap.SourceOffset
	// Exact: no choice between several places had to be made.
	Exact bool
	// Out is the answer so far.
	Out LookEnded
}

// Open decides by the boundaries alone. With a Reason in Out the look is over.
func Open(k Known, e Ends) *Probe {
	o := &Probe{known: k, ends: e, Exact: true, Out: LookEnded{Map: k.Map, SourceStart: e.SourceStart, TargetStart: e.TargetStart}}
	if k.Restart.Due(k.Map) {
		o.known.Map = nil
		o.Out.Map = newMap(k, e, k.Restart.at(e))
		return o
	}
	if b := k.Begin; k.Map == nil && b != nil && b.TopicID == k.SourceTopicID && b.AtEnd {
		o.Begins = &e.SourceEnd
	}
	if k.Map != nil {
		o.Out.Reason = cmp.Or(damaged(k.Damaged), reopenable(k, e))
		return o
	}
	if o.Out.Reason = cmp.Or(damaged(k.Damaged), filled(k, e)); o.Out.Reason == "" {
		o.Out.Map = newMap(k, e, beginsAt(k, e))
	}
	return o
}

// newMap is the map of a partition of which nothing is mirrored, behind whatever the target holds.
func newMap(k Known, e Ends, start offsetmap.SourceOffset) *offsetmap.Map {
	return offsetmap.New(offsetmap.Origin{
		SourceCluster: k.SourceCluster, SourceTopicID: k.SourceTopicID, TargetTopicID: k.TargetTopicID,
		SourceStart: start, Base: e.TargetEnd, Incarnation: k.Restart.Incarnation,
	})
}

func damaged(why string) string {
	if why == "" {
		return ""
	}
	return "the ledger's record of this partition is damaged: " + why
}

// filled refuses a remote partition that holds records which no head knows.
func filled(k Known, e Ends) string {
	if e.TargetEnd <= e.TargetStart {
		return ""
	}
	return fmt.Sprintf("remote topic %s holds %d offsets that Tidemark did not write (%s): use another alias or policy, or delete the remote topic, or copy it anew behind them (tidemark restart)",
		k.Remote, e.TargetEnd-e.TargetStart, cmp.Or(k.Filler, "another mirror, or an alias that meant another cluster"))
}

// reopenable says why a map cannot be gone on with.
func reopenable(k Known, e Ends) string {
	switch was := k.Map.Origin(); {
	case was.SourceTopicID != k.SourceTopicID:
		return recreatedSource
	case was.TargetTopicID != k.TargetTopicID:
		return recreatedRemote
	}
	if why := anotherSource(k.Map, k.SourceCluster); why != "" {
		return why
	}
	if e.TargetEnd < k.Map.TargetEnd() && !k.Again {
		return fmt.Sprintf("the target's log ends at %d, but records up to %d were acknowledged there: the target lost records (unclean leader election, or topic re-created)", e.TargetEnd, k.Map.TargetEnd())
	}
	return ""
}

// anotherSource says that a map was made from another cluster than the one that the source's alias means now, or "".
func anotherSource(m *offsetmap.Map, now string) string {
	was := m.Origin().SourceCluster
	if was == "" || was == now {
		return ""
	}
	return fmt.Sprintf("the ledger says that this partition came from cluster %s, the source's alias now means cluster %s: use another alias for that one", was, now)
}

// beginsAt is the first source offset that is mirrored of a partition of which nothing is yet.
func beginsAt(k Known, e Ends) offsetmap.SourceOffset {
	switch b := k.Begin; {
	case b == nil || b.TopicID != k.SourceTopicID:
		return e.SourceStart
	case b.AtEnd:
		return e.SourceEnd
	default:
		// Below the log's start if retention overtook it: reading then says what was lost. Above its end if the source lost
		// records since: what comes there now is new.
		return min(b.Offset, e.SourceEnd)
	}
}

// Settle finds out how far the target's tail beyond the map reaches on the source, and what the source lost meanwhile.
func (o *Probe) Settle(logs Logs) error {
	if o.Out.Reason != "" || o.known.Map == nil {
		return nil
	}
	// Before the tail is aligned: that adds epochs of what it found, and a truncation below the anchor would be judged by
	// them.
	if err := o.truncated(logs); err != nil || o.Out.Reason != "" {
		return err
	}
	m := o.Out.Map
	if !o.known.Again && o.ends.TargetEnd > m.TargetEnd() {
		if err := o.settleTail(logs); err != nil || o.Out.Reason != "" {
			return err
		}
	}
	if through := m.Through(); o.ends.SourceStart > through {
		o.Out.Lost = int64(o.ends.SourceStart - through)
		if err := m.Lose(o.ends.SourceStart, o.Out.Lost); err != nil {
			o.Out.Reason = err.Error()
		}
	}
	return nil
}

// truncated refuses a source whose log no longer holds what was mirrored from it.
func (o *Probe) truncated(logs Logs) error {
	through := o.Out.Map.Through()
	say := func(end offsetmap.SourceOffset) {
		o.Out.Reason = fmt.Sprintf("the source log was truncated to offset %d (unclean leader election, or the topic was re-created): records up to %d exist on the target only; decide which side is right", end, through)
	}
	if end := o.ends.SourceEnd; end < through && end >= 0 && !o.known.Committed {
		say(end)
		return nil
	}
	last := o.Out.Map.LastEpoch()
	if last < 0 {
		return nil
	}
	epoch, end, err := logs.EpochEnd(last)
	if err == nil && epoch >= 0 && end >= 0 && end < through {
		say(end)
	}
	return err
}

// errOdd ends the reading of a tail that must not be gone on with.
var errOdd = errors.New("a batch of ours that cannot be there")

// settleTail reads the tail of the target and aligns it with the source.
func (o *Probe) settleTail(logs Logs) error {
	m, k := o.Out.Map, o.known
	anchor := m.TargetEnd()
	t := NewTail(anchor, o.ends.TargetEnd, k.Epoch, k.Seq)
	var index int64
	var base offsetmap.TargetOffset
	var odd error
	err := logs.Tail(max(anchor, o.ends.TargetStart), o.ends.TargetEnd, func(l Landed) (bool, error) {
		if index, odd = t.Add(l); odd != nil {
			return false, errOdd
		}
		base = l.Base
		return l.Ours, nil
	}, func(r TailRecord) {
		r.Index, r.Ours = index+int64(r.Target-base), true
		t.Record(r)
	})
	switch {
	case odd != nil:
		o.Out.Reason = fmt.Sprintf("the target's tail beyond offset %d: %v", anchor, odd)
		return nil //nolint:nilerr // it is what the look has found, not trouble with looking
	case err != nil:
		return fmt.Errorf("read the tail of %s beyond offset %d: %w", k.Remote, anchor, err)
	}
	in := t.Input(m, o.ends, k.SourceCompacts, k.TargetCompacts)
	var epochs []offsetmap.EpochStart
	if in.Count != 0 {
		for again := true; again; {
			s := NewSurvivors(in)
			if err := logs.Survivors(s, in.SourceEnd); err != nil {
				return fmt.Errorf("read the source from offset %d to find what is mirrored: %w", s.From(), err)
			}
			in, again = s.Revise(in)
			in.Source, epochs = s.Records(), s.Epochs()
		}
	}
	a, err := t.Settle(m, in, epochs)
	switch {
	case err != nil:
		o.Out.Reason = "offset map: " + err.Error()
	case a.Mismatch != nil:
		o.Out.Reason = fmt.Sprintf("the target's tail beyond offset %d does not follow from the source beyond offset %d: %v", anchor, in.Through, a.Mismatch)
	}
	o.Out.Twice, o.Exact = a.Duplicates, a.Exact
	return nil
}
