package status

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/translate"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt; the changes are to be reviewed")

// now is when all snapshots of the tests were made.
func now() time.Time { return time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC) }

func ago(d time.Duration) time.Time { return now().Add(-d) }

func header() Header {
	tools := Tools{Source: Reach{Alias: "A", Bootstrap: []string{"a1:9092"}}, Target: Reach{Alias: "B", Bootstrap: []string{"b1:9092", "b2:9092"}}, File: "my flow.yaml", Several: true}
	return Header{Flow: "A->B", At: now(), Source: Source{Asked: true, Reached: true}, Tools: tools}
}

// partition is a row with nothing special about it; change makes it special.
func partition(topic string, n int32, change func(*Partition)) Partition {
	p := Partition{
		Topic: topic, Partition: n, RemoteTopic: "A." + topic, Lane: n % 4, State: Running, MirroredTo: 1000, SourceEnd: 1000, SourceAt: now(),
		SourceLive: true, Lag: 0, TargetEnd: 1010, Runs: 3, AsOf: ago(time.Second),
	}
	change(&p)
	return p
}

func flow() Flow {
	f := Flow{Header: header(), Ledger: Ledger{Topic: "tidemark-ledger.A.internal", Cluster: "B", Exists: true, Lanes: 3}}
	f.Lanes = []Lane{
		{Lane: 0, State: LaneOwned, Worker: "tidemark at /10.0.0.7, instance w1", Partitions: 12, Owner: "w1 pid 7", ClaimedAt: ago(time.Hour)},
		{Lane: 1, State: LaneFree, Partitions: 3, Owner: "w2 pid 8", ClaimedAt: ago(72 * time.Hour), Released: true},
		{Lane: 2, State: LaneUnknown},
	}
	f.Partitions = []Partition{
		partition("orders", 0, func(*Partition) {}),
		partition("orders", 1, func(p *Partition) {
			p.State, p.Reason, p.Lag, p.MirroredTo = Stopped, "record too large", 123456, 876544
		}),
		partition("orders", 2, func(p *Partition) { p.SourceLive, p.SourceAt, p.State = false, ago(5*time.Minute), Idle }),
		partition("payments", 0, func(p *Partition) {
			p.Missing, p.Open, p.Lag, p.InDoubt = 2, 40, 50, 7
			p.Transaction = &Transaction{ProducerID: 4001, ID: "app \x07", StartOffset: 960, Since: ago(4 * time.Minute)}
		}),
		partition("payments", 1, func(p *Partition) {
			p.State, p.Reason, p.AsOf = New, "no worker has begun with it yet", time.Time{}
			p.MirroredTo, p.Lag, p.TargetEnd, p.Runs = Unknown, Unknown, Unknown, Unknown
		}),
		partition("x\x1b[2J", 0, func(p *Partition) { p.State, p.Reason = Damaged, "bad \x07 bell" }),
	}
	f.NotMirrored = []Unmirror{
		{Topic: "__consumer_offsets", Rule: "broker-internal", Why: "brokers keep their own state in it"},
		{Topic: "b.internal", Rule: "excluded", Why: "excluded by topics.exclude pattern"},
		{Topic: "a.internal", Rule: "excluded", Why: "excluded by topics.exclude pattern"},
	}
	f.Damage = []Damage{
		{Topic: "tidemark-ledger.A.internal", Partition: 2, Offset: 99, Key: "head/0/x", Error: "checksum"},
		{Topic: "tidemark-ledger.A.internal", Partition: 2, Offset: 100, Key: "\x01" + strings.Repeat("garbage", 40), Error: "the key is none of the ledger's"},
	}
	return f
}

