package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/offsetmap"
)

// logs is what one partition holds on both sides, record by record in order. They are paired by their place, which is
// right once [testcluster.Compare] has found nothing.
type logs struct {
	source, target []testcluster.Rec
	end            int64 // of the target
}

// after is where the first record stands on the target that is not below source offset c; the end where there is none.
func (l logs) after(c int64) int64 {
	i := sort.Search(len(l.source), func(i int) bool { return l.source[i].Offset >= c })
	if i == len(l.source) {
		return l.end
	}
	return l.target[i].Offset
}

// places are the target offsets at which a group that has read the source up to c may stand: behind the last record that it
// has read, and not behind the first one that it has not. Where it has read everything that is the end, for a lag of 0.
func (l logs) places(c int64) (low, high int64) {
	high = l.after(c)
	i := sort.Search(len(l.source), func(i int) bool { return l.source[i].Offset >= c })
	switch {
	case i == len(l.source):
		return high, high
	case i > 0:
		low = l.target[i-1].Offset + 1
	}
	return low, high
}

// judge looks at a world at rest, and returns everything that is wrong.
func (x *world) judge(ctx context.Context) error {
	held, err := x.records(ctx)
	if err != nil {
		return err
	}
	var faults []error
	add := func(err error) {
		if err != nil {
			x.tell("FAULT: %v", err)
			faults = append(faults, err)
		}
	}
	add(x.exact(ctx, held))
	add(x.never(held))
	add(x.healthy(ctx))
	add(x.ends(ctx))
	add(x.maps(ctx, held))
	add(x.words())
	return errors.Join(faults...)
}

// records waits until everything is on the target and compares it: as read_committed and as read_uncommitted sees it.
func (x *world) records(ctx context.Context) (map[partition.ID]logs, error) {
	held := map[partition.ID]logs{}
	var faults []error
	total := 0
	for _, s := range streams() {
		source, err := testcluster.Read(ctx, x.src, x.prefix+s.name, testcluster.ReadCommitted)
		if err != nil {
			return nil, err
		}
		if err := x.arrived(ctx, s.name, len(source)); err != nil {
			return nil, err
		}
		total += len(source)
		ends, err := testcluster.Ends(ctx, x.dst, x.remote(s.name), testcluster.ReadUncommitted)
		if err != nil {
			return nil, err
		}
		for _, iso := range []testcluster.Isolation{testcluster.ReadCommitted, testcluster.ReadUncommitted} {
			target, err := testcluster.Read(ctx, x.dst, x.remote(s.name), iso)
			if err != nil {
				return nil, err
			}
			if err := testcluster.Compare(source, target).Err(); err != nil {
				faults = append(faults, fmt.Errorf("%s, isolation %d: %w", s.name, iso, err))
			}
			for p, end := range ends {
				held[partition.ID{Topic: s.name, Partition: p}] = logs{testcluster.OfPartition(source, p), testcluster.OfPartition(target, p), end}
			}
		}
		if err := x.acknowledged(s.name, source); err != nil {
			faults = append(faults, err)
		}
	}
	x.tell("oracle: %d records compared, %d faults", total, len(faults))
	return held, errors.Join(faults...)
}

// acknowledged says which records the source acknowledged and does not hold: then the brokers, not the mirror, lost them.
func (x *world) acknowledged(topic string, source []testcluster.Rec) error {
	have := make(map[int64]bool, len(source))
	for _, r := range source {
		if seq, ok := r.Seq(); ok {
			have[seq] = true
		}
	}
	lost := 0
	for _, seq := range x.load.acked[topic] {
		if !have[seq] {
			lost++
		}
	}
	if lost > 0 {
		return fmt.Errorf("the source lost %d of %d acknowledged records of %s", lost, len(x.load.acked[topic]), topic)
	}
	return nil
}

