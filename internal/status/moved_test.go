package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/control"
	"tidemark/internal/translate"
)

// movedAt is a decision of the day before the snapshots.
func movedAt(went ...WentOn) *Moved {
	return &Moved{At: ago(24 * time.Hour), By: "ann@ops1", WentOn: went}
}

// TestMovedFindings: nothing that a group does on the target is a finding once it has moved, nor what the source says of it; that it
// goes on there is.
func TestMovedFindings(t *testing.T) {
	const since = "group g: moved to B on 2026-05-05 by ann@ops1, but "
	const twice = ": what it reads there it reads on B too"
	for _, c := range []struct {
		name   string
		change func(*Groups, *Group, *Position)
		want   string
	}{
		{"at it", func(*Groups, *Group, *Position) {}, ""},
		{"ahead", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 15 }, ""},
		{"beyond the end", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 25 }, ""},
		{"behind", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 5 }, ""},
		{"no commit", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = Unknown }, ""},
		{"alive there", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Stable", 15 }, ""},
		{"not exact", func(_ *Groups, _ *Group, p *Position) {
			p.Exact, p.Verdict = false, translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition}
		}, ""},
		{"gone", func(_ *Groups, _ *Group, p *Position) { p.Now, p.Gone = Unknown, true }, ""},
		{"denied", func(_ *Groups, g *Group, p *Position) { g.Denied, p.Now = "DESCRIBE on group g", Unknown }, ""},
		{"on the target only", func(_ *Groups, g *Group, _ *Position) {
			g.TargetOnly = []TargetOnly{{RemoteTopic: "A.other", OnTarget: 7}}
		}, ""},
		{"nothing of it is carried", func(_ *Groups, g *Group, _ *Position) { g.Positions = nil }, ""},
		{"left out", func(s *Groups, _ *Group, _ *Position) {
			s.Excluded = []Excluded{{Group: "g", Why: "groups_exclude", Named: true}}
		}, ""},
		{"another is left out", func(s *Groups, _ *Group, _ *Position) {
			s.Excluded = []Excluded{{Group: "h", Why: "groups_exclude", Named: true}}
		}, "group h is left out: groups_exclude"},
		{"went on", func(_ *Groups, g *Group, _ *Position) {
			g.Moved = movedAt(WentOn{"orders", 0, 10, 12}, WentOn{"orders", 1, Unknown, 3})
		}, since + "commits went on at A since: orders-0 at offset 12 (was 10), orders-1 at offset 3" + twice},
		{"went on in many", func(_ *Groups, g *Group, _ *Position) {
			g.Moved = movedAt(WentOn{"o", 0, 1, 2}, WentOn{"o", 1, 1, 2}, WentOn{"o", 2, 1, 2}, WentOn{"o", 3, 1, 2}, WentOn{"o", 4, 1, 2})
		}, since + "commits went on at A since: o-0 at offset 2 (was 1), o-1 at offset 2 (was 1), o-2 at offset 2 (was 1), and 2 more" + twice},
		{"the source was away", func(_ *Groups, g *Group, _ *Position) {
			g.Moved = movedAt(WentOn{"orders", 0, 10, 12})
			g.Moved.SourceAway = true
		}, since + "A, which did not tell then, holds commits that were not known: orders-0 at offset 12 (was 10)" + twice},
		{"alive at home", func(_ *Groups, g *Group, _ *Position) { g.SourceState = "Stable" }, since + "it has members on A (Stable)" + twice},
		{"alive at home, and went on", func(_ *Groups, g *Group, _ *Position) {
			g.SourceState, g.Moved = "Stable", movedAt(WentOn{"orders", 0, 10, 12})
		}, since + "commits went on at A since: orders-0 at offset 12 (was 10), and it has members on A (Stable)" + twice},
	} {
		s := Groups{Header: header()}
		g, p := Group{Group: "g", TargetState: "Empty", Named: true, Moved: movedAt()}, exactPosition(0)
		g.Positions = []Position{p}
		c.change(&s, &g, &p)
		if len(g.Positions) > 0 {
			g.Positions[0] = p
		}
		s.Groups = []Group{g}
		if diff := cmp.Diff(c.want, strings.Join(s.Findings(), "\n")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestMovedText: rows and the first line say it.
func TestMovedText(t *testing.T) {
	s := Groups{Header: header()}
	at := func(id string, m *Moved, ps ...Position) {
		s.Groups = append(s.Groups, Group{Group: id, Moved: m, TargetState: "Stable", Positions: ps})
	}
	at("can", nil)
	s.Groups[0].Positions, s.Groups[0].TargetState = []Position{exactPosition(0)}, "Empty"
	ahead := exactPosition(1)
	ahead.OnTarget = 15
	at("moved", movedAt(), ahead)
	at("on", movedAt(WentOn{"orders", 0, 10, 12}), exactPosition(0), exactPosition(1))
	at("expired", movedAt())
	text := s.Text()
	for _, want := range []string{
		"3 groups: 1 can move to B now, 2 moved\n",
		"  moved to B on 2026-05-05 by ann@ops1\n",
		"  moved to B on 2026-05-05 by ann@ops1; since then offset 12 was committed on the source\n",
		"\ngroup on: moved to B on 2026-05-05 by ann@ops1, but commits went on at A since: orders-0 at offset 12 (was 10)\n",
		"\nexpired moved to B on 2026-05-05 by ann@ops1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "its own commits count there") {
		t.Error(text)
	}
}

// TestMovedTranslation: a group that has moved goes on at its own commits, so none of them is ahead of anything.
func TestMovedTranslation(t *testing.T) {
	tr := Translation{Header: header(), Group: "g", TargetState: "Empty", Offsets: []Offset{{Topic: "A.orders", Offset: 10, OnTarget: 15, TargetEnd: 20, Exact: true}}}
	if len(tr.Ahead()) != 2 || len(tr.Findings()) != 2 {
		t.Errorf("%q %q", tr.Ahead(), tr.Findings())
	}
	tr.Moved = movedAt()
	if len(tr.Ahead()) != 0 || len(tr.Findings()) != 0 || tr.MovedNote() != "group g moved to B on 2026-05-05 by ann@ops1: it goes on at its own commits there, not at these offsets" {
		t.Errorf("%q %q %q", tr.Ahead(), tr.Findings(), tr.MovedNote())
	}
}

// TestMovedIsObeyedByOneLane: a decision about a group waits for the lane whose owner writes the group, and for no other.
func TestMovedIsObeyedByOneLane(t *testing.T) {
	c := Controls{Lanes: []ObeyingLane{{Lane: 0, Below: 3}, {Lane: 1, Below: 5}, {Lane: 2, Below: 3}}, Owner: func(group string) int32 { return int32(len(group)) }}
	for group, want := range map[string]int{"g": 0, "gg": 1, "": 1} {
		if left := c.Disobey(control.Decision{Kind: control.Moved, Scope: control.Scope{Group: group}, Offset: 4}); len(left) != want {
			t.Errorf("%q: %v", group, left)
		}
	}
	if left := c.Disobey(control.Decision{Kind: control.Pause, Offset: 4}); len(left) != 2 {
		t.Error(left)
	}
}
