package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Text is the flow for people: the ledger, lanes, partitions, what is not mirrored, damage.
func (f Flow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flow %s", f.Flow)
	if !f.Ledger.Exists {
		fmt.Fprintf(&b, ": no `tidemark run` has created %s on %s for this flow yet\n", f.Ledger.Topic, f.Ledger.Cluster)
		return b.String()
	}
	fmt.Fprintf(&b, ": %s on %s, %s\n\n", f.Ledger.Topic, f.Ledger.Cluster, count(int(f.Ledger.Lanes), "lane", "lanes"))
	b.WriteString(f.lanes())
	b.WriteString("\n")
	b.WriteString(f.partitions())
	if len(f.NotMirrored) > 0 {
		b.WriteString("\n" + f.notMirrored())
	}
	b.WriteString(damageText(f.Damage))
	return b.String()
}

func (f Flow) lanes() string {
	g := newGrid(">LANE", "STATE", "WORKER", ">PARTITIONS", ">SINCE", "LAST OWNER")
	for _, l := range f.Lanes {
		owner := orDash(l.Owner)
		if l.Released {
			owner += ", released"
		}
		g.row(strconv.Itoa(int(l.Lane)), string(l.State), orDash(l.Worker), strconv.Itoa(l.Partitions), age(l.ClaimedAt, f.At), owner)
	}
	return g.String()
}

func (f Flow) partitions() string {
	if len(f.Partitions) == 0 {
		return "no partition is mirrored yet\n"
	}
	g := newGrid("TOPIC", ">PARTITION", ">LANE", "STATE", ">MIRRORED TO", ">SOURCE END", ">LAG", ">TARGET END", ">RUNS", ">AS OF", "REMARKS")
	for _, p := range f.Partitions {
		g.row(Printable(p.Topic), strconv.Itoa(int(p.Partition)), strconv.Itoa(int(p.Lane)), string(p.State), number(p.MirroredTo),
			sourceEnd(p.SourceEnd, p.SourceLive, p.SourceAt, f.At), number(p.Lag), number(p.TargetEnd), number(p.Runs), age(p.AsOf, f.At), p.remarks())
	}
	return g.String()
}

func (p Partition) remarks() string {
	var out []string
	if p.Reason != "" {
		out = append(out, Printable(p.Reason))
	}
	if p.Open > 0 {
		out = append(out, fmt.Sprintf("%d of the lag behind an open transaction", p.Open))
	}
	if p.Missing > 0 {
		out = append(out, count(p.Missing, "block", "blocks")+" of the offset map missing: positions there are bounded, not exact")
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
