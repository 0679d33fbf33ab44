package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/consumer"
	"tidemark/internal/prose"
)

// A group that was started on the target for a rehearsal, and stopped, leaves commits there that are ahead of what is
// translated. It would resume at them, and a run does not move a group back: what the source's group has not read yet
// would never be read.

// aheadBy is by how many offsets the target's own commit is ahead of the translated position; 0 where it is not, or
// where one of both is not known.
func aheadBy(own, translated int64) int64 {
	if own == Unknown || translated == Unknown {
		return 0
	}
	return max(0, own-translated)
}

// aheadClause is what a commit ahead of the translated position, by a group without members there, comes to.
func aheadClause(own, translated int64) string {
	return fmt.Sprintf("the target's own commit is ahead by %d: the group would resume there at offset %d, not at %d", own-translated, own, translated)
}

// beyondClause is what a commit beyond the end of the log comes to; empty where it is not, or where the end is not known.
func beyondClause(own, end int64) string {
	if own == Unknown || end == Unknown || own <= end {
		return ""
	}
	return fmt.Sprintf("the target's own commit is offset %d, beyond the log's end there, %d: a consumer that resumes there falls back on its reset rule", own, end)
}

// A commit that is ahead can be taken back only where something would write the translated one in its place: the source
// holds the group's commit, and it has a place on the target. Whatever else stands there may be the only copy of where the
// group was, so no sentence of ours has a command that deletes it.

// undo is how a rehearsal of a group on the target is taken back. Each of the topics is as Kafka's tool takes it.
func (h Header) undo(group string, topics []string) string {
	on := h.Tools.Target
	var b strings.Builder
	for _, t := range topics {
		b.WriteString(" --topic " + prose.ShellWord(t))
	}
	return fmt.Sprintf("group %[1]s: if it has moved to %[2]s for good, say so (%[7]s); if that was a rehearsal, take it back while the group has no members on %[2]s: %[3]s --group %[4]s%[5]s --delete-offsets%[6]s; a run then commits the translated offsets within a minute",
		Printable(group), Printable(on.Alias), on.command("kafka-consumer-groups.sh"), prose.ShellWord(group), b.String(), on.login(), h.Command("moved", group))
}

// restorable says whether a run writes the translated offset again if the target's commit of the position is deleted.
func (g Groups) restorable(p Position) bool {
	return g.NotWritten == "" && g.Source.Reached && p.Now != Unknown && p.Verdict.HasPosition()
}

// takeBack is what can be done about commits of a group that are ahead on the target; empty where none is, where the group has
// members there, or where it reads the target's own topics too: then it is no rehearsal.
func (g Groups) takeBack(group Group) string {
	if group.active() || group.AtHome {
		return ""
	}
	ahead, kept := map[string][]int32{}, map[string]bool{}
	only := group.Named && len(group.TargetOnly) > 0 // another group may have lived there for years
	for _, p := range group.Positions {
		switch is := aheadBy(p.OnTarget, p.Target) > 0; {
		case p.OnTarget != Unknown && !g.restorable(p):
			kept[p.RemoteTopic] = true
			only = only || is
		case is:
			ahead[p.RemoteTopic] = append(ahead[p.RemoteTopic], p.Partition)
		}
	}
	for _, o := range group.TargetOnly {
		kept[o.RemoteTopic] = true
	}
	var topics []string
	for _, t := range slices.Sorted(maps.Keys(ahead)) {
		if kept[t] { // the tool takes partitions too
			numbers := make([]string, len(ahead[t]))
			for i, n := range ahead[t] {
				numbers[i] = strconv.Itoa(int(n))
			}
			t += ":" + strings.Join(numbers, ",")
		}
		topics = append(topics, t)
	}
	switch {
	case len(topics) > 0:
		return g.undo(group.Group, topics) + g.leaves(group)
	case only:
		on := g.Tools.Target
		text := fmt.Sprintf("group %s: leave its offsets on %s as they are: they may be the only ones, nothing would write them again", Printable(group.Group), Printable(on.Alias))
		if len(group.TargetOnly) > 0 { // no command that changes them, but what they come to
			text += fmt.Sprintf("; if they are of a rehearsal, the group passes over what was read in that: keep a copy before you change any: %s --group %s --describe%s", on.command("kafka-consumer-groups.sh"), prose.ShellWord(group.Group), on.login())
		}
		return text
	}
	return ""
}

