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
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// look is a partition whose core wants both logs looked at.
type look struct {
	part  *part
	again bool
}

type (
	// lookEnded is what a job found that looked at both ends of a partition.
	lookEnded struct {
		part   *part
		out    lane.LookEnded
		begins *offsetmap.SourceOffset // where mirroring begins whose begin was "at the end": it is known now; nil otherwise
		gone   bool                    // the lane has another owner
	}

	// lookProgress says how far a job has read what stands on the target.
	lookProgress struct {
		part     *part
		read, of int64
	}
)

// looksAtOnce bounds the looks of a flow, whatever lanes they are for: each holds the bytes of two responses (MR4).
const looksAtOnce = 8

// openBatch bounds one question for log ends, so that a lane of thousands of partitions does not ask for all of them in one
// request.
const openBatch = 500

// startLooks hands what the cores have asked for to jobs; until their answer the lane does not touch the maps.
func (l *Lane) startLooks() {
	looks := l.looks
	l.looks = nil
	for batch := range slices.Chunk(looks, openBatch) {
		heads := make([]head, len(batch))
		for i, k := range batch {
			heads[i] = l.headOf(k)
		}
		l.jobs.Go(func() error { return l.lookAt(batch, heads) })
	}
}

// head is what a job knows about a partition.
type head struct {
	info  Partition
	known lane.Known
	fence bool  // it could not be fenced with the others: alone, before its next write
	pid   int64 // of the former owner, whose batches are ours too
}

func (l *Lane) headOf(k look) head {
	p := k.part
	// A partition whose head is damaged was not fenced with the others. That is no harm until it is written again.
	h := head{info: p.Partition, fence: l.unfenced[p.TP] != nil || p.damaged != "" && p.core.Controls().Restart.Incarnation != 0, pid: -1}
	h.known = lane.Known{
		Facts: l.facts(p.Partition), Map: p.core.Map(), Damaged: p.damaged, Again: k.again, Remote: p.Remote, Filler: l.flow.Filler,
		Restart: p.core.Controls().Restart, Committed: l.flow.Committed, SourceCompacts: p.SourceCompacts, TargetCompacts: p.TargetCompacts,
	}
	if b := p.begin; b != nil {
		h.known.Begin = &lane.Begin{TopicID: b.TopicID, Offset: b.Offset, AtEnd: b.Offset == ledger.AtEnd}
	}
	if p.head != nil {
		h.pid, h.known.Epoch, h.known.Seq = p.head.ProducerID, p.head.Epoch, p.head.Sequence
	}
	return h
}

// lookAt looks at partitions: first at all of their ends, then at one after the other, as far as the flow's looks allow.
func (l *Lane) lookAt(looks []look, heads []head) error {
	probes, failed := l.flow.lookAtEnds(l.jobsCtx, heads)
	var g errgroup.Group
	g.SetLimit(looksAtOnce)
	for i, k := range looks {
		g.Go(func() error {
			e := l.lookAtOne(heads[i], probes[i], failed[i], k.part)
			e.part = k.part
			if e.out.Err == "" || l.jobsCtx.Err() == nil {
				l.post(e)
			}
			return nil
		})
	}
	return g.Wait()
}

// restartTimes makes offsets of the times from which partitions are copied anew.
func (f *Flow) restartTimes(ctx context.Context, heads []head) map[partition.ID]error {
	failed := map[partition.ID]error{}
	for i := range heads {
		k := &heads[i].known
		if k.Restart.From != lane.FromTime || !k.Restart.Due(k.Map) {
			continue
		}
		tp := heads[i].info.TP
		at, errs := offsets[offsetmap.SourceOffset](ctx, f.source, []partition.ID{tp}, int64(k.Restart.Offset), false)
		failed[tp] = errs[tp]
		if k.Restart.From, k.Restart.Offset = lane.FromOffset, at[tp]; at[tp] < 0 {
			k.Restart.From = lane.FromLatest // nothing is as young
		}
	}
	return failed
}

// fenceFor bounds a fence of one partition, so that one without a leader does not keep the others waiting.
const fenceFor = 30 * time.Second