func groups() Groups {
	at := func(committed, target, on int64, v translate.Verdict) Position {
		return Position{
			Topic: "orders", Committed: committed, Now: committed, SourceEnd: 500, SourceAt: now(), SourceLive: true, Lag: 500 - committed,
			Target: target, OnTarget: on, TargetEnd: 450, Exact: v.IsExact(), Verdict: v, Sentence: v.String(), AsOf: ago(time.Minute),
		}
	}
	none := func(k translate.Kind, reason string) translate.Verdict {
		return translate.Verdict{Kind: k, Target: translate.NoPosition, Reason: reason}
	}
	behind := at(100, 90, 80, translate.Verdict{Kind: translate.Exact, Target: 90})
	behind.Now = 120
	old := at(100, 90, Unknown, translate.Verdict{Kind: translate.Ahead, Target: 90, N: 10})
	old.SourceLive, old.SourceAt, old.Now = false, ago(26*time.Hour), Unknown
	lost := at(200, 180, 180, translate.Verdict{Kind: translate.Exact, Target: 180})
	lost.Now, lost.Gone, lost.GoneSince, lost.AsOf = Unknown, true, ago(30*time.Hour), ago(50*time.Hour)
	return Groups{
		Header: header(),
		Groups: []Group{
			{Group: "billing", TargetState: "Empty", Named: true, Positions: []Position{behind, old, lost}},
			{Group: "caf\u00e9", TargetState: "Stable", Positions: []Position{at(7, Unknown, Unknown, none(translate.NeverCommitted, ""))}},
			{Group: "nothing", Positions: []Position{}},
		},
		Excluded:   []Excluded{{Group: "console-2", Why: "excluded by pattern"}, {Group: "console-1", Why: "excluded by pattern", Named: true}},
		NotWritten: "group sync is off in flow.yaml: positions are not written to B",
	}
}

// snapshots are one of each kind, by the name of its golden file.
func snapshots() map[string]interface{ Text() string } {
	stored := Stored{Offset: 41, Written: ago(3 * time.Hour)}
	many := Flow{Header: header(), Ledger: Ledger{Exists: true, Topic: "tidemark-ledger.A.internal", Cluster: "B", Lanes: 1}}
	for i := range 25 {
		many.NotMirrored = append(many.NotMirrored, Unmirror{Topic: "t" + string(rune('a'+i)), Why: "not selected"})
	}
	return map[string]interface{ Text() string }{
		"flow":     flow(),
		"neverrun": Flow{Header: header(), Ledger: Ledger{Topic: "tidemark-ledger.A.internal", Cluster: "B"}},
		"mm2alone": Flow{Header: header(), Ledger: Ledger{Topic: "tidemark-ledger.A.internal", Cluster: "B"}, MirrorMaker: "mm2-offsets.A.internal"},
		"many":     many,
		"shared":   shared(),
		"alone":    alone(),
		"groups":   groups(),
		"nogroups": Groups{Header: header()},
		"mm2translation": Translation{Header: header(), Group: "billing", Basis: BasisCheckpoints, Offsets: []Offset{
			{Topic: "A.orders", Partition: 2, Offset: 51, Metadata: "m\x1b1", Sentence: "at offset 51, which replays at most 19 records: from MirrorMaker 2's checkpoint"},
			{Topic: "A.orders", Partition: 11, Offset: 0, Sentence: "at offset 0, which replays at most 1 record: from MirrorMaker 2's checkpoint"},
		}},
		"translation": Translation{Header: header(), Group: "billing", Offsets: []Offset{
			{Topic: "A.orders", Partition: 0, Offset: 12, Metadata: "m\n1"}, {Topic: "A.orders", Partition: 10, Offset: 123456},
		}},
		"lookup":  Lookup{Header: header(), Topic: "orders", Partition: 3, RemoteTopic: "A.orders", SourceAt: 7, TargetAt: Unknown, Sentence: "up to 3 records never mirrored"},
		"reverse": Lookup{Header: header(), Topic: "orders", Partition: 3, RemoteTopic: "A.orders", SourceAt: 7, TargetAt: 9, Reverse: true, Sentence: "exact at source offset 7"},
		"noway":   Lookup{Header: header(), Topic: "orders", Partition: 3, RemoteTopic: "A.orders", SourceAt: Unknown, TargetAt: 9, Reverse: true, Sentence: "the topic was created anew"},
		"ledger": LedgerRecords{
			Header:  header(),
			Records: []LedgerRecord{{Lane: 0, Offset: 5, Written: ago(time.Minute), Key: "claim", Size: 78, Meaning: "held by w1"}},
			Maps: []Map{
				{Topic: "orders", RemoteTopic: "A.orders", MirroredTo: 10, TargetEnd: 11, Runs: 2, List: []Run{{0, 0, 5}, {6, 5, 4}}},
				{Topic: "orders", Partition: 1, Missing: []uint32{3, 4}, Blocks: 5},
				{Topic: "orders", Partition: 2, Error: "corrupt offset map"},
			},
		},
		"checkpoints": MM2Records{Header: header(), Kind: KindCheckpoints, Checkpoints: []Checkpoint{{Group: "billing", Topic: "A.orders", Upstream: 5, Downstream: 4, Stored: stored}}},
		"syncs":       MM2Records{Header: header(), Kind: KindOffsetSyncs, OffsetSyncs: []OffsetSync{{Topic: "orders", Partition: 1, Upstream: 5, Downstream: 4, Stored: stored}}},
		"heartbeats":  MM2Records{Header: header(), Kind: KindHeartbeats, Heartbeats: []Heartbeat{{Source: "A", Target: "B", Timestamp: ago(time.Second), Stored: stored}}},
	}
}

