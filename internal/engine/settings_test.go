package engine

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestClientSettingsAreInRequests: what the file says about the clients that carry records is in their requests.
func TestClientSettingsAreInRequests(t *testing.T) {
	e := newEnds(t, ", clients: {source_consumer: {fetch_bytes: 128KiB, partition_fetch_bytes: 96KiB, fetch_min_bytes: 2, fetch_wait: 111ms}, record_producer: {request_timeout: 7s}}")
	if _, err := e.src.CreateTopic(t.Context(), 1, 1, nil, "settings"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var fetched *kmsg.FetchRequest
	timeouts := map[int32]bool{}
	e.source.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		e.source.KeepControl()
		if r := req.(*kmsg.FetchRequest); len(r.Topics) == 1 && r.MinBytes == 2 {
			mu.Lock()
			defer mu.Unlock()
			fetched = r
		}
		return nil, nil, false
	})
	e.target.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		e.target.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		timeouts[req.(*kmsg.ProduceRequest).TimeoutMillis] = true
		return nil, nil, false
	})
	producer, err := kgo.NewClient(kgo.SeedBrokers(e.source.ListenAddrs()...), kgo.DefaultProduceTopic("settings"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	stop := e.run()
	e.until("a fetch and a produce request as the file says", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return fetched != nil && timeouts[7000]
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if p := fetched.Topics[0].Partitions[0]; fetched.MaxBytes > 128<<10 || p.PartitionMaxBytes > 96<<10 || fetched.MaxWaitMillis > 111 {
		t.Errorf("the fetch says %d bytes, %d of a partition, %d ms", fetched.MaxBytes, p.PartitionMaxBytes, fetched.MaxWaitMillis)
	}
}
