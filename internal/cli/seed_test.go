package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// The seed is what a run of A->B with 4 lanes could have left, with one of each thing that can be wrong:
//
//	orders-0   running, mirrored to 10, one record behind
//	orders-1   stopped by its owner
//	orders-2   a block of its offset map is missing
//	audit-0    its head is damaged
//	fresh-0    selected, and the ledger knows nothing about it
//
// Times are fixed, so that they can stand in goldens.

// seedTime is when the seed was written.
var seedTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const seedLanes = 4

func client(conn []kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, conn...)...)
}

func produceNumbers(ctx context.Context, conn []kgo.Opt, topic string, partition int32, n int) error {
	cl, err := client(conn)
	if err != nil {
		return err
	}
	defer cl.Close()
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "seq=%d", i)}, nil)
	}
	return cl.Flush(ctx)
}

func cmdSeed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "mirrormaker" {
		ts.Fatalf("usage: seed [mirrormaker]")
	}
	ctx, cancel := patience()
	defer cancel()
	source, target := pair(ts).Source.ClientOpts(), pair(ts).Target.ClientOpts()
	if len(args) == 1 {
		ts.Check(seedMirrorMaker(ctx, source, target))
		return
	}
	ts.Check(errors.Join(seedTopics(ctx, source, target), seedGroups(ctx, source), seedMM2(ctx, source, target)))
	ts.Check(seedLedger(ctx, target))
	ts.Check(seedVerdicts(ctx, target))
}

func seedTopics(ctx context.Context, source, target []kgo.Opt) error {
	compact := map[string]string{"cleanup.policy": "compact"}
	errs := []error{
		testcluster.CreateTopic(ctx, source, "orders", 3, nil),
		testcluster.CreateTopic(ctx, source, "audit", 1, nil),
		testcluster.CreateTopic(ctx, source, "fresh", 1, nil),
		testcluster.CreateTopic(ctx, source, "app.internal", 1, nil),
		testcluster.CreateTopic(ctx, source, "mm2-offset-syncs.B.internal", 1, compact),
		testcluster.CreateTopic(ctx, target, "A.orders", 3, nil),
		testcluster.CreateTopic(ctx, target, "A.audit", 1, nil),
		testcluster.CreateTopic(ctx, target, "A.checkpoints.internal", 1, compact),
		testcluster.CreateTopic(ctx, target, "heartbeats", 1, compact),
		testcluster.CreateTopic(ctx, target, "tidemark-ledger.A.internal", seedLanes, compact),
		testcluster.CreateTopic(ctx, target, "tidemark-verdicts.A.internal", seedLanes, compact),
		produceNumbers(ctx, source, "orders", 0, 11),
		produceNumbers(ctx, source, "orders", 1, 5),
		produceNumbers(ctx, source, "orders", 2, 40),
		produceNumbers(ctx, target, "A.orders", 0, 10),
		produceNumbers(ctx, target, "A.orders", 1, 3),
		produceNumbers(ctx, target, "A.orders", 2, 36),
		produceNumbers(ctx, target, "A.audit", 0, 1),
	}
	return errors.Join(errs...)
}

// put writes records with fixed times.
func put(ctx context.Context, conn []kgo.Opt, topic string, recs ...*kgo.Record) error {
	cl, err := client(conn)
	if err != nil {
		return err
	}
	defer cl.Close()
	for i, r := range recs {
		r.Topic, r.Timestamp = topic, seedTime.Add(time.Duration(i)*time.Second)
	}
	return cl.ProduceSync(ctx, recs...).FirstErr()
}

func seedLedger(ctx context.Context, conn []kgo.Opt) error {
	var recs []*kgo.Record
	add := func(lane int32, key ledger.Key, value []byte) {
		recs = append(recs, &kgo.Record{Partition: lane, Key: []byte(key.String()), Value: value})
	}
	add(0, ledger.Key{Kind: ledger.KindMeta}, ledger.Meta{Lanes: seedLanes, Hash: ledger.HashName, SourceCluster: "kfake-source", TargetCluster: "kfake-target"}.Encode())
	for lane := range int32(seedLanes) {
		add(lane, ledger.Key{Kind: ledger.KindClaim}, ledger.Claim{
			ProducerID: 4000 + int64(lane), Epoch: 3, TransactionalID: fmt.Sprintf("tidemark.A->B.lane.%d", lane),
			Owner: "mirror1 pid 17 since 2026-01-02T03:00:00Z", Released: lane != 1, At: seedTime,
		}.Encode())
	}
	head := func(topic string, partition int32, state ledger.State, reason string, sourceEnd offsetmap.SourceOffset, m *offsetmap.Map) {
		key := ledger.Key{Kind: ledger.KindHead, Topic: topic, Partition: partition}
		value := ledger.Head{
			RemoteTopic: "A." + topic, State: state, Reason: reason, ProducerID: 4000, Epoch: 3, Sequence: 7,
			Map: m.AppendTail(nil), SourceEnd: sourceEnd, At: seedTime.Add(time.Hour),
		}.Encode()
		if topic == "audit" {
			value[len(value)-1] ^= 1
		}
		add(ledger.LaneOf(topic, partition, seedLanes), key, value)
	}
	plain, err := seedMap(offsetmap.Run{Count: 10})
	if err != nil {
		return err
	}
	stopped, err := seedMap(offsetmap.Run{Count: 3})
	if err != nil {
		return err
	}
	holes, err := seedMap(offsetmap.Run{Count: 10}, offsetmap.Run{Source: 12, Target: 10, Count: 10}, offsetmap.Run{Source: 24, Target: 20, Count: 16})
	if err != nil {
		return err
	}
	if _, ok := holes.Seal(); !ok {
		return errors.New("nothing to seal") // the block is not written
	}
	head("orders", 0, ledger.Running, "", 11, plain)
	head("orders", 1, ledger.Stopped, "the target refuses records of more than 1048576 bytes", 5, stopped)
	head("orders", 2, ledger.Running, "", 40, holes)
	head("audit", 0, ledger.Running, "", 1, plain)
	return put(ctx, conn, "tidemark-ledger.A.internal", recs...)
}

