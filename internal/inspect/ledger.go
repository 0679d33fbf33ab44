package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
	"tidemark/offsetmap"
)

// lanes is how many lanes the flow has: the ledger's partitions. The file may say another number if it was changed
// after the ledger was made.
func (r *Reader) lanes(ctx context.Context, topic string) (int32, error) {
	t, ok, err := r.target.Topic(ctx, topic)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, &ErrNeverRun{Flow: r.flow.Name().String(), Topic: topic, Cluster: r.flow.Target, MirrorMaker: r.mirrorMaker.Trace(ctx)}
	}
	return t.Partitions, nil
}

// readLedger reads the given lanes' partitions to their ends. see, which may be nil, is shown each record too, of
// several lanes at the same time.
func (r *Reader) readLedger(ctx context.Context, lanes []int32, see func(lane int32, rec topiclog.Record)) (map[int32]*ledger.Contents, []status.Trouble, error) {
	out, into := ledgers()
	take := into
	if see != nil {
		take = func(n int32) func(topiclog.Record) error {
			apply := into(n)
			return func(rec topiclog.Record) error {
				see(n, rec)
				return apply(rec)
			}
		}
	}
	trouble, err := r.readAll(ctx, r.ledger, lanes, take)
	return out, trouble, err
}

// ledgers are receivers of the records of lanes, and what they make of them.
func ledgers() (map[int32]*ledger.Contents, func(lane int32) func(topiclog.Record) error) {
	out := map[int32]*ledger.Contents{}
	return out, func(n int32) func(topiclog.Record) error {
		c := ledger.NewContents()
		out[n] = c
		return func(rec topiclog.Record) error { return c.Apply(rec.Offset, rec.Key, rec.Value) }
	}
}

// damaged lists the unusable records of lanes.
func (r *Reader) damaged(lanes map[int32]*ledger.Contents) []status.Damage {
	var out []status.Damage
	for n, c := range lanes {
		add := func(d ledger.Damage) {
			out = append(out, status.Damage{Topic: r.ledger, Partition: n, Offset: d.Offset, Key: d.Key, Error: d.Err.Error()})
		}
		for _, d := range c.Other {
			add(d)
		}
		for _, ds := range c.Damaged {
			for _, d := range ds {
				add(d)
			}
		}
	}
	slices.SortFunc(out, func(a, b status.Damage) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

// layout says what does not fit between the ledger's own words and what is found.
func (r *Reader) layout(h *status.Header, c *ledger.Contents, lanes int32) {
	m := c.Meta
	if m == nil {
		return
	}
	if m.Lanes != lanes || m.Hash != ledger.HashName {
		h.Notes = append(h.Notes, fmt.Sprintf("ledger %s was made for %d lanes by %s and has %d partitions: partitions may be shown in the wrong lane", r.ledger, m.Lanes, m.Hash, lanes))
	}
	if h.Source.Reached && m.SourceCluster != "" && m.SourceCluster != h.Source.ClusterID {
		h.Notes = append(h.Notes, fmt.Sprintf("alias %s reaches cluster %s, the ledger was made for cluster %s", r.flow.Source, h.Source.ClusterID, m.SourceCluster))
	}
}

// Ledger gives the newest record of each key of the ledger and the offset maps, with their runs if asked.
func (r *Reader) Ledger(ctx context.Context, runs bool) (status.LedgerRecords, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.LedgerRecords{}, err
	}
	defer cancel()
	out := status.LedgerRecords{Header: r.header(), Topic: r.ledger, Records: []status.LedgerRecord{}, Maps: []status.Map{}}
	n, err := r.lanes(ctx, r.ledger)
	if err != nil {
		return out, err
	}
	newest := make([]map[string]status.LedgerRecord, n)
	for i := range newest {
		newest[i] = map[string]status.LedgerRecord{}
	}
	contents, trouble, err := r.readLedger(ctx, topiclog.All(n), func(lane int32, rec topiclog.Record) {
		key := rec.KeyText()
		if rec.Value == nil {
			delete(newest[lane], key)
			return
		}
		newest[lane][key] = status.LedgerRecord{Lane: lane, Offset: rec.Offset, Written: rec.At, Key: key, Size: len(rec.Value), Meaning: meaning(rec)}
	})
	if err != nil {
		return out, err
	}
	out.Trouble, out.Damage = trouble, r.damaged(contents)
	for lane, records := range newest {
		for _, rec := range records {
			out.Records = append(out.Records, rec)
		}
		for p := range contents[int32(lane)].Heads {
			out.Maps = append(out.Maps, mapOf(contents[int32(lane)], int32(lane), p, runs))
		}
	}
	slices.SortFunc(out.Records, func(a, b status.LedgerRecord) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Offset, b.Offset))
	})
	slices.SortFunc(out.Maps, func(a, b status.Map) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	if c := contents[0]; c != nil {
		r.layout(&out.Header, c, n)
	}
	return out, nil
}

