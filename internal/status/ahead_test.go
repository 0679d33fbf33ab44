package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/translate"
)

const (
	takeBack = "group g: if it has moved to B for good, say so (tidemark moved 'my flow.yaml' --flow A:B g); if that was a rehearsal, take it back while the group has no members on B: kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092 --group g --topic A.orders --delete-offsets; a run then commits the translated offsets within a minute"
	lives    = "group g has members on B (Stable): its position there is theirs, and what it commits on A is not carried; stop them, or if it has moved say so: tidemark moved 'my flow.yaml' --flow A:B g"
	leave    = "group g: leave its offsets on B as they are: they may be the only ones, nothing would write them again"
)

// position is one that nothing is wrong with: 10 on the target, committed there, of a log that ends at 20.
func exactPosition(n int32) Position {
	v := translate.Verdict{Kind: translate.Exact, Target: 10}
	return Position{
		Topic: "orders", Partition: n, RemoteTopic: "A.orders", Committed: 10, Now: 10, Target: 10, OnTarget: 10, TargetEnd: 20,
		Exact: true, Verdict: v, Sentence: v.String(), AsOf: now(),
	}
}

// TestAheadOnTheTarget: a commit ahead of the translated offset counts there, whoever made it. With members there it is
// theirs; without, the group would pass over what it has not read.
func TestAheadOnTheTarget(t *testing.T) {
	const ahead = "group g, orders-0: the target's own commit is ahead by 2: the group would resume there at offset 12, not at 10"
	const beyond = "group g, orders-0: the target's own commit is offset 25, beyond the log's end there, 20: a consumer that resumes there falls back on its reset rule"
	for _, c := range []struct {
		name   string
		change func(*Groups, *Group, *Position)
		want   []string
	}{
		{"at it", func(*Groups, *Group, *Position) {}, nil},
		{"after a rehearsal", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 12 }, []string{ahead, takeBack}},
		{"dead there", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Dead", 12 }, []string{ahead, takeBack}},
		{"state not known", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "", 12 }, []string{ahead, takeBack}},
		{"lives there", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Stable", 12 }, []string{
			"group g, orders-0: consumers on the target have committed offset 12, 2 ahead of what the group has read on the source", lives,
		}},
		{"lives there and left out here", func(_ *Groups, g *Group, p *Position) {
			g.TargetState = "Stable"
			p.Verdict = translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition}
			p.Target, p.Exact = Unknown, false
		}, nil},
		{"group sync is off", func(s *Groups, _ *Group, p *Position) { s.NotWritten, p.OnTarget = "off", 12 }, []string{"off", ahead, leave}},
		{"beyond the end", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 25 }, []string{
			beyond, "group g, orders-0: the target's own commit is ahead by 15: the group would resume there at offset 25, not at 10", takeBack,
		}},
		{"beyond the end and alive", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Stable", 25 }, []string{
			beyond, "group g, orders-0: consumers on the target have committed offset 25, 15 ahead of what the group has read on the source", lives,
		}},
		{"beyond the end, filtered since", func(_ *Groups, _ *Group, p *Position) {
			p.Verdict = translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition}
			p.Target, p.Exact, p.OnTarget = Unknown, false, 25
		}, []string{beyond}},
		{"at the end", func(_ *Groups, _ *Group, p *Position) { p.Target, p.OnTarget = 20, 20 }, nil},
		{"the end is not known", func(_ *Groups, _ *Group, p *Position) { p.Target, p.OnTarget, p.TargetEnd = 25, 25, Unknown }, nil},
		{"the source does not answer", func(s *Groups, _ *Group, p *Position) { s.Source.Reached, p.Now, p.OnTarget = false, Unknown, 12 }, []string{
			"the source does not answer, so lag and newest commits are not known", ahead, leave,
		}},
		{"gone from the source", func(_ *Groups, _ *Group, p *Position) {
			p.Now, p.Gone, p.GoneSince, p.AsOf, p.OnTarget = Unknown, true, ago(time.Hour), ago(5*time.Hour), 12
		}, []string{
			"group g, orders-0: gone from the source since 60m, the verdict is 5h old and kept: exact at offset 10; the target's own commit is ahead by 2", leave,
		}},
		{"a right is missing", func(_ *Groups, g *Group, p *Position) {
			g.Denied, p.Now, p.OnTarget = "DESCRIBE on group g", Unknown, 12
		}, []string{
			"group g, orders-0: its newest commit is not known: DESCRIBE on group g", leave,
		}},
		{"on the target only, named", func(_ *Groups, g *Group, _ *Position) {
			g.Named, g.TargetOnly = true, []TargetOnly{{RemoteTopic: "A.other", Partition: 2, OnTarget: 7}}
		}, []string{
			"group g, A.other-2: committed on the target and not on the source: the group would resume there at that commit, not by its reset rule",
			leave + "; if they are of a rehearsal, the group passes over what was read in that: keep a copy before you change any: kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092 --group g --describe",
		}},
		{"on the target only, among all", func(_ *Groups, g *Group, _ *Position) {
			g.TargetOnly = []TargetOnly{{RemoteTopic: "A.other", Partition: 2, OnTarget: 7}}
		}, nil},
		{"ahead beside one of the topic that would not come back", func(_ *Groups, g *Group, p *Position) {
			g.TargetOnly = []TargetOnly{{RemoteTopic: "A.orders", Partition: 2, OnTarget: 7}}
			p.OnTarget = 12
		}, []string{ahead, strings.Replace(takeBack, "A.orders ", "A.orders:0 ", 1) + "; that leaves A.orders-2, where B alone has a commit of it: if that is of the rehearsal too, the group passes over what was read there"}},
		{"nobody runs", func(s *Groups, _ *Group, _ *Position) { s.NoWorker = NoWorker(4) }, []string{"no worker runs, none of the 4 lanes has an owner"}},
	} {
		s, g, p := Groups{Header: header()}, Group{Group: "g", TargetState: "Empty"}, exactPosition(0)
		c.change(&s, &g, &p)
		g.Positions, s.Groups = []Position{p}, []Group{g}
		s.Groups[0] = g
		if diff := cmp.Diff(c.want, s.Findings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestOneReasonOnce: partitions with the same finding are one line, and the reason of a stopped one stands in the table.
func TestOneReasonOnce(t *testing.T) {
	v := translate.Verdict{Kind: translate.PartitionStopped, Target: translate.NoPosition, Reason: strings.Repeat("why ", 30)}
	g := Group{Group: "g", TargetState: "Empty"}
	for _, n := range []int32{0, 1, 2, 5, 7, 8} {
		p := exactPosition(n)
		p.Verdict, p.Sentence, p.Target, p.OnTarget, p.Exact = v, v.String(), Unknown, Unknown, false
		g.Positions = append(g.Positions, p)
	}
	other := exactPosition(9)
	other.OnTarget = 8
	g.Positions = append(g.Positions, other)
	want := []string{
		"group g, partitions 0-2, 5, 7-8 of orders: the partition is stopped",
		"group g, orders-9: committed on the target is offset 8, it has to be 10",
	}
	if diff := cmp.Diff(want, Groups{Header: header(), Groups: []Group{g}}.Findings()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	tr := Translation{Header: header(), Group: "g", Without: g.Positions[:6]}
	if got := tr.None(); len(got) != 1 || got[0].String() != "partitions 0-2, 5, 7-8 of orders have no place on the target: "+v.String() || got[0].Final {
		t.Errorf("translation: %q", got)
	}
	tr.Without = g.Positions[:1]
	if got := tr.None(); len(got) != 1 || got[0].String() != "orders-0 has no place on the target: "+v.String() {
		t.Errorf("translation, one: %q", got)
	}
	tr.Without = g.Positions[:6]
	if diff := cmp.Diff([]string{"partitions 0-2, 5, 7-8 of orders: " + v.String()}, tr.Findings()); diff != "" {
		t.Errorf("findings of the translation (-want +got):\n%s", diff)
	}
}

// TestTranslationAhead: where the group would resume is not the translated offset if the target's own commit is another.
func TestTranslationAhead(t *testing.T) {
	offset := func(own int64) Offset {
		return Offset{Topic: "A.orders", Offset: 10, Exact: true, OnTarget: own, TargetEnd: 20}
	}
	const ahead = "A.orders-0: the target's own commit is ahead by 2: the group would resume there at offset 12, not at 10"
	const ask = "group g: whether that was a rehearsal that can be taken back the source tells: tidemark groups 'my flow.yaml' --flow A:B g"
	for _, c := range []struct {
		name           string
		own            int64
		state          string
		says, findings []string
	}{
		{"no commit", Unknown, "", nil, nil},
		{"behind, a run will bring it up", 8, "Empty", nil, nil},
		{"at it", 10, "Empty", nil, nil},
		{"after a rehearsal", 12, "Empty", []string{ahead, ask}, []string{ahead, ask}},
		{"lives there", 12, "Stable", []string{"A.orders-0: the target's own commit is ahead by 2 and counts: the group is Stable there"}, nil},
		{
			"beyond the end", 25, "Stable",
			[]string{
				"A.orders-0: the target's own commit is offset 25, beyond the log's end there, 20: a consumer that resumes there falls back on its reset rule",
				"A.orders-0: the target's own commit is ahead by 15 and counts: the group is Stable there",
			},
			[]string{"A.orders-0: the target's own commit is offset 25, beyond the log's end there, 20: a consumer that resumes there falls back on its reset rule"},
		},
	} {
		tr := Translation{Header: header(), Group: "g", Offsets: []Offset{offset(c.own)}, TargetState: c.state}
		if diff := cmp.Diff(c.says, tr.Ahead()); diff != "" {
			t.Errorf("%s, says (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.findings, tr.Findings()); diff != "" {
			t.Errorf("%s, findings (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestOthersAreAFinding: records that others write into a remote topic are read by its consumers.
func TestOthersAreAFinding(t *testing.T) {
	f := flow()
	f.Lanes, f.Damage = f.Lanes[:1], nil
	f.Partitions = []Partition{partition("orders", 0, func(p *Partition) { p.Others = 3 }), partition("orders", 1, func(p *Partition) { p.Others = 1 })}
	want := []string{"A->B: others wrote 3 offsets of A.orders-0 (docs/stopped.md)", "A->B: others wrote 1 offset of A.orders-1 (docs/stopped.md)"}
	if diff := cmp.Diff(want, f.Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := f.Text(); !strings.Contains(text, "others wrote 3 offsets of the remote partition") {
		t.Errorf("the table does not say it:\n%s", text)
	}
}

// TestStatesAsBrokersSpellThem: a group without members has none whatever way its broker writes the state.
func TestStatesAsBrokersSpellThem(t *testing.T) {
	for state, want := range map[string]bool{"": false, "Empty": false, "EMPTY": false, "empty": false, "dead": false, "Stable": true, "STABLE": true, "Assigning": true} {
		if got := (Group{TargetState: state}).active(); got != want {
			t.Errorf("%q: active %v", state, got)
		}
	}
}

// TestCommandsRunAsPrinted: names that a shell would take apart are quoted, and a tool that must log in is told how.
func TestCommandsRunAsPrinted(t *testing.T) {
	s := Groups{Header: header()}
	s.Tools.Target.Secured = true
	p := exactPosition(0)
	p.OnTarget = 12
	got := s.takeBack(Group{Group: "it's mine", Positions: []Position{p}})
	const want = "kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092 --command-config FILE --group 'it'\\''s mine' --topic A.orders --delete-offsets (FILE: a client's properties with which it logs in to B);"
	if !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.Tools.Several = false
	if got := s.Command("groups", "a b"); got != "tidemark groups 'my flow.yaml' 'a b'" {
		t.Errorf("%s", got)
	}
}
