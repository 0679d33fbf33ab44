package engine

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
)

// A remote topic that a MirrorMaker 2 has filled is not appended to, and the reason says who did it.
func TestFilledByMirrorMaker(t *testing.T) {
	e := newEnds(t, "")
	ctx := t.Context()
	for topic, c := range map[string]*kadm.Client{"orders": e.src, "A.orders": e.dst, "mm2-offsets.A.internal": e.dst} {
		if _, err := c.CreateTopics(ctx, 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(e.target.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "A.orders", Value: []byte("copied by another")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	stop := e.run()
	e.until("a reason in the ledger", func() bool {
		recs, err := testcluster.Read(ctx, cl, ledger.TopicName("A"), testcluster.ReadUncommitted)
		if err != nil {
			return false
		}
		for _, r := range recs {
			k, err := ledger.ParseKey(r.Key)
			if err != nil || k.Kind != ledger.KindHead || k.Topic != "orders" {
				continue
			}
			h, err := ledger.DecodeHead(k, r.Value)
			if err == nil && h.State == ledger.Stopped {
				if want := "A.orders holds 1 offsets that Tidemark did not write (a MirrorMaker 2 did, its topic mm2-offsets.A.internal is there)"; !strings.Contains(h.Reason, want) {
					t.Errorf("reason %q", h.Reason)
				}
				return true
			}
		}
		return false
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
