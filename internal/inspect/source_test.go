package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/notes"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

func TestSourceThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	newest := time.Now().Add(-90 * time.Minute).Truncate(time.Millisecond).UTC()
	w.produce(w.target, &kgo.Record{Topic: "A.orders", Value: []byte("a"), Timestamp: newest}, &kgo.Record{Topic: "A.orders", Value: []byte("b"), Timestamp: newest.Add(-time.Hour)})
	w.from = deaf(t)
	seen := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	w.head(ledger.Head{Topic: "orders", SourceEnd: 50, At: seen}, 40, offsetmap.Origin{})
	began := time.Now()
	got, err := w.reader(Options{SourceTimeout: 200 * time.Millisecond}).Flow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if got.Source.Reached || !strings.Contains(got.Source.Error, "no answer after 200ms") {
		t.Errorf("source: %+v", got.Source)
	}
	p := w.partition(got, "orders", 0)
	if p.SourceEnd != 50 || p.SourceLive || !p.SourceAt.Equal(seen) || p.Lag != 10 || !p.NewestAt.Equal(newest) {
		t.Errorf("the ledger's word about the source: %+v", p)
	}
	text := got.Text()
	for _, want := range []string{"50 (60m ago or more)  at least 10 ", "so LAG is at least what is shown\n", "the newest record on the target is of " + newest.Format(time.RFC3339) + ", 90m ago (A.orders-0)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	// Nobody knows whether orders-1 exists, so it is not there.
	if len(got.Partitions) != 1 {
		t.Errorf("%d partitions, want 1", len(got.Partitions))
	}
}

// TestAgeOfTheLastAnswer: a head can be written after the source has died, with records that were on their way. What it says of
// the source is as old as the source's last answer.
func TestAgeOfTheLastAnswer(t *testing.T) {
	w := newWorld(t)
	worker := w.worker()
	w.topic(w.target, "A.orders", 2)
	w.from = "127.0.0.1:1"
	last := time.Now().Add(-5 * time.Minute).Truncate(time.Second).UTC()
	for p, at := range []time.Time{time.Now(), last.Add(-time.Hour)} {
		w.head(ledger.Head{Topic: "orders", Partition: int32(p), SourceEnd: 50, At: at}, 50, offsetmap.Origin{})
	}
	w.says(worker, notes.Trouble{Since: last, What: notes.SourceSilent, Why: "refused"})
	f := w.flow()
	if p := w.partition(f, "orders", 0); !p.SourceAt.Equal(last) || p.SourceLive {
		t.Errorf("seen at %v, want %v", p.SourceAt, last)
	}
	if p := w.partition(f, "orders", 1); !p.SourceAt.Before(last) {
		t.Errorf("an older word became younger: %v", p.SourceAt)
	}
	if text := f.Text(); !strings.Contains(text, "since 5m: "+notes.SourceSilent+": refused") {
		t.Errorf("the worker's word is missing:\n%s", text)
	}
}

// TestLagThatHasArrived: the ledger's word is a second older than the ends of the logs, and a lag that is none looks like one.
func TestLagThatHasArrived(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	for i := range 9 {
		w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte{byte(i)}})
	}
	w.records("A.orders", 8)
	w.head(ledger.Head{Topic: "orders", SourceEnd: 3, At: time.Now()}, 3, offsetmap.Origin{})
	f := w.flow()
	if p := w.partition(f, "orders", 0); p.Lag != 6 || p.Arrived != 5 || !strings.Contains(f.Text(), "up to 5 of the lag are on the target already") {
		t.Errorf("%+v\n%s", p, f.Text())
	}
}

