package inspect

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/configfile"
	"tidemark/internal/ledger"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// bothWays is a world with flows in both directions. Group "app" lives on A, where it reads orders and B.orders, the copy of
// B's own orders. There are 20 records, which stand in the copy behind 5 markers.
func bothWays(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.extra = "}\n  - {from: B, to: A, lanes: 4"
	w.worker()
	w.topic(w.target, "A.orders", 2)
	w.topic(w.target, "orders", 1)
	w.topic(w.source, "B.orders", 1)
	w.topic(w.source, ledger.TopicName("B"), lanes)
	w.topic(w.source, ledger.VerdictsName("B"), lanes)
	w.records("orders", 20)
	m := offsetmap.New(offsetmap.Origin{})
	if err := m.Append(offsetmap.Run{Source: 0, Target: 5, Count: 20}); err != nil {
		t.Fatal(err)
	}
	h := ledger.Head{Topic: "orders", RemoteTopic: "B.orders", SourceEnd: 20, Map: m.AppendTail(nil)}
	key := ledger.Key{Kind: ledger.KindHead, Topic: "orders"}
	w.produce(w.source, &kgo.Record{Topic: ledger.TopicName("B"), Partition: ledger.LaneOf("orders", 0, lanes), Key: []byte(key.String()), Value: h.Encode()})
	w.commit(w.source, "app", "B.orders", 17)
	return w
}

// TestReadsBothWays: what a group has read of a copy it would read again in the original, and the map of the flow back knows how
// much that is.
func TestReadsBothWays(t *testing.T) {
	w := bothWays(t)
	const head = "group app, B.orders-0: on B the group reads the original, orders-0: "
	set := "; to set it while the group has no members on B: kafka-consumer-groups.sh --bootstrap-server TARGET --group app --topic orders:0 --reset-offsets --to-offset 12 --execute"
	check := func(when, want string) {
		t.Helper()
		for _, names := range [][]string{{"app"}, nil} {
			if got := w.findings(names...); !strings.Contains(got, want) || want == "" && strings.Contains(got, "original") {
				t.Errorf("%s, %q: %q, want %q", when, names, got, want)
			}
		}
	}
	check("nothing committed there", head+"it has committed nothing there, and would read up to 12 records again by its reset rule (its place is offset 12)"+set)
	w.commit(w.target, "app", "orders", 4)
	check("committed there long ago", head+"it has committed offset 4 there, and would read up to 8 records again (its place is offset 12)"+set)
	w.commit(w.target, "app", "orders", 12)
	check("set", "")
	w.commit(w.target, "app", "orders", 14)
	check("too far", head+"it has committed offset 14 there, and what it has not read from offset 12 on it would pass over")
	got, err := w.reader(Options{}).Groups(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Groups[0].Positions[0]; p.Back == nil || p.Back.Place != 12 || !p.Back.Exact || p.Back.OnTarget != 14 {
		t.Errorf("%+v", p)
	}
	w.from = "127.0.0.1:1"
	filtered := translate.Verdict{Kind: translate.TopicFiltered, Target: translate.NoPosition, Reason: "it came from B, the target"}
	w.rowOf("app", "B.orders", verdicts.Row{Committed: 17, Verdict: filtered})
	check("the source is gone", head+"how much it would read again is not known: tidemark-ledger.B.internal is on A, which does not answer")
}

// TestReaderOfBothIsNoRehearsal: for the flow back the group's commits on its remote topic are the group's own.
func TestReaderOfBothIsNoRehearsal(t *testing.T) {
	w := bothWays(t)
	w.commit(w.source, "app", "orders", 0)
	cfg, err := configfile.Parse("flow.yaml", []byte(w.file()))
	if err != nil {
		t.Fatal(err)
	}
	back := cfg.Flows[1]
	if back.Source != "B" {
		t.Fatal(back.Name())
	}
	for _, alone := range []bool{false, true} {
		r, err := Open(cfg, back, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if alone { // without a flow the other way round nobody can say that it is none
			r.topics.Back = nil
		}
		got, err := r.Groups(t.Context(), []string{"app"})
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(append(got.Findings(), got.Text()), "\n")
		if is := strings.Contains(said, "committed on the target and not on the source"); is != alone || strings.Contains(said, "delete") {
			t.Errorf("alone %v: %s", alone, said)
		}
		if len(got.Groups) != 1 || got.Groups[0].AtHome == alone || len(got.Groups[0].TargetOnly) != 1 {
			t.Errorf("alone %v: %+v", alone, got.Groups)
		}
	}
}
