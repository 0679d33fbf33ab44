package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/translate"
)

// Text is every position, then what is to be said about groups.
func (g Groups) Text() string {
	var b strings.Builder
	t := newGrid("GROUP", "TOPIC", ">PARTITION", ">SOURCE", ">LAG", ">TARGET", ">ON TARGET", "VERDICT")
	rows := 0
	for _, group := range g.Groups {
		for _, p := range group.Positions {
			rows++
			verdict := p.verdict(g.At)
			if group.Moved != nil {
				verdict = g.movedRow(*group.Moved, p)
			}
			t.row(Printable(group.Group), Printable(p.Topic), strconv.Itoa(int(p.Partition)), number(p.Committed), g.lag(p), number(p.Target), number(p.OnTarget), verdict)
		}
	}
	if rows == 0 {
		b.WriteString("no positions\n")
	} else {
		b.WriteString(g.summary() + t.String())
	}
	if more := g.remarks(); more != "" {
		b.WriteString("\n" + more)
	}
	b.WriteString(damageText(g.Damage))
	return b.String()
}

// lag says how old it is where the source did not say it.
func (g Groups) lag(p Position) string {
	if p.Lag == Unknown || p.SourceLive || p.SourceAt.IsZero() {
		return number(p.Lag)
	}
	return fmt.Sprintf("at least %d (%s ago)", p.Lag, age(p.SourceAt, g.At))
}

func (p Position) verdict(now time.Time) string {
	if p.Open > 0 && (p.Exact || p.Verdict.Kind == translate.HeldByTransaction) {
		p.Sentence += "; " + p.waiting(now)
	}
	if what := beyondClause(p.OnTarget, p.TargetEnd); what != "" {
		return Printable(p.Sentence) + "; " + what
	}
	if n := aheadBy(p.OnTarget, p.Target); n > 0 {
		return Printable(p.Sentence) + fmt.Sprintf("; the target's own commit is ahead by %d and counts there", n)
	}
	if p.Back != nil {
		if cost := p.Back.cost(); cost != "" {
			return Printable(p.Sentence) + "; of the original there: " + cost
		}
		return Printable(p.Sentence) + fmt.Sprintf("; of the original there it goes on at offset %d", p.Back.Place)
	}
	if p.Gone {
		return Printable(p.Sentence) + "; " + p.goneSince(now)
	}
	if p.Stale() {
		return Printable(p.Sentence) + fmt.Sprintf("; since then the group committed %s on the source", number(p.Now))
	}
	return Printable(p.Sentence)
}

// remarks are that nothing is written, the groups that are alive on the target, whose own commits count there, those that
// were, and those that are left out.
func (g Groups) remarks() string {
	var b strings.Builder
	if g.NoWorker != "" {
		b.WriteString(Printable(g.NoWorker) + ": what is shown is what the last one wrote\n")
	}
	if g.NotWritten != "" {
		b.WriteString(Printable(g.NotWritten) + "\n")
	}
	for _, group := range g.Groups {
		if group.Moved != nil {
			b.WriteString(g.movedRemark(group))
			continue
		}
		if group.active() {
			fmt.Fprintf(&b, "%s is %s on the target: its own commits count there\n", Printable(group.Group), Printable(group.TargetState))
		}
		for _, what := range group.targetOnly() {
			b.WriteString(Printable(what) + "\n")
		}
		if what := g.takeBack(group); what != "" {
			b.WriteString(what + "\n")
		}
		if group.Denied != "" {
			fmt.Fprintf(&b, "%s: its newest commits are not known: %s\n", Printable(group.Group), Printable(group.Denied))
		}
	}
	names := map[string][]string{}
	var whys []string
	for _, x := range g.Excluded {
		if names[x.Why] == nil {
			whys = append(whys, x.Why)
		}
		names[x.Why] = append(names[x.Why], Printable(x.Group))
	}
	slices.Sort(whys)
	for _, why := range whys {
		fmt.Fprintf(&b, "left out: %s: %s\n", Printable(why), listed(names[why]))
	}
	return b.String()
}

// Text is the group's positions on the target. Where they are MirrorMaker 2's each says how far it can be off.
func (t Translation) Text() string {
	if t.Basis != "" {
		g := newGrid("TOPIC", ">PARTITION", ">OFFSET", "METADATA", "VERDICT")
		for _, o := range t.Offsets {
			g.row(Printable(o.Topic), strconv.Itoa(int(o.Partition)), number(o.Offset), orDash(o.Metadata), Printable(o.Sentence))
		}
		return g.String()
	}
	g := newGrid("TOPIC", ">PARTITION", ">OFFSET", "METADATA")
	for _, o := range t.Offsets {
		g.row(Printable(o.Topic), strconv.Itoa(int(o.Partition)), number(o.Offset), orDash(o.Metadata))
	}
	return g.String()
}

// Text is both sides of the answer. The clusters are named: with the identity policy the topics are called alike.
func (l Lookup) Text() string {
	from, to := Printable(l.Tools.Source.Alias), Printable(l.Tools.Target.Alias)
	source, target := partitionName(l.Topic, l.Partition), partitionName(l.RemoteTopic, l.Partition)
	asked, answer := fmt.Sprintf("%s offset %d on %s", source, l.SourceAt, from), fmt.Sprintf("%s offset %d on %s", target, l.TargetAt, to)
	there := target + " on " + to
	if l.Reverse {
		asked, answer, there = answer, asked, source+" on "+from
	}
	if l.Answer() == Unknown {
		return fmt.Sprintf("%s has no place in %s: %s\n", asked, there, Printable(l.Sentence))
	}
	return fmt.Sprintf("%s is %s: %s\n", asked, answer, Printable(l.Sentence))
}
