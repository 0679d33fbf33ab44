package lane

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/offsetmap"
)

// Controls is what people have decided about a partition, as far as it is in force. The zero value is nothing.
type Controls struct {
	Paused  string  // who paused it, since when and why, for people; empty: it is not
	Skips   []Skip  // what is never copied, by its first offset; they do not overlap
	Restart Restart // the newest decision to copy it anew; without an incarnation there is none
}

// Skip is source offsets that are passed over by choice: First to Last, both included.
type Skip struct{ First, Last offsetmap.SourceOffset }

// Restart is the decision to copy a partition anew, behind what stands on the remote partition already. The offset map carries
// the incarnation, and that is how every later owner knows that the decision was obeyed. A record of its own beside the head was
// rejected: a crash between both would copy twice, or not at all.
type Restart struct {
	Incarnation uint32 // grows with each decision; 0: none
	From        RestartFrom
	Offset      offsetmap.SourceOffset // with FromOffset
}

// RestartFrom is where copying anew begins.
type RestartFrom uint8

// The places to begin. What lies outside of the source's log means the end that is nearer.
const (
	FromEarliest RestartFrom = iota
	FromLatest
	FromOffset
	FromTime // Offset is ms since the epoch; whoever looks at the source makes an offset of it
)

// String is the decision in a transcript.
func (r Restart) String() string {
	from := [...]string{"the oldest record", "the end", fmt.Sprintf("offset %d", r.Offset), fmt.Sprintf("%d ms", r.Offset)}[r.From]
	return fmt.Sprintf("incarnation %d from %s", r.Incarnation, from)
}

