package topics

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/testcluster"
)

// TestEnsureWhileAnotherWorkerCreates: a topic that another worker has just created is known to the broker that describes
// it, and not yet to the one that is asked for its settings. That passes, and must not end the process.
func TestEnsureWhileAnotherWorkerCreates(t *testing.T) {
	_, target := testcluster.NewPair(t)
	c, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: target.Bootstrap()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic := LedgerTopic("A", 2, 1)
	if _, err := Ensure(t.Context(), c, topic); err != nil {
		t.Fatal(err)
	}
	behind := 3 // answers that come from a broker that has not heard of the topic
	target.ControlKey(int16(kmsg.DescribeConfigs), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		target.KeepControl()
		if behind == 0 {
			return nil, nil, false
		}
		behind--
		req := kreq.(*kmsg.DescribeConfigsRequest)
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.Resources {
			one := kmsg.NewDescribeConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode = r.ResourceType, r.ResourceName, kerr.UnknownTopicOrPartition.Code
			resp.Resources = append(resp.Resources, one)
		}
		return resp, nil, true
	})
	if _, err := Ensure(t.Context(), c, topic); err != nil {
		t.Errorf("a topic that is there is refused: %v", err)
	}
	if behind != 0 {
		t.Errorf("%d answers of a broker that is behind were not asked for", behind)
	}
}
