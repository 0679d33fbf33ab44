package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// TestOpenTransactionIsNamed: a transaction that holds a partition of the source is named with what is needed to end it, and Kafka's
// tool, called as status calls it for one that hangs, ends it: what waited behind it is mirrored.
func TestOpenTransactionIsNamed(t *testing.T) {
	t.Parallel()
	const topic, group = "otx-t", "otx-g"
	f := newFlow(t, "otx", topic, group, "")
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 50})
	at := spots{}
	at.add(group, topic, 0, 50)
	f.commitAll(at)
	f.start()
	f.reaches(group, topic, 0, 50)

	open := suite.source.Client(t, kgo.TransactionalID("otx-app's"), kgo.TransactionTimeout(10*time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := open.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("never ends")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	f.produce(testcluster.Load{Topic: topic, Count: 20})

	var start int64
	f.until(60*time.Second, "the transaction in status", func(context.Context) (bool, string) {
		out, errs, _ := f.says("status", "FILE", "--json")
		type partition struct {
			Topic       string
			Open        int64 `json:"behind_transaction"`
			Transaction *struct {
				ID    string    `json:"transactional_id"`
				Start int64     `json:"start_offset"`
				Since time.Time `json:"since"`
				Hangs bool      `json:"hangs"`
			} `json:"transaction"`
		}
		var is struct {
			Flows []struct{ Partitions []partition }
		}
		if err := json.Unmarshal([]byte(out), &is); err != nil || len(is.Flows) != 1 {
			return false, errs + out
		}
		i := slices.IndexFunc(is.Flows[0].Partitions, func(p partition) bool { return p.Topic == topic }) // heartbeats can be there
		if i < 0 || is.Flows[0].Partitions[i].Transaction == nil || is.Flows[0].Partitions[i].Open == 0 {
			return false, out
		}
		p := is.Flows[0].Partitions[i]
		start = p.Transaction.Start
		return p.Transaction.ID == "otx-app's" && start == 50 && !p.Transaction.Hangs && time.Since(p.Transaction.Since) < 2*time.Minute, out
	})
	out, errs, code := f.says("groups", "FILE", group)
	if code != 0 || !strings.Contains(out, " of the source wait behind the transaction of producer ") {
		t.Errorf("groups, exit %d: %s%s", code, out, errs)
	}
	line := fmt.Sprintf("kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition 0 --start-offset %d", suite.source.BootstrapString(), topic, start)
	if out, err := testcluster.RunPrinted(t.Context(), line); err != nil {
		t.Fatalf("%s: %s %v", line, out, err)
	}
	end := spots{}
	end.add(group, topic, 0, 60)
	f.commitAll(end)
	f.until(60*time.Second, "what waited on the target", func(ctx context.Context) (bool, string) { // 50 and 9: the aborted one is not copied
		x, err := f.position(ctx, group, topic, 0)
		return x == 59 && err == nil, fmt.Sprint(x, err)
	})
}
