package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
)

var (
	partitionsFlag = flag.Int("chaos.partitions", 16, "partitions of the topic under BenchmarkHandOver; from 200 on forty of them get a record each 100 ms, the others one each 4 s")
	lanesFlag      = flag.Int("chaos.lanes", 8, "lanes of its flow")
)

// small is the pulse of a topic all of whose partitions are measured.
func small(partitions int) rhythm { return rhythm{int32(partitions), 20 * time.Millisecond, 1} }

// asked is the pulse of the flags.
func asked() rhythm {
	if *partitionsFlag < 200 {
		return small(*partitionsFlag)
	}
	return rhythm{int32(*partitionsFlag), 100 * time.Millisecond, int32(*partitionsFlag / 40)}
}

// handOver is what one event did to the partitions.
type handOver struct {
	event string
	moved []time.Duration // the pauses of the partitions whose lanes changed hands, in order
	rest  time.Duration   // the longest of the others
}

func (h handOver) worst() time.Duration { return h.moved[len(h.moved)-1] }

func (h handOver) String() string {
	if len(h.moved) == 0 {
		return fmt.Sprintf("%-40s nothing changed hands, pause of all others at most %4d ms", h.event, h.rest.Milliseconds())
	}
	return fmt.Sprintf("%-40s worst %5d ms, median %5d ms of %2d partitions that changed hands; others at most %4d ms",
		h.event, h.worst().Milliseconds(), h.moved[len(h.moved)/2].Milliseconds(), len(h.moved), h.rest.Milliseconds())
}

// hands is a flow under a pulse whose workers come and go.
type hands struct {
	*world
	pulse *pulse
}

// topic is the pulse's on the source.
func (h *hands) topic() string { return h.prefix + "pulse" }

func startHands(tb testing.TB, p *pair, name string, dynamic bool, lanes int, r rhythm) (*hands, error) {
	h := &hands{world: bareWorld(tb, p, name, lanes)}
	h.dynamic = dynamic
	h.file = h.outside // no network faults, so no proxies in the way
	ctx := tb.Context()
	if err := testcluster.CreateTopic(ctx, p.source.ClientOpts(), h.topic(), r.partitions, nil); err != nil {
		return nil, err
	}
	var err error
	if h.pulse, err = startPulse(ctx, p.source.ClientOpts(), p.target.ClientOpts(), h.topic(), h.remote("pulse"), r); err != nil {
		return nil, err
	}
	tb.Cleanup(func() { _ = h.pulse.stop() })
	if err := h.start(h.workers[0]); err != nil {
		return nil, err
	}
	return h, h.settled(ctx)
}

// settled waits until the running workers share the lanes evenly, run what they were given, and all partitions go on.
func (h *hands) settled(ctx context.Context) error {
	wctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	err := testcluster.Await(wctx, "lanes that are spread evenly and run", func(ctx context.Context) (bool, string, error) {
		if err := h.died(); err != nil {
			return false, "", err
		}
		owners, err := h.owners(ctx)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the error is the reason that the waiter shows
		}
		claims, err := h.claims(ctx)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the same
		}
		return slices.Equal(owners, claims), fmt.Sprintf("lanes of %v, claimed by %v", owners, claims), nil
	})
	if err != nil {
		return err
	}
	if h.pulse.probe > 1 {
		return h.pulse.beatsOn(ctx, 1)
	}
	return h.pulse.beatsOn(ctx, 5)
}

// died says which process ended although nobody told it to.
func (h *hands) died() error {
	for _, w := range h.workers {
		if w.meant && !w.running() {
			return fmt.Errorf("worker %d ended by itself (%w): %s", w.n, w.proc.Err(), w.proc.LogTail(3))
		}
	}
	return nil
}

