package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/config"
	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/mirror"
	"tidemark/internal/topics"
	"tidemark/mm2"
)

// ErrSameCluster says that both ends of a flow are one cluster: every record would be read again, for ever.
var ErrSameCluster = errors.New("source and target are the same cluster")

// Options are what a process decides, not the file: workers share the file.
type Options struct {
	InstanceID string // static membership: a restarted worker takes its lanes back at once
	Log        *slog.Logger
	Watch      *Watch // told of the flows that run; nil: nobody wants to know
}

// flow is one running flow.
type flow struct {
	cfg     config.Flow
	key     func(field string) string // that sets a field of cfg in this kind of file
	client  func(config.Role) config.Cluster
	selects mm2.Selection // which topics are mirrored, and under which names
	log     *slog.Logger
	events  *events.Bus // what happens; the log hangs from it
	source  *kafka.Client
	target  *kafka.Client // with lane versions
	emit    *kafka.Client // plain producer for MirrorMaker's topics on the target
	closers []func()
	waits   map[string]*kafka.Waits       // by alias
	enter   func() (*kafka.Client, error) // join, or a test's

	sourceMeta, targetMeta *kafka.Metadata
	sourceID, targetID     string
	mirror                 *mirror.Flow
	members                *members
	positions              *positions
	decisions              *decisions
	topics                 *topics.Syncer
	keeps                  time.Duration // the target's offsets.retention.minutes
	emitSource             *kafka.Client // plain producer for offset syncs on the source
}

// names of a flow's group and topics.
func (f *flow) groupName() string { return "tidemark." + f.cfg.Source + "->" + f.cfg.Target }

// Run mirrors the given flows until ctx ends, and returns once every lane is released. The first flow that cannot go
// on ends the process: a supervisor restarts it, and a half-running process would look healthy.
func Run(ctx context.Context, cfg *config.Config, flows []config.Flow, opts Options) error {
	defer failpoint.Watch()()
	var runs []*flow
	defer func() {
		for _, f := range runs {
			f.close()
		}
	}()
	var away []config.Flow
	var first error
	for _, fc := range flows {
		f, err := open(ctx, cfg, fc, opts)
		switch _, unreachable := errors.AsType[*kafka.ErrUnreachable](err); {
		case err == nil:
			runs = append(runs, f)
		case unreachable && len(flows) > 1:
			f.close()
			away, first = append(away, fc), cmp.Or(first, fmt.Errorf("flow %s: %w", fc.Name(), err))
			opts.Log.Warn("flow cannot start, trying again until it can", "flow", fc.Name().String(), "error", err)
		case ctx.Err() != nil:
			f.close()
			return nil // told to stop before it began: nothing is owned yet
		default:
			f.close()
			return fmt.Errorf("flow %s: %w", fc.Name(), err)
		}
	}
	if len(runs) == 0 {
		return first
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, f := range runs {
		g.Go(func() error {
			if err := f.run(ctx, opts); err != nil && ctx.Err() == nil {
				return fmt.Errorf("flow %s: %w", f.cfg.Name(), err)
			}
			return nil
		})
	}
	for _, fc := range away {
		g.Go(func() error { return startLater(ctx, cfg, fc, opts) })
	}
	return g.Wait()
}

// open connects both ends and checks that they are what the file says.
func open(ctx context.Context, cfg *config.Config, fc config.Flow, opts Options) (*flow, error) {
	f := &flow{cfg: fc, key: cfg.FlowKey, waits: map[string]*kafka.Waits{}, client: func(r config.Role) config.Cluster { return cfg.Client(fc.Name(), r) }, log: opts.Log.With("flow", fc.Name().String())}
	f.events = events.From(f.log)
	client := func(role config.Role, opts ...kgo.Opt) (*kafka.Client, error) {
		kc, err := f.cluster(role)
		if err != nil {
			return nil, err
		}
		c, err := kafka.Open(kc, f.log, opts...)
		if err == nil {
			f.closers = append(f.closers, c.Close)
		}
		return c, err
	}
	f.enter = f.join
	var err error
	if f.selects, err = cfg.Selection(fc); err != nil {
		return f, err
	}
	if f.source, err = client(config.SourceAdmin); err != nil {
		return f, err
	}
	if f.target, err = client(config.TargetAdmin, kafka.LaneVersions()); err != nil {
		return f, err
	}
	if f.emit, err = client(config.TargetProducer, plainProducer()...); err != nil {
		return f, err
	}
	if f.sourceID, err = contact(ctx, f.source); err != nil {
		return f, err
	}
	if f.targetID, err = contact(ctx, f.target); err != nil {
		return f, err
	}
	if f.sourceID == f.targetID {
		return f, fmt.Errorf("%w: %s and %s both reach cluster %s; check their bootstrap servers", ErrSameCluster, fc.Source, fc.Target, f.sourceID)
	}
	// Brokers leave groups that we may not see out of every list without a word. An error here is no reason to stop: rights
	// that are needed name themselves where they are.
	if all, err := f.source.SeesAllGroups(ctx); err == nil && !all {
		f.log.Info("groups may be hidden from this flow, those on which DESCRIBE is missing: DESCRIBE on the cluster is missing on the source", "cluster", fc.Source)
	}
	f.sourceMeta, f.targetMeta = kafka.NewMetadata(f.source), kafka.NewMetadata(f.target)
	return f, f.prepare(ctx)
}

// contactWithin bounds the first question to a cluster at start: whoever gave a wrong address wants to know it soon. A
// cluster that goes away later is waited for as long as it takes.
const contactWithin = 15 * time.Second

// contact asks a cluster for its id.
func contact(ctx context.Context, c *kafka.Client) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, contactWithin)
	defer cancel()
	id, err := c.ClusterID(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer from %s within %v: %w", strings.Join(c.Cluster().Bootstrap, ", "), contactWithin, err)
	}
	return id, err
}

