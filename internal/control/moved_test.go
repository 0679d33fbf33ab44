package control

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/partition"
)

// billing is a group that stands at 40 on the source, and exactly there on the target.
func billing(change func(*Group, *Place)) Group {
	p := Place{ID: partition.ID{Topic: "orders"}, Remote: "A.orders", Carried: true, Committed: 40, Lag: 0, Target: 44, OnTarget: 44, Exact: true, Newest: true}
	g := Group{ID: "billing", Written: true}
	if change != nil {
		change(&g, &p)
	}
	g.Places = append(g.Places, p)
	return g
}

func world(s *Set) World {
	return World{Flow: "A->B", Source: "A", Target: "B", Set: s, ID: fmt.Sprint("id", s.End()), Now: time.Unix(1_800_000_000, 0).UTC(), By: "ann@ops1"}
}

// TestMove: the decision keeps where the group stood, and says how it stands.
func TestMove(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Group, *Place)
		want   []string
	}{
		"ready":                  {nil, []string{"Of its positions (1) 1 are exact; it has read all of A.", "It has no members on B now."}},
		"alive on the target":    {func(g *Group, _ *Place) { g.AtTarget = "Stable" }, []string{"It has members on B (Stable)."}},
		"alive on the source":    {func(g *Group, _ *Place) { g.AtSource = "Stable" }, []string{"WARNING: it has members on A too (Stable).", "Stop them first."}},
		"lags":                   {func(_ *Group, p *Place) { p.Lag = 7 }, []string{"its lag on A is 7."}},
		"lag is not known":       {func(_ *Group, p *Place) { p.Lag = Unknown }, []string{"its lag on A is 0 at least."}},
		"not exact":              {func(_ *Group, p *Place) { p.Exact = false }, []string{"(1) 0 are exact"}},
		"not newest":             {func(_ *Group, p *Place) { p.Newest = false }, []string{"(1) 0 are exact"}},
		"not on the target":      {func(_ *Group, p *Place) { p.OnTarget = Unknown }, []string{"B holds no commit of it on A.orders-0: its consumers begin there by their reset rule"}},
		"below":                  {func(_ *Group, p *Place) { p.OnTarget = 30 }, []string{"it stands below the translated position in 1"}},
		"nothing carried":        {func(_ *Group, p *Place) { p.Carried = false }, []string{"Nothing of it is carried to B now."}},
		"many without a commit":  {func(g *Group, p *Place) { p.OnTarget = Unknown; g.Places = slicesOf(*p, 9) }, []string{"A.orders-0, A.orders-0, A.orders-0, A.orders-0, A.orders-0 and 5 more"}},
		"a topic without a copy": {func(_ *Group, p *Place) { p.Remote, p.OnTarget = "", Unknown }, []string{"no commit of it on orders-0:"}},
	} {
		d, means, err := world(nil).Move(billing(c.change), false, "done")
		if err != nil || d.Kind != Moved || d.Scope.Group != "billing" || d.Off || d.Reason != "done" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		text := strings.Join(means, "\n")
		for _, w := range append(c.want, "Group billing has moved to B for good", "What it commits on A after this is a finding") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, text)
			}
		}
	}
	d, means, err := world(nil).Move(billing(func(g *Group, _ *Place) { g.Unseen = "no answer" }), false, "")
	if err != nil || !d.SourceAway || !strings.Contains(strings.Join(means, "\n"), "What it committed on A last is not known: no answer.") {
		t.Errorf("%+v %q %v", d, means, err)
	}
	if d.Committed["orders"][0] != 40 || d.Held["orders"][0] != 44 {
		t.Errorf("%+v", d)
	}
	k, v, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(k, v); err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("%s became %+v, %v", v, back, err)
	}
}

func slicesOf(p Place, n int) (out []Place) {
	for range n {
		out = append(out, p)
	}
	return out
}

// TestMoveIsRefused where there is nothing to decide.
func TestMoveIsRefused(t *testing.T) {
	l := NewLog([16]byte{1})
	refused := func(g Group, off bool, want string) {
		t.Helper()
		if _, _, err := world(l.Set("A->B")).Move(g, off, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(billing(nil), true, "nobody has said that group billing has moved to B: there is nothing to take back")
	refused(billing(func(g *Group, _ *Place) { g.LeftOut = "groups_exclude" }), false, "group billing is left out (groups_exclude)")
	d, _, err := world(l.Set("A->B")).Move(billing(nil), false, "")
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, d)
	refused(billing(nil), false, "group billing has moved to B already, since 2027-01-15 08:00 UTC, says ann@ops1")
	d, _, err = world(l.Set("A->B")).Move(billing(nil), true, "")
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, d)
	if _, is := l.Set("A->B").Moved("billing"); is {
		t.Error("it is taken back, and still in force")
	}
	refused(billing(nil), true, "there is nothing to take back")
}