// owners are the processes that the lane group gives each lane to. It is an error while they are not just those that run,
// while a lane has no owner or two, and while one has two lanes more than another.
func (h *hands) owners(ctx context.Context) ([]int, error) {
	name := "tidemark." + h.alias + "->T"
	got, err := kadm.NewClient(h.dst).DescribeGroups(ctx, name)
	if err != nil {
		return nil, err
	}
	g := got[name]
	if g.Err != nil || g.State != "Stable" {
		return nil, fmt.Errorf("the group is %s, error %w", g.State, g.Err)
	}
	owners, counts := make([]int, h.lanes), map[int]int{}
	for _, m := range g.Members {
		n := slices.IndexFunc(h.workers, func(w *worker) bool {
			if m.InstanceID != nil { // brokers keep the client id that the first process had
				return *m.InstanceID == w.instance()
			}
			return w.proc != nil && strings.HasSuffix(m.ClientID, fmt.Sprintf("-%d", w.proc.PID()))
		})
		a, ok := m.Assigned.AsConsumer()
		if n < 0 || !ok || !h.workers[n].running() {
			return nil, fmt.Errorf("member %s is none that runs", m.ClientID)
		}
		counts[n] += 0
		for _, t := range a.Topics {
			for _, lane := range t.Partitions {
				if owners[lane] != 0 {
					return nil, fmt.Errorf("lane %d has two owners", lane)
				}
				owners[lane] = h.workers[n].proc.PID()
				counts[n]++
			}
		}
	}
	each := slices.Sorted(maps.Values(counts))
	switch {
	case slices.Contains(owners, 0):
		return nil, fmt.Errorf("a lane has no owner: %v", owners)
	case len(counts) != len(h.up()):
		return nil, fmt.Errorf("lanes by worker are %v, and %d run", counts, len(h.up()))
	case each[len(each)-1]-each[0] > 1:
		return nil, fmt.Errorf("lanes by worker are %v", counts)
	}
	return owners, nil
}

// claims are the processes that say in the ledger that a lane is theirs; 0 where it is released.
func (h *hands) claims(ctx context.Context) ([]int, error) {
	recs, err := testcluster.Read(ctx, h.dst, ledger.TopicName(h.alias), testcluster.ReadUncommitted)
	if err != nil {
		return nil, err
	}
	claims := make([]int, h.lanes)
	for n := range claims {
		c := ledger.NewContents()
		for _, r := range testcluster.OfPartition(recs, int32(n)) {
			if err := c.Apply(r.Offset, r.Key, r.Value); err != nil {
				return nil, err
			}
		}
		if c.Claim == nil || c.Claim.Released {
			continue
		}
		_, after, _ := strings.Cut(c.Claim.Owner, " pid ")
		pid, _, _ := strings.Cut(after, " ")
		if claims[n], err = strconv.Atoi(pid); err != nil {
			return nil, fmt.Errorf("claim of lane %d by %q: %w", n, c.Claim.Owner, err)
		}
	}
	return claims, nil
}

// measure makes an event, waits until it is over, and tells the pauses. An event that gives a time has them counted from
// there on.
func (h *hands) measure(ctx context.Context, e handing) (handOver, error) {
	o := handOver{event: e.name}
	if err := h.settled(ctx); err != nil {
		return o, fmt.Errorf("before %s: %w", e.name, err)
	}
	before, err := h.claims(ctx)
	if err != nil {
		return o, err
	}
	h.tell("%s", e.name)
	since := time.Now()
	from, err := e.do()
	if err != nil {
		return o, fmt.Errorf("%s: %w", e.name, err)
	}
	if err := h.settled(ctx); err != nil {
		return o, fmt.Errorf("after %s: %w", e.name, err)
	}
	after, err := h.claims(ctx)
	if err != nil {
		return o, err
	}
	pauses := h.pulse.pauses(since)
	if !from.IsZero() {
		pauses = h.pulse.firsts(from)
	}
	for p, pause := range pauses {
		if !h.pulse.probes(int32(p)) {
			continue
		}
		if lane := ledger.LaneOf(h.topic(), int32(p), int32(h.lanes)); after[lane] == before[lane] {
			o.rest = max(o.rest, pause)
			continue
		}
		o.moved = append(o.moved, pause)
	}
	slices.Sort(o.moved)
	h.tell("%v", o)
	return o, nil
}

// handing is an event that hands lanes over.
type handing struct {
	name    string
	session bool // whoever gets the lanes gets them when the session of the one before has run out
	do      func() (from time.Time, err error)
}

