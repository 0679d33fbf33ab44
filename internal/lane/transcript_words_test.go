package lane

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/offsetmap"
)

// event reads the words of an event and gives it to the partition.
func (s *story) event(w []string) error {
	rest := strings.Join(w[1:], " ")
	var n int64
	num := func(format string, into ...any) error {
		_, err := fmt.Sscanf(rest, format, into...)
		return err
	}
	switch w[0] {
	case "begin":
		return s.begin(rest)
	case "named":
		return s.named(rest)
	case "gone":
		s.tell(Absent{})
	case "look":
		return s.look(w[1:])
	case "heads":
		if len(s.heads) == 0 {
			return errors.New("no head was written")
		}
		s.tell(HeadAcked{s.heads[len(s.heads)-1]})
		s.heads = nil
	case "fetched":
		return s.fetched(w[1:])
	case "unreadable":
		s.tell(ReadFailed{Reason: rest, Front: true, Now: strings.Contains(rest, "out of range")})
	case "acked":
		err := num("%d", &n)
		return errors.Join(err, s.answered(Result{Answer: Acked, BaseOffset: offsetmap.TargetOffset(n)}))
	case "lost":
		return s.answered(Result{Answer: InDoubt, Reason: "no answer"})
	case "refused":
		return s.answered(Result{Answer: Refused, Reason: rest})
	case "sequence":
		return s.answered(Result{Answer: Sequence, Reason: "out of order sequence number"})
	case "fenced":
		err := num("epoch %d", &n)
		s.tell(FenceDone{int16(n)})
		return err
	case "looked":
		// "looked to END: BATCH ..."
		landed, err := landedFrom(w[3:])
		err = errors.Join(err, num("to %d:", &n))
		s.tell(Looked{Landed: plain(landed), End: offsetmap.TargetOffset(n)})
		return err
	case "decided":
		return s.decided(rest)
	case "hold":
		s.tell(Hold{})
	case "go":
		s.tell(GoOn{})
	case "drain":
		s.tell(Drain{})
	case "release":
		s.take(s.Flush(s.now))
		s.note(s.state)
		if s.Clean() {
			s.said = append(s.said, "nothing is in doubt")
		}
	case "wait":
		d, err := time.ParseDuration(rest)
		s.now += d.Milliseconds()
		s.tell(Tick{})
		return err
	default:
		return errors.New("no such event")
	}
	return nil
}

// begin makes the partition of what the ledger says.
func (s *story) begin(rest string) error {
	var n int64
	past := Past{SourceEnd: -1}
	if rest != "" {
		what, why, _ := strings.Cut(rest, ", was stopped: ")
		if _, err := fmt.Sscanf(what, "mirrored below %d", &n); err != nil {
			return err
		}
		past = Past{Map: offsetmap.New(offsetmap.Origin{SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2}}), Stopped: why, SourceEnd: offsetmap.SourceOffset(n)}
		if err := past.Map.Append(offsetmap.Run{Count: n}); err != nil {
			return err
		}
		s.head = Known{Epoch: 3, Seq: int32(n)}
	}
	s.Partition = NewPartition(DefaultLimits(), past)
	s.facts = Facts{SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2}}
	return nil
}

func (s *story) named(rest string) error {
	topic, other := strings.CutPrefix(rest, "with source topic ")
	if s.facts.NotYet = ""; other {
		id, err := strconv.Atoi(topic)
		s.facts.SourceTopicID[0] = byte(id)
		s.tell(Named{s.facts})
		return err
	}
	s.facts.NotYet = strings.TrimPrefix(rest, "not yet: ")
	s.tell(Named{s.facts})
	return nil
}

// decided takes what people have decided: "paused by WHO", "skip 15 to 19", "incarnation 7 from the oldest record"; or nothing.
func (s *story) decided(rest string) error {
	var c Controls
	var skip Skip
	var err error
	switch {
	case rest == "nothing":
	case strings.HasPrefix(rest, "paused"):
		c.Paused = rest
	case strings.HasPrefix(rest, "skip"):
		_, err = fmt.Sscanf(rest, "skip %d to %d", &skip.First, &skip.Last)
		c.Skips = []Skip{skip}
	default:
		_, err = fmt.Sscanf(rest, "incarnation %d from", &c.Restart.Incarnation)
	}
	s.tell(Decided{c})
	return err
}

