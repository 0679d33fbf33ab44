package engine

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// TestStuck: only a partition that is mirrored, has records to read, and did not move in between is asked about.
func TestStuck(t *testing.T) {
	at := func(topic, state string, to, end int64) status.LivePartition {
		return status.LivePartition{Topic: topic, State: state, MirroredTo: to, SourceEnd: end}
	}
	live := func(ps ...status.LivePartition) status.Live {
		return status.Live{Lanes: []status.LiveLane{{Partitions: ps}}}
	}
	before := live(at("waits", "live", 5, 6), at("moves", "live", 5, 6), at("done", "live", 5, 5), at("stopped", "stopped", 5, 9), at("closed", "live", -1, 9))
	now := live(at("waits", "live", 5, 9), at("moves", "live", 6, 9), at("done", "live", 5, 5), at("stopped", "stopped", 5, 9), at("closed", "live", -1, 9), at("new", "live", 5, 9))
	if got := stuck(before, now); !slices.Equal(got, []partition.ID{{Topic: "waits"}}) {
		t.Errorf("asked about %v", got)
	}
}

// TestTransactionThatHangsIsLogged: once, with what is needed to end it, and not before coordinators would have ended it.
func TestTransactionThatHangsIsLogged(t *testing.T) {
	source, _ := testcluster.NewPair(t)
	if err := testcluster.CreateTopic(t.Context(), source.ClientOpts(), "orders", 1, nil); err != nil {
		t.Fatal(err)
	}
	cl := source.Client(t, kgo.TransactionalID("app"), kgo.DefaultProduceTopic("orders"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), kgo.StringRecord("a")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	admin, err := kafka.Open(kafka.Cluster{Alias: "A", Bootstrap: source.Bootstrap()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	var log strings.Builder
	f := &flow{source: admin, events: events.From(slog.New(slog.NewTextHandler(&log, nil)))}
	said := map[partition.ID]int64{}
	tps := []partition.ID{{Topic: "orders"}}
	f.tellHanging(t.Context(), tps, said)
	if log.Len() != 0 {
		t.Fatalf("said of one that is young: %s", log.String())
	}
	began := time.Now().Add(-20 * time.Minute)
	open, err := admin.OpenTransactions(t.Context(), tps, time.Now())
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	source.ControlKey(int16(kmsg.DescribeTransactions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		source.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		tx := kmsg.NewDescribeTransactionsResponseTransactionState()
		tx.TransactionalID, tx.State, tx.StartTimestamp, tx.ProducerID = "app", "Ongoing", began.UnixMilli(), open[tps[0]].ProducerID
		resp.TransactionStates = append(resp.TransactionStates, tx)
		return resp, nil, true
	})
	for range 3 {
		f.tellHanging(t.Context(), tps, said)
	}
	if n := strings.Count(log.String(), "a transaction on the source is open for longer"); n != 1 || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("said %d times: %s", n, log.String())
	}
	for _, want := range []string{"partition=orders-0", "start_offset=0", "transactional_id=app", "since=" + began.UTC().Format(time.RFC3339)} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no word of %s: %s", want, log.String())
		}
	}
}