// lookAtOne fences a partition that needs it, and settles what stands on its target. What is read has no time limit while
// bytes come: with a quota a look can take long, and one that is begun anew after half a minute would never end.
func (l *Lane) lookAtOne(h head, probe *lane.Probe, err error, p *part) lookEnded {
	if err == nil {
		err = l.flow.looks.Acquire(l.jobsCtx, 1)
	}
	if err != nil {
		return lookFailed(err)
	}
	defer l.flow.looks.Release(1)
	epoch := l.id.Epoch
	if h.fence && probe.Out.Reason == "" {
		ctx, cancel := context.WithTimeout(l.jobsCtx, fenceFor)
		defer cancel()
		if epoch, err = l.fenceOne(ctx, h.info.remoteTP()); err != nil {
			e := lookFailed(err)
			e.gone = isFenced(err)
			return e
		}
		again, failed := l.flow.lookAtEnds(ctx, []head{h}) // the fence ended what was being written
		if failed[0] != nil {
			return lookFailed(failed[0])
		}
		probe = again[0]
	}
	ctx, patience := patiently(l.jobsCtx, l.flow.lookPatience)
	defer patience.end()
	logs := &logs{flow: l.flow, ctx: ctx, head: h, pid: l.id.ProducerID, hash: newHasher(), heard: func(read, of int64) {
		if patience.heard() {
			l.post(lookProgress{part: p, read: read, of: of})
		}
	}}
	if err := probe.Settle(logs); err != nil {
		return lookFailed(patience.explain(err))
	}
	probe.Out.Epoch = epoch
	return lookEnded{out: probe.Out, begins: probe.Begins}
}

func lookFailed(err error) lookEnded {
	class := kafka.ClassifyErr(err)
	return lookEnded{out: lane.LookEnded{Err: err.Error(), Passes: class == kafka.Retry || class == kafka.Refresh}}
}

// lookAtEnds asks for the log boundaries of all partitions, in four requests per broker at most.
func (f *Flow) lookAtEnds(ctx context.Context, heads []head) ([]*lane.Probe, []error) {
	out, failed := make([]*lane.Probe, len(heads)), make([]error, len(heads))
	var from, to []partition.ID
	for _, h := range heads {
		from = append(from, h.info.TP)
		to = append(to, h.info.remoteTP())
	}
	sourceStart, failedA := offsets[offsetmap.SourceOffset](ctx, f.source, from, -2, false)
	sourceEnd, failedB := offsets[offsetmap.SourceOffset](ctx, f.source, from, -1, f.Committed)
	targetStart, failedC := offsets[offsetmap.TargetOffset](ctx, f.target, to, -2, false)
	targetEnd, failedD := offsets[offsetmap.TargetOffset](ctx, f.target, to, -1, false)
	failedE := f.restartTimes(ctx, heads)
	ids, target, err := f.topicIDs(ctx, heads)
	for i, h := range heads {
		s, t := h.info.TP, h.info.remoteTP()
		if failed[i] = cmp.Or(failedA[s], failedB[s], failedC[t], failedD[t], failedE[s], err); failed[i] != nil {
			continue
		}
		// The ids are read after the ends, so that ends of a topic re-created in between are not taken for the old one's.
		h.known.SourceTopicID, h.known.TargetTopicID = ids[s.Topic], target[t.Topic]
		out[i] = lane.Open(h.known, lane.Ends{SourceStart: sourceStart[s], SourceEnd: sourceEnd[s], TargetStart: targetStart[t], TargetEnd: targetEnd[t]})
	}
	return out, failed
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

// offsets asks for the start (spec -2) or end (-1) of logs. O says whose offsets they are: the source's, the target's, or plain
// ones of a topic of our own.
func offsets[O offsetmap.SourceOffset | offsetmap.TargetOffset | int64](ctx context.Context, c *kafka.Client, tps []partition.ID, spec int64, committed bool) (map[partition.ID]O, map[partition.ID]error) {
	got, failed, err := c.ListOffsets(ctx, tps, spec, committed)
	at := make(map[partition.ID]O, len(got))
	for tp, o := range got {
		at[tp] = O(o)
	}
	if failed == nil {
		failed = map[partition.ID]error{}
	}
	for _, tp := range tps {
		if _, ok := at[tp]; !ok && failed[tp] == nil {
			failed[tp] = cmp.Or(err, fmt.Errorf("no answer about the log of %s", tp))
		}
	}
	return at, failed
}

// lookEnded takes a job's answer.
func (l *Lane) lookEnded(e lookEnded) {
	p := e.part
	if e.gone {
		l.lose(e.out.Err)
	}
	if e.out.Err == "" {
		l.settleBegin(p, e.begins)
		l.beginAnew(p, e.out.Map)
	}
	l.step(p, e.out)
	if p.core.Opened() {
		delete(l.unfenced, p.TP)
	}
}
