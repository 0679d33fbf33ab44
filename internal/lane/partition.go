package lane

import (
	"cmp"
	"math"

	"tidemark/offsetmap"
)

// Limits bound what a partition may do. All times are milliseconds.
type Limits struct {
	Depth       int   // units in flight while the target surely knows the producer's state; at most 5, the broker's window
	OldAfter    int64 // a batch whose newest timestamp is older than this is old data: producer.id.expiration.ms less a margin
	RetryMin    int64 // first wait before sending again
	RetryMax    int64
	StuckAfter  int64 // a partition whose units come back for so long stops, so that its bytes are free for others
	StopRetry   int64 // wait before a stopped partition is tried again
	MergeTarget int   // bytes that a merged batch aims at
	// HoldOldUntil (ms since the epoch): no old data is sent before. After a take-over without release whose fence old
	// data would outlive, the former owner's lease is waited out first.
	HoldOldUntil int64
	MaxAttempts  int  // sequence refusals in a row before the partition stops
	Committed    bool // only committed records are read, up to the last stable offset
}

// DefaultLimits are for a target with Kafka's default producer.id.expiration.ms of one day.
func DefaultLimits() Limits {
	return Limits{
		Depth: 2, OldAfter: 23 * 3600 * 1000, RetryMin: 50, RetryMax: 2000, StuckAfter: 30_000, StopRetry: 10_000,
		MergeTarget: 256 << 10, MaxAttempts: 5,
	}
}

// State is where a partition stands. It has one at a time.
type State uint8

// The states, in the order of a quiet life.
const (
	// Waiting: nothing is under way; both logs are looked at when the time for it has come.
	Waiting State = iota
	// Opening: a look at the ends of both logs, and at the target's tail beyond the head, is under way. It owns the map.
	Opening
	// Heading: the head of the epoch that is written in is on its way to the ledger; nothing is produced before (MR1).
	Heading
	// Live: mirrored.
	Live
	// Fencing: units are in doubt; the partition's own fence is under way.
	Fencing
	// Looking: fenced; what stands on the target beyond the map is being read.
	Looking
	// Stopped: nothing is read or sent, for a reason; tried again at a time, or when the facts change.
	Stopped
)

// String names the state for status, log and transcripts.
func (s State) String() string {
	return [...]string{"waiting", "opening", "heading", "live", "fencing", "looking", "stopped"}[s]
}

// Partition is the life of one source partition while its lane is owned: from the first look at both logs to the release.
// Events go in by Step, actions come out; the caller executes them in order. It is not safe for concurrent use.
type Partition struct {
	lim      Limits
	facts    Facts
	controls Controls
	absent   bool // the flow does not name it any more

	state   State
	since   int64  // when it came into its state, ms; in all but Live and Stopped: when it left those
	reason  string // why it is stopped, or was until the try that goes on now; empty once it goes on
	told    bool   // the reason was said by this owner, not only read in the former one's head
	final   bool   // stopped until the facts change
	retryAt int64  // when the next try is due, ms: of a look, of a stopped partition, of units that came back; 0: no try is due

	m      *offsetmap.Map // nil: nothing was ever mirrored, as far as is known
	opened bool           // the map's end is settled: what follows may be written behind it
	reopen bool           // both ends are looked at again before it goes on
	ending bool           // a stop came up while the look owned the map; it takes effect with the look's end
	looks  int            // looks in a row that failed for reasons that pass

	epoch  int16
	seq    int32                  // sequence of the next unit to be stamped
	next   offsetmap.SourceOffset // source offset after the last accepted piece
	queue  []Piece
	window []*Unit // stamped and not settled, oldest first

	again    bool // what is queued goes first, then it is read again from there: see ahead
	held     bool // the lane's ledger takes nothing: no new unit is begun, and nothing is read
	draining bool // for the release: as held, for good

	lastFresh int64 // newest timestamp acknowledged in this epoch, ms; 0 none: how long the target remembers our state
	stuck     int64 // since when units come back without progress, ms; 0 they do not
	backs     int   // units that came back in a row, for the pause before the next try
	refusals  int   // sequence refusals in a row
	uncertain int64 // records that may stand twice, as far as they were said
	dirty     bool  // stopped with units that may be on the target
	off       bool  // with dirty: they were fenced off, and none can arrive any more

	seen    Seen
	liveAt  int64  // when it went live last, ms
	heard   bool   // the source has answered since reading began last
	heardAt int64  // when reading last brought something that could be used, ms
	lasting bool   // that its state lasts was said
	settled string // how far a look that lasts has come, for people

	head heads
}

// Seen are the boundaries of both logs as they were seen last, -1 where they were not.
type Seen struct {
	SourceStart, SourceEnd, SourceStable offsetmap.SourceOffset // log start, high watermark, last stable offset
	TargetStart                          offsetmap.TargetOffset
}

