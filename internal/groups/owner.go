package groups

import (
	"context"
	"sync"
	"time"

	"tidemark/internal/control"
	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

const (
	// memory is how many polls of the source a row may be behind: lanes of other processes poll at other times.
	memory = 5
	// forget is how many polls in a row a position must be absent from the source before its row is deleted.
	forget = 3
	// recheck is how often a group that is at rest is compared with the target again: its commits may have been deleted
	// or have expired there.
	recheck = 30 * time.Second
	// retry is how often a group that waits (active, held, not answered) is looked at.
	retry = time.Second
)

// Fate is what the flow does with a source topic.
type Fate struct {
	Mirrored bool
	Why      string   // the rule, when it is not mirrored
	Remote   string   // the topic on the target
	SourceID [16]byte // current topic id; rows about another one do not count
	TargetID [16]byte // the same on the target; zero is not compared
}

// Environment is what an Owner needs from the flow.
type Environment interface {
	// Topic says what becomes of a source topic. ok is false while that is not known. Called with the Owner's lock held.
	Topic(name string) (fate Fate, ok bool)
	// Publish writes (or with nil deletes) a row of a group whose verdicts partition this process owns. It may lose it:
	// what does not come back through Apply is published again.
	Publish(lane int32, key verdicts.Key, row *verdicts.Row)
	// Leased says whether this process may write as owner right now; it is asked before each commit. A process that was
	// paused wakes up with groups that are somebody else's.
	Leased() bool
	// Checkpoint hands over a position for the checkpoints topic, when there is news. It does not block, and is called
	// from several goroutines, never from two for one group.
	Checkpoint(group string, remote partition.ID, upstream, downstream int64, metadata string)
}

// Owner puts together and writes the groups whose verdicts partitions this process owns. Own, Apply and Take may be
// called from any goroutine, Run and Round from one.
type Owner struct {
	target *kafka.Client
	env    Environment
	lanes  int32
	sync   bool // write positions; otherwise checkpoints only
	events *events.Bus
	now    func() time.Time
	wake   chan struct{}

	renewEvery time.Duration // see Retention

	mu      sync.Mutex
	owned   map[int32]time.Time // since when
	rows    map[verdicts.Key]verdicts.Row
	missing map[verdicts.Key]int // polls in a row in which the source did not hold what a row speaks about
	told    map[verdicts.Key]time.Time
	outbox  []publication
	past    []Snapshot           // newest last, at most memory
	unknown map[string]time.Time // topics that the flow does not know, since when
	dirty   map[string]bool
	groups  map[string]*group
	judged  int // groups whose state was noted, since the start

	controls *control.Set                // what people have decided
	moved    map[string]control.Decision // groups that live on the target
	ended    map[topic]bool              // topics that were forgotten
	heard    time.Time                   // when the last read of that began; zero: it was never read
	writing  map[string]chan struct{}    // groups that are being written, each closed when that is done
}

// group is what this process knows about one group that it owns.
type group struct {
	wrote   map[partition.ID]translate.Commit // by remote partition: the last commits of ours
	took    map[partition.ID]taken            // by source partition: the last rows that counted
	emitted map[partition.ID]checkpoint       // by remote partition
	state   translate.WriteState
	since   time.Time // when the state became of this kind
	said    bool      // it is in the log
	lookAt  time.Time // when it is due although nothing changed
	soon    time.Time // zero, or when it is due at the latest because a row of ours is not in the log yet
	trouble bool      // the target could not be asked about it the last time
	failing bool      // the target did not do what it was asked about it the last time
	gone    int       // polls in a row in which the source did not hold it
	renewed time.Time // when all of ours was committed again the last time
}

func newGroup(t time.Time) *group {
	return &group{wrote: map[partition.ID]translate.Commit{}, took: map[partition.ID]taken{}, emitted: map[partition.ID]checkpoint{}, since: t, renewed: t}
}

// NewOwner makes an Owner. With write off positions are not committed on the target.
func NewOwner(target *kafka.Client, env Environment, lanes int32, write bool, bus *events.Bus) *Owner {
	o := &Owner{
		target: target, env: env, lanes: lanes, sync: write, events: bus, now: time.Now, wake: make(chan struct{}, 1),
		owned: map[int32]time.Time{}, rows: map[verdicts.Key]verdicts.Row{}, missing: map[verdicts.Key]int{},
		told: map[verdicts.Key]time.Time{}, unknown: map[string]time.Time{}, dirty: map[string]bool{}, groups: map[string]*group{},
		writing: map[string]chan struct{}{},
	}
	o.Retention(0)
	return o
}

func (o *Owner) lane(group string) int32 { return ledger.GroupLane(group, o.lanes) }

// owns says whether this process owns a group. The lock is held.
func (o *Owner) owns(group string) bool { return !o.owned[o.lane(group)].IsZero() }

// Own says that this process owns a verdicts partition from now on (or no more). Its rows are read from the start, and
// what we remember of its groups is gone: another process may have written them since.
func (o *Owner) Own(lane int32, owned bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if owned {
		o.owned[lane] = o.now()
	} else {
		delete(o.owned, lane)
	}
	for k := range o.rows {
		if o.lane(k.Group) == lane {
			delete(o.rows, k)
			delete(o.missing, k)
		}
	}
	for k := range o.told {
		if o.lane(k.Group) == lane {
			delete(o.told, k)
		}
	}
	for g := range o.groups {
		if o.lane(g) == lane {
			delete(o.groups, g)
			delete(o.dirty, g)
		}
	}
}

// Apply takes a record of an owned verdicts partition, in log order; row is nil for a deletion.
func (o *Owner) Apply(key verdicts.Key, row *verdicts.Row) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.owns(key.Group) {
		return // fetched before the partition was taken away
	}
	delete(o.told, key)
	if row == nil {
		delete(o.rows, key)
		delete(o.missing, key)
	} else {
		o.rows[key] = *row
	}
	o.dirty[key.Group] = true
	o.nudge()
}

