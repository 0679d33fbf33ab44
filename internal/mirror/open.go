package mirror

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/offsetmap"
)

// opened is what the job found that looks at both ends of a partition before it is mirrored.
type opened struct {
	part        *part
	m           *offsetmap.Map
	sourceStart int64
	sourceEnd   int64
	targetStart int64
	inexact     int64
	lost        int64
	gone        bool   // the lane has another owner
	epoch       int16  // in which the partition is written from now on
	tailEnd     int64  // target log end; what lies between the map and it is to be settled
	begins      *int64 // where mirroring begins whose begin was "at the end": it is known now; nil otherwise
	reason      string // it must not be mirrored, and why
	err         error  // it could not be found out; tried again
}

// ends are the log boundaries of a partition on both sides.
type ends struct{ sourceStart, sourceEnd, targetStart, targetEnd int64 }

// openBatch bounds one look, so that a lane of thousands of partitions does not ask for all of them in one request.
const openBatch = 500

// Why a partition stops for good when a topic has another id than the one that was mirrored.
const (
	recreatedSource = "the source topic was deleted and created again (its topic id changed): positions of the old one do not carry over; docs/stopped.md says how to mirror it anew"
	recreatedRemote = "the remote topic was deleted and created again: what was mirrored is gone; docs/stopped.md says how to mirror it anew"
)

// openAll starts a look at every partition that waits for one.
func (l *Lane) openAll() {
	if l.draining {
		return
	}
	var batch []*part
	for _, p := range l.parts {
		switch {
		case p.NotYet != "":
			if p.step == unopened {
				l.halt(p, p.NotYet, true)
			}
		case p.step == unopened || p.step == live && p.reopen && !p.settling():
			p.step = opening
			batch = append(batch, p)
		}
		if len(batch) == openBatch {
			l.startOpening(batch)
			batch = nil
		}
	}
	if len(batch) > 0 {
		l.startOpening(batch)
	}
}

// startOpening hands the maps of the partitions to a job; until its answer the lane does not touch them.
func (l *Lane) startOpening(ps []*part) {
	heads := make([]head, len(ps))
	for i, p := range ps {
		heads[i] = head{info: p.Partition, m: p.m(), former: p.head, begin: p.begin, reopen: p.reopen, damaged: p.damaged, fence: l.unfenced[p.TP] != nil}
		p.loaded = nil
	}
	l.jobs.Go(func() error {
		found := l.flow.lookAtEnds(l.jobsCtx, heads)
		var g errgroup.Group
		g.SetLimit(8)
		for i, p := range ps {
			g.Go(func() error {
				o := l.openOne(heads[i], found[i]) // not p: the lane may learn new facts about it meanwhile
				o.part = p
				l.post(o)
				return nil
			})
		}
		return g.Wait()
	})
}

// openFor bounds the look at one partition, so that one without a leader does not keep the others waiting.
const openFor = 30 * time.Second

// openOne fences a partition that needs it, and settles what stands on its target.
func (l *Lane) openOne(h head, o opened) opened {
	ctx, cancel := context.WithTimeout(l.jobsCtx, openFor)
	defer cancel()
	o.epoch = l.id.Epoch
	if o.err != nil || o.reason != "" {
		return o
	}
	if h.fence {
		epoch, err := l.fenceOne(ctx, h.info.remoteTP())
		if err != nil {
			o.err, o.gone = err, isFenced(err)
			return o
		}
		o = l.flow.lookAtEnds(ctx, []head{h})[0] // the fence ended what was being written
		o.epoch = epoch
		if o.err != nil || o.reason != "" {
			return o
		}
	}
	return l.flow.settle(ctx, h, l.id, o)
}

// head is what the ledger says about a partition, for a job.
type head struct {
	info    Partition
	m       *offsetmap.Map // nil: never mirrored
	former  *ledger.Head   // the head that m came from; nil when never mirrored
	begin   *ledger.Begin  // where mirroring begins by choice; nil: with the oldest record
	reopen  bool           // only the source's side is looked at: the lane has written since it owns the partition
	damaged string         // why the ledger's record about it cannot be used
	fence   bool           // it could not be fenced with the others: alone, before its next write
}

