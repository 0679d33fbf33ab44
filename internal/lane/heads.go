package lane

import "tidemark/offsetmap"

// Head pacing. A head costs some hundred bytes and a record in a compacted topic; the ledger should stay near 1 % of the
// mirrored bytes, so a partition that trickles waits longer between heads. Resume copes with any tail.
const (
	headEvery  = int64(1000) // ms
	headAtMost = 10 * headEvery
	headShare  = 100      // mirrored bytes per head byte
	sealAt     = 16 << 10 // open runs beyond this become a block
	othersTell = 60_000   // ms from line to line while others write to the remote partition
)

// heads is what a partition knows of its records in the ledger.
type heads struct {
	queued, acked int // numbers of the heads written and acknowledged last
	wanted        int // in state Heading: the one that is waited for
	dirty         bool
	at            int64 // when the last one was queued, ms
	bytes         int64 // mirrored since
	drops         []blockDrop
	trimmedTo     offsetmap.TargetOffset // the target's log start that the map knows of
	others        int64                  // offsets that others wrote to the remote partition, as known to the map when that was said last
	othersAt      int64                  // when that was, ms
}

// blockDrop is blocks that no head names any more from the n-th on. They go behind it: a block missing under an old head
// would make its answers bounded for no reason.
type blockDrop struct {
	n int
	DropBlocks
}

// flush writes a head when one is due.
func (p *Partition) flush(now int64) []Action {
	h := &p.head
	if p.state != Live || !h.dirty || h.queued > h.acked {
		return nil
	}
	since := now - h.at
	if since < headEvery || !p.Idle() && since < headAtMost && h.bytes < headShare*int64(p.m.OpenSize()+200) {
		return nil
	}
	return p.writeHead(now)
}

// Flush writes a head although none is due: the lane is being released. It is nil where nothing is new.
func (p *Partition) Flush(now int64) []Action {
	if !p.head.dirty || p.state != Live {
		return nil
	}
	return p.writeHead(now)
}

// writeHead asks for blocks that are due and the partition's head. While a stopped partition is tried again the head goes on
// to say why it was stopped: whoever looks meanwhile would see that it runs.
func (p *Partition) writeHead(now int64) []Action {
	h := &p.head
	h.queued++
	h.dirty, h.bytes, h.at = false, 0, now
	w := WriteHead{N: h.queued, Reason: p.reason}
	if p.lasting && p.state != Stopped && p.state != Live {
		w.Reason, w.Looking = p.doing(), true
	}
	if !p.opened {
		return []Action{w}
	}
	acts := append(p.tellOthers(now), p.seal()...)
	w.Opened = true
	w.Epoch, w.Seq = p.Anchor()
	return append(acts, w)
}

// tellOthers says that somebody else writes to a remote partition. It is mirrored all the same: what others write is read,
// not skipped, and may be meant. It goes on for as long as the other one does, so it is said once a minute.
func (p *Partition) tellOthers(now int64) []Action {
	h := &p.head
	n := p.m.Others()
	if n <= h.others || now-h.othersAt < othersTell {
		return nil
	}
	said := Said{News{What: NewsOthers, N: n - h.others}}
	h.others, h.othersAt = n, now
	return []Action{said}
}

// seal turns full open runs into blocks. It is done as runs are added, not only with heads, so that no block outgrows
// what the ledger topic takes while heads wait.
func (p *Partition) seal() (acts []Action) {
	for p.m.OpenSize() >= sealAt {
		b, ok := p.m.Seal()
		if !ok {
			break
		}
		acts = append(acts, WriteBlock{Number: b.Number, Data: b.Data})
	}
	return acts
}

// trim drops what the map holds about target records that retention removed.
func (p *Partition) trim(start offsetmap.TargetOffset, now int64) []Action {
	if p.state != Live {
		return nil
	}
	p.seen.TargetStart = max(p.seen.TargetStart, start)
	if p.seen.TargetStart <= p.head.trimmedTo {
		return nil
	}
	p.head.trimmedTo = p.seen.TargetStart
	acts := []Action{Rejudge{}}
	dropped := p.m.TrimTarget(p.seen.TargetStart)
	if len(dropped) == 0 {
		return acts
	}
	acts = append(acts, p.writeHead(now)...)
	p.head.drops = append(p.head.drops, blockDrop{p.head.queued, DropBlocks{p.m.Origin().Incarnation, dropped}})
	return acts
}

// dropBlocks asks for the blocks to go that no head names any more.
func (p *Partition) dropBlocks() (acts []Action) {
	for len(p.head.drops) > 0 && p.head.drops[0].n <= p.head.acked {
		acts = append(acts, p.head.drops[0].DropBlocks)
		p.head.drops = p.head.drops[1:]
	}
	return acts
}
