package mirror

import (
	"cmp"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// step is where a partition stands between "in the lane" and "mirrored".
type step uint8

const (
	unopened step = iota // nothing known yet, or to be tried again at retryAt
	opening              // a job looks at both ends
	heading              // its head is on the way to the ledger; nothing may be written before (MR1)
	live                 // core decides
	halted               // core is stopped, or opening failed
)

// stopLater is a reason to stop that came up while a job was looking at the partition.
type stopLater struct {
	reason string
	retry  bool
}

// part is one partition of a lane. Only the lane's goroutine touches it.
type part struct {
	Partition
	step    step
	reason  string // why it is halted
	said    string // the reason last logged: a partition that stays stopped says so once
	former  string // why it was stopped when the lane's last owner ended; empty once it goes on or was said anew
	liveAt  int64  // when it went live last, ms
	heard   bool   // the source has answered since reading began last
	edge    int64  // source offset after the last batch seen: the next one begins there or behind
	looks   int    // looks in a row that failed for reasons that pass
	heardAt int64  // when reading last brought something that could be used, ms

	again bool // what was queued goes to the target first, then it is read again from there: see frontFirst

	unreadable error // why the source cannot be read now; nil: all is well, as far as is known
	retryAt    int64

	stopAfter *stopLater
	feed      *feed
	core      *lane.Part
	loaded    *offsetmap.Map // from the ledger, until opened
	head      *ledger.Head   // as loaded from the ledger; nil if there was none
	begin     *ledger.Begin  // where mirroring begins by choice; nil: with the oldest record
	damaged   string         // why the ledger record cannot be used
	uncertain int64          // of the core, as logged
	others    int64          // offsets that others wrote to the remote partition, as known to the map when it was logged last
	othersAt  int64          // when that was, ms
	absent    bool           // the last look at the topics did not show it
	reopen    bool           // both ends must be looked at again before it goes on

	pieces map[uint64]*piece
	outs   map[uint64]*out

	// Head keeping.
	dirty      bool
	headAt     int64 // when the last head was queued, ms
	sinceHead  int64 // bytes mirrored since
	headFlight int   // heads on the way

	syncedAt             int64
	lastUp, lastDown     int64 // last mirrored record, for offset syncs; -1 none
	syncedUp             int64
	sourceEnd, sourceLSO int64 // source high watermark and last stable offset, -1 unknown
	sourceStart          int64
	targetStart          int64
	trimmedTo            int64 // target log start that map and rows know of
}

// piece is a fetched batch that the core knows by its ID.
type piece struct {
	view   batch.View
	legacy *batch.Output // a set of an old format, rebuilt already, instead of view
	buf    *buffer
	raw    bool // may go as it is
	crop   int64
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

func newPart(p Partition) *part {
	return &part{Partition: p, pieces: map[uint64]*piece{}, outs: map[uint64]*out{}, edge: -1, lastUp: -1, syncedUp: -1, sourceEnd: -1, sourceLSO: -1, sourceStart: -1, targetStart: -1}
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

// settling says that the partition's own fence or the look behind it is under way. What it finds belongs into the map
// before anything else does: a look at both ends at the same time could note the source's lost records first, and its
// answer would find the partition in another step and be thrown away.
func (p *part) settling() bool {
	_, isStopped := p.core.Stopped()
	return p.core.Busy() && !isStopped
}

// was is why the partition was stopped last, until it counts as going on; empty then.
func (p *part) was() string { return cmp.Or(p.said, p.former) }

// m is the partition's offset map, or nil before it is opened.
func (p *part) m() *offsetmap.Map {
	if p.core != nil {
		return p.core.Map()
	}
	return p.loaded
}

// recreated says which of the topics is another one now than the one that a map is of, as far as is known.
func (p *part) recreated(m *offsetmap.Map) string {
	var unknown [16]byte
	switch was := m.Origin(); {
	case p.SourceTopicID != unknown && was.SourceTopicID != p.SourceTopicID:
		return recreatedSource
	case p.TargetTopicID != unknown && was.TargetTopicID != p.TargetTopicID:
		return recreatedRemote
	}
	return ""
}