// lookAtEnds asks for the log boundaries of all partitions, in four requests per broker at most.
func (f *Flow) lookAtEnds(ctx context.Context, heads []head) []opened {
	out := make([]opened, len(heads))
	var from, to []kafka.TP
	for _, h := range heads {
		from = append(from, h.info.TP)
		to = append(to, h.info.remoteTP())
	}
	sourceStart, failedA := offsets(ctx, f.source, from, -2, false)
	sourceEnd, failedB := offsets(ctx, f.source, from, -1, f.Committed)
	targetStart, failedC := offsets(ctx, f.target, to, -2, false)
	targetEnd, failedD := offsets(ctx, f.target, to, -1, false)
	ids, target, err := f.topicIDs(ctx, heads)
	for i, h := range heads {
		s, t := h.info.TP, h.info.remoteTP()
		if err := cmp.Or(failedA[s], failedB[s], failedC[t], failedD[t], err); err != nil {
			out[i].err = err
			out[i].m = h.m
			continue
		}
		// The ids are read after the ends, so that ends of a topic re-created in between are not taken for the old one's.
		h.info.SourceTopicID, h.info.TargetTopicID = ids[s.Topic], target[t.Topic]
		out[i] = begin(h, ends{sourceStart[s], sourceEnd[s], targetStart[t], targetEnd[t]}, f.Settings)
	}
	return out
}

// topicIDs are the ids that the topics have now, by name.
func (f *Flow) topicIDs(ctx context.Context, heads []head) (source, target map[string][16]byte, err error) {
	read := func(c *kafka.Client, name func(head) string) (map[string][16]byte, error) {
		names := map[string]bool{}
		for _, h := range heads {
			names[name(h)] = true
		}
		got, err := c.DescribeTopics(ctx, slices.Sorted(maps.Keys(names))...)
		ids := map[string][16]byte{}
		for _, t := range got {
			err = cmp.Or(err, t.Err)
			ids[t.Name] = t.ID
		}
		return ids, err
	}
	if source, err = read(f.source, func(h head) string { return h.info.TP.Topic }); err != nil {
		return nil, nil, err
	}
	target, err = read(f.target, func(h head) string { return h.info.Remote })
	return source, target, err
}

func offsets(ctx context.Context, c *kafka.Client, tps []kafka.TP, spec int64, committed bool) (map[kafka.TP]int64, map[kafka.TP]error) {
	at, failed, err := c.ListOffsets(ctx, tps, spec, committed)
	if failed == nil {
		failed = map[kafka.TP]error{}
	}
	for _, tp := range tps {
		if _, ok := at[tp]; !ok && failed[tp] == nil {
			failed[tp] = cmp.Or(err, fmt.Errorf("no answer about the log of %s", tp))
		}
	}
	return at, failed
}

// begin decides by the boundaries alone; what lies between the map's end and the target's log end is settle's work.
func begin(h head, e ends, s Settings) opened {
	o := opened{m: h.m, sourceStart: e.sourceStart, sourceEnd: e.sourceEnd, targetStart: e.targetStart}
	if b := h.begin; h.m == nil && b != nil && b.TopicID == h.info.SourceTopicID && b.Offset == ledger.AtEnd {
		o.begins = &e.sourceEnd
	}
	if h.damaged != "" {
		o.reason = "the ledger's record of this partition is damaged: " + h.damaged
		return o
	}
	if h.m == nil {
		if e.targetEnd > e.targetStart {
			o.reason = fmt.Sprintf("remote topic %s holds %d offsets that Tidemark did not write (%s): use another alias or policy, or delete the remote topic to mirror it anew",
				h.info.Remote, e.targetEnd-e.targetStart, cmp.Or(s.Filler, "another mirror, or an alias that meant another cluster"))
			return o
		}
		o.m = offsetmap.New(offsetmap.Origin{
			SourceCluster: s.SourceCluster, SourceTopicID: h.info.SourceTopicID, TargetTopicID: h.info.TargetTopicID,
			SourceStart: offsetmap.SourceOffset(beginsAt(h, e)), Base: offsetmap.TargetOffset(e.targetEnd),
		})
		return o
	}
	switch was := h.m.Origin(); {
	case was.SourceTopicID != h.info.SourceTopicID:
		o.reason = recreatedSource
		return o
	case was.TargetTopicID != h.info.TargetTopicID:
		o.reason = recreatedRemote
		return o
	}
	if o.reason = anotherSource(h.m, s.SourceCluster); o.reason != "" {
		return o
	}
	if e.targetEnd < int64(h.m.TargetEnd()) && !h.reopen {
		o.reason = fmt.Sprintf("the target's log ends at %d, but records up to %d were acknowledged there: the target lost records (unclean leader election, or topic re-created)", e.targetEnd, h.m.TargetEnd())
		return o
	}
	o.sourceEnd, o.tailEnd = e.sourceEnd, e.targetEnd
	return o
}