func TestText(t *testing.T) {
	for name, s := range snapshots() {
		file := filepath.Join("testdata", name+".txt")
		got := s.Text()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for line := range strings.Lines(got) {
			if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
				t.Errorf("%s: blanks at the end of %q", name, line)
			}
		}
		if strings.ContainsAny(got, "\x1b\x07\r") {
			t.Errorf("%s: a control character reaches the terminal (ST4)", name)
		}
	}
}

// TestJSONKeepsEverything fails when a field is added that a reader of the JSON would lose.
func TestJSONKeepsEverything(t *testing.T) {
	for _, want := range []any{flow(), groups()} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		switch want := want.(type) {
		case Flow:
			var got Flow
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Header{}, "Tools")); diff != "" { // for sentences
				t.Errorf("(-want +got):\n%s", diff)
			}
		case Groups:
			var got Groups
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Header{}, "Tools")); diff != "" { // for sentences
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}

// shared is a flow as in real life: far more lanes than partitions, two workers, one of which is just gone.
func shared() Flow {
	f := Flow{Header: header(), Ledger: Ledger{Topic: "tidemark-ledger.A.internal", Cluster: "B", Exists: true, Lanes: 32}}
	for n := range int32(32) {
		l := Lane{Lane: n, State: LaneOwned, Worker: "tidemark-w1-7 at /10.0.0.7", Owner: "w1 pid 7", ClaimedAt: ago(time.Hour)}
		if n >= 20 {
			l.Worker = "tidemark-w2-8 at /10.0.0.8"
		}
		if n >= 30 {
			l.State, l.Worker = LaneFree, ""
		}
		if n == 5 || n == 21 {
			l.Partitions = 1
		}
		f.Lanes = append(f.Lanes, l)
	}
	f.Partitions = []Partition{partition("orders", 0, func(p *Partition) { p.Lane = 5 }), partition("orders", 1, func(p *Partition) { p.Lane = 21 })}
	return f
}

// alone is a flow that one worker has and that mirrors nothing yet.
func alone() Flow {
	f := shared()
	f.Lanes, f.Partitions = f.Lanes[6:20], nil
	return f
}

