package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/control"
)

// Controls is what people have decided about a flow.
type Controls struct {
	Header
	Topic     string        `json:"topic"` // of the decisions, on the target
	Decisions []Decision    `json:"decisions"`
	Lanes     []ObeyingLane `json:"lanes"` // none where the flow never ran
	Unknown   []string      `json:"unknown,omitempty"`

	Set *control.Set `json:"-"`
	// Owner is the lane whose owner writes a group's positions.
	Owner func(group string) int32 `json:"-"`
	Known []control.Known          `json:"-"` // the partitions that the ledger knows: their names and topic ids only
}

// Decision is one of them.
type Decision struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"`
	About  string    `json:"about"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	From   string    `json:"from,omitempty"`  // of a restart
	Bytes  int64     `json:"bytes,omitempty"` // of a throttle, a second
	State  string    `json:"state"`           // in force, waits, ended or void
	Waits  []int32   `json:"waits_for_lanes,omitempty"`
}

// The states of a decision.
const (
	DecisionInForce = "in force"
	DecisionWaits   = "waits" // some lanes do not obey yet
	DecisionEnded   = "ended"
	DecisionVoid    = "void" // another one was first
)

// ObeyingLane is how far a lane obeys.
type ObeyingLane struct {
	Lane   int32  `json:"lane"`
	Worker string `json:"worker,omitempty"` // who has it now
	Below  int64  `json:"obeys_below"`      // offset of the topic: everything below is in force
}

// Disobey are the lanes that do not obey a decision yet. One about a group is obeyed by the owner of that group.
func (c *Controls) Disobey(d control.Decision) (out []ObeyingLane) {
	for _, l := range c.Lanes {
		if l.Below <= d.Offset && (d.Kind != control.Moved || c.Owner(d.Scope.Group) == l.Lane) {
			out = append(out, l)
		}
	}
	return out
}

// Run says whether a worker has any lane.
func (c *Controls) Run() bool {
	return slices.ContainsFunc(c.Lanes, func(l ObeyingLane) bool { return l.Worker != "" })
}

// Tell fills in the decisions as they stand.
func (c *Controls) Tell() {
	c.Unknown = c.Set.Unknown()
	void := map[string]bool{}
	for _, d := range c.Set.Void() {
		void[d.ID] = true
	}
	for _, d := range c.Set.All() {
		t := Decision{ID: d.ID, Kind: string(d.Kind), About: d.Scope.String(), At: d.At, By: d.By, Reason: d.Reason, From: d.From, Bytes: d.Bytes, State: DecisionInForce}
		if d.Off {
			t.Kind = "end of " + t.Kind
		}
		last, _ := c.Set.Last(d.Kind, d.Scope)
		switch {
		case void[d.ID]:
			t.State = DecisionVoid
		case last.ID != d.ID:
			t.State = DecisionEnded
		default:
			for _, l := range c.Disobey(d) {
				t.State, t.Waits = DecisionWaits, append(t.Waits, l.Lane)
			}
		}
		c.Decisions = append(c.Decisions, t)
	}
}

// Text is the decisions for people, the newest first.
func (c Controls) Text() string {
	var b strings.Builder
	if len(c.Decisions) == 0 && len(c.Unknown) == 0 {
		return fmt.Sprintf("flow %s: nobody has decided anything\n", c.Flow)
	}
	n := 0
	for _, d := range c.Decisions {
		if d.State == DecisionInForce || d.State == DecisionWaits {
			n++
		}
	}
	fmt.Fprintf(&b, "flow %s: %s now, of %d that were made\n\n", c.Flow, count(n, "decision counts", "decisions count"), len(c.Decisions))
	g := newGrid("WHAT", "ABOUT", "STATE", "SINCE", "BY")
	var reasons []string
	for _, d := range slices.Backward(c.Decisions) {
		what := d.Kind
		if d.From != "" {
			what += " from " + d.From
		}
		if d.Bytes > 0 {
			what += " to " + control.Size(d.Bytes) + " a second"
		}
		g.row(what, Printable(d.About), d.state(), d.At.UTC().Format("2006-01-02 15:04"), Printable(d.By))
		if d.Reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s of %s, %s: %s", d.Kind, d.About, d.At.UTC().Format("2006-01-02 15:04"), d.Reason))
		}
	}
	b.WriteString(g.String())
	if len(reasons) > 0 {
		b.WriteString("\nwhy\n")
		for _, r := range reasons {
			b.WriteString("  " + Printable(r) + "\n")
		}
	}
	for _, u := range c.Unknown {
		b.WriteString("\nnot known to this build, so no worker of it copies anything: " + Printable(u) + "\n")
	}
	return b.String()
}

func (d Decision) state() string {
	if d.State != DecisionWaits {
		return d.State
	}
	words := make([]string, 0, 4)
	for i, n := range d.Waits {
		if i == 3 {
			words = append(words, fmt.Sprintf("and %d more", len(d.Waits)-3))
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	return "waits for lanes " + strings.Join(words, " ")
}
