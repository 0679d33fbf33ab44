package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

func TestListOffsets(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(4, "t"))
	for p := range int32(4) {
		produce(t, cl, partition.ID{Topic: "t", Partition: p}, int(p)*2)
	}
	noError(t, fc.DeleteRecords("t", 3, 5))
	tps := []partition.ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}, {Topic: "t", Partition: 2}, {Topic: "t", Partition: 3}, {Topic: "t", Partition: 1}, {Topic: "gone", Partition: 0}, {Topic: "t", Partition: 9}}
	latest, failed, err := cl.ListOffsets(deadline(t), tps, Latest, false)
	noError(t, err)
	for p := range int32(4) {
		if got := latest[partition.ID{Topic: "t", Partition: p}]; got != int64(p)*2 {
			t.Errorf("end of partition %d: %d", p, got)
		}
	}
	for _, tp := range []partition.ID{{Topic: "gone", Partition: 0}, {Topic: "t", Partition: 9}} {
		if _, ok := latest[tp]; ok || !errors.Is(failed[tp], ErrNoTopic) || !strings.Contains(failed[tp].Error(), "cluster A") {
			t.Errorf("%v: %v", tp, failed[tp])
		}
	}
	if len(failed) != 2 {
		t.Errorf("failed: %v", failed)
	}
	earliest, _, err := cl.ListOffsets(deadline(t), tps[:4], Earliest, true)
	noError(t, err)
	if earliest[partition.ID{Topic: "t", Partition: 3}] != 5 || earliest[partition.ID{Topic: "t", Partition: 2}] != 0 {
		t.Errorf("starts: %v", earliest)
	}
	if none, failed, err := cl.ListOffsets(deadline(t), nil, Latest, false); err != nil || len(none)+len(failed) != 0 {
		t.Errorf("no partitions: %v %v %v", none, failed, err)
	}
}

func TestListCommittedOffsets(t *testing.T) {
	_, c := fake(t, kfake.SeedTopics(1, "t"))
	cl, id := lane(t, c)
	tp := partition.ID{Topic: "t", Partition: 0}
	if code := plainProduce(t, cl, tp, id); code != 0 {
		t.Fatal(kerr.ErrorForCode(code))
	}
	openTransaction(t, c, tp)
	latest, _, err := cl.ListOffsets(deadline(t), []partition.ID{tp}, Latest, false)
	noError(t, err)
	stable, _, err := cl.ListOffsets(deadline(t), []partition.ID{tp}, Latest, true)
	noError(t, err)
	if latest[tp] != 2 || stable[tp] != 1 {
		t.Errorf("end %d, stable end %d; want 2 and 1", latest[tp], stable[tp])
	}
}

func TestListOffsetsFollowsTheLeader(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	tp := partition.ID{Topic: "t", Partition: 0}
	produce(t, cl, tp, 3)
	for range 4 {
		next := (fc.LeaderFor("t", 0) + 1) % 3
		noError(t, fc.MoveTopicPartition("t", 0, next))
		got, failed, err := cl.ListOffsets(deadline(t), []partition.ID{tp}, Latest, false)
		noError(t, err)
		if got[tp] != 3 {
			t.Errorf("end %d, %v", got[tp], failed[tp])
		}
	}
}

func TestListOffsetsErrors(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t", "denied", "broken"))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "denied", Err: kerr.TopicAuthorizationFailed, Count: -1})
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "broken", Err: kerr.UnsupportedForMessageFormat, Count: -1})
	got, failed, err := cl.ListOffsets(deadline(t), []partition.ID{{Topic: "t", Partition: 0}, {Topic: "denied", Partition: 0}, {Topic: "broken", Partition: 0}}, Latest, false)
	noError(t, err)
	if _, ok := got[partition.ID{Topic: "t", Partition: 0}]; !ok || len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if d := *as[*ErrDenied](t, failed[partition.ID{Topic: "denied", Partition: 0}]); d != (ErrDenied{"DESCRIBE", "topic", "denied", "A"}) {
		t.Errorf("denied: %+v", d)
	}
	if !errors.Is(failed[partition.ID{Topic: "broken", Partition: 0}], kerr.UnsupportedForMessageFormat) {
		t.Errorf("broken: %v", failed[partition.ID{Topic: "broken", Partition: 0}])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := cl.ListOffsets(ctx, []partition.ID{{Topic: "t", Partition: 0}}, Latest, false); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestOffsetsForEpoch(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	tp := partition.ID{Topic: "t", Partition: 0}
	first := fc.PartitionInfo("t", 0).Epoch
	produce(t, cl, tp, 3)
	noError(t, fc.MoveTopicPartition("t", 0, (fc.LeaderFor("t", 0)+1)%2))
	produce(t, cl, tp, 2)
	second := fc.PartitionInfo("t", 0).Epoch
	if second <= first {
		t.Fatalf("epochs %d and %d", first, second)
	}
	for epoch, want := range map[int32]int64{first: 3, second: 5} {
		got, end, err := cl.OffsetsForEpoch(deadline(t), tp, -1, epoch)
		noError(t, err)
		if got != epoch || end != want {
			t.Errorf("epoch %d ends at %d as epoch %d, want %d", epoch, end, got, want)
		}
	}
	if got, end, err := cl.OffsetsForEpoch(deadline(t), tp, -1, second+10); err != nil || got != -1 || end != -1 {
		t.Errorf("an epoch that is not known: %d, %d, %v", got, end, err)
	}
	if _, _, err := cl.OffsetsForEpoch(deadline(t), tp, second+10, first); !errors.Is(err, kerr.UnknownLeaderEpoch) || ClassifyErr(err) != Retry {
		t.Errorf("a leader behind our metadata: %v", err)
	}
	if _, _, err := cl.OffsetsForEpoch(deadline(t), partition.ID{Topic: "gone", Partition: 0}, -1, 0); !errors.Is(err, ErrNoTopic) {
		t.Errorf("gone: %v", err)
	}
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetForLeaderEpoch}, Topic: "t", Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, _, err := cl.OffsetsForEpoch(deadline(t), tp, -1, first)
	as[*ErrDenied](t, err)
}

// openTransaction leaves one transactional record undecided on tp.
func openTransaction(t *testing.T, c Cluster, tp partition.ID) {
	t.Helper()
	app := open(t, c, kgo.TransactionalID("app"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	noError(t, app.Kgo().BeginTransaction())
	noError(t, app.Kgo().ProduceSync(deadline(t), &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: []byte("v")}).FirstErr())
}