// anotherSource says that a map was made from another cluster than the one that the source's alias means now, or "".
func anotherSource(m *offsetmap.Map, now string) string {
	was := m.Origin().SourceCluster
	if was == "" || was == now {
		return ""
	}
	return fmt.Sprintf("the ledger says that this partition came from cluster %s, the source's alias now means cluster %s: use another alias for that one", was, now)
}

// opened takes a job's answer.
func (l *Lane) opened(o opened) {
	p := o.part
	p.loaded = nil
	if p.core == nil {
		p.loaded = o.m
	}
	if o.gone && l.gone == "" {
		l.gone = o.err.Error()
	}
	if o.err == nil {
		p.sourceStart, p.targetStart = o.sourceStart, o.targetStart
		l.settleBegin(p, o.begins)
	}
	if o.inexact > 0 {
		l.log.Warn("resume is not exact: some records may stand twice on the target", "partition", p.TP.String(), "at_most", o.inexact)
	}
	if later := p.stopAfter; later != nil {
		p.stopAfter = nil
		p.step = unopened
		l.halt(p, later.reason, later.retry)
		return
	}
	switch {
	case o.err != nil && l.passes(p, o.err):
		return
	case o.err != nil:
		if l.jobsCtx.Err() == nil {
			p.step = unopened
			if p.core != nil {
				p.step = live
			}
			l.halt(p, o.err.Error(), true)
		}
		return
	case o.reason != "":
		p.step = unopened
		if p.core != nil {
			p.step = live
		}
		l.halt(p, o.reason, true)
		return
	}
	if o.lost > 0 {
		l.log.Warn("source records were removed before they were mirrored", "partition", p.TP.String(), "lost_at_most", o.lost, "source_log_start", o.sourceStart)
	}
	if p.core == nil && p.recreated(o.m) != "" {
		// A topic was made anew while the job looked, and either the job or the flow's look at the topics saw the former one.
		if p.head == nil {
			p.loaded = nil
		}
		p.step, p.reason, p.retryAt = halted, "its topics changed while it was looked at", now()+lookAgain
		return
	}
	delete(l.unfenced, p.TP)
	if p.core == nil {
		p.core = lane.NewPart(l.limits, o.m, o.epoch)
		p.loaded, p.reopen = nil, false
	}
	if p.reopen {
		p.reopen, p.step = false, live
		l.act(p, p.core.Restart())
		if p.core.Busy() {
			return // fence and look come first; they end in goLive
		}
	}
	l.goLive(p)
}

// lookAgain is when a partition is looked at again whose topics changed meanwhile, ms.
const lookAgain = 500

// goesOnAfter is how long a stopped partition must stay live without news before that counts as going on: a try at a
// batch that is still damaged fails within a fetch or two, and each try would be two lines in the log.
const goesOnAfter = 5000

// goesOn says once that a partition is well again.
func (l *Lane) goesOn(p *part) {
	if was := p.was(); was != "" && p.step == live {
		l.log.Info("partition goes on", "partition", p.TP.String(), "was", was)
		p.said, p.former, p.dirty = "", "", true
		l.translatePart(p)
	}
}

// patience is how many looks may fail for reasons that pass, such as a leader that is being elected, before the partition
// counts as stopped and says so.
const patience = 8

// passes puts the next look off for a moment if the error is one that passes by itself.
func (l *Lane) passes(p *part, err error) bool {
	class := kafka.ClassifyErr(err)
	if class != kafka.Retry && class != kafka.Refresh || p.looks >= patience {
		p.looks = 0
		return false
	}
	p.looks++
	p.step, p.reason, p.retryAt = halted, err.Error(), now()+int64(100<<min(p.looks, 4))
	return true
}

// goLive writes the head of the epoch in which the partition will be written and starts reading; the core is only let
// at the target once that head is acknowledged (MR1).
func (l *Lane) goLive(p *part) {
	p.step, p.reason, p.retryAt, p.looks = heading, "", 0, 0
	if p.feed == nil {
		p.feed = &feed{tp: p.TP, lane: l, cap: max(l.flow.MemoryBytes/8, 2<<20)}
		l.flow.mu.Lock()
		l.flow.feeds[p.TP] = p.feed
		l.flow.mu.Unlock()
	}
	l.writeHead(p, func() {
		if p.step != heading {
			return
		}
		p.step, p.liveAt = live, now()
		l.readOn(p)
		l.translatePart(p)
	})
}