// leaves is what taking a rehearsal back leaves: commits that nothing would write again. Who is not told takes the rest for done.
func (g Groups) leaves(group Group) string {
	numbers := map[string][]int32{}
	for _, o := range group.TargetOnly {
		numbers[o.RemoteTopic] = append(numbers[o.RemoteTopic], o.Partition)
	}
	var names []string
	for _, topic := range slices.Sorted(maps.Keys(numbers)) {
		names = append(names, partitionsName(topic, numbers[topic]))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; that leaves %s, where %s alone has a commit of it: if that is of the rehearsal too, the group passes over what was read there", strings.Join(names, ", "), Printable(g.Tools.Target.Alias))
}

// targetOnly is what commits that a group without members on the target has made there alone come to: one clause a topic.
func (g Group) targetOnly() []string {
	if g.active() || g.AtHome {
		return nil
	}
	numbers := map[string][]int32{}
	for _, o := range g.TargetOnly {
		numbers[o.RemoteTopic] = append(numbers[o.RemoteTopic], o.Partition)
	}
	var out []string
	for _, topic := range slices.Sorted(maps.Keys(numbers)) {
		out = append(out, "group "+g.Group+", "+partitionsName(topic, numbers[topic])+": committed on the target and not on the source: the group would resume there at that commit, not by its reset rule")
	}
	return out
}

// Ahead says where the group would not resume at the translated offset, because its own commit on the target is ahead of
// it or beyond the log's end. Where the group has members there that is left to it, and still said.
func (t Translation) Ahead() []string {
	if t.Moved != nil {
		return nil // and said
	}
	if !consumer.Active(t.TargetState) {
		return t.ahead()
	}
	out := t.beyond()
	for _, o := range t.Offsets {
		if n := aheadBy(o.OnTarget, o.Offset); n > 0 {
			out = append(out, fmt.Sprintf("%s: the target's own commit is ahead by %d and counts: the group is %s there", partitionName(o.Topic, o.Partition), n, t.TargetState))
		}
	}
	return out
}

func (t Translation) ahead() []string {
	out := t.beyond()
	n := len(out)
	for _, o := range t.Offsets {
		if aheadBy(o.OnTarget, o.Offset) > 0 {
			out = append(out, partitionName(o.Topic, o.Partition)+": "+aheadClause(o.OnTarget, o.Offset))
		}
	}
	if len(out) > n { // only the source can tell whether a run would write the translated ones again
		out = append(out, "group "+Printable(t.Group)+": whether that was a rehearsal that can be taken back the source tells: "+t.Command("groups", t.Group))
	}
	return out
}

func (t Translation) beyond() []string {
	var out []string
	for _, o := range t.Offsets {
		if what := beyondClause(o.OnTarget, o.TargetEnd); what != "" {
			out = append(out, partitionName(o.Topic, o.Partition)+": "+what)
		}
	}
	return out
}

// None is partitions of one topic that have no place on the target for the same reason.
type None struct {
	Where string // "orders-0", or "partitions 0-5, 7 of orders"
	Why   string
	Final bool // waiting cannot bring a place
	many  bool
}

// String is one sentence for people.
func (n None) String() string {
	has := " has"
	if n.many {
		has = " have"
	}
	return n.Where + has + " no place on the target: " + n.Why
}

// None are the positions without a place, those of one topic with one reason together.
func (t Translation) None() []None {
	var out []None
	at := map[[2]string]int{}
	numbers := map[int][]int32{}
	for _, p := range t.Without {
		key := [2]string{p.Topic, p.Sentence}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, None{Why: p.Sentence, Final: p.Verdict.Final()})
		}
		numbers[i] = append(numbers[i], p.Partition)
	}
	for key, i := range at {
		out[i].Where, out[i].many = partitionsName(key[0], numbers[i]), len(numbers[i]) > 1
	}
	return out
}

// partitionsName names partitions of a topic, neighbours as a range.
func partitionsName(topic string, numbers []int32) string {
	if len(numbers) == 1 {
		return partitionName(topic, numbers[0])
	}
	numbers = slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := fmt.Sprint(numbers[i])
		if j > i {
			part += fmt.Sprintf("-%d", numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return "partitions " + strings.Join(parts, ", ") + " of " + Printable(topic)
}
