package status

import (
	"fmt"

	"tidemark/internal/prose"
)

// Back is where a group goes on, on the target, that reads on the source a copy of a topic of the target's own: with flows in both
// directions its application reads the original there, and no flow writes its place in that.
type Back struct {
	Topic    string `json:"topic"` // the original, on the target
	Place    int64  `json:"place"` // the next record to read there; Unknown where nobody can tell
	Exact    bool   `json:"exact"`
	OnTarget int64  `json:"target_committed"` // what the group has committed there; Unknown where it has not
	// Again is how many offsets of it at most the group has read already and would read again; Unknown where nobody can tell.
	Again int64  `json:"read_again"`
	Why   string `json:"why,omitempty"` // why the place is not known
}

// cost is what the group would read again or pass over; empty where neither.
func (b Back) cost() string {
	switch {
	case b.Place == Unknown:
		return "how much it would read again is not known: " + Printable(b.Why)
	case b.OnTarget > b.Place:
		return fmt.Sprintf("it has committed offset %d there, and what it has not read from offset %d on it would pass over", b.OnTarget, b.Place)
	case b.Again > 0 && b.OnTarget == Unknown:
		return fmt.Sprintf("it has committed nothing there, and would read up to %s again by its reset rule (its place is offset %d)", count64(b.Again, "record", "records"), b.Place)
	case b.Again > 0:
		return fmt.Sprintf("it has committed offset %d there, and would read up to %s again (its place is offset %d)", b.OnTarget, count64(b.Again, "record", "records"), b.Place)
	}
	return ""
}

// back is the finding about a position on a copy of one of the target's topics; empty where the group would go on there exactly.
func (g Groups) back(group Group, p Position) string {
	cost := p.Back.cost()
	if cost == "" {
		return ""
	}
	on := g.Tools.Target
	what := fmt.Sprintf("on %s the group reads the original, %s: %s", Printable(on.Alias), partitionName(p.Back.Topic, p.Partition), cost)
	if p.Back.Place == Unknown || group.active() || p.Back.OnTarget > p.Back.Place {
		return what
	}
	return what + fmt.Sprintf("; to set it while the group has no members on %s: %s --group %s --topic %s --reset-offsets --to-offset %d --execute%s",
		Printable(on.Alias), on.command("kafka-consumer-groups.sh"), prose.ShellWord(group.Group), prose.ShellWord(fmt.Sprintf("%s:%d", p.Back.Topic, p.Partition)), p.Back.Place, on.login())
}