// arrived waits until the target holds as many records of a topic as the source. It counts only when the log stands
// still, since counting reads it all.
func (x *world) arrived(ctx context.Context, topic string, want int) error {
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	counted := int64(-1)
	return testcluster.Await(ctx, fmt.Sprintf("%d records of %s", want, topic), func(ctx context.Context) (bool, string, error) {
		if err := x.supervise(); err != nil {
			return false, "", err
		}
		ends, err := testcluster.Ends(ctx, x.dst, x.remote(topic), testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the error is the reason that the waiter shows
		}
		sum := int64(0)
		for _, end := range ends {
			sum += end
		}
		if sum == counted || sum < int64(want) {
			return false, fmt.Sprintf("offsets up to %d", sum), nil
		}
		got, err := testcluster.Read(ctx, x.dst, x.remote(topic), testcluster.ReadCommitted)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the same
		}
		counted = sum
		return len(got) >= want, fmt.Sprintf("%d of them", len(got)), nil
	})
}

// exact waits until every group stands on the target where it stands on the source.
func (x *world) exact(ctx context.Context, held map[partition.ID]logs) error {
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	adm := kadm.NewClient(x.dst)
	c := x.groups
	err := testcluster.Await(ctx, fmt.Sprintf("%d exact positions", len(c.done)), func(ctx context.Context) (bool, string, error) {
		if err := x.supervise(); err != nil {
			return false, "", err
		}
		got := adm.FetchManyOffsets(ctx, c.names()...)
		wrong, one := 0, ""
		for s, committed := range c.done {
			l := held[partition.ID{Topic: s.topic, Partition: s.partition}]
			low, high := l.places(committed)
			o, ok := got[s.group].Fetched.Lookup(x.remote(s.topic), s.partition)
			if !ok {
				o.At = -1
			}
			if o.At >= low && o.At <= high {
				continue
			}
			wrong++
			one = fmt.Sprintf("%v, committed at %d, stands at %d, want %d to %d (%v)", s, committed, o.At, low, high, got[s.group].Err)
		}
		return wrong == 0, fmt.Sprintf("%d are wrong or missing, one: %s", wrong, one), nil
	})
	x.tell("oracle: %d positions of %d groups looked at", len(c.done), len(c.groups))
	return err
}

// never says whether the target ever held a position that would have skipped a record, or went back.
func (x *world) never(held map[partition.ID]logs) error {
	c := x.groups
	var faults []string
	faults = append(faults, c.faults...)
	for _, s := range c.samples {
		if most := held[partition.ID{Topic: s.topic, Partition: s.partition}].after(s.tried); s.at > most {
			faults = append(faults, fmt.Sprintf("%v stood at %d on the target when it had read the source up to %d at most, whose next record is at %d", s.spot, s.at, s.tried, most))
		}
	}
	x.tell("oracle: %d positions seen on the way in %d looks, %d faults", len(c.samples), c.looks, len(faults))
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%d positions were wrong on the way, first: %s", len(faults), strings.Join(faults[:min(3, len(faults))], "; "))
}