// plainProducer writes to the compacted topics that MirrorMaker 2's readers look at. It is not idempotent: the newest
// record of a key counts, however often it is there, and an idempotent producer cannot give up a record that may have been
// written, so that a cluster that is away would keep the process from ending.
func plainProducer() []kgo.Opt {
	return []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.DisableIdempotentWrite()}
}

func (f *flow) close() {
	for _, v := range slices.Backward(f.closers) {
		v()
	}
}

// prepare creates or checks the flow's own topics and the ledger's layout.
func (f *flow) prepare(ctx context.Context) error {
	rf := f.cfg.OffsetSyncsReplicationFactor
	specs := []topics.InternalTopic{
		topics.LedgerTopic(ledger.TopicName(f.cfg.Source), int32(f.cfg.Lanes), rf),
		topics.VerdictsTopic(ledger.VerdictsName(f.cfg.Source), int32(f.cfg.Lanes), rf),
	}
	if f.cfg.EmitCheckpoints {
		specs = append(specs, topics.CheckpointsTopic(f.policy().CheckpointsTopic(f.cfg.SourceAlias), f.cfg.CheckpointsReplicationFactor))
	}
	if f.cfg.EmitHeartbeats {
		specs = append(specs, topics.HeartbeatsTopic(heartbeatsTopic, f.cfg.HeartbeatsReplicationFactor))
	}
	for _, s := range specs {
		if err := f.ensure(ctx, f.target, s); err != nil {
			return err
		}
	}
	if f.cfg.EmitOffsetSyncs {
		at, name, err := f.syncsPlace()
		if err != nil {
			return err
		}
		return f.ensure(ctx, at, topics.OffsetSyncsTopic(name, rf))
	}
	return nil
}

func (f *flow) ensure(ctx context.Context, at *kafka.Client, s topics.InternalTopic) error {
	note, err := topics.Ensure(ctx, at, s)
	if note != "" {
		f.log.Info("topic of our own", "note", note)
	}
	if errors.Is(err, kerr.InvalidTopicException) && f.cfg.InternalSeparator && f.cfg.Separator != "." {
		// Brokers refuse names that differ only in "." and "_".
		err = fmt.Errorf("%w; a MirrorMaker 2 that wrote its internal topics with dots may have run: internal_separator: false (replication.policy.internal.topic.separator.enabled=false) names them so", err)
	}
	return err
}

