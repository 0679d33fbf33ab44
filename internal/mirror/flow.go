package mirror

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"tidemark/internal/batch"
	"tidemark/internal/control"
	"tidemark/internal/events"
	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// Partition is one source partition that a flow mirrors.
type Partition struct {
	TP             partition.ID // on the source
	Remote         string       // topic on the target; the partition number is the same
	SourceTopicID  [16]byte
	TargetTopicID  [16]byte
	MaxBytes       int32 // the remote topic's max.message.bytes; 0 unknown
	AppendTime     bool  // the remote topic stamps records itself (message.timestamp.type=LogAppendTime)
	SourceCompacts bool
	TargetCompacts bool
	NotYet         string // why it cannot be mirrored now, for people: remote topic missing, not enough partitions
}

func (p Partition) remoteTP() partition.ID {
	return partition.ID{Topic: p.Remote, Partition: p.TP.Partition}
}

// Settings of a flow, from its configuration.
type Settings struct {
	Source, Target string // aliases
	// Filler is who may have filled remote topics that no head knows, for people; empty: nothing is known.
	Filler         string
	SourceCluster  string // cluster ids
	TargetCluster  string
	Ledger         string // topic names
	Verdicts       string
	OffsetSyncs    string // topic of offset syncs; empty: none are emitted
	Lanes          int32
	Committed      bool // mirror only committed records (read_committed)
	Earliest       bool // positions that were never mirrored start at the first mirrored record
	FromEnd        bool // what is there when the flow first starts is mirrored from its end on, later topics and partitions whole
	MemoryBytes    int64
	Owner          string // host and process, for claims
	SessionTimeout time.Duration
	Static         bool          // this worker is a static member: it can get lanes back while its former self still writes
	KeepaliveEvery time.Duration // a third of the smaller of the target's producer.id.expiration.ms and transactional.id.expiration.ms
	Limits         lane.Limits
	FetchWait      time.Duration

	// Report is told what a lane that does not run is about, and why it waits where that is known; with an empty what the
	// lane runs. It must not block. nil: nobody wants to know.
	Report func(lane int32, what, why string)
	// ReadControls reads what people have decided to its end; nil: nobody decides anything.
	ReadControls func(ctx context.Context) (*control.Set, error)
	// Events is where what happens is published; nil: a bus of the flow's own, from which only its log hangs.
	Events *events.Bus

	// Sizes of requests, in bytes; zero is the default of internal/wire.
	FetchBytes, PartitionFetchBytes, FetchMinBytes int32
	RequestBytes                                   int
}

// Lease tells whether this process may write as owner of its lanes right now.
type Lease interface{ Valid() bool }

// SyncSink takes offset syncs for their topic; it never blocks.
type SyncSink func(topic string, partition int32, source offsetmap.SourceOffset, target offsetmap.TargetOffset)

// Flow is the shared machinery of one flow in one process.
type Flow struct {
	Settings
	source, target       *kafka.Client
	sourceMeta           *kafka.Metadata
	targetMeta           *kafka.Metadata
	sourceNet, targetNet *wire.Net
	fetcher              *wire.Fetcher
	producer             *wire.Producer
	budget               *wire.Budget
	rate                 *wire.Rate // of what is read from the source
	builder              *batch.Builder
	lease                Lease
	syncs                SyncSink
	events               *events.Bus

	began time.Time // what uptime counts from

	mu         sync.Mutex
	feeds      map[partition.ID]*feed
	lanes      map[int32]*Lane
	partitions map[partition.ID]Partition
	existing   map[partition.ID][16]byte // every partition of the source and its topic's id; only kept with FromEnd
	commits    map[partition.ID][]verdicts.Commit
	controls   *control.Set // as heard last
	decided    *control.Set // as a lane or the flow heard last: what is decided for the flow as a whole
	counters   Counters
	unread     outage
	waits      map[int32]string // what lanes are about that do not run, as they have reported

	looks        *semaphore.Weighted // taken by each look at a partition's logs
	lookPatience time.Duration       // how long one waits without a byte

	startMu sync.Mutex                    // held by the lane that looks for the first start
	begins  map[partition.ID]ledger.Begin // as the first start has them; nil: not known yet
}

// Counters are totals since the process started, for logs and status.
type Counters struct {
	Records, Bytes, Batches, Raw, Rebuilt, Skipped atomic.Int64
}

// Clients are the connections of a flow. The lane client must be opened with kafka.LaneVersions on the target.
type Clients struct {
	Source, Target         *kafka.Client
	SourceMeta, TargetMeta *kafka.Metadata
	// Reads and Writes are how records are fetched and produced; without an alias they are as Source and Target are.
	Reads, Writes kafka.Cluster
}

