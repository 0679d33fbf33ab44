package lane

import (
	"fmt"
	"slices"

	"tidemark/internal/batch"
	"tidemark/offsetmap"
)

// Limits bound what a partition may do. All times are milliseconds.
type Limits struct {
	Depth       int   // units in flight while the target surely knows the producer's state; at most 5, the broker's window
	OldAfter    int64 // a batch whose newest timestamp is older than this is old data: producer.id.expiration.ms less a margin
	RetryMin    int64 // first wait before sending again
	RetryMax    int64
	StuckAfter  int64 // a partition whose units come back for so long stops, so that its bytes are free for others
	StopRetry   int64 // wait before a stopped partition is tried again
	MergeTarget int   // bytes that a merged batch aims at
	// HoldOldUntil (ms since the epoch): no old data is sent before. After a take-over without release whose fence old
	// data would outlive, the former owner's lease is waited out first.
	HoldOldUntil int64
	MaxAttempts  int // sequence refusals and failed fences in a row before the partition stops
}

// DefaultLimits are for a target with Kafka's default producer.id.expiration.ms of one day.
func DefaultLimits() Limits {
	return Limits{
		Depth: 2, OldAfter: 23 * 3600 * 1000, RetryMin: 50, RetryMax: 2000, StuckAfter: 30_000, StopRetry: 10_000,
		MergeTarget: 256 << 10, MaxAttempts: 5,
	}
}

type phase uint8

const (
	running  phase = iota
	fencing        // waiting for the partition's own fence
	looking        // fenced, waiting for what stands on the target
	stopped        // waiting for Restart
	releases       // draining for a clean release: nothing new is sent
)

// Part is the state of one source partition while its lane is owned. It is created by NewPart once the partition is
// settled and its head is acknowledged.
type Part struct {
	lim    Limits
	m      *offsetmap.Map
	phase  phase
	epoch  int16
	seq    int32 // sequence of the next unit to be stamped
	next   int64 // source offset after the last accepted piece
	queue  []Piece
	window []*Unit // stamped and not settled, oldest first

	lastFresh int64 // newest timestamp acknowledged in this epoch, ms; 0 none: how long the target remembers our state
	retryAt   int64 // units that came back are sent again from then on; 0 none came back
	stuck     int64 // since when units come back without progress, ms; 0 they do not
	failures  int   // consecutive answers that made no progress
	uncertain int64
	dirty     bool // stopped with units that may be on the target
	reason    string
}

// NewPart starts a partition whose map says what is mirrored. epoch is the lane's, in which nothing was written to this
// partition yet, so sequences start at 0.
func NewPart(lim Limits, m *offsetmap.Map, epoch int16) *Part {
	return &Part{lim: lim, m: m, epoch: epoch, next: int64(m.Through())}
}

// Map is the partition's offset map. The caller may read it and record losses in it between calls.
func (p *Part) Map() *offsetmap.Map { return p.m }

// Next is the source offset that the next accepted piece should start at.
func (p *Part) Next() int64 { return p.next }

// Idle says that nothing is queued or on its way.
func (p *Part) Idle() bool { return len(p.queue) == 0 && len(p.window) == 0 }

// Stopped gives the reason while the partition is stopped.
func (p *Part) Stopped() (string, bool) { return p.reason, p.phase == stopped }

// Anchor is the (epoch, sequence) that the first record after the map's end has or will have.
func (p *Part) Anchor() (epoch int16, sequence int32) {
	if len(p.window) > 0 {
		return p.window[0].Epoch, p.window[0].Sequence
	}
	return p.epoch, p.seq
}

// Clean says whether a release now leaves nothing in doubt on this partition.
func (p *Part) Clean() bool {
	return len(p.window) == 0 && !p.dirty && p.phase != fencing && p.phase != looking
}

// WakeAt is when Advance should be called although nothing happened, ms; 0 never.
func (p *Part) WakeAt() int64 {
	if p.retryAt == 0 && len(p.queue) > 0 {
		return p.lim.HoldOldUntil
	}
	return p.retryAt
}

// Accept queues a piece. It refuses (false) what does not begin exactly where the last one ended, since through must
// never pass offsets that nobody looked at, and everything while the partition is not running: those bytes are released
// and fetched again later.
func (p *Part) Accept(pc Piece) bool {
	if p.phase != running || pc.First != p.next {
		return false
	}
	p.queue = append(p.queue, pc)
	p.next = pc.Next
	return true
}