// fetched is an answer of the source from where the partition stands: how many records each batch has, and what is wrong with
// the one behind them.
func (s *story) fetched(w []string) error {
	e := Fetched{Offset: s.Next(), Source: Seen{-1, -1, -1, -1}}
	at := s.Next()
	for i, word := range w {
		if word == "then" {
			e.Bad = strings.Join(w[i+1:], " ")
			break
		}
		kind, count, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		pc := Piece{ID: s.id(), First: at, Next: at + offsetmap.SourceOffset(n), Count: int32(n), Size: 100, MaxTimestamp: s.now, LeaderEpoch: -1, Alone: true}
		switch kind {
		case "old":
			pc.MaxTimestamp -= 48 * 3600 * 1000
		case "marker":
			pc.Skip = true
		}
		at = pc.Next
		e.Pieces = append(e.Pieces, pc)
	}
	s.tell(e)
	return nil
}

// answered is the answer for the oldest unit that waits for one.
func (s *story) answered(r Result) error {
	u := s.inFlight()
	if u == nil {
		return errors.New("no unit is in flight")
	}
	s.tell(Answered{u, r})
	return nil
}

// look lets the look that was asked for run over logs that are told: "source 0-20 target 0-16 ours/3/10@10+5=10".
func (s *story) look(w []string) error {
	rest := strings.Join(w, " ")
	if why, failed := strings.CutPrefix(rest, "failed: "); failed {
		s.tell(LookEnded{Err: why, Passes: true})
		return nil
	}
	var e Ends
	if _, err := fmt.Sscanf(rest, "source %d-%d target %d-%d", &e.SourceStart, &e.SourceEnd, &e.TargetStart, &e.TargetEnd); err != nil {
		return err
	}
	landed, err := landedFrom(w[4:])
	if err != nil {
		return err
	}
	k := s.head
	k.Facts, k.Map, k.Again, k.Remote = s.facts, s.Map(), s.opened && !s.anew(), "A.orders"
	k.Restart = s.controls.Restart
	o := Open(k, e)
	if err := o.Settle(toldLogs{e, landed}); err != nil {
		return err
	}
	o.Out.Epoch = 4
	s.tell(o.Out)
	return nil
}

// toldLanded is a batch with the source offset that its first record is a copy of.
type toldLanded struct {
	Landed
	of offsetmap.SourceOffset
}

func plain(told []toldLanded) (landed []Landed) {
	for _, l := range told {
		landed = append(landed, l.Landed)
	}
	return landed
}

// landedFrom reads "ours/EPOCH/SEQUENCE@BASE+COUNT", "marker@BASE+COUNT" and "foreign@BASE+COUNT". What of ours is a copy of
// source offset N ends with "=N".
func landedFrom(w []string) (landed []toldLanded, err error) {
	for _, word := range w {
		l := toldLanded{of: -1}
		who, at, _ := strings.Cut(word, "@")
		at, of, copied := strings.Cut(at, "=")
		_, bad := fmt.Sscanf(at, "%d+%d", &l.Base, &l.Count)
		err = errors.Join(err, bad)
		if copied {
			_, bad = fmt.Sscanf(of, "%d", &l.of)
			err = errors.Join(err, bad)
		}
		switch l.Marker = who == "marker"; {
		case strings.HasPrefix(who, "ours"):
			l.Ours = true
			_, bad = fmt.Sscanf(who, "ours/%d/%d", &l.Epoch, &l.Sequence)
			err = errors.Join(err, bad)
		case !l.Marker && who != "foreign":
			err = errors.Join(err, fmt.Errorf("whose is %q?", word))
		}
		landed = append(landed, l)
	}
	return landed, err
}

// toldLogs are logs as a story tells them. The source holds a record at each offset; all differ.
type toldLogs struct {
	Ends
	landed []toldLanded
}

func (l toldLogs) EpochEnd(int32) (int32, offsetmap.SourceOffset, error) { return -1, -1, nil }

func (l toldLogs) Tail(_, _ offsetmap.TargetOffset, batch func(Landed) (bool, error), record func(TailRecord)) error {
	for _, b := range l.landed {
		records, err := batch(b.Landed)
		if err != nil {
			return err
		}
		for i := range b.Count {
			if records {
				record(TailRecord{Target: b.Base + offsetmap.TargetOffset(i), Hash: uint64(b.of) + uint64(i) + 1})
			}
		}
	}
	return nil
}

func (l toldLogs) Survivors(s *Survivors, to offsetmap.SourceOffset) error {
	for o := s.From(); o < to && !s.Enough(); o++ {
		if s.Batch(SourceBatch{Base: o, Next: o + 1, Count: 1}) {
			s.Record(SourceRecord{Offset: o, Hash: uint64(o) + 1})
		}
	}
	return nil
}
