package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/control"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
	"tidemark/internal/wire"
)

// tick is how often a lane looks at its timers: retries, heads, restarts.
const tick = 50 * time.Millisecond

// drainFor bounds how long a release waits for what is in flight. Afterwards the lane is let go without the word
// "released", and its next owner fences and looks.
const drainFor = 8 * time.Second

// Lane is one owned lane. RunLane is its life. Everything below the inbox is touched by that goroutine only, but for configs,
// which Flow's lock guards, and coord, which has its own; discard, when the lane has ended, holds the inbox's lock.
type Lane struct {
	n    int32
	flow *Flow

	inbox struct {
		sync.Mutex
		events []any
		closed bool // the lane ended: what still arrives is only let go of
	}
	wake chan struct{}

	txid     string        // the transactional id that the lane writes under
	id       lane.Identity // as InitProducerID gave it: what data and journals are stamped with
	coord    coordinator
	ledger   *journal
	verdicts map[int32]*journal
	parts    map[partition.ID]*part
	looks    []look // that the partitions' cores have asked for, to be started together
	ids      uint64
	gone     string // why the lane is not ours any more

	upkeep  *lane.Upkeep
	jobs    *errgroup.Group
	jobsCtx context.Context //nolint:containedctx // the lane's own lifetime, made and ended inside Run
	rows    map[verdicts.Key]published

	configs     map[string]ledger.Configs // of topics whose first partition is in the lane; the flow's mu guards them
	contents    *ledger.Contents          // as read at take-over, for partitions that the flow names later
	how         lane.Handover
	firstStarts bool // contents have the flow's first start, which is not in the ledger yet
	limits      lane.Limits
	unfenced    map[partition.ID]error // written partitions that could not be fenced at take-over, by source partition
	controls    *control.Set           // what people have decided, as far as it was read
	obeyed      ledger.Obeys           // what the ledger says is in force
	claimed     bool                   // our claim is in the ledger: nothing is written to a partition before

	draining bool
	release  lane.Release
	released bool
}

// Events. Results of jobs carry what the job found.
type (
	partitionsChanged struct{}
	commitsChanged    struct{}
	publish           struct {
		key verdicts.Key
		row *verdicts.Row
	}
	remembered struct {
		topic   string
		configs ledger.Configs
	}
	answered struct {
		part   *part
		unit   *lane.Unit
		result wire.Result
	}
	journaled struct {
		journal *journal
		flight  *lane.Flight
		result  wire.Result
	}
)

func (f *Flow) newLane(n int32) *Lane {
	return &Lane{
		n: n, flow: f, wake: make(chan struct{}, 1),
		verdicts: map[int32]*journal{}, parts: map[partition.ID]*part{}, rows: map[verdicts.Key]published{}, unfenced: map[partition.ID]error{},
	}
}

// post hands an event to the lane. It never blocks: what may be posted is bounded by the byte budget and the window.
func (l *Lane) post(e any) {
	l.inbox.Lock()
	if l.inbox.closed {
		l.late(e)
		l.inbox.Unlock()
		return
	}
	l.inbox.events = append(l.inbox.events, e)
	l.inbox.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Lane) take() []any {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	es := l.inbox.events
	l.inbox.events = nil
	return es
}

// RunLane owns lane n until ctx ends (then it drains and releases) or the lane is lost (then it returns the reason).
// abort ends it at once, without draining.
func (f *Flow) RunLane(ctx, abort context.Context, n int32) error {
	l := f.newLane(n)
	jobsCtx, endJobs := context.WithCancel(abort)
	defer endJobs()
	jobs, jobsCtx := errgroup.WithContext(jobsCtx)
	l.jobs, l.jobsCtx = jobs, jobsCtx
	contents, how, err := l.takeOver(ctx)
	if err != nil {
		return &NotTakenError{n, err}
	}
	l.limits = f.Limits
	l.limits.Committed = f.Committed
	if f.Static && (how == lane.Crashed || how == lane.Expired) {
		l.limits.HoldOldUntil = now() + f.SessionTimeout.Milliseconds()
	}
	l.configs = contents.Configs
	f.register(l)
	defer f.unregister(l)
	l.adopt(contents, how)
	err = l.loop(ctx, abort)
	endJobs() // a job may wait for a cluster that is away
	if jobErr := jobs.Wait(); err == nil && jobErr != nil && !errors.Is(jobErr, context.Canceled) {
		err = jobErr
	}
	l.discard()
	return err
}