// String lists the decisions for a transcript.
func (c Controls) String() string {
	var all []string
	if c.Paused != "" {
		all = append(all, c.Paused)
	}
	for _, s := range c.Skips {
		all = append(all, fmt.Sprintf("skip %d to %d", s.First, s.Last))
	}
	if c.Restart.Incarnation != 0 {
		all = append(all, c.Restart.String())
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// Due says that a decision to copy anew is newer than a map.
func (r Restart) Due(m *offsetmap.Map) bool {
	return r.Incarnation != 0 && (m == nil || m.Origin().Incarnation < r.Incarnation)
}

// at is the first source offset to copy.
func (r Restart) at(e Ends) offsetmap.SourceOffset {
	switch r.From {
	case FromLatest:
		return e.SourceEnd
	case FromOffset:
		return max(e.SourceStart, min(r.Offset, e.SourceEnd))
	case FromEarliest, FromTime:
	}
	return e.SourceStart
}

// decided takes what is in force from now on. Whatever was fetched before is read again: it may hold what is skipped now.
func (p *Partition) decided(c Controls, now int64) []Action {
	was := p.controls
	p.controls = c
	skips := !slices.Equal(was.Skips, c.Skips)
	switch {
	case p.absent: // what was decided waits with it
	case p.state == Live:
		if c.Paused == "" && !p.anew() && !skips {
			return nil
		}
		return p.readAhead()
	case c.Paused != "" && p.state == Stopped && p.dirty && !p.off:
		p.final, p.retryAt = false, now // what may still arrive is fenced off first
	case c.Paused != "" && (p.state == Stopped || p.state == Waiting || p.state == Opening):
		return p.halt(c.Paused, true, now)
	case p.state == Opening && p.ending && p.reason == was.Paused:
		p.ending, p.final, p.reason, p.told = false, false, "", false // it was not said, and does not stop any more
	case p.state == Stopped && was.Paused != "" && p.reason == was.Paused:
		p.final, p.retryAt, p.reason, p.told = false, now, "", false
		return []Action{Said{News{What: NewsGoesOn, Why: was.Paused}}}
	case p.state == Stopped && (skips || p.anew()):
		p.final, p.retryAt = false, now
	}
	return nil
}

// readAhead lets what is in flight come to an end and drops what is queued; advance goes on from there.
func (p *Partition) readAhead() []Action {
	if p.held || p.draining {
		return nil
	}
	acts := append(p.unqueue(nil), StopReading{})
	p.again = true
	return acts
}

// anew says that the partition is to be copied anew, and has not begun.
func (p *Partition) anew() bool { return p.controls.Restart.Due(p.m) }

// begun takes the map that a look has settled. One of another incarnation replaces all that was known, once its head is in the
// ledger.
func (p *Partition) begun(m *offsetmap.Map) (acts []Action) {
	old := p.m
	p.m = m
	if o := m.Origin(); o.Incarnation != 0 && (old == nil || old.Origin().Incarnation != o.Incarnation) {
		acts = []Action{Said{News{What: NewsAnew, N: int64(o.SourceStart)}}}
	}
	if old == nil || len(acts) == 0 {
		return acts
	}
	p.head.trimmedTo, p.head.others = 0, m.Others()
	if left := old.Blocks(); len(left) > 0 {
		p.head.drops = append(p.head.drops, blockDrop{p.head.queued + 1, DropBlocks{old.Origin().Incarnation, left}})
	}
	return acts
}

// decides says that something that was decided is due at the partition's place, so that nothing is read there.
func (p *Partition) decides() bool {
	_, skips := p.skipAt(p.next)
	return skips || p.controls.Paused != "" || p.anew()
}

// obey does what was decided, once nothing is queued or in flight. done is false where there is nothing to do.
func (p *Partition) obey(now int64) (acts []Action, done bool) {
	switch {
	case p.controls.Paused != "":
		return p.stop(p.controls.Paused, true, now), true
	case p.anew():
		return p.beginAnew(now), true
	}
	return p.pass(now)
}

// beginAnew looks where the new copy begins. Where units are in doubt they are fenced off first, and so is a remote topic that
// is another one by now: it knows no sequence of ours, and in an epoch of its own they begin at 0.
func (p *Partition) beginAnew(now int64) []Action {
	if p.dirty || p.facts.TargetTopicID != p.m.Origin().TargetTopicID {
		return p.fence(now)
	}
	return append([]Action{StopReading{}}, p.look(now)...)
}

// pass goes over what is skipped at the partition's place. What follows is written once the head that knows of it is
// acknowledged: no tail beyond a head spans it, so no later owner has to explain it.
func (p *Partition) pass(now int64) ([]Action, bool) {
	s, ok := p.skipAt(p.next)
	if !ok {
		return nil, false
	}
	n := int64(s.Last + 1 - p.next)
	if err := p.m.Lose(s.Last+1, n); err != nil {
		return p.stop("offset map: "+err.Error(), false, now), true
	}
	p.next = p.m.Through()
	return append([]Action{StopReading{}, Said{News{What: NewsSkipped, N: n}}}, p.goLive(now)...), true
}

// skipAt is the skip that an offset lies in.
func (p *Partition) skipAt(at offsetmap.SourceOffset) (Skip, bool) {
	for _, s := range p.controls.Skips {
		if s.First <= at && at <= s.Last {
			return s, true
		}
	}
	return Skip{}, false
}

// Until is the first source offset at or above one that is skipped; ok is false where nothing is.
func (c Controls) Until(at offsetmap.SourceOffset) (first offsetmap.SourceOffset, ok bool) {
	for _, s := range c.Skips {
		if s.Last >= at {
			return max(s.First, at), true
		}
	}
	return 0, false
}

// Controls is what is in force.
func (p *Partition) Controls() Controls { return p.controls }

// Obeys says that what was decided is in force: it stands in the ledger, or nothing has to be done for it. The decision to
// copy anew waits for the end of a pause.
func (p *Partition) Obeys() bool {
	switch {
	case p.absent:
		return true // what was decided waits with it
	case p.controls.Paused != "":
		return p.state == Stopped && p.reason == p.controls.Paused && p.head.acked == p.head.queued && (!p.dirty || p.off)
	case p.anew():
		return false
	}
	_, skips := p.skipAt(p.next)
	return (!skips || !p.opened) && p.state != Heading
}
