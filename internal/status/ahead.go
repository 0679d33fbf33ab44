package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/consumer"
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

// undo is how a rehearsal of a group on the target is taken back.
func undo(flow, group string, topics []string) string {
	_, alias, _ := strings.Cut(flow, "->")
	slices.Sort(topics)
	var b strings.Builder
	for _, t := range slices.Compact(topics) {
		b.WriteString(" --topic " + Printable(t))
	}
	return fmt.Sprintf("group %[1]s: if it has moved to %[2]s for good, leave it as it is; if that was a rehearsal, take it back while the group has no members on %[2]s: kafka-consumer-groups.sh --bootstrap-server %[2]s --group %[1]s%[3]s --delete-offsets; a run then commits the translated offsets within a minute",
		Printable(group), Printable(alias), b.String())
}

// aheadTopics are the remote topics on which a group without members on the target has commits there that are ahead.
func (g Group) aheadTopics() []string {
	if g.active() {
		return nil
	}
	var out []string
	for _, p := range g.Positions {
		if aheadBy(p.OnTarget, p.Target) > 0 {
			out = append(out, p.RemoteTopic)
		}
	}
	for _, o := range g.TargetOnly {
		out = append(out, o.RemoteTopic)
	}
	return out
}

// targetOnly is what commits that a group without members on the target has made there alone come to: one clause a topic.
func (g Group) targetOnly() []string {
	if g.active() {
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
	var topics []string
	for _, o := range t.Offsets {
		if aheadBy(o.OnTarget, o.Offset) > 0 {
			out = append(out, partitionName(o.Topic, o.Partition)+": "+aheadClause(o.OnTarget, o.Offset))
			topics = append(topics, o.Topic)
		}
	}
	if len(topics) > 0 {
		out = append(out, undo(t.Flow, t.Group, topics))
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