func seedMap(runs ...offsetmap.Run) (*offsetmap.Map, error) {
	m := offsetmap.New(offsetmap.Origin{SourceCluster: "kfake-source"})
	for _, r := range runs {
		if err := m.Append(r); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func seedVerdicts(ctx context.Context, conn []kgo.Opt) error {
	id := hex.EncodeToString(make([]byte, 16))
	var recs []*kgo.Record
	row := func(group, topic string, partition int32, committed, end int64, metadata string, v translate.Verdict) error {
		key := verdicts.Key{Group: group, Topic: topic, Partition: partition}
		value, err := verdicts.Row{
			RemoteTopic: "A." + topic, SourceTopic: id, TargetTopic: id, Committed: committed, CommitAt: -1, Metadata: metadata,
			ClaimEpoch: 3, SourceEnd: end, Verdict: v, At: seedTime,
		}.EncodeRow()
		recs = append(recs, &kgo.Record{Partition: ledger.GroupLane(group, seedLanes), Key: key.EncodeKey(), Value: value})
		return err
	}
	none := func(k translate.Kind, reason string) translate.Verdict {
		return translate.Verdict{Kind: k, Target: translate.NoPosition, Reason: reason}
	}
	errs := []error{
		row("billing", "orders", 0, 4, 10, "m1", translate.Verdict{Kind: translate.Exact, Target: 4}),
		row("billing", "orders", 1, 2, 5, "", none(translate.PartitionStopped, "the target refuses records of more than 1048576 bytes")),
		row("billing", "orders", 2, 30, 40, "", translate.Verdict{Kind: translate.Bounded, Target: 10, N: 18, Reason: "a part of the offset map is missing"}),
		row("reports", "orders", 0, 10, 10, "", translate.Verdict{Kind: translate.AtEnd, Target: 10}),
		row("gone", "orders", 0, 1, 10, "", translate.Verdict{Kind: translate.Exact, Target: 1}),
	}
	recs = append(recs,
		&kgo.Record{Partition: ledger.GroupLane("gone", seedLanes), Key: verdicts.Key{Group: "gone", Topic: "orders"}.EncodeKey()},
		&kgo.Record{Partition: 0, Key: []byte(`["billing","orders"]`), Value: []byte("{}")})
	return errors.Join(append(errs, put(ctx, conn, "tidemark-verdicts.A.internal", recs...))...)
}

func seedGroups(ctx context.Context, conn []kgo.Opt) error {
	cl, err := client(conn)
	if err != nil {
		return err
	}
	defer cl.Close()
	for group, at := range map[string]map[int32]int64{
		"billing": {0: 4, 1: 2, 2: 30}, "reports": {0: 11}, "late": {0: 7}, "console-42": {0: 1},
	} {
		o := kadm.Offsets{}
		for p, offset := range at {
			o.AddOffset("orders", p, offset, -1)
		}
		if err := kadm.NewClient(cl).CommitAllOffsets(ctx, group, o); err != nil {
			return err
		}
	}
	return nil
}

// record is one of MirrorMaker 2's. Those of the seeds are well-formed.
func record(r mm2.Record) *kgo.Record {
	key, kerr := r.AppendKey(nil)
	value, verr := r.AppendValue(nil)
	if err := errors.Join(kerr, verr); err != nil {
		panic(err)
	}
	return &kgo.Record{Key: key, Value: value}
}

func seedMM2(ctx context.Context, source, target []kgo.Opt) error {
	bad := &kgo.Record{Key: []byte(strings.Repeat("x", 3)), Value: []byte("y")}
	return errors.Join(
		put(ctx, target, "A.checkpoints.internal",
			record(mm2.Checkpoint{Group: "billing", Topic: "A.orders", Partition: 0, Upstream: 3, Downstream: 3}),
			record(mm2.Checkpoint{Group: "billing", Topic: "A.orders", Partition: 0, Upstream: 4, Downstream: 4, Metadata: "m1"}), bad),
		put(ctx, target, "heartbeats", record(mm2.Heartbeat{Source: "A", Target: "B", Timestamp: seedTime.UnixMilli()})),
		put(ctx, source, "mm2-offset-syncs.B.internal", record(mm2.OffsetSync{Topic: "orders", Partition: 0, Upstream: 9, Downstream: 9})))
}