// NewFlow prepares a flow; Run starts its transport.
func NewFlow(s Settings, c Clients, lease Lease, syncs SyncSink, log *slog.Logger) *Flow {
	f := &Flow{
		Settings: s, source: c.Source, target: c.Target, sourceMeta: c.SourceMeta, targetMeta: c.TargetMeta,
		lease: lease, syncs: syncs, events: s.Events, builder: batch.NewBuilder(),
		looks: semaphore.NewWeighted(looksAtOnce), lookPatience: lookPatience,
		began: time.Now(), waits: map[int32]string{}, feeds: map[partition.ID]*feed{}, lanes: map[int32]*Lane{}, partitions: map[partition.ID]Partition{},
	}
	if f.events == nil {
		f.events = events.From(log)
	}
	if c.Reads.Alias == "" {
		c.Reads = c.Source.Cluster()
	}
	if c.Writes.Alias == "" {
		c.Writes = c.Target.Cluster()
	}
	f.sourceNet = wire.New(c.Reads, c.SourceMeta, log)
	f.targetNet = wire.New(c.Writes, c.TargetMeta, log)
	f.budget, f.rate = wire.NewBudget(s.MemoryBytes), &wire.Rate{}
	var isolation int8
	if s.Committed {
		isolation = 1
	}
	f.fetcher = f.sourceNet.NewFetcher(wire.FetchOptions{Isolation: isolation, MaxWait: s.FetchWait, MinBytes: s.FetchMinBytes, MaxBytes: s.FetchBytes, PartitionMaxBytes: s.PartitionFetchBytes, Budget: f.budget, Rate: f.rate}, f.sink)
	f.producer = f.targetNet.NewProducer(wire.ProduceOptions{Depth: 2, RequestBytes: s.RequestBytes, Allowed: lease.Valid})
	return f
}

// Run moves bytes until ctx ends. Lanes must have ended before, so that their last writes still go out.
func (f *Flow) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.fetcher.Run(ctx) })
	g.Go(func() error { return f.producer.Run(ctx) })
	return g.Wait()
}

// Close ends every connection.
func (f *Flow) Close() {
	f.sourceNet.Close()
	f.targetNet.Close()
}

// Totals gives the flow's counters.
func (f *Flow) Totals() *Counters { return &f.counters }

// SetPartitions says what the flow mirrors from now on. Partitions that are gone stop with a reason.
func (f *Flow) SetPartitions(ps map[partition.ID]Partition) {
	f.mu.Lock()
	f.partitions = ps
	f.pace()
	f.mu.Unlock()
	f.tell(func(l *Lane) { l.post(partitionsChanged{}) })
}

// SetExisting says which partitions the source has, mirrored or not. Only a flow with FromEnd asks, before it takes lanes.
func (f *Flow) SetExisting(tps map[partition.ID][16]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.existing = tps
}

// SetCommits hands over the source's committed offsets, by partition.
func (f *Flow) SetCommits(c map[partition.ID][]verdicts.Commit) {
	f.mu.Lock()
	f.commits = c
	f.mu.Unlock()
	f.tell(func(l *Lane) { l.post(commitsChanged{}) })
}

// Publish writes a row of the verdicts topic for a group that lane n owns. It answers false when this process does not
// hold the lane.
func (f *Flow) Publish(n int32, key verdicts.Key, row *verdicts.Row) bool {
	f.mu.Lock()
	l, judge := f.lanes[n], f.lanes[ledger.LaneOf(key.Topic, key.Partition, f.Lanes)]
	f.mu.Unlock()
	if l == nil {
		return false
	}
	l.post(publish{key: key, row: row})
	if row == nil && judge != nil {
		judge.post(forget{key})
	}
	return true
}

// Configs are the settings of a topic's copy that the ledger has as ours. held is false while this process does not own
// the lane of the topic's first partition.
func (f *Flow) Configs(topic string) (c ledger.Configs, held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lanes[ledger.LaneOf(topic, 0, f.Lanes)]
	if l == nil {
		return ledger.Configs{}, false
	}
	return l.configs[topic], true
}

// RememberConfigs writes to the ledger which settings of a topic's copy are ours. It answers false when this process does
// not hold the lane.
func (f *Flow) RememberConfigs(topic string, c ledger.Configs) bool {
	f.mu.Lock()
	l := f.lanes[ledger.LaneOf(topic, 0, f.Lanes)]
	if l != nil {
		l.configs[topic] = c
	}
	f.mu.Unlock()
	if l == nil {
		return false
	}
	l.post(remembered{topic: topic, configs: c})
	return true
}

func (f *Flow) tell(do func(*Lane)) {
	f.mu.Lock()
	ls := make([]*Lane, 0, len(f.lanes))
	for _, l := range f.lanes {
		ls = append(ls, l)
	}
	f.mu.Unlock()
	for _, l := range ls {
		do(l)
	}
}

func (f *Flow) snapshot() (map[partition.ID]Partition, map[partition.ID][]verdicts.Commit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.partitions, f.commits
}

// Runs says whether lane n is taken over, and does its work here.
func (f *Flow) Runs(n int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lanes[n] != nil && f.waits[n] == ""
}

func (f *Flow) register(l *Lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lanes[l.n] = l
	f.pace()
}

func (f *Flow) unregister(l *Lane) {
	f.unread.note(f.say, l.n, unread{}, now())
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lanes, l.n)
	f.pace()
	for tp, fd := range f.feeds {
		if fd.lane == l {
			delete(f.feeds, tp)
			f.fetcher.Drop(tp)
		}
	}
}

// now is wall time in ms: what record timestamps and brokers' expirations are compared with.
func now() int64 { return time.Now().Add(failpoint.Skew()).UnixMilli() }