// healthy waits until the mirror itself finds nothing stopped, held or inexact.
func (x *world) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	for _, command := range []string{"status", "groups"} {
		err := testcluster.Await(ctx, command+" --check", func(ctx context.Context) (bool, string, error) {
			out, code := x.tool(ctx, command, "--check")
			return code == 0, fmt.Sprintf("exit %d: %s", code, out), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ends ends the workers, compares what lives in them with a process that has just started and owns everything, and says
// which did not end cleanly.
func (x *world) ends(ctx context.Context) error {
	var faults []error
	vitals := map[int]vital{}
	for _, w := range x.up() {
		v, err := w.vitals(ctx)
		if err != nil {
			return err
		}
		vitals[w.n] = v
		if err := x.term(w); err != nil {
			faults = append(faults, fmt.Errorf("worker %d after SIGTERM: %w", w.n, err))
		}
	}
	fresh := x.workers[0]
	if err := x.start(fresh); err != nil {
		return err
	}
	if err := x.healthy(ctx); err != nil {
		return err
	}
	rest, err := fresh.vitals(ctx)
	if err != nil {
		return err
	}
	if err := x.term(fresh); err != nil {
		faults = append(faults, fmt.Errorf("a fresh worker after SIGTERM: %w", err))
	}
	x.tell("oracle: at rest %v, fresh %v (goroutines, heap, from the system)", vitals, rest)
	// Connections to more brokers; two transports that keep up to 32 MiB of buffers each for their next work.
	const moreGoroutines, moreHeap = 24, 72 << 20
	for n, v := range vitals {
		if v.goroutines > rest.goroutines+moreGoroutines || v.heap > rest.heap+moreHeap {
			faults = append(faults, fmt.Errorf("worker %d holds %+v at rest, a fresh one %+v", n, v, rest))
		}
	}
	return errors.Join(faults...)
}

// maps compares the offset maps in the ledger with those computed from both logs. All workers have ended.
func (x *world) maps(ctx context.Context, held map[partition.ID]logs) error {
	name := ledger.TopicName(x.alias)
	recs, err := testcluster.Read(ctx, x.dst, name, testcluster.ReadUncommitted)
	if err != nil {
		return err
	}
	lanes := map[int32]*ledger.Contents{}
	for _, r := range recs {
		if lanes[r.Partition] == nil {
			lanes[r.Partition] = ledger.NewContents()
		}
		if err := lanes[r.Partition].Apply(r.Offset, r.Key, r.Value); err != nil {
			return err
		}
	}
	var faults []string
	for n, c := range lanes {
		if c.Claim == nil || !c.Claim.Released {
			faults = append(faults, fmt.Sprintf("lane %d was not released", n))
		}
	}
	runs := 0
	for p, l := range held {
		lane := ledger.LaneOf(x.prefix+p.Topic, p.Partition, int32(len(lanes)))
		m, err := lanes[lane].Map(partition.ID{Topic: x.prefix + p.Topic, Partition: p.Partition})
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		have, want := slices.Collect(m.Runs()), l.runs()
		runs += len(want)
		if !slices.Equal(have, want) {
			faults = append(faults, fmt.Sprintf("the map of %s-%d has %d runs, the logs %d%s", p.Topic, p.Partition, len(have), len(want), firstOther(have, want)))
		}
		if int64(m.TargetEnd()) > l.end {
			faults = append(faults, fmt.Sprintf("the map of %s-%d ends at %d, the log at %d", p.Topic, p.Partition, m.TargetEnd(), l.end))
		}
	}
	x.tell("oracle: %d maps of %d runs compared, %d faults", len(held), runs, len(faults))
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// runs computes the map of a partition.
func (l logs) runs() []offsetmap.Run {
	var out []offsetmap.Run
	for i := range min(len(l.source), len(l.target)) {
		s, t := offsetmap.SourceOffset(l.source[i].Offset), offsetmap.TargetOffset(l.target[i].Offset)
		if n := len(out); n > 0 && int64(s-out[n-1].Source) == out[n-1].Count && int64(t-out[n-1].Target) == out[n-1].Count {
			out[n-1].Count++
			continue
		}
		out = append(out, offsetmap.Run{Source: s, Target: t, Count: 1})
	}
	return out
}

func firstOther(have, want []offsetmap.Run) string {
	for i := range min(len(have), len(want)) {
		if have[i] != want[i] {
			return fmt.Sprintf(", at %d: %+v, want %+v", i, have[i], want[i])
		}
	}
	return ""
}

// words looks for what no worker may ever say.
func (x *world) words() error {
	var faults []error
	for _, w := range x.workers {
		if w.proc == nil {
			continue
		}
		for line := range strings.SplitSeq(w.output(), "\n") {
			for _, bad := range []string{"panic:", "fatal error:", "DATA RACE", "resume is not exact", "may be written twice", "target lost records", "stand there twice"} {
				if strings.Contains(line, bad) {
					faults = append(faults, fmt.Errorf("worker %d said: %s", w.n, line))
				}
			}
		}
	}
	if x.exits > 0 {
		x.tell("oracle: workers ended by themselves %d times", x.exits)
	}
	return errors.Join(faults[:min(len(faults), 5)]...)
}
