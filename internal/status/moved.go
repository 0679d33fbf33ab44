package status

import (
	"fmt"
	"strings"
	"time"
)

// Moved is that somebody has decided that a group lives on the target for good (tidemark moved).
type Moved struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	// SourceAway: the source did not tell then, so what it had committed there last is as a run had seen it.
	SourceAway bool     `json:"source_away,omitempty"`
	WentOn     []WentOn `json:"went_on,omitempty"` // what it has committed on the source since
}

// WentOn is a position that a group which has moved has committed on the source all the same.
type WentOn struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Was       int64  `json:"was"` // when it moved; Unknown where it had none
	Now       int64  `json:"now"`
}

// movedTo is who says that it has moved, and when.
func (h Header) movedTo(m Moved) string {
	return fmt.Sprintf("moved to %s on %s by %s", Printable(h.Tools.Target.Alias), m.At.UTC().Format("2006-01-02"), Printable(m.By))
}

// MovedNote is what is to be known of the offsets of a group that has moved.
func (t Translation) MovedNote() string {
	return fmt.Sprintf("group %s %s: it goes on at its own commits there, not at these offsets", Printable(t.Group), t.movedTo(*t.Moved))
}

// wentOn is the finding about a group that has moved and is still at work on the source; empty where it is not.
func (g Groups) wentOn(group Group) string {
	m, source := *group.Moved, Printable(g.Tools.Source.Alias)
	var what []string
	for i, p := range m.WentOn {
		if i == 3 {
			what = append(what, fmt.Sprintf("and %d more", len(m.WentOn)-i))
			break
		}
		text := fmt.Sprintf("%s at offset %d", partitionName(p.Topic, p.Partition), p.Now)
		if p.Was != Unknown {
			text += fmt.Sprintf(" (was %d)", p.Was)
		}
		what = append(what, text)
	}
	var out []string
	switch {
	case len(what) == 0:
	case m.SourceAway:
		out = append(out, fmt.Sprintf("%s, which did not tell then, holds commits that were not known: %s", source, strings.Join(what, ", ")))
	default:
		out = append(out, fmt.Sprintf("commits went on at %s since: %s", source, strings.Join(what, ", ")))
	}
	if group.Alive() {
		out = append(out, fmt.Sprintf("it has members on %s (%s)", source, group.SourceState))
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("group %s: %s, but %s", Printable(group.Group), g.movedTo(m), strings.Join(out, ", and "))
}

// movedFindings are those about a group that has moved: that it is not done with the source. Its own commits on the target, and
// what the source says of it otherwise, are none.
func (g Groups) movedFindings(group Group) []string {
	if what := g.wentOn(group); what != "" {
		return []string{what + ": what it reads there it reads on " + Printable(g.Tools.Target.Alias) + " too"}
	}
	return nil
}

// movedRow is the verdict about a position of a group that has moved.
func (g Groups) movedRow(m Moved, p Position) string {
	text := g.movedTo(m)
	for _, w := range m.WentOn {
		if w.Topic == p.Topic && w.Partition == p.Partition {
			return text + fmt.Sprintf("; since then offset %d was committed on the source", w.Now)
		}
	}
	return text
}

// hasMoved says whether a group that is left out has moved.
func (g Groups) hasMoved(id string) bool {
	for _, group := range g.Groups {
		if group.Group == id {
			return group.Moved != nil
		}
	}
	return false
}

// movedRemark is the line about a group that has moved where its rows do not say it all.
func (g Groups) movedRemark(group Group) string {
	if what := g.wentOn(group); what != "" {
		return what + "\n"
	}
	if len(group.Positions) > 0 {
		return ""
	}
	return fmt.Sprintf("%s %s\n", Printable(group.Group), g.movedTo(*group.Moved))
}
