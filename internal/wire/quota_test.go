package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker with a quota answers a fetch of more than the quota's window with nothing and a pause, and counts none of it, so
// asking for the same again never ends. Each such answer halves what is asked for; what comes lets it grow again.
func TestQuotaMakesFetchesSmaller(t *testing.T) {
	const window = 100_000
	c := fake(t, 1, "t", 1)
	s := &strictBroker{logs: map[int32][][]byte{0: oneRecordLog(t, 40, 10_000)}}
	var sizes []int32
	s.shape = func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		asked := req.Topics[0].Partitions[0].PartitionMaxBytes
		if sizes = append(sizes, asked); asked > window {
			resp.ThrottleMillis = 1
			resp.Topics = nil
		}
	}
	s.serve(c)
	f := startFetcher(t, netTo(t, c, nil), FetchOptions{})
	drain(t, f, s.logs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sizes[0] <= window {
		t.Errorf("asked for %d bytes first", sizes[0])
	}
}