func TestFindings(t *testing.T) {
	f := flow()
	f.Trouble = []Trouble{{"read tidemark-ledger.A.internal-1", "no leader"}}
	want := []string{
		"A->B: orders-1 is stopped", "A->B: a part of the offset map of payments-0 is missing",
		"A->B: payments-1 is new", `A->B: "x\x1b[2J"-0 is damaged`, "A->B: no owner of lanes 1", "A->B: damaged record head/0/x in tidemark-ledger.A.internal-2",
		`A->B: damaged record "\x01garbagegarbagegarbagegarbagegarbagegarbagegarbagegarbag... in tidemark-ledger.A.internal-2`,
		"A->B: read tidemark-ledger.A.internal-1: no leader",
	}
	if diff := cmp.Diff(want, f.Findings()); diff != "" {
		t.Errorf("flow (-want +got):\n%s", diff)
	}
	if f.Complete() || !flow().Complete() {
		t.Error("trouble makes a snapshot incomplete, and nothing else does")
	}
	// A final no is no finding: the group is left out on purpose, or never had a position. One that was named is.
	want = []string{"group sync is off in flow.yaml: positions are not written to B", "group console-1 is left out: excluded by pattern", "group billing, orders-0: the group has committed on the source since the verdict was made", "group billing, orders-0: ahead of the mirror by 10, held at offset 90 until it catches up", "group billing, orders-0: gone from the source since 30h, the verdict is 2d old and kept: exact at offset 180; the target holds it"}
	if diff := cmp.Diff(want, groups().Findings()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	healthy := flow()
	healthy.Lanes, healthy.Partitions, healthy.Damage = healthy.Lanes[:1], healthy.Partitions[:1], nil
	if got := healthy.Findings(); len(got) > 0 {
		t.Errorf("findings of a flow without any: %q", got)
	}
	healthy.Isolation, healthy.Lanes[0].Isolation = "read_uncommitted", "read_committed"
	if diff := cmp.Diff([]string{"A->B: isolation is read_uncommitted in the file, and something else was read last in lanes 0: a worker with this file may be refused them (docs/stopped.md)"}, healthy.Findings()); diff != "" {
		t.Errorf("another isolation (-want +got):\n%s", diff)
	}
	healthy.Isolation = "read_committed"
	healthy.Source.Reached = false
	if diff := cmp.Diff([]string{"A->B: the source does not answer, so lag and newest commits are not known"}, healthy.Findings()); diff != "" {
		t.Errorf("a flow whose source is down (-want +got):\n%s", diff)
	}
}

// TestGroupsSummary: who has many groups sees first whether they can move.
func TestGroupsSummary(t *testing.T) {
	good, bad := exactPosition(0), exactPosition(0)
	bad.OnTarget = Unknown
	s := Groups{Header: header(), Groups: []Group{{Group: "a", Positions: []Position{good}}, {Group: "b", Positions: []Position{good, bad}}, {Group: "none"}}}
	for name, c := range map[string]struct {
		change func(*Groups)
		want   string
	}{
		"one cannot":        {func(*Groups) {}, "2 groups: 1 can move to B now, 1 cannot (--check says why)\n\nGROUP "},
		"all can":           {func(s *Groups) { s.Groups = s.Groups[:1] }, "1 group: 1 can move to B now\n\nGROUP "},
		"nobody can say it": {func(s *Groups) { s.Source.Reached = false }, "GROUP "},
		"nobody runs":       {func(s *Groups) { s.NoWorker = NoWorker(4) }, "GROUP "},
	} {
		is := s
		c.change(&is)
		if got := is.Text(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n%s\nwant %q", name, got, c.want)
		}
	}
}

// TestGroupFindings: a group that could not be started on the target and go on exactly is a finding, whatever keeps it.
func TestGroupFindings(t *testing.T) {
	exact := translate.Verdict{Kind: translate.Exact, Target: 500}
	final := translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition}
	for _, c := range []struct {
		name   string
		change func(*Groups, *Group, *Position)
		want   string
	}{
		{"all is well", func(*Groups, *Group, *Position) {}, ""},
		{"not there yet", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = Unknown }, "group g, orders-0: no commit on the target is known, it has to be 500"},
		{"behind", func(_ *Groups, _ *Group, p *Position) { p.OnTarget = 480 }, "group g, orders-0: committed on the target is offset 480, it has to be 500"},
		{
			"active there without a commit", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Stable", Unknown },
			"group g, orders-0: no commit on the target is known, it has to be 500; the group is Stable there, and positions of a group that is active on the target are left to it\n" + lives,
		},
		{
			"active there and ahead", func(_ *Groups, g *Group, p *Position) { g.TargetState, p.OnTarget = "Stable", 501 },
			"group g, orders-0: consumers on the target have committed offset 501, 1 ahead of what the group has read on the source\n" + lives,
		},
		{"active there and at it", func(_ *Groups, g *Group, _ *Position) { g.TargetState = "Stable" }, lives},
		{"group sync is off", func(g *Groups, _ *Group, p *Position) { g.NotWritten, p.OnTarget = "group sync is off", Unknown }, "group sync is off"},
		{
			"the source is down", func(g *Groups, _ *Group, p *Position) { g.Source.Reached, p.Now = false, Unknown },
			"the source does not answer, so lag and newest commits are not known",
		},
		{
			"the source tells no commit", func(_ *Groups, _ *Group, p *Position) { p.Now = Unknown },
			"group g, orders-0: the source tells no commit of the group there now, so its newest one is not known",
		},
		{
			"no place, and the group went on", func(_ *Groups, _ *Group, p *Position) {
				p.Verdict = translate.Verdict{Kind: translate.IncarnationChanged, Target: translate.NoPosition, Reason: "why"}
				p.Sentence, p.Exact, p.Target, p.OnTarget, p.Now = p.Verdict.String(), false, Unknown, Unknown, 601
			},
			"group g, orders-0: the topic was created anew, old positions do not carry over: why; the group has committed on the source since that verdict",
		},
		{
			"held by a transaction that hangs", func(_ *Groups, _ *Group, p *Position) {
				p.Verdict = translate.Verdict{Kind: translate.HeldByTransaction, Target: 500, N: 3}
				p.Sentence, p.Exact, p.Open = p.Verdict.String(), false, 3
				p.Transaction = &Transaction{ProducerID: 7, ID: "app", StartOffset: 500, Since: ago(3 * time.Hour), Hangs: true}
			},
			"group g, orders-0: 3 offsets of the source wait behind the transaction of producer 7 (\"app\"), open for 3h, which is longer than transaction.max.timeout.ms allows, so nothing ends it; if its application is gone: kafka-transactions.sh --bootstrap-server a1:9092 abort --topic orders --partition 0 --start-offset 500",
		},
		{"nothing is carried", func(_ *Groups, _ *Group, p *Position) {
			p.Verdict, p.Exact, p.Target, p.OnTarget = final, false, Unknown, Unknown
		}, ""},
		{
			"below the place where mirroring began", func(_ *Groups, _ *Group, p *Position) {
				p.Verdict = translate.Verdict{Kind: translate.NotMirrored, Target: translate.NoPosition, N: 40, Settled: true}
				p.Sentence, p.Exact, p.Target, p.OnTarget = p.Verdict.String(), false, Unknown, Unknown
			},
			"group g, orders-0: up to 40 records never mirrored",
		},
		{
			"nothing is carried of a named group",
			func(_ *Groups, g *Group, p *Position) {
				g.Named, p.Verdict, p.Exact, p.Target, p.OnTarget = true, final, false, Unknown, Unknown
			},
			"group g: none of its positions is carried to the target",
		},
		{"left out", func(g *Groups, _ *Group, _ *Position) {
			g.Excluded = []Excluded{{Group: "x", Why: "excluded by pattern"}}
		}, ""},
		{
			"left out and named", func(g *Groups, _ *Group, _ *Position) {
				g.Excluded = []Excluded{{Group: "x", Why: "excluded by pattern", Named: true}}
			},
			"group x is left out: excluded by pattern",
		},
	} {
		g := Group{Group: "g", TargetState: "Empty"}
		p := Position{Topic: "orders", Committed: 600, Now: 600, Target: 500, OnTarget: 500, TargetEnd: 510, Exact: true, Verdict: exact, Sentence: exact.String(), AsOf: now()}
		s := Groups{Header: header()}
		c.change(&s, &g, &p)
		g.Positions = []Position{p}
		s.Groups = []Group{g}
		if got := strings.Join(s.Findings(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStale(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Position
		want bool
	}{
		{"as the verdict says", Position{Committed: 5, Now: 5, AsOf: now()}, false},
		{"moved on", Position{Committed: 5, Now: 6, AsOf: now()}, true},
		{"moved back", Position{Committed: 5, Now: 0, AsOf: now()}, true},
		{"source not asked", Position{Committed: 5, Now: Unknown, AsOf: now()}, false},
		{"no verdict yet", Position{Committed: 5, Now: 6}, false},
	} {
		if got := c.p.Stale(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 1999 * time.Millisecond: "1s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 119 * time.Minute: "119m",
		2 * time.Hour: "2h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 9000 * time.Hour: "375d",
	} {
		if got := age(ago(d), now()); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got := age(time.Time{}, now()); got != "-" {
		t.Errorf("no time: %s", got)
	}
}
