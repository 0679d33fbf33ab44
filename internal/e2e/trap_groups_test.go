package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
)

// pend leaves a position of a group to an open transaction, as an application does that ends between its commit and the
// end of its transaction.
func (k *raw) pend(txid string, id kafka.Identity, group string, tp partition.ID, offset int64) {
	k.t.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = txid, group, id.ProducerID, id.Epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch = tp.Partition, offset, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(k.t.Context(), k.plain.Kgo())
	if err != nil {
		k.t.Fatal(err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
		k.t.Fatal(err)
	}
}

// finish ends the transaction.
func (k *raw) finish(txid string, id kafka.Identity, commit bool) {
	k.t.Helper()
	if resp := k.endTxn(k.plain, txid, id, commit); resp.ErrorCode != 0 {
		k.t.Fatal(kerr.ErrorForCode(resp.ErrorCode))
	}
	k.until(20*time.Second, "the end of the transaction", func(ctx context.Context) (bool, string) {
		d, err := k.txn(ctx, txid)
		return err == nil && strings.HasPrefix(d.State, "Complete"), fmt.Sprintf("%+v, %v", d, err)
	})
}

// position is what a group has committed.
func (k *raw) position(group string, tp partition.ID) int64 {
	k.t.Helper()
	got, failed, err := k.lane.FetchPositions(k.t.Context(), []string{group}, false)
	if err != nil || failed[group] != nil {
		k.t.Fatal(err, failed[group])
	}
	if c, ok := got[group][tp]; ok {
		return c.Offset
	}
	return -1
}

func (k *raw) commit(group string, tp partition.ID, offset int64) {
	k.t.Helper()
	if refused, err := k.lane.CommitPositions(k.t.Context(), group, map[partition.ID]kafka.Committed{tp: {Offset: offset}}); err != nil || len(refused) > 0 {
		k.t.Fatal(refused, err)
	}
}

// TestTrap08PendingCommit is for T8 and T11: a plain commit erases another application's position that a transaction was
// about to commit, although both are acknowledged. So positions are read with RequireStable, and a pending one holds the
// group.
func TestTrap08PendingCommit(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tp := k.topic("trap08", 1, nil)[0]
	const txid, group = "trap08", "trap08-raw"
	id := k.init(txid)
	k.commit(group, tp, 40)
	k.pend(txid, id, group, tp, 500)
	if at := k.position(group, tp); at != 40 {
		t.Errorf("while the transaction is open the position is %d, it was expected to show the old one, 40", at)
	}
	_, failed, err := k.lane.FetchPositions(t.Context(), []string{group}, true)
	if err != nil || !unstableOnly(failed[group], tp) {
		t.Errorf("read with RequireStable: %v, %v, want UNSTABLE_OFFSET_COMMIT", failed[group], err)
	}
	k.commit(group, tp, 120)
	k.finish(txid, id, true)
	if at := k.position(group, tp); at != 120 {
		t.Errorf("the position is %d, the plain commit of 120 was expected to have erased the transaction's 500", at)
	}

	const topic = "t08-t"
	f := newFlow(t, "trap08", topic, `trap08g.*`, "").onto(suite.target)
	f.topic(topic, 2, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 2, Count: 400})
	for _, g := range []string{"trap08g-commit", "trap08g-abort"} {
		f.commit(g, map[string]map[int32]int64{topic: {0: 20}})
	}
	f.start()
	for _, g := range []string{"trap08g-commit", "trap08g-abort"} {
		f.reaches(g, topic, 0, 20)
	}
	// Partition 0 has a position already; of partition 1, and of group -first, the pending one is the first.
	for _, c := range []struct {
		group     string
		partition int32
		commit    bool
		want      int64
	}{
		{"trap08g-commit", 0, true, 150},
		{"trap08g-abort", 0, false, 100},
		{"trap08g-commit", 1, true, 150},
		{"trap08g-first", 0, true, 150},
		{"trap08g-gone", 0, false, 100},
	} {
		tp := partition.ID{Topic: f.remote(topic), Partition: c.partition}
		before := k.position(c.group, tp)
		id := k.init(txid + c.group)
		k.pend(txid+c.group, id, c.group, tp, 150)
		f.commit(c.group, map[string]map[int32]int64{topic: {c.partition: 100}})
		f.exactOther(topic, fmt.Sprintf("%s-%d", c.group, c.partition)) // the same rounds have seen both
		if at := k.position(c.group, tp); at != before {
			t.Errorf("%s: partition %d went from %d to %d under an open transaction", c.group, c.partition, before, at)
		}
		k.finish(txid+c.group, id, c.commit)
		f.reaches(c.group, topic, c.partition, c.want)
		f.exactOther(topic, fmt.Sprintf("%s-%d-after", c.group, c.partition))
		f.reaches(c.group, topic, c.partition, c.want)
	}
}

