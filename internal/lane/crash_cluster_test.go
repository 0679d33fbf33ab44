package lane

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// crashSession is the session time-out of the lane's group, ms. It is longer than a request stays on the wire.
const crashSession = 500

// crashSource is one source partition. What compaction or retention removed stays in recs, marked as gone.
type crashSource struct {
	name     string
	compacts bool
	aged     bool
	batches  []crashSourceBatch
	start    int64
	end      int64
}

type crashSourceBatch struct {
	base, next int64
	ts         int64
	blank      bool // control batch or aborted
	removed    bool // with its header
	damaged    bool // for now: the next copy of it that is read may be well
	recs       []crashRec
	gone       []bool
}

func (s *crashSource) append(ts int64, blank bool, recs ...crashRec) {
	b := crashSourceBatch{base: s.end, ts: ts, blank: blank}
	for _, r := range recs {
		r.offset, r.from = s.end, s.end
		s.end++
		b.recs = append(b.recs, r)
	}
	if len(recs) == 0 {
		s.end++ // a marker
	}
	b.next, b.gone = s.end, make([]bool, len(recs))
	s.batches = append(s.batches, b)
}

// each calls f with every record that is still there to be mirrored.
func (s *crashSource) each(f func(crashRec)) {
	for _, b := range s.batches {
		for i, r := range b.recs {
			if !b.blank && !b.gone[i] && r.offset >= s.start {
				f(r)
			}
		}
	}
}

// clean compacts the first n batches, never the last one.
func (s *crashSource) clean(n int, maybe func() bool) {
	for i := range max(0, min(n, len(s.batches)-1)) {
		b := &s.batches[i]
		left := false
		for j, r := range b.recs {
			if !b.gone[j] && (b.blank || s.removable(r)) && maybe() {
				b.gone[j] = true
			}
			left = left || !b.gone[j]
		}
		b.removed = b.removed || !left && maybe() && (len(b.recs) > 0 || s.aged)
	}
}

func (s *crashSource) removable(r crashRec) bool {
	above, below := false, false
	s.each(func(o crashRec) {
		above = above || o.key == r.key && o.offset > r.offset
		below = below || o.key == r.key && o.offset < r.offset
	})
	return r.key != 0 && (above || s.aged && r.tombstone && !below)
}

// crashCoord is the transaction coordinator's entry of the lane's transactional id.
type crashCoord struct {
	id      Identity
	known   bool
	nextPID int64
	open    []*crashLog // partitions of the ongoing transaction
	owed    []*crashLog // markers that are not written yet (PrepareAbort)
	owedIn  int16
}

var errCrashFenced = errors.New("fenced")

func (c *crashCoord) add(id Identity, logs []*crashLog) error {
	if !c.known || id != c.id {
		return errCrashFenced
	}
	for _, l := range logs {
		if !slices.Contains(c.open, l) {
			c.open = append(c.open, l)
		}
	}
	return nil
}

// endTxn (v4) aborts: the decision is durable, markers come later.
func (c *crashCoord) endTxn(id Identity) error {
	if !c.known || id != c.id {
		return errCrashFenced
	}
	c.owed, c.owedIn, c.open = append(c.owed, c.open...), c.id.Epoch, nil
	return nil
}

// timeout aborts an ongoing transaction whose owner is gone, with a raised epoch.
func (c *crashCoord) timeout() {
	if len(c.open) > 0 {
		c.id.Epoch++
		c.owed, c.owedIn, c.open = append(c.owed, c.open...), c.id.Epoch, nil
	}
}

// finishOne writes one owed marker.
func (w *crashWorld) finishOne() {
	c := &w.coord
	i := w.choose(len(c.owed))
	l := c.owed[i]
	c.owed = slices.Delete(c.owed, i, i+1)
	w.say("marker of epoch %d on %s at %d", c.owedIn, l.name, l.end)
	if err := l.mark(c.id.ProducerID, c.owedIn, w.now); err != nil {
		w.fail("%v", err)
	}
}

// init answers InitProducerID once nothing is pending; cur is the identity to raise, nil takes the id from whoever has it.
func (c *crashCoord) init(cur *Identity) (Identity, error) {
	switch {
	case cur != nil && (!c.known || *cur != c.id):
		return Identity{}, errCrashFenced
	case !c.known:
		c.nextPID++
		c.id, c.known = Identity{ProducerID: c.nextPID}, true
	default:
		c.id.Epoch++
	}
	return c.id, nil
}

// crashRequest is a produce request on its way. answer is nil once its sender is gone or has given the connection up.
type crashRequest struct {
	owner  *crashOwner
	log    *crashLog
	batch  crashBatch
	born   int64
	answer func(Result)
}

// crashPair is a source partition with its copy.
type crashPair struct {
	n       int32
	source  *crashSource
	target  *crashLog
	inexact bool              // an alignment was
	least   int64             // greatest through that a map had: everything below must be on the target or was gone before
	checked int64             // up to here it was
	heads   map[Identity]bool // identities in which a head was found in the ledger

	controls Controls         // what is decided
	skipped  map[int64]bool   // source offsets that need not be copied
	origin   offsetmap.Origin // of the newest copy that a head in the ledger is of; zero: the first
	quiet    int              // records of ours that the target had when a pause came into force; -1: none is
}

