package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/testcluster"
)

// TestLookUnderAQuota ends a worker by SIGKILL with 2 MB on the target that its ledger does not know. The next one may read
// 60 kB a second there, so it looks for more than half a minute before it knows where to go on. It does not begin anew on the way;
// `status` and the log say what it is about.
func TestLookUnderAQuota(t *testing.T) {
	t.Parallel()
	f := newFlow(t, "quota", `qu-.*`, `none`, "")
	client := "slow-" + f.alias
	f.yaml = strings.Replace(f.yaml, "  T: {", "  T: {client_id: "+client+", ", 1)
	conn := suite.source.ClientOpts()
	if err := testcluster.CreateTopic(t.Context(), conn, "qu-plain", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Produce(t.Context(), conn, testcluster.Load{Topic: "qu-plain", Count: 3000, ValueBytes: 1000, BatchBytes: 16_000}); err != nil {
		t.Fatal(err)
	}
	path, err := failing()
	if err != nil {
		t.Fatal(err)
	}
	w := f.worker(path, []string{"TIDEMARK_FAILPOINTS=after-ack=8"}, "--instance-id", "one")
	select {
	case <-w.done:
	case <-time.After(300 * time.Second):
		t.Fatal("the worker does not come to its eighth acknowledgement")
	}
	f.consumerQuota(client, 60_000)
	began := time.Now()
	w = f.process("--instance-id", "one")
	w.says(f, "partition is not mirrored yet", 1, 60*time.Second)
	f.red("qu-plain", "looking", "not mirrored yet: looking at both logs")
	f.until(150*time.Second, "all records on the target", func(context.Context) (bool, string) {
		end := f.end0("qu-plain")
		return end >= 3000, fmt.Sprintf("its log ends at %d", end)
	})
	f.faultless("qu-plain")
	t.Logf("went on after %v", time.Since(began).Round(time.Second))
	if n := strings.Count(w.output(), "partition stopped"); n > 0 {
		t.Errorf("the look was given up %d times", n)
	}
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// consumerQuota lets clients of a name read so many bytes a second of each broker of the target, until the test ends.
func (f *flow) consumerQuota(client string, rate float64) {
	f.tb.Helper()
	set := func(ctx context.Context, remove bool) error {
		req := kmsg.NewPtrAlterClientQuotasRequest()
		e := kmsg.NewAlterClientQuotasRequestEntry()
		e.Entity = []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id", Name: &client}}
		e.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: "consumer_byte_rate", Value: rate, Remove: remove}}
		req.Entries = append(req.Entries, e)
		resp, err := req.RequestWith(ctx, f.targetClient())
		if err == nil && (len(resp.Entries) != 1 || resp.Entries[0].ErrorCode != 0) {
			err = fmt.Errorf("quota: %+v", resp.Entries)
		}
		return err
	}
	if err := set(f.tb.Context(), false); err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(func() { _ = set(context.Background(), true) })
}
