package lane

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
)

// crashOwner is one process that owns the lane. What it decides is the package's own: Takeover, Partition, Probe, Journal,
// Release. What it does itself is the world's side, as internal/mirror has it: the coordinator, the wire, reading logs. It is
// a coroutine that stops in front of every durable effect (pause), where the driver lets it go on, lets something else
// happen first, or ends it for good: so every crash point and every interleaving of two owners can be had without a
// goroutine of its own. A job, such as a look, stops too; the lane's goroutine goes on beside it.
type crashOwner struct {
	w       *crashWorld
	name    string
	resume  func() (string, bool)
	kill    func()
	yield   func(string) bool
	at      string // what it does next
	ended   bool
	waiting bool  // at the bottom of its loop
	until   int64 // its lease ends, ms

	busy bool // a job is under way

	lim      Limits
	id       Identity // data and ledger are stamped with it
	coord    Identity // as the coordinator has it: own fences raise it
	ledger   *Journal
	upkeep   *Upkeep
	release  Release
	parts    []*crashPart
	contents *ledger.Contents
	decided  []Controls // by pair, as read at take-over
	unfenced map[*crashPair]bool
	inbox    []func()
	jobs     []func()
	ids      uint64
	gone     string

	claimed, draining, released bool
}

type crashKilled struct{}

func (w *crashWorld) start(name string, static bool) *crashOwner {
	o := &crashOwner{w: w, name: name, until: 1 << 62, unfenced: map[*crashPair]bool{}}
	for _, before := range w.owners {
		// The lease of a former owner is out before another member gets its lanes; a static member that returns gets them
		// at once.
		if static {
			before.until = min(before.until, w.now+crashSession)
		} else {
			before.until = min(before.until, w.now)
		}
	}
	o.lim = Limits{Depth: w.depth, OldAfter: simOld, RetryMin: 5, RetryMax: 50, StuckAfter: 2000, StopRetry: 20, MergeTarget: 300, MaxAttempts: 5}
	w.owners = append(w.owners, o)
	w.say("%s starts", name)
	o.resume, o.kill = iter.Pull(iter.Seq[string](func(yield func(string) bool) {
		defer func() {
			o.ended = true
			w.orphan(o)
			switch r := recover().(type) {
			case nil, crashKilled:
			case runtime.Error:
				w.fail("%s: %v\n%s", name, r, debug.Stack())
			default:
				panic(r) // of rapid
			}
		}()
		o.yield = yield
		o.run(static)
	}))
	return o
}

// pause is where the process can die or another one go on.
func (o *crashOwner) pause(format string, args ...any) {
	if o.at = format; o.w.told {
		o.at = fmt.Sprintf(format, args...)
	}
	if !o.yield(o.at) {
		panic(crashKilled{})
	}
	if o.busy && o.turn() {
		panic(crashKilled{}) // its jobs end with it
	}
	if !o.waiting {
		o.w.say("%s %s", o.name, o.at)
	}
}

// die is SIGKILL: what it has sent may still arrive.
func (o *crashOwner) die() {
	o.w.say("%s dies before it %s", o.name, o.at)
	o.kill()
	o.ended, o.until = true, 0
	o.w.orphan(o)
}

// lose ends the lane: it is another owner's. The coordinator must say so too, unless the ledger's broker had forgotten us:
// the model lets more time pass between two keepalives than a lane does.
func (o *crashOwner) lose(why string) {
	if o.gone == "" {
		o.gone = why
	}
	if c := o.w.coord; c.known && c.id == o.coord && !o.w.forgotten {
		o.w.fail("%s gives the lane up although nobody else has it: %s", o.name, why)
	}
}

// orphan turns the requests of an ended owner into held-up ones.
func (w *crashWorld) orphan(o *crashOwner) {
	w.wire = slices.DeleteFunc(w.wire, func(r *crashRequest) bool {
		if r.owner == o {
			w.limbo = append(w.limbo, r)
		}
		return r.owner == o
	})
}

func (o *crashOwner) leased() bool { return o.w.now < o.until }

// run is the life of the process.
func (o *crashOwner) run(static bool) {
	how, err := o.takeOver()
	if err != nil {
		o.w.say("%s gives up: %v", o.name, err)
		return
	}
	if static && (how == Crashed || how == Expired) {
		o.lim.HoldOldUntil = o.w.now + crashSession
	}
	o.adopt()
	o.loop()
}

