package demo

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/engine"
	"tidemark/internal/partition"
)

// testLog hands the mirror's log to the test.
type testLog struct{ t *testing.T }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func options(t *testing.T) Options {
	return Options{Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[len(lines)-1]
}

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	s := newScreen(&out)
	st := newStage(s, options(t))
	rs, err := st.failover(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	err = verdict(s, rs)
	t.Logf("took %s\n%s", time.Since(began), &out)
	if err != nil {
		t.Error(err)
	}
	if got := lastLine(out.String()); got != "records lost 0, records read twice 0" {
		t.Errorf("last line %q", got)
	}
	if took := time.Since(began); took > 20*time.Second && !raceDetector {
		t.Errorf("took %s", took)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("escape sequences in something that is no terminal")
	}
	checkStory(t, st, rs)
}

// checkStory proves that A and the positions on it are what the table says they are.
func checkStory(t *testing.T, st *stage, rs []result) {
	t.Helper()
	at := func(group, topic string, number int32) int64 {
		for _, g := range st.groups {
			if o, ok := g.at[partition.ID{Topic: topic, Partition: number}]; g.name == group && ok {
				return o
			}
		}
		return -1
	}
	for p := range int32(2) {
		payments, customers, clicks := st.all[partition.ID{Topic: "payments", Partition: p}], st.all[partition.ID{Topic: "customers", Partition: p}], st.all[partition.ID{Topic: "clicks", Partition: p}]
		if o := at("ledger", "payments", p); !slices.Contains(payments.markers, o) {
			t.Errorf("ledger is at payments-%d offset %d, which is no marker", p, o)
		}
		o := at("crm", "customers", p)
		if i, here := slices.BinarySearch(customers.offsets, o); here || i == 0 || customers.offsets[i-1] == o-1 {
			t.Errorf("crm is at customers-%d offset %d, which is in no hole", p, o)
		}
		// One record of each key that came up stays, and those of the newest batch.
		least := int(customers.end) - len(st.w.stale[partition.ID{Topic: "customers", Partition: p}])
		if n := len(customers.offsets); n < least || n > int(customers.end)/2 {
			t.Errorf("customers-%d holds %d records, want %d or a few more", p, n, least)
		}
		if clicks.offsets[0] != trimTo || at("archive", "clicks", p) != trimTo {
			t.Errorf("clicks-%d starts at %d, archive is at %d", p, clicks.offsets[0], at("archive", "clicks", p))
		}
		if l := st.all[partition.ID{Topic: "audit", Partition: p}]; l.end != 0 || at("billing", "audit", p) != 0 {
			t.Errorf("audit-%d ends at %d", p, l.end)
		}
	}
	if at("shipping", "orders", 2) != -1 || at("shipping", "orders", 1) <= 0 {
		t.Error("shipping must have committed on orders-1 and never on orders-2")
	}
	if at("archive", "orders", 0) != 0 {
		t.Error("archive is not at 0")
	}
	if len(st.w.aborted) == 0 {
		t.Error("nothing was aborted")
	}
	for _, r := range rs {
		if head := r.lag == 0; head != (r.group.name == "billing") {
			t.Errorf("%s has a lag of %d", r.group.name, r.lag)
		}
		if r.group.name != "archive" && r.mm2 == 0 {
			t.Errorf("MirrorMaker 2 would have been exact for %s", r.group.name)
		}
	}
}

// Positions that are off by one, in both directions and at the end of a partition, are counted, each where it belongs.
func TestSabotage(t *testing.T) {
	o := options(t)
	o.giveUp = 5 * time.Second
	o.Sabotage = func(ctx context.Context, b *kadm.Client) error {
		return errors.Join(
			move(ctx, b, "warehouse", "A.orders", 0, 1),
			move(ctx, b, "crm", "A.customers", 1, -1),
			move(ctx, b, "billing", "A.settings", 0, 1), // the record that is written on B next
		)
	}
	var out bytes.Buffer
	err := Run(t.Context(), &out, o)
	t.Logf("%v\n%s", err, &out)
	if !errors.Is(err, ErrNotExact) {
		t.Fatalf("got error %v", err)
	}
	if !strings.Contains(err.Error(), "group billing was given nothing") {
		t.Errorf("got error %v", err)
	}
	if got := lastLine(out.String()); got != "records lost 2, records read twice 1" {
		t.Errorf("last line %q", got)
	}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		twice, lost := f[len(f)-2], f[len(f)-1]
		want := map[string][2]string{"warehouse": {"0", "1"}, "crm": {"1", "0"}, "billing": {"0", "1"}, "ledger": {"0", "0"}}
		if w, ok := want[f[0]]; ok && w != [2]string{twice, lost} {
			t.Errorf("%s: read twice %s, lost %s", f[0], twice, lost)
		}
	}
}

// move shifts a position of a group that has no members.
func move(ctx context.Context, b *kadm.Client, group, topic string, number int32, by int64) error {
	at, err := b.FetchOffsets(ctx, group)
	if err != nil {
		return err
	}
	o, ok := at.Lookup(topic, number)
	if !ok {
		return errors.New(group + " has no position")
	}
	to := kadm.Offsets{}
	to.AddOffset(topic, number, o.At+by, -1)
	return b.CommitAllOffsets(ctx, group, to)
}

// A demo whose mirror ends says so.
func TestMirrorEnds(t *testing.T) {
	ctx, fail := context.WithCancelCause(t.Context())
	a, err := startCluster(sourceAlias)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	m, err := startMirror(ctx, a, a, options(t).Log, fail) // the engine refuses one cluster as both ends
	if err != nil {
		t.Fatal(err)
	}
	<-m.done
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), engine.ErrSameCluster) {
		t.Errorf("got %v", context.Cause(ctx))
	}
}

// A demo that cannot come to an end says why and does not hang.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	o := options(t)
	o.Sabotage = func(context.Context, *kadm.Client) error {
		cancel(enough)
		return nil
	}
	if err := Run(ctx, &bytes.Buffer{}, o); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}