// Facts are what the flow knows of a partition.
type Facts struct {
	SourceTopicID, TargetTopicID [16]byte // zero: not known
	SourceCluster                string   // cluster id that the source's alias means now
	NotYet                       string   // why it cannot be mirrored now, for people; empty: it can
}

// Past is what the ledger says of a partition.
type Past struct {
	Map     *offsetmap.Map // nil: never mirrored
	Stopped string         // why it was stopped when its last owner ended; empty: it was not
	// SourceEnd is the source's high watermark as the last owner knew it, -1 unknown.
	SourceEnd offsetmap.SourceOffset
}

// NewPartition begins a partition's life with what the ledger says of it. The first event should be Named.
func NewPartition(lim Limits, was Past) *Partition {
	p := &Partition{lim: lim, m: was.Map, reason: was.Stopped, seen: Seen{-1, -1, -1, -1}}
	if was.Map != nil {
		p.seen.SourceEnd = was.SourceEnd
		p.head.others = was.Map.Others()
	}
	return p
}

// State is where the partition stands, and since when (ms): in all but Live and Stopped since it left those.
func (p *Partition) State() (State, int64) { return p.state, p.since }

// Is says whether the partition is in a state.
func (p *Partition) Is(s State) bool { return p.state == s }

// Reason is why the partition is stopped, or why it was until the try that goes on now has lasted; empty when all is well.
func (p *Partition) Reason() string { return p.reason }

// Map is the partition's offset map, nil before anything is known to be mirrored. In state Opening a look owns it, and only
// its origin may be read.
func (p *Partition) Map() *offsetmap.Map { return p.m }

// Opened says that the map's end is settled.
func (p *Partition) Opened() bool { return p.opened }

// Seen are the boundaries of both logs as they were seen last.
func (p *Partition) Seen() Seen { return p.seen }

// Next is the source offset that the next accepted piece should start at.
func (p *Partition) Next() offsetmap.SourceOffset { return p.next }

// Idle says that nothing is queued or on its way.
func (p *Partition) Idle() bool { return len(p.queue) == 0 && len(p.window) == 0 }

// Absent says that the flow does not name the partition any more.
func (p *Partition) Absent() bool { return p.absent }

// Anchor is the (epoch, sequence) that the first record after the map's end has or will have.
func (p *Partition) Anchor() (epoch int16, sequence int32) {
	if len(p.window) > 0 {
		return p.window[0].Epoch, p.window[0].Sequence
	}
	return p.epoch, p.seq
}

// Clean says whether a release now leaves nothing in doubt on this partition.
func (p *Partition) Clean() bool {
	return !p.opened || len(p.window) == 0 && !p.dirty && p.state != Fencing && p.state != Looking
}

// QueuedNext is the source offset after the first n queued pieces.
func (p *Partition) QueuedNext(n int) offsetmap.SourceOffset {
	if n == 0 || n > len(p.queue) {
		return p.next
	}
	return p.queue[n-1].Next
}

// Reads says that fetched bytes of the partition are of use now.
func (p *Partition) Reads() bool { return p.state == Live && !p.draining && !p.held }

// enter changes the state. What lies between two of Live and Stopped is one effort, and lasts from its beginning.
func (p *Partition) enter(s State, now int64) {
	lasting := func(s State) bool { return s != Live && s != Stopped }
	if !lasting(s) || !lasting(p.state) {
		p.since, p.lasting = now, false
	}
	p.state, p.retryAt, p.settled = s, 0, ""
}

// later is a time after another one. Timestamps of records are anything that a producer wrote, so the sum may not wrap.
func later(t, by int64) int64 {
	if t > math.MaxInt64-by {
		return math.MaxInt64
	}
	return t + by
}

// younger says whether a record's timestamp is not older than by. Negative ones are unknown, and count as old.
func younger(ts, by, now int64) bool { return ts >= 0 && later(ts, by) > now }

// recreated says which of the topics is another one now than the one that a map is of, as far as is known.
func (p *Partition) recreated(m *offsetmap.Map) string {
	var unknown [16]byte
	switch was := m.Origin(); {
	case p.facts.SourceTopicID != unknown && was.SourceTopicID != p.facts.SourceTopicID:
		return recreatedSource
	case p.facts.TargetTopicID != unknown && was.TargetTopicID != p.facts.TargetTopicID:
		return recreatedRemote
	}
	return ""
}

// changed says why the facts forbid to go on with the map: a source topic with another id under the same name is another
// topic, its offsets mean nothing for the old one, so going on at a number that fits by chance would be wrong. The cluster
// comes first: the topic ids differ then too.
func (p *Partition) changed() string {
	if p.m == nil {
		return ""
	}
	return cmp.Or(anotherSource(p.m, p.facts.SourceCluster), p.recreated(p.m))
}