func (l *Lane) loop(ctx, abort context.Context) error {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	done := ctx.Done()
	var deadline time.Time
	l.partitionsChanged()
	l.startLooks()
	for {
		select {
		case <-abort.Done():
			return abort.Err()
		case <-done:
			done, deadline = nil, time.Now().Add(drainFor)
			l.drain()
		case <-l.wake:
		case <-timer.C:
			l.tick()
		}
		for _, e := range l.take() {
			l.handle(e)
		}
		l.obeys()
		l.startLooks()
		l.kick()
		if l.gone != "" {
			return fmt.Errorf("lane %d is lost: %s", l.n, l.gone)
		}
		if l.draining {
			if finished, err := l.drained(deadline); finished {
				return err
			}
		}
	}
}

func (l *Lane) handle(e any) {
	switch e := e.(type) {
	case fetched:
		l.intake(e)
	case answered:
		l.answer(e)
	case journaled:
		l.journaled(e)
	case partitionsChanged:
		l.partitionsChanged()
	case controlsChanged:
		l.controlsChanged()
	case commitsChanged:
		l.forgetRows()
		l.translateAll()
	case publish:
		l.publish(e.key, e.row)
	case remembered:
		k := ledger.Key{Kind: ledger.KindConfigs, Topic: e.topic}
		l.ledger.add([]byte(k.String()), e.configs.Encode(), nil)
	case lookEnded:
		l.lookEnded(e)
	case lookProgress:
		l.step(e.part, lane.LookProgress{Read: e.read, Of: e.of})
	case partFenced:
		l.partFenced(e)
	case partLooked:
		l.partLooked(e)
	case kept:
		l.kept(e)
	case rowsFenced:
		l.rowsFenced(e)
	case starts:
		l.started(e)
	case forget:
		delete(l.rows, e.key)
	case describe:
		e.reply <- l.live()
	default:
		panic(fmt.Sprintf("mirror: unknown lane event %T", e))
	}
}

// partitionsChanged takes in what the flow mirrors now: new partitions of this lane, new facts about known ones, and
// those that are gone.
func (l *Lane) partitionsChanged() {
	ps, _ := l.flow.snapshot()
	for tp, info := range ps {
		if ledger.LaneOf(tp.Topic, tp.Partition, l.flow.Lanes) != l.n {
			continue
		}
		p := l.parts[tp]
		if p == nil {
			p = l.newPart(info)
			if l.draining {
				l.step(p, lane.Drain{})
			}
		}
		p.Partition = info
		l.step(p, lane.Named{Facts: l.facts(info)})
	}
	for tp, p := range l.parts {
		if _, ok := ps[tp]; !ok && len(ps) > 0 {
			l.step(p, lane.Absent{})
		}
	}
	l.translateAll()
}

// facts are what the core needs to know of a partition.
func (l *Lane) facts(info Partition) lane.Facts {
	return lane.Facts{SourceTopicID: info.SourceTopicID, TargetTopicID: info.TargetTopicID, SourceCluster: l.flow.SourceCluster, NotYet: info.NotYet}
}

func (l *Lane) tick() {
	t := now()
	l.tellUnreadable(t)
	for _, p := range l.parts {
		l.step(p, lane.Tick{})
		l.syncIfDue(p, t)
	}
	l.chores()
}

func (l *Lane) kick() {
	if l.ledger == nil {
		return
	}
	js := []*journal{l.ledger}
	for _, j := range l.verdicts {
		js = append(js, j)
	}
	for _, j := range js {
		if err := j.kick(); err != nil {
			l.lose(err.Error())
		}
	}
}

// discard ends the lane's side of everything that is under way: fetched bytes go back to the budget, and outputs that the
// transport may still write follow when it answers (late). Without that, each lane lost to another worker would leave a
// part of the flow's memory budget used up for ever.
func (l *Lane) discard() {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	l.inbox.closed = true
	for _, p := range l.parts {
		p.feed.stop(l.flow)
	}
	for _, e := range l.inbox.events {
		l.late(e)
	}
	l.inbox.events = nil
	for _, p := range l.parts {
		p.dropAll(l.flow)
	}
}

// late lets go of what an event holds after the lane has ended. The inbox's lock guards the lane's state then.
func (l *Lane) late(e any) {
	switch e := e.(type) {
	case fetched:
		release(e.Fetched)
	case answered:
		if o := e.part.outs[e.unit.ID]; o != nil {
			o.inFlight--
			e.part.letGo(l.flow, e.unit.ID)
		}
	}
}
