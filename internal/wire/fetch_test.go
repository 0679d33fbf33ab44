package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/internal/partition"
)

func TestFetchAndProduceInEveryVersion(t *testing.T) {
	for v := int16(3); v <= 18; v++ {
		t.Run(fmt.Sprintf("fetch %d, produce %d", max(v, 4), min(v, 13)), func(t *testing.T) {
			t.Parallel()
			max := kversion.Stable()
			max.SetMaxKeyVersion(int16(kmsg.Fetch), maxInt16(v, 4))
			max.SetMaxKeyVersion(int16(kmsg.Produce), minInt16(v, 13))
			c := fake(t, 1, "t", 2, kfake.MaxVersions(max))
			seen := make(chan [2]int16, 100)
			c.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if k := req.Key(); k == int16(kmsg.Fetch) || k == int16(kmsg.Produce) {
					seen <- [2]int16{k, req.GetVersion()}
				}
				return nil, nil, false
			})
			n := netTo(t, c, nil)
			p := startProducer(t, n, ProduceOptions{})
			f := startFetcher(t, n, FetchOptions{})
			for part := range int32(2) {
				tp := partition.ID{Topic: "t", Partition: part}
				if r := p.send(tp, numbered(t, 0, 3, 10, -1)); r.Code != 0 || r.Err != nil || r.BaseOffset != 0 || r.Sent.IsZero() {
					t.Fatalf("produce: %+v", r)
				}
				f.Want(tp, 1, -1)
				x := f.next()
				got, err := numbers(x.Records, 1)
				if err != nil || len(got) != 2 || got[0] != 1 || x.HighWatermark != 3 || x.Offset != 1 || x.TP != tp {
					t.Fatalf("fetched %v, %v: %+v", got, err, x)
				}
				x.Release()
			}
			for len(seen) > 0 {
				kv := <-seen
				if kv[0] == int16(kmsg.Fetch) && kv[1] != minInt16(maxInt16(v, 4), 17) ||
					kv[0] == int16(kmsg.Produce) && kv[1] != minInt16(v, 13) {
					t.Errorf("request %d was sent in version %d", kv[0], kv[1])
				}
			}
		})
	}
}

func maxInt16(a, b int16) int16 { return max(a, b) }
func minInt16(a, b int16) int16 { return min(a, b) }

func TestFetchFollowsTheLog(t *testing.T) {
	c := fake(t, 3, "t", 6)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{Depth: 2})
	f := startFetcher(t, n, FetchOptions{})
	const batches, per = 40, 5
	for part := range int32(6) {
		f.Want(partition.ID{Topic: "t", Partition: part}, 0, -1)
	}
	for part := range int32(6) {
		fill(t, p, partition.ID{Topic: "t", Partition: part}, batches, per, 100)
	}
	got := map[partition.ID][]int{}
	for total := 0; total < 6*batches*per; {
		x := f.next()
		if x.Code != 0 || x.Err != nil {
			t.Fatalf("%+v", x)
		}
		more, err := numbers(x.Records, x.Offset)
		if err != nil {
			t.Fatal(err)
		}
		x.Release()
		got[x.TP] = append(got[x.TP], more...)
		total += len(more)
		f.Want(x.TP, x.Offset+int64(len(more)), -1)
	}
	for tp, list := range got {
		t.Run(tp.String(), func(t *testing.T) { wantRun(t, list, batches*per) })
	}
	eventually(t, "only the long polls hold memory", func() bool {
		return f.opt.Budget.Used() <= 3*int64(f.opt.MaxBytes)
	})
	f.stop()
	if used := f.opt.Budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are left", used)
	}
}

func TestFetchTellsOffsetsOfAnEmptyLog(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 1, 10, 10)
	f := startFetcher(t, n, FetchOptions{MaxWait: 20 * time.Millisecond})
	f.Want(tp, 10, -1)
	if x := f.any(); x.HighWatermark != 10 || x.LogStart != 0 || x.Records != nil || x.Release != nil {
		t.Errorf("%+v", x)
	}
	f.silent(100 * time.Millisecond) // nothing changes, so nothing is told
	if err := c.DeleteRecords("t", 0, 7); err != nil {
		t.Fatal(err)
	}
	if x := f.any(); x.LogStart != 7 || x.Code != 0 {
		t.Errorf("%+v", x)
	}
}

