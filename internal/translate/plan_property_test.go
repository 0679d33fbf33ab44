package translate

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

func drawVerdict(t *rapid.T) Verdict {
	v := Verdict{
		Kind:     rapid.SampledFrom(Kinds()).Draw(t, "kind"),
		Target:   tgt(rapid.Int64Range(0, 5).Draw(t, "target")),
		Earliest: rapid.Bool().Draw(t, "earliest"),
		Settled:  rapid.Bool().Draw(t, "settled"),
	}
	if !v.HasPosition() {
		v.Target, v.Earliest = NoPosition, false
	}
	return v
}

func drawPresent(t *rapid.T) *Present {
	if rapid.Bool().Draw(t, "absent") {
		return nil
	}
	return &Present{
		Offset:   tgt(rapid.Int64Range(-1, 5).Draw(t, "present")),
		Metadata: rapid.SampledFrom([]string{"", "m"}).Draw(t, "metadata"),
		Ours:     rapid.Bool().Draw(t, "ours"),
		From:     src(rapid.Int64Range(-1, 5).Draw(t, "from")),
		Pending:  rapid.IntRange(0, 9).Draw(t, "pending") == 0,
	}
}

func drawGroup(t *rapid.T) Group {
	g := Group{
		Target: TargetGroup{
			Read: rapid.IntRange(0, 9).Draw(t, "read") > 0, Exists: rapid.Bool().Draw(t, "exists"),
			State:    rapid.SampledFrom([]string{"Empty", "Empty", "Stable", "Dead"}).Draw(t, "state"),
			Type:     rapid.SampledFrom([]string{"classic", "consumer", "share"}).Draw(t, "type"),
			Protocol: rapid.SampledFrom([]string{"", "consumer", "connect"}).Draw(t, "protocol"),
		},
		SourceLive: rapid.Bool().Draw(t, "live"), Refresh: rapid.Bool().Draw(t, "refresh"),
	}
	for n := range rapid.Int32Range(0, 4).Draw(t, "rows") {
		g.Rows = append(g.Rows, Row{
			Partition: partition.ID{Topic: "t", Partition: n}, Committed: src(rapid.Int64Range(-1, 5).Draw(t, "committed")), Metadata: "m",
			Verdict: drawVerdict(t), Present: drawPresent(t),
		})
	}
	return g
}

// apply commits as a broker does, and remembers that it was us.
func apply(g Group, commits map[partition.ID]Commit) Group {
	rows := append([]Row(nil), g.Rows...)
	for i, r := range rows {
		if c, ok := commits[r.Partition]; ok {
			rows[i].Present = &Present{Offset: c.Offset, Metadata: c.Metadata, Ours: true, From: c.From}
		}
	}
	g.Rows = rows
	return g
}

// TestPlanInvariants checks P1 to P4 on any input, also on senseless ones.
func TestPlanInvariants(t *testing.T) {
	many(t, func(t *rapid.T) {
		g := drawGroup(t)
		commits, state := Plan(g)
		if (len(commits) > 0) != (state.Kind == Written) || state.Kind == NotTried {
			t.Fatalf("%v with %v", state, commits)
		}
		first, held, pending := true, 0, false
		for _, r := range g.Rows {
			before := offsetmap.TargetOffset(-1)
			if r.Present != nil {
				before, pending = r.Present.Offset, pending || r.Present.Pending
			}
			first = first && before < 0
			c, ok := commits[r.Partition]
			if !ok {
				if r.Verdict.Temporary() {
					held++
				}
				continue
			}
			back := c.Offset < before
			reset := r.Present != nil && r.Present.Ours && g.SourceLive && r.Present.From >= 0 && r.Committed < r.Present.From
			switch {
			case c.Offset < 0:
				t.Fatalf("%v: %+v", r, c)
			case back && !reset: // P1
				t.Fatalf("%+v moves back to %+v", r, c)
			case r.Verdict.Final():
				t.Fatalf("%+v gets %+v", r, c)
			case r.Verdict.HasPosition() && c.Offset != r.Verdict.Target && !(g.Refresh && c.Offset == before):
				t.Fatalf("%+v gets %+v", r, c)
			case r.Verdict.Temporary() && c.Offset != before:
				t.Fatalf("%+v gets %+v", r, c)
			}
		}
		target := g.Target
		switch {
		case len(commits) == 0:
		case first && held > 0: // P2
			t.Fatalf("first commit without %d partitions", held)
		case pending:
			t.Fatal("written over an open transaction")
		case !target.Read || target.Exists && (target.State != "Empty" || target.Type == "share" || target.Protocol == "connect"): // P3
			t.Fatalf("written to %+v", target)
		}
		g.Refresh = false
		if again, state := Plan(apply(g, commits)); len(commits) > 0 && len(again) > 0 { // P4
			t.Fatalf("written again: %v, %v", again, state)
		}
	})
}

// A position on the source that only grows gives commits that only grow, whatever
// verdicts come in between, and ends at the last one.
func TestPlanFollowsAGrowingGroup(t *testing.T) {
	many(t, func(t *rapid.T) {
		g := Group{Target: TargetGroup{Read: true}, SourceLive: true, Rows: make([]Row, 2)}
		var c, x int64
		last := map[partition.ID]Commit{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			c += rapid.Int64Range(0, 2).Draw(t, "step")
			x = max(x, c-rapid.Int64Range(0, 3).Draw(t, "hole"))
			for i := range g.Rows {
				r := &g.Rows[i]
				r.Partition, r.Committed, r.Metadata = partition.ID{Topic: "t", Partition: int32(i)}, src(c), "m"
				r.Verdict = Verdict{Kind: Exact, Target: tgt(x)}
				if rapid.IntRange(0, 3).Draw(t, "trouble") == 0 {
					r.Verdict = Verdict{Kind: rapid.SampledFrom([]Kind{PartitionStopped, Pending}).Draw(t, "kind"), Target: NoPosition}
				}
			}
			commits, state := Plan(g)
			if len(last) == 0 && len(commits) == 1 {
				t.Fatalf("half a group: %v, %v", commits, state)
			}
			for p, now := range commits {
				if was, ok := last[p]; ok && now.Offset <= was.Offset {
					t.Fatalf("%v: %v after %v", p, now, was)
				}
			}
			maps.Copy(last, commits)
			g = apply(g, commits)
		}
		for i := range g.Rows {
			g.Rows[i].Verdict = Verdict{Kind: Exact, Target: tgt(x)}
		}
		commits, _ := Plan(g)
		maps.Copy(last, commits)
		for p, at := range last {
			if at.Offset != tgt(x) {
				t.Fatalf("%v ends at %v, not at %d", p, at, x)
			}
		}
	})
}
