package control

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tidemark/internal/partition"
)

// Unknown stands for an offset that nobody could tell.
const Unknown = -1

// World is what somebody decides about.
type World struct {
	Flow       string
	Source     string // its clusters, as aliases
	Target     string
	Set        *Set // what was decided so far
	Partitions []Known
	ID         string // of the decision that is to be made
	Now        time.Time
	By         string
	SourceAway bool // it does not answer, so nobody knows what is Selected
}

// Known is a partition that the flow mirrors, or has mirrored.
type Known struct {
	partition.ID
	Mirrored   bool    // the ledger knows it
	Selected   bool    // the source has it, and the flow takes it
	TopicID    TopicID // of the source topic that was mirrored
	MirroredTo int64   // source offset; Unknown
	SourceEnd  int64   // Unknown
}

// Request is what somebody asks for.
type Request struct {
	Kind        Kind
	Topic       string // empty: the whole flow
	Partition   int32  // AllPartitions: of the topic
	First, Last int64
	From        string
	Off         bool
	Reason      string
	Bytes       int64 // Throttle: a second
}

// Decide makes the decision that is asked for, and says what it means. The error says what is wrong with the request, and what
// to ask for instead.
func (w World) Decide(r Request) (d Decision, means []string, err error) {
	d = Decision{
		ID: w.ID, Kind: r.Kind, Off: r.Off, At: w.Now, By: w.By, Reason: r.Reason, From: r.From, Bytes: r.Bytes,
		Scope: Scope{Flow: w.Flow, Topic: r.Topic, Partition: r.Partition, First: r.First, Last: r.Last},
	}
	last, decided := w.Set.Last(d.Kind, d.Scope)
	d.Supersedes = last.ID
	touched, err := w.touched(r)
	if err != nil {
		return Decision{}, nil, err
	}
	switch {
	case r.Off && (!decided || last.Off):
		return Decision{}, nil, w.notInForce(d)
	case !r.Off && decided && !last.Off && r.Kind != Restart && r.Kind != Forget && (r.Kind != Throttle || r.Bytes == last.Bytes):
		return Decision{}, nil, fmt.Errorf("that is in force since %s: %s by %s", when(last.At), last.Kind, last.By)
	case r.Kind == Pause:
		means = w.pause(d, touched)
	case r.Kind == Throttle:
		means, err = w.throttle(d)
	case r.Kind == Skip:
		means, err = w.skip(d, touched[0])
	case r.Kind == Restart:
		d.Incarnation = w.Set.Incarnation(w.Now.Unix())
		means, err = w.restart(d, touched)
	case r.Kind == Forget:
		means, err = w.forget(&d, touched)
	default:
		err = fmt.Errorf("nothing is known of %q", r.Kind)
	}
	if err != nil {
		return Decision{}, nil, err
	}
	return d, means, d.check()
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// touched are the partitions that a request is about.
func (w World) touched(r Request) (out []Known, err error) {
	topics := map[string]bool{}
	for _, k := range w.Partitions {
		topics[k.Topic] = true
		if (r.Topic == "" || k.Topic == r.Topic) && (r.Partition == AllPartitions || k.Partition == r.Partition) {
			out = append(out, k)
		}
	}
	switch {
	case r.Topic == "" || len(out) > 0:
		return out, nil
	case topics[r.Topic]:
		return nil, fmt.Errorf("topic %s has no partition %d", r.Topic, r.Partition)
	}
	return nil, fmt.Errorf("flow %s does not mirror topic %q, and has not: tidemark topics lists what it mirrors", w.Flow, r.Topic)
}

// notInForce is the error about an end of what has not begun. A wider or narrower decision is named.
func (w World) notInForce(d Decision) error {
	for _, other := range w.Set.InForce() {
		if other.Kind == d.Kind {
			return fmt.Errorf("no %s of %s is in force; one of %s is, since %s: end that one", d.Kind, d.Scope, other.Scope, when(other.At))
		}
	}
	return fmt.Errorf("no %s of %s is in force", d.Kind, d.Scope)
}

func (w World) pause(d Decision, touched []Known) []string {
	if !d.Off {
		return []string{
			fmt.Sprintf("%s is paused: nothing is copied of its %s until it is told to resume.", d.Scope, partitions(len(touched))),
			"What is on its way to the target arrives first. Positions of groups stay as they are. Records that the source removes meanwhile are lost to the target.",
		}
	}
	out := []string{fmt.Sprintf("%s goes on where it stood: %s.", d.Scope, partitions(len(touched)))}
	for _, other := range w.Set.InForce() {
		if other.Kind == Pause && other.Scope != d.Scope && overlap(other.Scope, d.Scope) {
			out = append(out, fmt.Sprintf("Still paused: %s, since %s.", other.Scope, when(other.At)))
		}
	}
	return out
}

func overlap(a, b Scope) bool {
	return (a.Topic == "" || b.Topic == "" || a.Topic == b.Topic) &&
		(a.Partition == AllPartitions || b.Partition == AllPartitions || a.Partition == b.Partition)
}

func partitions(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", n)
}

func (w World) skip(d Decision, k Known) ([]string, error) {
	switch s := d.Scope; {
	case d.Off:
		return nil, errors.New("what was skipped stays skipped: tidemark restart copies the partition anew")
	case s.First < 0 || s.Last < s.First:
		return nil, fmt.Errorf("offsets %d to %d: write FIRST or FIRST-LAST", s.First, s.Last)
	case k.MirroredTo != Unknown && s.First < k.MirroredTo:
		return nil, fmt.Errorf("%s is mirrored up to offset %d: what is on the target cannot be skipped any more", k.ID, k.MirroredTo)
	case k.SourceEnd == Unknown:
		return nil, fmt.Errorf("the source does not say where %s ends: try again when it answers", k.ID)
	case s.Last >= k.SourceEnd:
		return nil, fmt.Errorf("%s ends at offset %d on the source: what is not there yet cannot be skipped", k.ID, k.SourceEnd)
	case d.Reason == "":
		return nil, errors.New("say why, with --reason: whoever misses the records will ask")
	}
	what := fmt.Sprintf("The record at offset %d of %s is never copied.", d.Scope.First, k.ID)
	if n := d.Scope.Last - d.Scope.First + 1; n > 1 {
		what = fmt.Sprintf("The records at offsets %d to %d of %s, %d at most, are never copied.", d.Scope.First, d.Scope.Last, k.ID, n)
	}
	return []string{what, "That cannot be taken back. Groups that would read them next go on behind them."}, nil
}

func (w World) restart(d Decision, touched []Known) ([]string, error) {
	from := map[string]string{"earliest": "from the oldest record that the source has", "latest": "from the source's end, so that only new records come"}[d.From]
	if at, err := time.Parse(time.RFC3339, d.From); err == nil {
		from = "from the first record at or behind " + when(at)
	} else if n, err := strconv.ParseInt(d.From, 10, 64); err == nil && n >= 0 {
		if d.Scope.Partition == AllPartitions {
			return nil, fmt.Errorf("offset %d is one of a partition: say of which", n)
		}
		from = fmt.Sprintf("from source offset %d", n)
		for _, k := range touched {
			if k.SourceEnd != Unknown && n > k.SourceEnd {
				return nil, fmt.Errorf("%s ends at offset %d on the source: no copy can begin behind that (latest begins at the end)", k.ID, k.SourceEnd)
			}
		}
	}
	selected, again := 0, 0
	for _, k := range touched {
		if k.Selected {
			selected++
		}
		if k.Mirrored {
			again++
		}
	}
	switch {
	case w.SourceAway:
		return nil, errors.New("the source does not answer: what is to be copied anew is not known; try again when it does")
	case from == "":
		return nil, fmt.Errorf("--from %q: write earliest, latest, an offset, or a time such as 2026-11-01T00:00:00Z", d.From)
	case selected == 0:
		return nil, fmt.Errorf("the flow does not mirror %s now: it is not on the source, or the file leaves it out", d.Scope)
	}
	out := []string{fmt.Sprintf("%s is copied anew %s: %s.", cmp.Or(d.Scope.String(), "it"), from, partitions(selected))}
	twice := ": whoever reads it from the start reads twice what is in both. Delete the remote topic first to avoid that."
	if d.From == "latest" {
		twice = "."
	}
	if again > 0 {
		out = append(out, "What the remote topic holds stays there, and the new copy comes behind it"+twice)
	}
	if d.From != "earliest" {
		out = append(out, "What lies in front of that on the source is not in the new copy, and is not copied any more where it was not yet.")
	}
	if again > 0 {
		out = append(out, "Positions of groups are translated to the new copy; of a group that stands in front of it none is.")
	}
	return out, nil
}

func (w World) forget(d *Decision, touched []Known) ([]string, error) {
	known := 0
	if w.SourceAway {
		return nil, errors.New("the source does not answer, so whether the topic has ended is not known: try again when it does, or leave it out in the file")
	}
	for _, k := range touched {
		if k.Selected {
			return nil, fmt.Errorf("the source has topic %s, and the flow mirrors it: leave it out in the file first (topics_exclude), and restart the workers", k.Topic)
		}
		if k.Mirrored {
			known++
			d.TopicID = k.TopicID
		}
	}
	if known == 0 {
		return nil, fmt.Errorf("nothing is known of topic %s any more", d.Scope.Topic)
	}
	return []string{
		fmt.Sprintf("What is known of topic %s is dropped: %s. Its remote topic stays, with its records.", d.Scope.Topic, partitions(known)),
		"That cannot be taken back: positions of groups in it are not translated any more, in either direction.",
	}, nil
}

func (w World) throttle(d Decision) ([]string, error) {
	switch {
	case d.Off:
		return []string{fmt.Sprintf("%s copies as fast as it can again.", d.Scope)}, nil
	case d.Bytes <= 0:
		return nil, errors.New("write a number of bytes a second, such as 50MB, or off")
	}
	return []string{
		fmt.Sprintf("%s copies %s a second at most, all workers together: each of them has the share of its partitions.", d.Scope, Size(d.Bytes)),
		"Bytes are counted as they lie on the source. Positions of groups and the ledger are not slowed down. If producers write more than that, the lag grows for as long.",
	}, nil
}

// Size is bytes for people.
func Size(n int64) string {
	for _, u := range []struct {
		unit  string
		bytes int64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}} {
		if n > 0 && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