// Drain stops sending what is queued; what is in flight is still settled. For a clean release.
func (p *Part) Drain() (dropped []uint64) {
	for _, pc := range p.queue {
		dropped = append(dropped, pc.ID)
	}
	p.queue = nil
	p.next = p.windowEnd()
	if p.phase == running {
		p.phase = releases
	}
	return dropped
}

// windowEnd is the source offset after everything that is stamped or settled.
func (p *Part) windowEnd() int64 {
	if n := len(p.window); n > 0 {
		return p.window[n-1].Next
	}
	return int64(p.m.Through())
}

// stateLives says whether the target is sure to hold our producer state in this epoch.
func (p *Part) stateLives(now int64) bool {
	return p.lastFresh != 0 && now-p.lastFresh < p.lim.OldAfter
}

func (p *Part) fresh(u *Unit, now int64) bool {
	return u.MaxTimestamp >= 0 && now-u.MaxTimestamp < p.lim.OldAfter
}

// Advance gives what can be done now: skips at the front, units that came back, then new ones.
func (p *Part) Advance(now int64) []Action {
	if p.phase == stopped || p.phase == fencing || p.phase == looking {
		return nil
	}
	acts := p.skipFront(nil)
	if p.retryAt != 0 {
		if p.inFlight() > 0 || now < p.retryAt {
			return acts
		}
		p.retryAt = 0
		return append(acts, p.pump(now)...)
	}
	if p.phase == releases || len(p.queue) == 0 {
		return acts
	}
	if n := Group(p.queue, p.lim.MergeTarget); n > 0 && p.room(now) > 0 && (now >= p.lim.HoldOldUntil || p.queuedFresh(now)) {
		ids := make([]uint64, 0, n)
		for _, pc := range p.queue[:n] {
			ids = append(ids, pc.ID)
		}
		acts = append(acts, Prepare{Pieces: ids})
	}
	return acts
}

// room is how many more units may be put in flight.
func (p *Part) room(now int64) int {
	limit := 1
	if p.stateLives(now) && p.queuedFresh(now) {
		limit = p.lim.Depth
	}
	return limit - len(p.window)
}

// queuedFresh says whether the next piece and all that is in the window are young enough to be sent together.
func (p *Part) queuedFresh(now int64) bool {
	for _, u := range p.window {
		if !p.fresh(u, now) {
			return false
		}
	}
	for _, pc := range p.queue {
		if !pc.Skip {
			return pc.MaxTimestamp >= 0 && now-pc.MaxTimestamp < p.lim.OldAfter
		}
	}
	return true
}

// skipFront accounts for pieces without data that nothing unsettled precedes. Behind a unit they wait in the queue:
// through must not pass the unit's records.
func (p *Part) skipFront(acts []Action) []Action {
	n := 0
	for n < len(p.queue) && p.queue[n].Skip && len(p.window) == 0 {
		p.advance(p.queue[n].Next)
		acts = append(acts, Skipped{ID: p.queue[n].ID})
		n++
	}
	p.queue = p.queue[n:]
	return acts
}

func (p *Part) advance(next int64) {
	if offsetmap.SourceOffset(next) > p.m.Through() {
		// The error cannot happen: next is above through.
		_ = p.m.Advance(offsetmap.SourceOffset(next))
	}
}

// Prepared takes the outputs that the pieces of the last Prepare became. n is how many queued pieces they cover. The
// outputs are stamped and, as far as there is room, sent; a split piece may give more outputs than there is room for,
// the rest follows when acknowledgements arrive.
func (p *Part) Prepared(n int, outs []Output, now int64) []Action {
	p.queue = p.queue[n:]
	var acts []Action
	for _, o := range outs {
		u := &Unit{Output: o, Epoch: p.epoch, Sequence: p.seq}
		p.seq = batch.NextSequence(p.seq, o.Count)
		p.window = append(p.window, u)
	}
	return append(acts, p.pump(now)...)
}

// pump sends stamped units that are not on their way, oldest first, as far as LN3 allows: new ones, and those that came
// back. It asks for the partition's own fence where the target may have forgotten what it acknowledged (LN2). A fresh
// unit in doubt is safe to repeat whatever preceded it: if it was appended, its own timestamp keeps the producer's state
// alive and the broker answers with the original offset.
func (p *Part) pump(now int64) []Action {
	var acts []Action
	for i, u := range p.window {
		if u.inFlight {
			continue
		}
		if u.doubt && !p.fresh(u, now) {
			if p.inFlight() > 0 {
				break // their answers first: the fence would make them look lost
			}
			return append(acts, p.fence()...)
		}
		if i >= p.lim.Depth || i > 0 && !(p.stateLives(now) && p.fresh(u, now) && p.fresh(p.window[i-1], now)) {
			break
		}
		again := u.sent
		u.sent, u.inFlight = true, true
		u.attempts++
		s := Send{Unit: u, Again: again}
		if p.fresh(u, now) {
			s.NotAfter = u.MaxTimestamp + p.lim.OldAfter
		}
		acts = append(acts, s)
	}
	return acts
}