func TestFetchAnswersOnlyTheNewestWant(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	p := startProducer(t, n, ProduceOptions{})
	tp := partition.ID{Topic: "t"}
	fill(t, p, tp, 10, 1, 10)
	f := n.NewFetcher(FetchOptions{}, nil)
	got := make(chan Fetched, 100)
	f.sink = func(x Fetched) { got <- x }
	once := make(chan struct{})
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.DropControl()
		f.Want(tp, 7, -1) // while the request for 0 is under way
		close(once)
		return nil, nil, false
	})
	background(t, f.Run)
	f.Want(tp, 0, -1)
	<-once
	x := <-got
	if x.Offset != 7 {
		t.Errorf("delivered from offset %d, want 7", x.Offset)
	}
	x.Release()
	f.Drop(tp)
	f.Drop(tp)
	select {
	case x := <-got:
		t.Errorf("delivered after Drop: %+v", x)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestFetchReportsRefusals(t *testing.T) {
	tests := []struct {
		name string
		err  *kerr.Error
	}{
		{"denied", kerr.TopicAuthorizationFailed},
		{"corrupt", kerr.CorruptMessage},
		{"codec", kerr.UnsupportedCompressionType},
		{"range", kerr.OffsetOutOfRange},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fake(t, 1, "t", 2)
			n := netTo(t, c, nil)
			p := startProducer(t, n, ProduceOptions{})
			bad, good := partition.ID{Topic: "t"}, partition.ID{Topic: "t", Partition: 1}
			fill(t, p, bad, 1, 1, 10)
			fill(t, p, good, 1, 1, 10)
			h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Partitions: []int32{0}, Err: tt.err, Count: -1})
			f := startFetcher(t, n, FetchOptions{MaxWait: 20 * time.Millisecond})
			f.Want(bad, 0, -1)
			if x := f.next(); x.Code != tt.err.Code || x.Err != nil || x.Records != nil {
				t.Fatalf("%+v", x)
			}
			// Its neighbour is fetched, and it is left alone until wanted again.
			f.Want(good, 0, -1)
			x := f.next()
			if x.TP != good {
				t.Fatalf("%+v", x)
			}
			x.Release()
			hits := h.Hits()
			f.Want(good, 1, -1)
			f.silent(80 * time.Millisecond) // four fetches
			if h.Hits() != hits {
				t.Errorf("the refused partition was fetched again")
			}
			h.Remove()
			f.Want(bad, 0, -1)
			if x := f.next(); x.TP != bad || len(x.Records) == 0 {
				t.Errorf("%+v", x)
			} else {
				x.Release()
			}
		})
	}
}

func TestFetchSurvivesPassingErrors(t *testing.T) {
	for _, e := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.KafkaStorageError,
		kerr.OffsetNotAvailable, kerr.ReplicaNotAvailable, kerr.UnknownTopicID, kerr.InconsistentTopicID,
		kerr.UnknownTopicOrPartition, kerr.UnknownServerError, kerr.LeaderNotAvailable,
	} {
		t.Run(e.Message, func(t *testing.T) {
			c := fake(t, 1, "t", 1)
			n := netTo(t, c, nil)
			p := startProducer(t, n, ProduceOptions{})
			tp := partition.ID{Topic: "t"}
			fill(t, p, tp, 1, 1, 10)
			h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: e, Count: 3})
			f := startFetcher(t, n, FetchOptions{})
			f.Want(tp, 0, -1)
			x := f.next()
			if len(x.Records) == 0 || h.Hits() != 3 {
				t.Fatalf("after %d errors: %+v", h.Hits(), x)
			}
			x.Release()
		})
	}
}
