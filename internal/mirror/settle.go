package mirror

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"tidemark/internal/batch"
	"tidemark/internal/lane"
	"tidemark/offsetmap"
)

// logs reads a partition's logs for its look; it is a lane.Logs.
type logs struct {
	flow  *Flow
	ctx   context.Context //nolint:containedctx // of the one look that it is made for
	head  head
	pid   int64 // the lane's producer id
	hash  *hasher
	heard func(read, of int64) // bytes came: so much of the tail is read
}

// errEnough ends a scan that has seen what it needs.
var errEnough = errors.New("enough")

func (g *logs) EpochEnd(epoch int32) (int32, offsetmap.SourceOffset, error) {
	found, end, err := g.flow.source.OffsetsForEpoch(g.ctx, g.head.info.TP, -1, epoch)
	return found, offsetmap.SourceOffset(end), err
}

func (g *logs) Tail(from, to offsetmap.TargetOffset, take func(lane.Landed) (bool, error), record func(lane.TailRecord)) error {
	return g.flow.targetNet.Scan(g.ctx, g.head.info.remoteTP(), int64(from), int64(to), 0, func(v batch.View, _ bool) error {
		g.heard(v.NextOffset()-int64(from), int64(to-from))
		records, err := take(landedFrom(v, offsetmap.TargetOffset(v.BaseOffset()), g.head.pid, g.pid))
		if err != nil || !records {
			return err
		}
		return g.flow.builder.Each(v, func(r batch.Record) error {
			record(lane.TailRecord{Target: offsetmap.TargetOffset(r.Offset), Hash: g.hash.record(r), Key: g.hash.key(r.Key)})
			return nil
		})
	})
}

// landedFrom is a batch of the target from one of its offsets on; pids are those that are ours.
func landedFrom(v batch.View, from offsetmap.TargetOffset, pids ...int64) lane.Landed {
	return lane.Landed{
		Base: from, Count: v.NextOffset() - int64(from), Ours: slices.Contains(pids, v.ProducerID()) && !v.Control(), Marker: v.Control(),
		Epoch: v.ProducerEpoch(), Sequence: v.BaseSequence(),
	}
}

func (g *logs) Survivors(s *lane.Survivors, to offsetmap.SourceOffset) error {
	var isolation int8
	if g.flow.Committed {
		isolation = 1
	}
	take := func(r batch.Record) error {
		s.Record(lane.SourceRecord{Offset: offsetmap.SourceOffset(r.Offset), Hash: g.hash.record(r), Key: g.hash.key(r.Key), Tombstone: r.Value == nil})
		return nil
	}
	enough := func(err error) error {
		if err == nil && s.Enough() {
			return errEnough
		}
		return err
	}
	err := g.flow.sourceNet.ScanOld(g.ctx, g.head.info.TP, int64(s.From()), int64(to), isolation, func(v batch.View, aborted bool) error {
		g.heard(0, 0)
		b := lane.SourceBatch{Base: offsetmap.SourceOffset(v.BaseOffset()), Next: offsetmap.SourceOffset(v.NextOffset()), LeaderEpoch: v.LeaderEpoch(), Count: v.Count(), Blank: v.Control() || aborted}
		if !s.Batch(b) {
			return nil
		}
		return enough(g.flow.builder.Each(v, take))
	}, func(set []byte) (int64, error) {
		next, err := g.flow.builder.EachLegacy(set, take)
		return next, enough(err)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// lookPatience is how long a look waits without a byte. A broker with a quota holds a request back until the bytes before it
// are paid for, which can take longer than half a minute.
const lookPatience = 2 * time.Minute

// patience ends a context when nothing was heard for long.
type patience struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // the one that it ends
	said   time.Time
}

func patiently(ctx context.Context, limit time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, &patience{limit: limit, timer: time.AfterFunc(limit, cancel), cancel: cancel, ctx: ctx, said: time.Now()}
}

// heard begins the wait anew; it is true once a second, when it is time to say how far it has come.
func (p *patience) heard() bool {
	p.timer.Reset(p.limit)
	if time.Since(p.said) < time.Second {
		return false
	}
	p.said = time.Now()
	return true
}

// explain says of an error that it was our own patience that ended.
func (p *patience) explain(err error) error {
	if p.ctx.Err() != nil {
		return fmt.Errorf("nothing was heard for %v: %w", p.limit, context.DeadlineExceeded)
	}
	return err
}

func (p *patience) end() {
	p.timer.Stop()
	p.cancel()
}

// hasher compares records by content within one process run.
type hasher struct{ seed maphash.Seed }

func newHasher() *hasher { return &hasher{seed: maphash.MakeSeed()} }

func (h *hasher) key(k []byte) uint64 {
	if k == nil {
		return 0
	}
	return maphash.Bytes(h.seed, k) | 1
}

// record leaves the timestamp out: a target topic that stamps records itself changes it.
func (h *hasher) record(r batch.Record) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	part := func(b []byte) {
		var n [8]byte
		size := int64(len(b))
		if b == nil {
			size = -1
		}
		binary.BigEndian.PutUint64(n[:], uint64(size))
		m.Write(n[:])
		m.Write(b)
	}
	part(r.Key)
	part(r.Value)
	for _, hd := range r.Headers {
		part([]byte(hd.Key))
		part(hd.Value)
	}
	return m.Sum64()
}