func unstableOnly(err error, tp partition.ID) bool {
	e, ok := errors.AsType[*kafka.ErrPartitions](err)
	return ok && len(e.Partitions) == 1 && errors.Is(e.Partitions[tp], kerr.UnstableOffsetCommit)
}

// exactOther waits until another group, committed now, is written, so that the rounds since have looked at all groups.
func (f *flow) exactOther(topic, name string) {
	f.tb.Helper()
	at := spots{}
	at.add(f.alias+"g-other-"+name, topic, 0, 61)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
}

// TestTrap10HalfAGroup: of a group whose positions are committed in two halves a consumer that comes in between takes the
// second half at its reset rule. The whole group goes in one commit, or nothing does.
func TestTrap10HalfAGroup(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tps := k.topic("trap10", 2, nil)
	id := k.init("trap10")
	for _, tp := range tps {
		k.append(tp, k.bytes(id, 0, time.Now(), "old"))
	}
	k.commit("trap10-raw", tps[0], 0)
	m := &member{tb: t, cl: suite.target.Client(t, kgo.ConsumerGroup("trap10-raw"), kgo.ConsumeTopics("trap10"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))}
	if got := m.read(1); string(got[0].Value) != "old" || got[0].Partition != 0 {
		t.Errorf("the first half is read from %v, want its record", got[0])
	}
	if _, err := k.lane.CommitPositions(t.Context(), "trap10-raw", map[partition.ID]kafka.Committed{tps[1]: {Offset: 0}}); !isLive(err) {
		t.Errorf("the second half: %v, want that the group is live", err)
	}
	seq := int32(1)
	k.until(20*time.Second, "a record of the second half", func(ctx context.Context) (bool, string) {
		k.append(tps[1], k.bytes(id, seq, time.Now(), "new"))
		seq++
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		recs := m.cl.PollFetches(short).Records()
		for _, r := range recs {
			if r.Partition == 1 && string(r.Value) == "old" {
				t.Error("the second half was read from its beginning: a half commit does no harm on this broker")
			}
		}
		return len(recs) > 0, ""
	})

	// One topic of the group is held up by records of somebody else in its remote topic.
	const a, b, group = "t10-a", "t10-b", "trap10g"
	f := newFlow(t, "trap10", "t10-.*", "trap10g.*", "").onto(suite.target)
	for _, topic := range []string{a, b} {
		f.topic(topic, 3, nil)
		f.produce(testcluster.Load{Topic: topic, Partitions: 3, Count: 300})
	}
	at := spots{}
	for p := range int32(3) {
		at.add(group, a, p, 10+int64(p))
		at.add(group, b, p, 50+int64(p))
	}
	f.commitAll(at)
	f.emptyRemote(b, 3, nil)
	if err := testcluster.Produce(t.Context(), suite.target.ClientOpts(), testcluster.Load{Topic: f.remote(b), Partitions: 3, Count: 3}); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.stopped(suite.target.Client(t), spot{group, b, 0}, "did not write")
	f.exactOther(a, "while-held")
	for s := range at {
		if x, err := f.position(t.Context(), s.group, s.topic, s.partition); err != nil || x != -1 {
			t.Errorf("%v stands at %d on the target while a part of its group is held up (%v)", s, x, err)
		}
	}
	if res, err := f.dst.DeleteTopics(t.Context(), f.remote(b)); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	f.exact(at, testcluster.ReadCommitted)
	if n := commitsOf(t, suite.target, group); n != 1 {
		t.Errorf("the group's first positions came in %d commits, want 1", n)
	}
}

func isLive(err error) bool {
	_, live := errors.AsType[*kafka.ErrGroupLive](err)
	return live
}

// commitsOf counts the commits that brought the first positions of a group: the coordinator stamps those of one commit
// alike.
func commitsOf(t *testing.T, r *testcluster.Real, group string) int {
	t.Helper()
	recs, err := testcluster.Read(t.Context(), r.Client(t), "__consumer_offsets", testcluster.ReadUncommitted)
	if err != nil {
		t.Fatal(err)
	}
	stamps, seen := map[int64]bool{}, map[string]bool{}
	for _, rec := range recs {
		var key kmsg.OffsetCommitKey
		var value kmsg.OffsetCommitValue
		if rec.Value == nil || key.ReadFrom(rec.Key) != nil || key.Group != group || value.ReadFrom(rec.Value) != nil {
			continue
		}
		if tp := fmt.Sprint(key.Topic, key.Partition); !seen[tp] {
			seen[tp], stamps[value.CommitTimestamp] = true, true
		}
	}
	return len(stamps)
}