// all are the events in turn. They begin with one worker and end with one.
func (h *hands) all(ctx context.Context) []handing {
	joins := func(w *worker) func() (time.Time, error) {
		return func() (time.Time, error) { return time.Time{}, h.start(w) }
	}
	ends := func(end func(*worker) error, w *worker) func() (time.Time, error) {
		return func() (time.Time, error) { return time.Time{}, end(w) }
	}
	rolling := func() (time.Time, error) {
		for _, w := range h.workers {
			if err := errors.Join(h.term(w), h.start(w), h.settled(ctx)); err != nil {
				return time.Time{}, err
			}
		}
		return time.Time{}, nil
	}
	returns := func() (time.Time, error) {
		if err := h.kill(h.workers[1]); err != nil {
			return time.Time{}, err
		}
		return time.Now(), h.start(h.workers[1])
	}
	return []handing{
		{"second worker joins", false, joins(h.workers[1])},
		{"third worker joins", false, joins(h.workers[2])},
		{"rolling restart of three", false, rolling},
		{"SIGKILL and start again, from the start", h.dynamic, returns},
		{"SIGTERM of one of three", !h.dynamic, ends(h.term, h.workers[2])}, // a static member stays in the group
		{"SIGKILL of one of two", true, ends(h.kill, h.workers[1])},
	}
}

// whole ends the pulse and compares both sides.
func (h *hands) whole(ctx context.Context) error {
	if err := h.pulse.stop(); err != nil {
		return err
	}
	source, err := testcluster.Read(ctx, h.src, h.topic(), testcluster.ReadCommitted)
	if err != nil {
		return err
	}
	if err := h.arrived(ctx, "pulse", len(source)); err != nil {
		return err
	}
	target, err := testcluster.Read(ctx, h.dst, h.remote("pulse"), testcluster.ReadUncommitted)
	if err != nil {
		return err
	}
	h.tell("%d records on the source, %d on the target", len(source), len(target))
	if err := testcluster.Compare(source, target).Err(); err != nil {
		return err
	}
	for _, w := range h.up() {
		if err := h.term(w); err != nil {
			return fmt.Errorf("worker %d after SIGTERM: %w", w.n, err)
		}
	}
	return nil
}

// TestHandOver: workers that come and go share the lanes evenly, each lane has one owner, which is the one that writes, and
// every record is on the target once. How long a partition pauses is measured by BenchmarkHandOver. Owners whose session
// must run out first are not waited for here.
func TestHandOver(t *testing.T) {
	p := clusters(t, "single")
	for name, dynamic := range map[string]bool{"hd": true, "hs": false} {
		h, err := startHands(t, p, name, dynamic, 8, small(16))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range h.all(t.Context()) {
			if e.session {
				continue
			}
			if _, err := h.measure(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.whole(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkHandOver measures how long the partitions of lanes that change hands pause on the target, by event:
//
//	go test ./internal/chaos -run '^$' -bench HandOver -benchtime 1x -v
//	go test ./internal/chaos -run '^$' -bench HandOver -benchtime 1x -v -chaos.partitions=2000 -chaos.lanes=32
func BenchmarkHandOver(b *testing.B) {
	p := clusters(b, "single")
	for kind, dynamic := range map[string]bool{"dynamic": true, "instances": false} {
		b.Run(kind, func(b *testing.B) {
			worst := map[string]time.Duration{}
			for i := range b.N {
				h, err := startHands(b, p, fmt.Sprintf("b%s%d-%d", kind, b.N, i), dynamic, *lanesFlag, asked())
				if err != nil {
					b.Fatal(err)
				}
				for _, e := range h.all(b.Context()) {
					o, err := h.measure(b.Context(), e)
					if err != nil {
						b.Fatal(err)
					}
					if len(o.moved) > 0 {
						worst[e.name] = max(worst[e.name], o.worst())
					}
				}
				if err := h.whole(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for event, pause := range worst {
				b.ReportMetric(float64(pause.Milliseconds()), "ms:"+strings.NewReplacer(" ", "-", ",", "").Replace(event))
			}
		})
	}
}