func (f *flow) run(ctx context.Context, opts Options) error {
	l := newLease(session)
	settings := f.settings(ctx, opts)
	f.members = &members{
		group: f.groupName(), topic: ledger.TopicName(f.cfg.Source), instance: opts.InstanceID, lease: l, events: f.events, lanes: map[int32]*ownership{}, stop: ctx,
		board: newBoard(settings.Owner), noted: map[int32]string{}, troubles: f.troubles, terms: termsOf(f.cfg, f.sourceID),
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	g, work := errgroup.WithContext(work)
	var err error
	if f.positions, err = newPositions(f); err != nil {
		return err
	}
	reads, err := f.cluster(config.SourceConsumer)
	if err != nil {
		return err
	}
	writes, err := f.cluster(config.RecordProducer)
	if err != nil {
		return err
	}
	if f.decisions, err = newDecisions(f); err != nil {
		return err
	}
	settings.Report, settings.Events, settings.ReadControls = f.members.doing, f.events, f.decisions.read
	f.mirror = mirror.NewFlow(settings, mirror.Clients{Source: f.source, Target: f.target, SourceMeta: f.sourceMeta, TargetMeta: f.targetMeta, Reads: reads, Writes: writes}, l, f.positions.offerSync, f.log)
	defer f.mirror.Close()
	defer opts.Watch.add(f)()
	if err := f.discover(ctx); err != nil {
		return err
	}
	f.members.runs = f.mirror.Runs
	f.members.run = func(ctx, abort context.Context, n int32) error {
		defer f.positions.own(n)()
		return f.mirror.RunLane(ctx, abort, n)
	}
	g.Go(func() error { return f.mirror.Run(work) })
	g.Go(func() error { return f.rediscover(work) })
	g.Go(func() error { return f.guard(work) })
	g.Go(func() error { return f.followACLs(work) })
	g.Go(func() error { return f.positions.run(work) })
	g.Go(func() error { return f.decisions.follow(work) })
	g.Go(func() error { return f.watchTransactions(work) })
	g.Go(func() error { return f.heartbeats(work) })
	if f.members.client, err = f.enter(); err != nil {
		stopWork()
		return errors.Join(err, ended(g.Wait())) // what the loops use is closed next
	}
	g.Go(func() error { return f.members.heartbeats(work) })
	g.Go(func() error { return f.members.watch(work) })
	g.Go(func() error { return f.members.writeNotes(work) })
	g.Go(func() error { return f.members.compare(work) })
	select {
	case <-ctx.Done():
	case <-work.Done():
	}
	f.members.endAll()
	f.members.leave()
	stopWork()
	if err := ended(g.Wait()); err != nil {
		return err
	}
	if n := f.members.unreleased(); n > 0 {
		f.log.Warn("stopped; nothing is lost, the next start looks at the target's tail of the lanes that were not released", "not_released", n)
		return nil
	}
	f.log.Info("stopped, every lane is released")
	return nil
}

// join enters the lane group. The member reads nothing through this client: a lane reads its ledger partition itself.
func (f *flow) join() (*kafka.Client, error) {
	kc := f.target.Cluster()
	// An answer that comes later than the session lasts is of no use to a member.
	kc.Settings.RequestTimeout = min(kc.Settings.RequestTimeout, session)
	c, err := kafka.Open(kc, f.log, f.members.options()...)
	if err != nil {
		return nil, err
	}
	c.Kgo().PauseFetchTopics(ledger.TopicName(f.cfg.Source))
	return c, nil
}

func (f *flow) settings(ctx context.Context, opts Options) mirror.Settings {
	expiry := f.expirations(ctx)
	f.keeps = expiry.offsets
	limits := lane.DefaultLimits()
	limits.OldAfter = (expiry.producer - min(expiry.producer/4, time.Hour)).Milliseconds()
	reads, writes := f.client(config.SourceConsumer).Client, f.client(config.RecordProducer).Client
	limits.MergeTarget = int(writes.BatchBytes)
	host, _ := os.Hostname()
	return mirror.Settings{
		Source: f.cfg.Source, Target: f.cfg.Target, SourceCluster: f.sourceID, TargetCluster: f.targetID, Filler: f.filler(ctx),
		Ledger: ledger.TopicName(f.cfg.Source), Verdicts: ledger.VerdictsName(f.cfg.Source), Lanes: int32(f.cfg.Lanes),
		Committed: f.cfg.Isolation == config.ReadCommitted, Earliest: f.cfg.UnmirroredPositions == config.UnmirroredEarliest,
		FromEnd:     f.cfg.Start == config.StartLatest,
		MemoryBytes: f.cfg.MemoryBytes, Owner: fmt.Sprintf("%s pid %d since %s", host, os.Getpid(), time.Now().UTC().Format(time.RFC3339)),
		SessionTimeout: session, Static: opts.InstanceID != "", KeepaliveEvery: min(expiry.producer, expiry.txn) / 3, Limits: limits, FetchWait: reads.FetchWait,
		FetchBytes: int32(reads.FetchBytes), PartitionFetchBytes: int32(reads.PartitionFetchBytes), FetchMinBytes: int32(reads.FetchMinBytes),
		RequestBytes: int(writes.RequestBytes),
	}
}

// filler says that a MirrorMaker 2 ran this flow, if its topic of source offsets is on the target: then it is most likely
// what filled a remote topic that is not ours. It only completes a reason, so an error is no trouble.
func (f *flow) filler(ctx context.Context) string {
	name := "mm2-offsets." + f.cfg.Source + ".internal"
	got, err := f.target.DescribeTopics(ctx, name)
	if err != nil || len(got) != 1 || got[0].Err != nil {
		return ""
	}
	return "a MirrorMaker 2 did, its topic " + name + " is there"
}

// expirations are how long the target remembers a producer's state, an idle transactional id, and a group's offsets.
type expirations struct{ producer, txn, offsets time.Duration }

// expirations reads the brokers' settings. What cannot be read counts as Kafka's default, and longer than that is not
// relied on.
func (f *flow) expirations(ctx context.Context) expirations {
	const day = 24 * time.Hour
	e := expirations{producer: day, txn: 7 * day, offsets: 7 * day}
	const producer, txn, offsets = "producer.id.expiration.ms", "transactional.id.expiration.ms", "offsets.retention.minutes"
	got, err := f.target.BrokerConfigs(ctx, producer, txn, offsets)
	if err != nil {
		f.log.Warn("how long the target remembers producers cannot be read, taking Kafka's defaults: where its brokers are set to less than a day, a batch can stand twice after a fault",
			"settings", producer+", "+txn, "error", err)
	}
	for key, least := range map[string]*time.Duration{producer: &e.producer, txn: &e.txn, offsets: &e.offsets} {
		unit := time.Millisecond
		if key == offsets {
			unit = time.Minute
		}
		for _, value := range got[key] {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 && n < int64(*least/unit) {
				*least = time.Duration(n) * unit // in this order: the largest values do not fit
			}
		}
	}
	return e
}