type crashWorld struct {
	choose     func(n int) int // 0 is the calm choice
	now        int64
	pairs      []*crashPair
	ledger     *crashLog
	coord      crashCoord
	wire       []*crashRequest
	limbo      []*crashRequest
	owners     []*crashOwner
	split      bool // groups of more than two records go as two outputs
	heldUp     int  // requests, by a test of their own
	notYet     bool // no partition can be mirrored
	hides      bool // no partition is named before its first look, and then all are
	merges     bool // small source batches go as one
	leaderless int  // one partition in so many has no leader when heads are fenced
	depth      int
	reported   int64 // duplicates that were announced, at most
	choices    int
	decisions  int
	forgotten  bool // the ledger's broker has forgotten a producer
	told       bool // the story is kept: only for a history that is known to go wrong
	story      []string
	failure    string
}

func newCrashWorld(choose func(int) int, pairs int) *crashWorld {
	w := &crashWorld{choose: choose, now: 1_000_000, ledger: newCrashLog("ledger"), depth: 2, leaderless: 40}
	w.ledger.ledger, w.ledger.compacts = true, true
	for n := range pairs {
		name := string(rune('a' + n))
		w.pairs = append(w.pairs, &crashPair{
			n: int32(n), source: &crashSource{name: "source " + name}, target: newCrashLog("target " + name), heads: map[Identity]bool{}, skipped: map[int64]bool{}, quiet: -1,
		})
	}
	return w
}

func (w *crashWorld) say(format string, args ...any) {
	if !w.told {
		return
	}
	w.story = append(w.story, fmt.Sprintf("%d ", w.now-1_000_000)+fmt.Sprintf(format, args...))
}

func (w *crashWorld) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.say("FAILURE: %s", w.failure)
	}
}

func (w *crashWorld) chance(oneIn int) bool { return w.choose(oneIn) == oneIn-1 }

// land lets a request reach its partition.
func (w *crashWorld) land(r *crashRequest) Result {
	got := r.log.append(r.batch, w.now)
	if r.log == w.ledger && got.Answer == Acked {
		w.begun(r.batch)
	}
	w.say("%s epoch %d sequence %d of %s lands: %s", r.log.name, r.batch.epoch, r.batch.seq, r.owner.name, got)
	return got
}

// deliver takes the oldest request from the wire: it lands and is answered, or one of what can go wrong happens.
func (w *crashWorld) deliver(fault int) {
	r := w.wire[0]
	w.wire = w.wire[1:]
	doubt := Result{Answer: InDoubt, Reason: "connection lost"}
	switch fault {
	case 1:
		w.say("a request of %s to %s is lost", r.owner.name, r.log.name)
		r.answer(doubt)
	case 2:
		w.land(r)
		w.say("its answer is lost")
		r.answer(doubt)
	case 3:
		w.say("a request of %s to %s is held up", r.owner.name, r.log.name)
		w.limbo = append(w.limbo, r)
		r.answer(doubt)
	case 4:
		w.say("%s has too few replicas", r.log.name)
		r.answer(Result{Answer: NotSaved, Reason: "not enough replicas"})
	case 5:
		w.say("%s refuses a batch", r.log.name)
		r.answer(Result{Answer: Refused, Reason: "message too large"})
	default:
		r.answer(w.land(r))
	}
}

// settleLimbo ends everything that is held up; a request does not outlive its connection for long.
func (w *crashWorld) settleLimbo(old int64) {
	w.limbo = slices.DeleteFunc(w.limbo, func(r *crashRequest) bool {
		if w.now-r.born < old {
			return false
		}
		if w.choose(2) == 0 {
			w.land(r)
		}
		return true
	})
}

// pass lets time go by; requests are answered before a long while is over.
func (w *crashWorld) pass(ms int64) {
	if ms >= 1000 {
		for len(w.wire) > 0 {
			w.deliver(w.choose(4))
		}
		w.settleLimbo(0)
		w.say("%d ms pass", ms)
	}
	w.now += ms
	w.settleLimbo(crashSession)
}

// forget is the check for producers that wrote nothing new; nothing that is held up outlives two of them.
func (w *crashWorld) forget() {
	w.settleLimbo(0)
	for _, p := range w.pairs {
		if n := p.target.forget(w.now); n > 0 {
			w.say("%s forgets %d producers", p.target.name, n)
		}
	}
	w.forgotten = w.ledger.forget(w.now) > 0 || w.forgotten
}

// headed checks MR1: before the first data of an identity leaves for a partition, a head in it is in the ledger.
func (w *crashWorld) headed(p *crashPair, pid int64, epoch int16) {
	id := Identity{pid, epoch}
	if p.heads[id] {
		return
	}
	key := ledger.Key{Kind: ledger.KindHead, Topic: p.key().Topic, Partition: p.n}
	for _, b := range w.ledger.batches {
		for _, r := range b.recs {
			if string(r.name) != key.String() {
				continue
			}
			if h, err := ledger.DecodeHead(key, r.val); err == nil && h.ProducerID == pid && h.Epoch == epoch {
				p.heads[id] = true
				return
			}
		}
	}
	w.fail("MR1: data of %d/%d leaves for %s, and no head of it is in the ledger", pid, epoch, p.target.name)
}

func (w *crashWorld) readLedger() *ledger.Contents {
	c := ledger.NewContents()
	for _, b := range w.ledger.batches {
		for _, r := range b.recs {
			if err := c.Apply(r.offset, r.name, r.val); err != nil {
				w.fail("ledger: %v", err)
			}
		}
	}
	return c
}
