package wire

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// strictBroker answers Fetch for an embedded cluster with the size rules of a
// real broker, which the embedded one does not have: batches are cut at the
// limits, and only the first partition with data may exceed them, by one batch
// (ReplicaManager.readFromLog).
type strictBroker struct {
	mu       sync.Mutex
	logs     map[int32][][]byte // batches by partition; offsets are batch numbers
	shape    func(*kmsg.FetchRequest, *kmsg.FetchResponse)
	requests []kmsg.FetchRequest
	times    []time.Time
}

func (s *strictBroker) serve(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		s.mu.Lock()
		defer s.mu.Unlock()
		req := kreq.(*kmsg.FetchRequest)
		s.requests = append(s.requests, *req)
		s.times = append(s.times, time.Now())
		resp := s.answer(req)
		if s.shape != nil {
			s.shape(req, resp)
		}
		return resp, nil, true
	})
}

func (s *strictBroker) answer(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	left, first := int(req.MaxBytes), true
	for _, rt := range req.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition = rp.Partition
			log := s.logs[rp.Partition]
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = int64(len(log)), int64(len(log)), 0
			p.RecordBatches = []byte{}
			limit := min(left, int(rp.PartitionMaxBytes))
			for at := rp.FetchOffset; at < int64(len(log)) && len(p.RecordBatches) < limit; at++ {
				p.RecordBatches = append(p.RecordBatches, log[at]...)
				if first {
					limit = max(limit, len(log[at]))
					first = false
				}
			}
			p.RecordBatches = p.RecordBatches[:min(len(p.RecordBatches), limit)]
			left = max(0, left-len(p.RecordBatches))
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