// TestMoveBack: it is refused where a worker would write over what the group has committed on the target itself and not read on.
// A commit that stands there since before the move is not the group's own.
func TestMoveBack(t *testing.T) {
	for name, c := range map[string]struct {
		at      int64 // on the target at the move
		change  func(*Group, *Place)
		refused string
		want    string
	}{
		"nothing happened":                     {at: 44, want: "workers write its positions on B, never backwards"},
		"it read on at the source only":        {at: 44, change: func(_ *Group, p *Place) { p.Committed, p.Target = 50, 54 }},
		"it is ahead on the target":            {at: 44, change: func(_ *Group, p *Place) { p.OnTarget = 60 }, want: "On B it is ahead (A.orders-0)"},
		"it read on at both":                   {at: 44, change: func(_ *Group, p *Place) { p.Target, p.OnTarget = 99, 60 }, refused: "pass over what it has not read yet on B: 39 offsets of A.orders-0"},
		"it was ahead at the move":             {at: 60, change: func(_ *Group, p *Place) { p.Target, p.OnTarget = 99, 60 }, refused: "39 offsets of A.orders-0"},
		"and nobody writes":                    {at: 60, change: func(g *Group, p *Place) { g.Written, p.Target, p.OnTarget = false, 99, 60 }, want: "group sync is off"},
		"the newest commit is not judged":      {at: 44, change: func(_ *Group, p *Place) { p.OnTarget, p.Newest = 60, false }, refused: "is not translated yet (A.orders-0)"},
		"not judged, not its own":              {at: 44, change: func(_ *Group, p *Place) { p.Newest = false }},
		"it has no place":                      {at: 44, change: func(_ *Group, p *Place) { p.OnTarget, p.Target = 60, Unknown }, refused: "is not translated yet (A.orders-0)"},
		"there is no verdict":                  {at: 44, change: func(_ *Group, p *Place) { p.Remote, p.OnTarget, p.Newest = "", Unknown, false }, refused: "is not translated yet (orders-0)"},
		"it is not carried":                    {at: 44, change: func(_ *Group, p *Place) { p.Remote, p.OnTarget, p.Newest, p.Carried = "", Unknown, false, false }},
		"it is gone, and stands elsewhere":     {at: 44, change: func(_ *Group, p *Place) { p.Committed, p.OnTarget, p.Target = Unknown, 60, 99 }},
		"the source does not answer":           {at: 44, change: func(g *Group, p *Place) { g.Unseen, p.OnTarget, p.Newest = "no answer", 60, false }, refused: "what it committed on A last is not known (no answer), so"},
		"the source does not answer, not own":  {at: 44, change: func(g *Group, p *Place) { g.Unseen, p.Newest = "no answer", false }, want: "What it committed on A last is not known (no answer): it is followed when it is."},
		"it is gone from the source":           {at: 44, change: func(_ *Group, p *Place) { p.Committed, p.Target = Unknown, Unknown }, want: "A holds no commit of it any more"},
		"it has members on the target":         {at: 44, change: func(g *Group, _ *Place) { g.AtTarget = "Stable" }, want: "It has members on B now (Stable)"},
		"its commit on the target is gone":     {at: 44, change: func(_ *Group, p *Place) { p.OnTarget = Unknown }},
		"a topic that it began after the move": {at: Unknown, change: func(_ *Group, p *Place) { p.Target, p.OnTarget = 99, 60 }, refused: "39 offsets"},
	} {
		l := NewLog([16]byte{1})
		d, _, err := world(l.Set("A->B")).Move(billing(func(_ *Group, p *Place) { p.OnTarget = c.at }), false, "")
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, d)
		d, means, err := world(l.Set("A->B")).Move(billing(c.change), true, "")
		switch text := strings.Join(means, "\n"); {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v %q, want %q", name, err, text, c.refused)
			}
		case err != nil || !d.Off || !strings.Contains(text, c.want):
			t.Errorf("%s: %+v %v %q, want %q", name, d, err, text, c.want)
		}
	}
}