// takeOver does what Takeover says. Left out are the verdicts partitions, which are fenced together with the ledger, a damaged
// claim, another isolation, and the next identity that a lane takes when its own hangs.
func (o *crashOwner) takeOver() (Handover, error) {
	var t Takeover
	for {
		if !o.leased() {
			return 0, errors.New("lease")
		}
		var err error
		switch t.Next() {
		case ReadLedger:
			o.pause("reads the ledger")
			o.contents = o.w.readLedger()
			err = t.Read(o.claimedBy())
		case Identify:
			if o.id, err = o.initProducer(nil); err == nil {
				o.coord = o.id
				t.Identified(o.id, "")
				o.w.say("%s is %d/%d: %s", o.name, o.id.ProducerID, o.id.Epoch, t.How())
			}
		case WaitLease:
			for range 5 {
				o.pause("waits out the former owner's lease")
				o.w.now += crashSession / 5
			}
			o.w.settleLimbo(0) // batches on the way then are the gap that docs/guarantees.md names; here they arrive before
			t.Done()
		case FenceOwn:
			if err = o.fence(o.coord, o.w.ledger); err == nil {
				t.Done()
			}
		case FenceHeads:
			if err = o.fenceHeads(); err == nil {
				t.Done()
			}
		case ReadTails:
			return 0, errors.New("all owners read the same")
		case ReadControls:
			o.pause("reads what is decided")
			for _, p := range o.w.pairs {
				o.decided = append(o.decided, p.controls)
			}
			t.Done()
		case Adopt:
			return t.How(), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// claimedBy is what the ledger says about who has the lane.
func (o *crashOwner) claimedBy() Claimed {
	got := Claimed{Lost: o.contents.ClaimLost()}
	if c := o.contents.Claim; c != nil {
		got.Former = &Former{Identity: Identity{c.ProducerID, c.Epoch}, Released: c.Released}
	}
	return got
}

// initProducer takes the identity, or raises the epoch of cur; it waits for what the coordinator has not finished.
func (o *crashOwner) initProducer(cur *Identity) (Identity, error) {
	o.pause("asks for its epoch")
	for c := &o.w.coord; len(c.open) > 0 || len(c.owed) > 0; {
		if cur == nil {
			c.timeout()
		} else if c.id != *cur {
			return Identity{}, errCrashFenced
		}
		if len(c.owed) > 0 {
			o.w.finishOne()
		} else {
			c.timeout()
		}
		o.pause("asks for its epoch again")
	}
	return o.w.coord.init(cur)
}

// fence is an empty aborted transaction: add, abort, wait until every marker is written.
func (o *crashOwner) fence(id Identity, logs ...*crashLog) error {
	c := &o.w.coord
	o.pause("adds %d partitions to a transaction", len(logs))
	if err := c.add(id, logs); err != nil {
		return err
	}
	o.pause("aborts it")
	if err := c.endTxn(id); err != nil {
		return err
	}
	for len(c.owed) > 0 {
		o.pause("waits for markers")
		if len(c.owed) > 0 {
			o.w.finishOne()
		}
	}
	if c.id != id {
		return errCrashFenced
	}
	return nil
}

// fenceHeads fences every partition that has a head; one without a leader is left for later.
func (o *crashOwner) fenceHeads() error {
	var logs []*crashLog
	for _, p := range o.w.pairs {
		h, ok := o.contents.Heads[p.key()]
		if !ok || !h.Mirrored() {
			continue
		}
		if o.w.chance(o.w.leaderless) {
			o.w.say("%s has no leader: not fenced", p.target.name)
			o.unfenced[p] = true
			continue
		}
		logs = append(logs, p.target)
	}
	if len(logs) == 0 {
		return nil
	}
	return o.fence(o.coord, logs...)
}

// fenceOne fences a partition alone, in a raised epoch.
func (o *crashOwner) fenceOne(p *crashPart) (int16, error) {
	if o.w.chance(40) {
		return 0, errors.New("no leader")
	}
	id, err := o.initProducer(&o.coord)
	if err != nil {
		return 0, err
	}
	o.coord = id
	if err := o.fence(id, p.target); err != nil {
		return 0, err
	}
	return id.Epoch, nil
}

func (p *crashPair) key() partition.ID {
	return partition.ID{Topic: "t" + strconv.Itoa(int(p.n)), Partition: p.n}
}

// adopt writes the claim and begins every partition's life.
func (o *crashOwner) adopt() {
	o.ledger = NewJournal(o.id.Epoch)
	o.upkeep = NewUpkeep("", 1<<40, o.w.now)
	claim := ledger.Claim{ProducerID: o.id.ProducerID, Epoch: o.id.Epoch, Owner: o.name}
	o.record(ledger.Key{Kind: ledger.KindClaim}, claim.Encode(), func() { o.claimed = true })
	if o.contents.Meta == nil {
		o.record(ledger.Key{Kind: ledger.KindMeta}, ledger.Meta{Lanes: 1, Hash: ledger.HashName}.Encode(), nil)
	}
	for n, pair := range o.w.pairs {
		p := &crashPart{crashPair: pair, pieces: map[uint64][]crashRec{}, outs: map[uint64]*crashBatch{}, stamped: map[uint64]bool{}}
		o.parts = append(o.parts, p)
		past := Past{SourceEnd: -1}
		if h, ok := o.contents.Heads[p.key()]; ok {
			p.head, past.Stopped, past.SourceEnd = &h, h.Reason, h.SourceEnd
			if h.Mirrored() {
				m, err := o.contents.Map(p.key())
				if err != nil || len(m.Missing()) > 0 {
					o.w.fail("map in the ledger: %v, missing %v", err, m.Missing())
					continue
				}
				past.Map = m
			}
		}
		p.core = NewPartition(o.lim, past)
		o.step(p, Decided{o.decided[n]})
		if o.w.chance(12) || o.w.hides || o.w.notYet {
			p.facts.NotYet = crashNotYet
		}
		o.step(p, Named{p.facts})
		if o.w.hides {
			o.step(p, Absent{})
			p.facts.NotYet = ""
			o.step(p, Named{p.facts})
		}
	}
}

// crashNotYet is why the flow cannot mirror a partition now.
const crashNotYet = "the remote topic cannot be created"
