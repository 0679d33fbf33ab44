package mirror

import (
	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// part is one partition of a lane: what it is about (Partition), what becomes of it (core), and the bytes that core decides
// about. Only the lane's goroutine touches it.
type part struct {
	Partition
	core *lane.Partition

	feed    *feed
	head    *ledger.Head  // as loaded from the ledger; nil if there was none
	begin   *ledger.Begin // where mirroring begins by choice; nil: with the oldest record
	damaged string        // why the ledger record cannot be used
	round   int           // counts fences and looks; an answer to an earlier one is of no use

	edge       offsetmap.SourceOffset // source offset after the last batch seen: the next one begins there or behind
	unreadable error                  // why the source cannot be read now; nil: all is well, as far as is known

	pieces map[uint64]*piece
	outs   map[uint64]*out

	syncedAt int64                  // ms
	lastUp   offsetmap.SourceOffset // last mirrored record, for offset syncs; -1 none
	lastDown offsetmap.TargetOffset // and where it is on the target
	syncedUp offsetmap.SourceOffset // as lastUp, when it was synced last
}

// piece is a fetched batch that the core knows by its ID.
type piece struct {
	view   batch.View
	legacy *batch.Output // a set of an old format, rebuilt already, instead of view
	buf    *buffer
	raw    bool                   // may go as it is
	crop   offsetmap.SourceOffset // records below it are left out
	until  offsetmap.SourceOffset // and those from there on
}

// buffer counts the pieces that still need one fetched response's bytes.
type buffer struct {
	feed *feed
	free func()
	size int64
	refs int
}

// drop gives one reference back; the last one returns the bytes to the transport's pool.
func (b *buffer) drop(f *Flow) {
	if b.refs--; b.refs == 0 {
		if b.free != nil {
			b.free()
		}
		b.feed.free(f, b.size)
	}
}

// out is a prepared batch and the fetched bytes that it is made of.
type out struct {
	bytes    []byte
	bufs     []*buffer
	rebuilt  *batch.Output // to give back to the builder
	stamped  bool          // carries epoch and sequence; its bytes stay identical from then on
	settled  bool          // the core needs it no longer
	inFlight int           // the transport may still write it
}

// newPart begins with what the ledger says, which is nothing for most.
func (l *Lane) newPart(info Partition) *part {
	p := &part{Partition: info, pieces: map[uint64]*piece{}, outs: map[uint64]*out{}, edge: -1, lastUp: -1, syncedUp: -1}
	p.feed = &feed{tp: info.TP, lane: l, cap: max(l.flow.MemoryBytes/8, 2<<20), closed: true}
	p.core = lane.NewPartition(l.limits, l.fromLedger(p))
	l.parts[info.TP] = p
	l.flow.mu.Lock()
	l.flow.feeds[info.TP] = p.feed
	l.flow.mu.Unlock()
	l.step(p, lane.Decided{Controls: l.controlsOf(p)})
	return p
}

// letGo frees an output once neither the core nor the transport needs it (MR3).
func (p *part) letGo(f *Flow, id uint64) {
	o := p.outs[id]
	if o == nil || !o.settled || o.inFlight > 0 {
		return
	}
	delete(p.outs, id)
	for _, b := range o.bufs {
		b.drop(f)
	}
	if o.rebuilt != nil {
		f.builder.Release(*o.rebuilt)
	}
}

// dropAll lets go of all fetched bytes; outputs that the transport may still write follow when it answers.
func (p *part) dropAll(f *Flow) {
	for id, pc := range p.pieces {
		delete(p.pieces, id)
		pc.buf.drop(f)
	}
	for id, o := range p.outs {
		o.settled = true
		p.letGo(f, id)
	}
}
