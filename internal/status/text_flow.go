package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text is the flow for people: the ledger, lanes, partitions, what is not mirrored, damage.
func (f Flow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flow %s", f.Flow)
	if !f.Ledger.Exists {
		fmt.Fprintf(&b, ": no `tidemark run` has created %s on %s for this flow yet", f.Ledger.Topic, f.Ledger.Cluster)
		b.WriteString(f.onlyMirrorMaker() + "\n")
		return b.String()
	}
	fmt.Fprintf(&b, ": %s on %s, %s\n\n", f.Ledger.Topic, f.Ledger.Cluster, count(int(f.Ledger.Lanes), "lane", "lanes"))
	if f.Throttle != nil {
		b.WriteString(f.Throttle.text() + "\n\n")
	}
	b.WriteString(f.lanes())
	b.WriteString(f.troubles())
	b.WriteString("\n")
	b.WriteString(f.partitions())
	if len(f.NotMirrored)+len(f.Missing) > 0 {
		b.WriteString("\n" + f.notMirrored())
	}
	for _, m := range f.Missing {
		b.WriteString(m.text() + "\n")
	}
	b.WriteString(damageText(f.Damage))
	return b.String()
}

// onlyMirrorMaker is what a run would do where a MirrorMaker 2 has mirrored, and where to read on; empty where none has.
func (f Flow) onlyMirrorMaker() string {
	if f.MirrorMaker == "" {
		return ""
	}
	return fmt.Sprintf(", only a MirrorMaker 2 has been there (%s)\n", Printable(f.MirrorMaker)) +
		"a run would stop every partition whose remote topic holds records, with a verdict, and append nothing to it:\n" +
		"docs/from-mirrormaker.md says how to try Tidemark beside MirrorMaker 2, and how to move\n" +
		"`tidemark groups` and `tidemark translate` show what MirrorMaker 2 left"
}

// lanes is a row for each lane that has partitions, and one line for the rest: a flow of a few topics has far more lanes
// than partitions, and the partitions are what the reader is after.
func (f Flow) lanes() string {
	g := newGrid(">LANE", "STATE", "WORKER", ">PARTITIONS", ">SINCE", "LAST OWNER")
	rows, without := 0, []Lane(nil)
	for _, l := range f.Lanes {
		if l.Partitions == 0 {
			without = append(without, l)
			continue
		}
		rows++
		owner := orDash(l.Owner)
		if l.Released {
			owner += ", released"
		}
		g.row(strconv.Itoa(int(l.Lane)), string(l.State), orDash(l.Worker), strconv.Itoa(l.Partitions), age(l.ClaimedAt, f.At), owner)
	}
	if rows == 0 {
		return lanesWithout(without)
	}
	return g.String() + lanesWithout(without)
}

// lanesWithout is one line about lanes without partitions: how many each worker owns, and how many nobody does.
func lanesWithout(lanes []Lane) string {
	if len(lanes) == 0 {
		return ""
	}
	number := map[string]int{}
	var whose []string
	for _, l := range lanes {
		who := string(l.State)
		if l.State == LaneOwned || l.State == LaneWaiting {
			who += " by " + Printable(l.Worker)
		}
		if number[who]++; number[who] == 1 {
			whose = append(whose, who)
		}
	}
	parts := whose
	if len(whose) > 1 {
		parts = make([]string, len(whose))
		for i, who := range whose {
			parts[i] = strconv.Itoa(number[who]) + " " + who
		}
	}
	return count(len(lanes), "lane", "lanes") + " without partitions: " + strings.Join(parts, ", ") + "\n"
}

func (f Flow) partitions() string {
	if len(f.Partitions) == 0 {
		return "no partition is mirrored yet\n"
	}
	g := newGrid("TOPIC", ">PARTITION", ">LANE", "STATE", ">MIRRORED TO", ">SOURCE END", ">LAG", ">TARGET END", ">RUNS", ">AS OF", "REMARKS")
	for _, p := range f.Partitions {
		g.row(Printable(p.Topic), strconv.Itoa(int(p.Partition)), strconv.Itoa(int(p.Lane)), string(p.State), number(p.MirroredTo),
			sourceEnd(p.SourceEnd, p.SourceLive, p.SourceAt, f.At), p.lag(), number(p.TargetEnd), number(p.Runs), age(p.AsOf, f.At), p.remarks(f.At))
	}
	return g.String() + f.recovery()
}

// lag is a bound where the source itself did not say its end: it can have got records since that nobody has seen.
func (p Partition) lag() string {
	if p.Lag == Unknown || p.SourceLive {
		return number(p.Lag)
	}
	return "at least " + number(p.Lag)
}

// recovery is what is known of the source's loss while it does not answer.
func (f Flow) recovery() string {
	if !f.Source.Asked || f.Source.Reached {
		return ""
	}
	var newest Partition
	for _, p := range f.Partitions {
		if p.NewestAt.After(newest.NewestAt) {
			newest = p
		}
	}
	text := "the source does not answer: what it got after its last answer nobody knows, so LAG is at least what is shown\n"
	if !newest.NewestAt.IsZero() {
		text += fmt.Sprintf("the newest record on the target is of %s, %s ago (%s)\n", newest.NewestAt.Format(time.RFC3339), age(newest.NewestAt, f.At), partitionName(newest.RemoteTopic, newest.Partition))
	}
	return text
}

func (p Partition) remarks(now time.Time) string {
	var out []string
	if p.Reason != "" {
		out = append(out, Printable(p.Reason))
	}
	switch {
	case p.Open > 0 && p.Transaction != nil:
		out = append(out, fmt.Sprintf("%d of the lag behind %s", p.Open, p.Transaction.whose(now)))
	case p.Open > 0:
		out = append(out, fmt.Sprintf("%d of the lag behind an open transaction", p.Open))
	}
	if p.Arrived > 0 {
		out = append(out, fmt.Sprintf("up to %d of the lag are on the target already: the ledger is a second behind it", p.Arrived))
	}
	if !p.UnseenSince.IsZero() {
		out = append(out, unseenClause(p.UnseenSince, now))
	}
	if p.Missing > 0 {
		out = append(out, count(p.Missing, "block", "blocks")+" of the offset map missing: positions there are bounded, not exact")
	}
	if p.InDoubt > 0 {
		out = append(out, "up to "+count(int(p.InDoubt), "record", "records")+" may stand twice on the target since an unclean stop: positions in front of them are bounded, not exact")
	}
	if p.Others > 0 {
		out = append(out, "others wrote "+count64(p.Others, "offset", "offsets")+" of the remote partition")
	}
	return strings.Join(out, "; ")
}

// listedTopics is how many names stand in one line of what is not mirrored.
const listedTopics = 20

// notMirrored is one line for each reason, however many topics it holds for.
func (f Flow) notMirrored() string {
	names := map[string][]string{}
	var whys []string
	for _, u := range f.NotMirrored {
		if names[u.Why] == nil {
			whys = append(whys, u.Why)
		}
		names[u.Why] = append(names[u.Why], Printable(u.Topic))
	}
	slices.Sort(whys)
	var b strings.Builder
	for _, why := range whys {
		fmt.Fprintf(&b, "not mirrored: %s: %s\n", Printable(why), listed(names[why]))
	}
	return b.String()
}

func listed(names []string) string {
	if len(names) <= listedTopics {
		return strings.Join(names, " ")
	}
	return strings.Join(names[:listedTopics], " ") + fmt.Sprintf(" and %d more", len(names)-listedTopics)
}