// Take takes a snapshot of the source.
func (o *Owner) Take(s Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var last Snapshot
	if n := len(o.past); n > 0 {
		last = o.past[n-1]
	}
	o.past = append(o.past, s)
	if len(o.past) > memory {
		o.past = o.past[1:]
	}
	for g, now := range s.Positions {
		changed := !same(last.Positions[g], now) || len(s.Groups[g].Unread) != len(last.Groups[g].Unread)
		if changed && o.owns(g) {
			o.dirty[g] = true
		}
	}
	o.count(s)
	o.nudge()
}

func same(a, b map[partition.ID]kafka.Committed) bool {
	if len(a) != len(b) || a == nil {
		return false
	}
	for tp, c := range b {
		if old, ok := a[tp]; !ok || old != c {
			return false
		}
	}
	return true
}

// nudge asks for a round.
func (o *Owner) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run does rounds until ctx ends: when something changed, after a short pause in which more rows of the same change
// arrive, and at least every second for groups that wait.
func (o *Owner) Run(ctx context.Context) error {
	const gather, tell = 50 * time.Millisecond, time.Minute
	failing, said, saidAt := false, "", o.now()
	t := time.NewTicker(retry)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-t.C:
		}
		if !pause.For(ctx, gather) {
			return nil
		}
		if failing = o.attempt(ctx, failing); ctx.Err() != nil {
			return nil
		}
		if now := o.now(); now.Sub(saidAt) >= tell {
			saidAt = now
			if s := o.summary(); s != said {
				said = s
				o.events.Say(events.GroupsSummary, "summary", s)
			}
		}
	}
}

// attempt does a round and says when the target begins or ends to fail: failing is whether the last one that tells left it so.
// A round without an error does not tell by itself: it may have asked about nobody, or about others.
func (o *Owner) attempt(ctx context.Context, failing bool) bool {
	before, _ := o.standing()
	err := o.Round(ctx)
	judged, fails := o.standing()
	switch {
	case ctx.Err() != nil:
	case err != nil && !failing:
		o.events.Say(events.CommitsFail, "error", err)
		return true
	case err == nil && failing && !fails && judged > before:
		o.events.Say(events.CommitsBack)
		return false
	}
	return failing
}