// TestTrap13LiveGroups: DescribeGroups calls a live group of KIP-848 dead, and a consumer that uses assign() leaves its
// group Empty. Brokers take commits that go back, lie beyond the end or are negative, even of a group without a name. The
// list of groups says who is alive, and what must not be written is refused by us. How a worker treats live groups is what
// TestCase27ActiveOnTheTarget and TestCase27ActiveByTheNewProtocol show, and TestCase26SimpleAndForeignGroups for assign().
func TestTrap13LiveGroups(t *testing.T) {
	t.Parallel()
	k := newRaw(t, suite.target)
	tp := k.topic("trap13", 1, nil)[0]
	id := k.init("trap13")
	k.append(tp, k.bytes(id, 0, time.Now(), "a"))
	const group, simple = "trap13-new", "trap13-simple"
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = group, "AAAAAAAAAAAAAAAAAAAAAQ", 10_000
	beat.SubscribedTopicNames, beat.Topics = []string{tp.Topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	k.until(20*time.Second, "a member of the group", func(ctx context.Context) (bool, string) { // it may be the first group of the cluster
		joined, err := beat.RequestWith(ctx, k.plain.Kgo())
		return err == nil && joined.ErrorCode == 0, fmt.Sprintf("%+v, %v", joined, err)
	})
	old := kmsg.NewPtrDescribeGroupsRequest()
	old.Groups = []string{group}
	if got, err := old.RequestWith(t.Context(), k.plain.Kgo()); err != nil || got.Groups[0].State != "Dead" || got.Groups[0].ErrorCode != kerr.GroupIDNotFound.Code {
		t.Errorf("DescribeGroups of a live KIP-848 group: %+v, %v, it was expected to be called dead", got, err)
	}
	states, failed, err := k.lane.GroupStates(t.Context(), group)
	if err != nil || len(failed) > 0 || states[group].Type != "consumer" || states[group].State == "Empty" || states[group].State == "Dead" || states[group].State == "" {
		t.Errorf("GroupStates: %+v, %v, %v, want a live group of type consumer", states, failed, err)
	}
	pos := func(offset int64) map[partition.ID]kafka.Committed {
		return map[partition.ID]kafka.Committed{tp: {Offset: offset}}
	}
	if _, err := k.lane.CommitPositions(t.Context(), group, pos(0)); !isLive(err) {
		t.Errorf("a commit to the live group: %v, want that it is live", err)
	}
	beat.MemberEpoch = -1
	if _, err := beat.RequestWith(t.Context(), k.plain.Kgo()); err != nil {
		t.Fatal(err)
	}
	k.until(20*time.Second, "the group to be empty", func(ctx context.Context) (bool, string) {
		states, _, err := k.lane.GroupStates(ctx, group)
		return err == nil && states[group].State == "Empty", fmt.Sprint(states, err)
	})
	k.commit(group, tp, 1)

	adm := kadm.NewClient(suite.target.Client(t))
	for _, offset := range []int64{1, 0, 1000} { // as a consumer with assign() commits: onwards, back, beyond the end
		o := kadm.Offsets{}
		o.AddOffset(tp.Topic, 0, offset, -1)
		if err := adm.CommitAllOffsets(t.Context(), simple, o); err != nil {
			t.Errorf("commit %d: %v", offset, err)
		}
	}
	states, _, err = k.lane.GroupStates(t.Context(), simple)
	if err != nil || states[simple].State != "Empty" || states[simple].ProtocolType != "" {
		t.Errorf("the group of an assign() consumer is %+v, %v, want Empty", states[simple], err)
	}
	k.commit(simple, tp, 1)
	if at := k.position(simple, tp); at != 1 {
		t.Errorf("an outsider's commit left the position at %d", at)
	}
	for _, c := range []struct {
		group  string
		offset int64
	}{{simple, -7}, {"", 1}} {
		if code := k.plainCommit(c.group, tp, c.offset); code != 0 {
			t.Errorf("group %q at %d: %v, the broker was expected to take it", c.group, c.offset, kerr.ErrorForCode(code))
		}
		if _, err := k.lane.CommitPositions(t.Context(), c.group, pos(c.offset)); err == nil {
			t.Errorf("group %q at %d: CommitPositions took it", c.group, c.offset)
		}
	}
}

// plainCommit is one OffsetCommit without any guard.
func (k *raw) plainCommit(group string, tp partition.ID, offset int64) int16 {
	k.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch = tp.Partition, offset, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(k.t.Context(), k.plain.Kgo())
	if err != nil {
		k.t.Fatal(err)
	}
	return resp.Topics[0].Partitions[0].ErrorCode
}
