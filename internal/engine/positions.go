package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/config"
	"tidemark/internal/control"
	"tidemark/internal/events"
	"tidemark/internal/groups"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// positions wires a flow's groups: the source's commits go to lanes and owners, rows of owned verdicts partitions go to
// the owner, and what both decide goes to MirrorMaker 2's topics.
type positions struct {
	flow        *flow
	reader      *groups.Reader
	owner       *groups.Owner
	checkpoints *groups.Emitter
	syncs       *groups.Emitter
	rows        *kafka.Client // reads the verdicts topic

	mu    sync.Mutex
	fates map[string]groups.Fate // by source topic, from the last look at the topics
}

func newPositions(f *flow) (*positions, error) {
	names, err := f.cfg.GroupNames()
	if err != nil {
		return nil, err
	}
	p := &positions{flow: f, reader: groups.NewReader(f.source, names, f.events)}
	p.owner = groups.NewOwner(f.target, p, int32(f.cfg.Lanes), f.cfg.SyncGroupOffsets, f.events)
	p.owner.Retention(f.keeps)
	if f.cfg.EmitCheckpoints {
		p.checkpoints = groups.NewEmitter(f.emit, f.policy().CheckpointsTopic(f.cfg.SourceAlias), f.events)
	}
	if f.cfg.EmitOffsetSyncs {
		at, name, err := f.syncsPlace()
		if err != nil {
			return nil, err
		}
		p.syncs = groups.NewEmitter(at, name, f.events)
	}
	reads, err := f.cluster(config.TargetConsumer)
	if err != nil {
		return nil, err
	}
	p.rows, err = kafka.Open(reads, f.log)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, p.rows.Close)
	return p, nil
}

// obey takes what people have decided about groups, as a read that began at a time had it.
func (p *positions) obey(ctx context.Context, s *control.Set, began time.Time) {
	p.reader.Obey(s)
	p.owner.Obey(ctx, s, began)
}

func (p *positions) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return p.reader.Run(ctx, p.flow.cfg.PositionsInterval, func(s groups.Snapshot) {
			p.flow.mirror.SetCommits(s.ByPartition())
			p.owner.Take(s)
		})
	})
	g.Go(func() error { return p.owner.Run(ctx) })
	g.Go(func() error { return p.follow(ctx) })
	for _, e := range []*groups.Emitter{p.checkpoints, p.syncs} {
		if e != nil {
			g.Go(func() error { return e.Run(ctx) })
		}
	}
	return g.Wait()
}

// own starts reading a verdicts partition from its start; the returned func ends it.
func (p *positions) own(n int32) func() {
	topic := ledger.VerdictsName(p.flow.cfg.Source)
	p.owner.Own(n, true)
	p.rows.Kgo().AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {n: kgo.NewOffset().AtStart()}})
	return func() {
		p.rows.Kgo().RemoveConsumePartitions(map[string][]int32{topic: {n}})
		p.owner.Own(n, false)
	}
}

// follow hands rows to the owner as they are written.
func (p *positions) follow(ctx context.Context) error {
	said := ""
	for {
		fs := p.rows.Kgo().PollFetches(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is the end of the work
		}
		for _, e := range fs.Errors() {
			// All partitions fail alike, again and again.
			if err := p.rows.Denied(e.Topic, "READ", e.Err); err.Error() != said {
				said = err.Error()
				p.flow.events.Say(events.VerdictsAway, "partition", e.Partition, "error", err)
			}
		}
		if fs.NumRecords() > 0 {
			said = ""
		}
		fs.EachRecord(func(r *kgo.Record) {
			key, err := verdicts.ParseKey(r.Key)
			if err != nil {
				p.flow.events.Say(events.RowDamaged, "partition", r.Partition, "offset", r.Offset, "error", err)
				return
			}
			if r.Value == nil {
				p.owner.Apply(key, nil)
				return
			}
			row, err := verdicts.ParseRow(r.Value)
			if err != nil {
				p.flow.events.Say(events.RowDamaged, "partition", r.Partition, "offset", r.Offset, "error", err)
				return
			}
			p.owner.Apply(key, &row)
		})
	}
}

// Topic, Publish and Checkpoint are the owner's environment.

func (p *positions) Topic(name string) (groups.Fate, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.fates[name]
	return f, ok
}

// Leased asks the lane group's lease.
func (p *positions) Leased() bool { return p.flow.members.lease.Valid() }

func (p *positions) setFates(f map[string]groups.Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fates = f
}

func (p *positions) Publish(lane int32, key verdicts.Key, row *verdicts.Row) {
	p.flow.mirror.Publish(lane, key, row)
}

func (p *positions) Checkpoint(group string, remote partition.ID, upstream, downstream int64, metadata string) {
	if p.checkpoints != nil {
		p.checkpoints.Checkpoint(mm2.Checkpoint{
			Group: group, Topic: remote.Topic, Partition: remote.Partition, Upstream: upstream, Downstream: downstream, Metadata: metadata,
		})
	}
}

func (p *positions) offerSync(topic string, partition int32, source offsetmap.SourceOffset, target offsetmap.TargetOffset) {
	if p.syncs != nil {
		p.syncs.Offer(mm2.OffsetSync{Topic: topic, Partition: partition, Upstream: int64(source), Downstream: int64(target)})
	}
}

// syncsPlace is where offset syncs are written: the cluster that the file says, under the other cluster's alias.
func (f *flow) syncsPlace() (*kafka.Client, string, error) {
	if f.cfg.OffsetSyncsLocation == "target" {
		return f.emit, f.policy().OffsetSyncsTopic(f.cfg.SourceAlias), nil
	}
	if f.emitSource == nil {
		writes, err := f.cluster(config.SourceProducer)
		if err != nil {
			return nil, "", err
		}
		c, err := kafka.Open(writes, f.log, plainProducer()...)
		if err != nil {
			return nil, "", fmt.Errorf("open a producer for offset syncs: %w", err)
		}
		f.emitSource = c
		f.closers = append(f.closers, c.Close)
	}
	return f.emitSource, f.policy().OffsetSyncsTopic(f.cfg.TargetAlias), nil
}