// TestOpenTransaction: what lies behind an open transaction is lag that the mirror must not make up.
func TestOpenTransaction(t *testing.T) {
	w := newWorld(t)
	w.topic(w.target, "A.orders", 2)
	w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("a")}, &kgo.Record{Topic: "orders", Value: []byte("b")})
	w.head(ledger.Head{Topic: "orders", SourceEnd: 2}, 1, offsetmap.Origin{})
	cl := w.source.Client(t, kgo.TransactionalID("app"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("c")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if p := w.partition(w.flow(), "orders", 0); p.SourceEnd != 3 || p.Lag != 2 || p.Open != 1 {
		t.Errorf("end %d, lag %d, behind the transaction %d; want 3, 2, 1", p.SourceEnd, p.Lag, p.Open)
	}
	p := w.partition(w.flow(), "orders", 0)
	if tx := p.Transaction; tx == nil || tx.ID != "app" || tx.StartOffset != 2 || tx.Hangs || time.Since(tx.Since) > time.Minute {
		t.Errorf("the transaction: %+v", tx)
	}
	w.extra = ", isolation: read_uncommitted"
	if p := w.partition(w.flow(), "orders", 0); p.Open != 0 || p.Transaction != nil {
		t.Errorf("read_uncommitted does not wait for transactions, got %d", p.Open)
	}
}

// TestHangingTransaction: one that is older than coordinators let any become ends by a command only, which is printed; a group that
// has read up to it is not at the end.
func TestHangingTransaction(t *testing.T) {
	w := newWorld(t)
	w.worker()
	w.topic(w.target, "A.orders", 2)
	w.records("A.orders", 2)
	w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("a")}, &kgo.Record{Topic: "orders", Value: []byte("b")})
	cl := w.source.Client(t, kgo.TransactionalID("it's app"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("c")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	w.produce(w.source, &kgo.Record{Topic: "orders", Value: []byte("d")}, &kgo.Record{Topic: "orders", Value: []byte("e")})
	w.head(ledger.Head{Topic: "orders", SourceEnd: 5, At: time.Now()}, 2, offsetmap.Origin{})
	w.row("app", verdicts.Row{RemoteTopic: "A.orders", Committed: 2, SourceEnd: 5, Verdict: translate.Verdict{Kind: translate.AtEnd, Target: 2}, At: time.Now()})
	w.commit(w.source, "app", "orders", 2)
	w.commit(w.target, "app", "A.orders", 2)
	// A transaction of now is no finding, and neither is the group at it.
	if f := w.findings("app"); f != "" {
		t.Fatalf("findings of the group: %q", f)
	}
	got, err := w.reader(Options{}).Groups(t.Context(), []string{"app"})
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Groups[0].Positions[0]; p.Open != 3 || p.Transaction == nil || !strings.Contains(got.Text(), "; 3 offsets of the source wait behind the transaction of producer ") {
		t.Errorf("%+v\n%s", p, got.Text())
	}
	hours := time.Now().Add(-3 * time.Hour).UnixMilli()
	w.source.ControlKey(int16(kmsg.DescribeTransactions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.source.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		tx := kmsg.NewDescribeTransactionsResponseTransactionState()
		tx.TransactionalID, tx.State, tx.StartTimestamp, tx.ProducerID = "it's app", "Ongoing", hours, got.Groups[0].Positions[0].Transaction.ProducerID
		resp.TransactionStates = append(resp.TransactionStates, tx)
		return resp, nil, true
	})
	want := fmt.Sprintf("the transaction of producer %d (\"it's app\"), open for 3h, which is longer than transaction.max.timeout.ms allows, so nothing ends it; if its application is gone: kafka-transactions.sh --bootstrap-server %s abort --topic orders --partition 0 --start-offset 2",
		got.Groups[0].Positions[0].Transaction.ProducerID, w.source.Bootstrap()[0])
	if f := w.findings("app"); !strings.HasPrefix(f, "group app, orders-0: 3 offsets of the source wait behind ") || !strings.HasSuffix(f, want) {
		t.Errorf("findings of the group: %q, want %q", f, want)
	}
	if f := w.flow().Findings(); !slices.Contains(f, "A->B: orders-0 waits behind "+want) {
		t.Errorf("findings: %q, want %q", f, want)
	}
}

// TestDeletesUnseen: a mirror that is away for longer than a compacted topic keeps deletes can miss some, and the target keeps
// their keys.
func TestDeletesUnseen(t *testing.T) {
	w := newWorld(t)
	w.worker()
	compact, hour := "compact", "3600000"
	for name, configs := range map[string]map[string]string{
		"keys": {"cleanup.policy": compact, "delete.retention.ms": hour}, "both": {"cleanup.policy": "compact,delete", "delete.retention.ms": "86400000"}, "plain": {"delete.retention.ms": hour},
	} {
		if err := testcluster.CreateTopic(t.Context(), w.source.ClientOpts(), name, 1, configs); err != nil {
			t.Fatal(err)
		}
		w.topic(w.target, "A."+name, 1)
		w.produce(w.source, &kgo.Record{Topic: name, Key: []byte("k"), Value: []byte("v")}, &kgo.Record{Topic: name, Key: []byte("k")})
		w.records("A."+name, 1)
		w.head(ledger.Head{Topic: name, SourceEnd: 1, At: time.Now().Add(-2 * time.Hour)}, 1, offsetmap.Origin{})
	}
	f, err := w.reader(Options{Standing: time.Millisecond}).Flow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range f.Findings() {
		if strings.Contains(line, "unseen") {
			got = append(got, line)
		}
	}
	want := []string{"A->B: keys: compacted, and its records wait since 2h, longer than delete.retention.ms of the source: deletes can have gone unseen, whose keys then stay on the target (docs/guarantees.md)"}
	if !slices.Equal(got, want) || !strings.Contains(f.Text(), "deletes can have gone unseen") {
		t.Errorf("%q, want %q", got, want)
	}
}