func (p *Part) inFlight() (n int) {
	for _, u := range p.window {
		if u.inFlight {
			n++
		}
	}
	return n
}

func (p *Part) fence() []Action {
	p.phase, p.retryAt = fencing, 0
	return []Action{FencePart{}}
}

// Answered takes what came back for a unit. Answers for units that were settled meanwhile, and those that arrive while
// the partition is being fenced, change nothing: the look decides about them.
func (p *Part) Answered(u *Unit, r Result, now int64) []Action {
	u.inFlight = false
	if p.phase == stopped || p.phase == fencing || p.phase == looking || !slices.Contains(p.window, u) {
		return nil
	}
	first := p.window[0] == u
	switch r.Answer {
	case Fenced:
		u.doubt = true
		return []Action{GiveUp{Reason: r.Reason}}
	case Refused:
		return p.stop(r.Reason, now)
	case NotSaved:
		return p.back(r.Reason, now)
	case InDoubt:
		u.doubt = true
		return p.back(r.Reason, now)
	case Sequence:
		if !first || p.retryAt != 0 {
			return p.back(r.Reason, now) // an earlier one came back and this one only shows it
		}
		u.doubt = true
		if p.failures++; p.failures > p.lim.MaxAttempts {
			return p.stop("the target keeps refusing our sequence numbers: "+r.Reason, now)
		}
		return p.fence()
	case Acked:
	}
	if !first {
		// Acknowledged before an earlier one (LN3 excludes it): which bytes stand where is no longer certain.
		u.doubt = true
		return p.fence()
	}
	return p.acked(u, r.BaseOffset, now)
}

// back notes that a unit must be sent again, after a pause that grows.
func (p *Part) back(reason string, now int64) []Action {
	if p.stuck == 0 {
		p.stuck = now
	}
	if now-p.stuck >= p.lim.StuckAfter {
		return p.stop(fmt.Sprintf("no progress on the target for %d s: %s", p.lim.StuckAfter/1000, reason), now)
	}
	if p.retryAt != 0 {
		return nil
	}
	wait := p.lim.RetryMin << min(p.failures, 10)
	p.failures++
	p.retryAt = now + min(wait, p.lim.RetryMax)
	return nil
}

func (p *Part) acked(u *Unit, base, now int64) []Action {
	end := int64(p.m.TargetEnd())
	switch {
	case base < end:
		return p.stop(fmt.Sprintf("target log went backwards: a new batch landed at offset %d, below the mirrored end %d (records were lost on the target)", base, end), now)
	case base > end && !p.fresh(u, now):
		u.doubt = true
		return p.fence() // old data: a second copy of it may be what stands in between
	case base > end:
		if err := p.m.Foreign(offsetmap.TargetOffset(base)); err != nil {
			return p.stop("offset map: "+err.Error(), now)
		}
	}
	if err := p.land(u, base); err != nil {
		return p.stop("offset map: "+err.Error(), now)
	}
	p.failures, p.stuck = 0, 0
	p.lastFresh = max(u.MaxTimestamp, 0)
	p.window = p.window[1:]
	acts := []Action{Settled{Unit: u}}
	acts = p.skipFront(acts)
	if p.retryAt == 0 {
		acts = append(acts, p.pump(now)...)
	}
	return acts
}

// land writes a unit's records into the map at the target offset where they stand.
func (p *Part) land(u *Unit, base int64) error {
	at := base
	for _, s := range u.Spans {
		err := p.m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(s.Offset), Target: offsetmap.TargetOffset(at), Count: int64(s.Count)})
		if err != nil {
			return err
		}
		at += int64(s.Count)
	}
	p.advance(u.Next)
	return nil
}

// QueuedNext is the source offset after the first n queued pieces.
func (p *Part) QueuedNext(n int) int64 {
	if n == 0 || n > len(p.queue) {
		return p.next
	}
	return p.queue[n-1].Next
}

// Attempts is how often the unit was handed to the transport.
func (u *Unit) Attempts() int { return u.attempts }