// meaning is a ledger record in words.
func meaning(rec topiclog.Record) string {
	k, err := ledger.ParseKey(rec.Key)
	if err != nil {
		return "damaged"
	}
	switch k.Kind {
	case ledger.KindMeta:
		if m, err := ledger.DecodeMeta(rec.Value); err == nil {
			return fmt.Sprintf("%d lanes by %s, source cluster %s, target cluster %s", m.Lanes, m.Hash, m.SourceCluster, m.TargetCluster)
		}
	case ledger.KindClaim:
		if c, err := ledger.DecodeClaim(rec.Value); err == nil {
			word := "held"
			if c.Released {
				word = "released"
			}
			return fmt.Sprintf("%s by %s: producer %d epoch %d of %s", word, c.Owner, c.ProducerID, c.Epoch, c.TransactionalID)
		}
	case ledger.KindIsolation:
		if r, err := ledger.DecodeReads(rec.Value); err == nil {
			return "the source is read with " + r.Isolation.String() + " by " + r.Owner
		}
	case ledger.KindObeys:
		if o, err := ledger.DecodeObeys(rec.Value); err == nil {
			return fmt.Sprintf("what people decided is in force below offset %d of the controls topic, by %s", o.Below, o.Owner)
		}
	case ledger.KindHead:
		if h, err := ledger.DecodeHead(k, rec.Value); err == nil {
			word := "running"
			if h.State == ledger.Stopped {
				word = "stopped: " + h.Reason
			}
			return fmt.Sprintf("to %s, next write epoch %d sequence %d, source end %d, %s", h.RemoteTopic, h.Epoch, h.Sequence, h.SourceEnd, word)
		}
	case ledger.KindBlock:
		if data, err := ledger.DecodeBlock(rec.Value); err == nil {
			return fmt.Sprintf("sealed runs, %d bytes", len(data))
		}
	case ledger.KindBegin:
		if b, err := ledger.DecodeBegin(rec.Value); err == nil {
			if b.Offset == ledger.AtEnd {
				return "not looked at yet: mirrored from its end on if the flow selects it"
			}
			return fmt.Sprintf("mirrored from source offset %d on", b.Offset)
		}
	case ledger.KindConfigs:
		if c, err := ledger.DecodeConfigs(rec.Value); err == nil {
			return "settings that follow the source: " + strings.Join(slices.Sorted(maps.Keys(c.Values)), ", ")
		}
	case ledger.KindStart:
		if s, err := ledger.DecodeStart(rec.Value); err == nil {
			return fmt.Sprintf("the flow first started with %d topics on the source", s.Topics)
		}
	case ledger.KindStartTopic:
		if t, err := ledger.DecodeStartTopic(rec.Value); err == nil {
			return fmt.Sprintf("on the source when the flow first started, with %d partitions", len(t.Offsets))
		}
	}
	return "damaged"
}

// mapOf is the offset map of a partition that has a head.
func mapOf(c *ledger.Contents, lane int32, p partition.ID, list bool) status.Map {
	h := c.Heads[p]
	out := status.Map{
		Topic: p.Topic, Partition: p.Partition, RemoteTopic: h.RemoteTopic, Lane: lane,
		From: status.Unknown, MirroredTo: status.Unknown, TargetEnd: status.Unknown, Runs: status.Unknown,
	}
	if !h.Mirrored() {
		return out // stopped before anything could be mirrored
	}
	m, err := c.Map(p)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Incarnation = m.Origin().Incarnation
	out.From, out.MirroredTo, out.TargetEnd = int64(m.Origin().SourceStart), int64(m.Through()), int64(m.TargetEnd())
	out.Blocks, out.Missing = len(m.Blocks()), m.Missing()
	out.Runs = runs(m)
	if list {
		for run := range m.Runs() {
			out.List = append(out.List, status.Run{Source: int64(run.Source), Target: int64(run.Target), Count: run.Count})
		}
	}
	return out
}

// runs counts the runs that are known; those in missing blocks are not.
func runs(m *offsetmap.Map) int64 {
	n := int64(0)
	for range m.Runs() {
		n++
	}
	return n
}
