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
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/internal/testcluster"
)

// byName is a client that names topics by their names in every request: newer versions of OffsetCommit and OffsetFetch
// use topic ids.
func byName(t testing.TB, r *testcluster.Real) *kgo.Client {
	t.Helper()
	return r.Client(t, kgo.MaxVersions(kversion.V3_6_0()))
}

// stored is what a broker keeps for one position, leader epoch and metadata included.
func stored(ctx context.Context, cl *kgo.Client, group, topic string, partition int32) (kmsg.OffsetFetchResponseGroupTopicPartition, error) {
	var none kmsg.OffsetFetchResponseGroupTopicPartition
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return none, err
	}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if t.Topic == topic && p.Partition == partition {
					return p, kerr.ErrorForCode(p.ErrorCode)
				}
			}
		}
	}
	return none, fmt.Errorf("%s has no position of %s-%d (%w)", group, topic, partition, kerr.ErrorForCode(resp.Groups[0].ErrorCode))
}

// TestCase19LeaderEpochAndMetadata: a commit on the target carries no leader epoch, since the source's means nothing
// there and a client would take the log for truncated, and it carries the metadata as it was. Consumers of two
// implementations then start at exactly that place.
func TestCase19LeaderEpochAndMetadata(t *testing.T) {
	t.Parallel()
	const topic = "c19-t"
	f := newFlow(t, "c19", topic, "c19-.*", "")
	f.topic(topic, 1, nil)
	f.transactions(testcluster.Load{Topic: topic, Count: 120}, 3)
	metadata := map[string]string{
		"c19-none": "", "c19-long": strings.Repeat("0123456789abcdef", 256), "c19-utf8": "Gr\u00f6\u00dfe \u65e5\u672c \U0001f30a <a href=\"x\">\u2028&",
	}
	at := spots{}
	for i, group := range []string{"c19-none", "c19-long", "c19-utf8"} {
		c := 60 + int64(i)
		at.add(group, topic, 0, c)
		o := kadm.Offsets{}
		o.Add(kadm.Offset{Topic: topic, Partition: 0, At: c, LeaderEpoch: 7, Metadata: metadata[group]})
		if err := f.src.CommitAllOffsets(t.Context(), group, o); err != nil {
			t.Fatal(err)
		}
	}
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	place := map[string]int64{}
	tcl := byName(t, suite.target)
	for group, want := range metadata {
		got, err := stored(t.Context(), tcl, group, f.remote(topic), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.LeaderEpoch != -1 {
			t.Errorf("%s is committed with leader epoch %d, want none (-1)", group, got.LeaderEpoch)
		}
		if have := str(got.Metadata); have != want {
			t.Errorf("%s is committed with metadata %.40q (%d bytes), want %.40q (%d bytes)", group, have, len(have), want, len(want))
		}
		place[group] = got.Offset
	}
	for _, group := range []string{"c19-none", "c19-utf8"} {
		next := f.firstAt(topic, place[group])
		if got := f.join(group, topic).read(1)[0]; got.Offset != next {
			t.Errorf("franz-go starts %s at offset %d, want %d", group, got.Offset, next)
		}
	}
	got := f.java(map[string]string{"topic": f.remote(topic), "group": "c19-long"}, nil)
	if want := f.firstAt(topic, place["c19-long"]); got[0].offset != want {
		t.Errorf("Java starts c19-long at offset %d, want %d", got[0].offset, want)
	}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// firstAt is the offset of the first committed record at or above an offset of a remote topic's partition 0.
func (f *flow) firstAt(topic string, offset int64) int64 {
	f.tb.Helper()
	for _, r := range f.read(suite.target, f.remote(topic)) {
		if r.Partition == 0 && r.Offset >= offset {
			return r.Offset
		}
	}
	f.tb.Fatalf("%s holds nothing at or above offset %d", f.remote(topic), offset)
	return -1
}

// TestCase25PartitionsWithoutCommit: only what the group committed is committed on the target, and what disappears on
// the source (expiry looks as OffsetDelete does) stays on the target as it is. It is known as gone, and where it expires on the
// target it is committed there again: nothing else knows where the group was.
func TestCase25PartitionsWithoutCommit(t *testing.T) {
	t.Parallel()
	const topic, group = "c25-t", "c25-g"
	f := newFlow(t, "c25", topic, "c25-.*", "")
	f.topic(topic, 4, nil)
	f.produce(testcluster.Load{Topic: topic, Partitions: 4, Count: 200})
	at := spots{}
	at.add(group, topic, 2, 33)
	at.add("c25-all", topic, 0, 11)
	at.add("c25-all", topic, 3, 12)
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)
	for _, p := range []int32{0, 1, 3} {
		if x, err := f.position(t.Context(), group, topic, p); err != nil || x != -1 {
			t.Errorf("partition %d was never committed and stands at %d on the target (%v)", p, x, err)
		}
	}

	gone := kadm.TopicsSet{}
	gone.Add(topic, 2)
	if res, err := f.src.DeleteOffsets(t.Context(), group, gone); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	if res, err := f.src.DeleteGroups(t.Context(), "c25-all"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	tcl := suite.target.Client(t)
	for s := range at {
		f.until(60*time.Second, fmt.Sprintf("the verdict about %v to say that it is gone", s), func(ctx context.Context) (bool, string) {
			r, there, err := row(ctx, tcl, f.alias, s)
			return err == nil && there && !r.GoneAt.IsZero() && r.Verdict.IsExact(), fmt.Sprint(r, err)
		})
	}
	for s, c := range at {
		if x, err := f.position(t.Context(), s.group, topic, s.partition); err != nil || x != c {
			t.Errorf("%v stands at %d on the target after its end on the source, want %d (%v)", s, x, c, err)
		}
	}
	_, errs, code := f.says("groups", "FILE", "c25-all", "--check")
	if code != 3 || !strings.Contains(errs, "gone from the source since ") || !strings.Contains(errs, "; the target holds it") || strings.Contains(errs, "delete-offsets") {
		t.Errorf("groups --check of a group that is gone, exit %d: %s", code, errs)
	}
	if res, err := f.dst.DeleteGroups(t.Context(), "c25-all"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	f.reaches("c25-all", topic, 3, 12)
	f.reaches("c25-all", topic, 0, 11)
}

// joinAs makes a group of another protocol type than "consumer" with one committed position, as a Connect cluster has
// it, and leaves it Empty.
func joinAs(ctx context.Context, cl *kgo.Client, protocol, group, topic string, offset int64) error {
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = group, protocol, 6000, 6000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "default", []byte{0, 0}
	join.Protocols = append(join.Protocols, p)
	joined, err := join.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	if errors.Is(kerr.ErrorForCode(joined.ErrorCode), kerr.MemberIDRequired) {
		join.MemberID = joined.MemberID
		if joined, err = join.RequestWith(ctx, cl); err != nil {
			return err
		}
	}
	if err := kerr.ErrorForCode(joined.ErrorCode); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.Generation, sync.MemberID = group, joined.Generation, joined.MemberID
	sync.ProtocolType, sync.Protocol = &protocol, &p.Name
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = joined.MemberID, []byte{0, 0}
	sync.GroupAssignment = append(sync.GroupAssignment, a)
	synced, err := sync.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(synced.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.Generation, commit.MemberID = group, joined.Generation, joined.MemberID
	ct := kmsg.NewOffsetCommitRequestTopic()
	ct.Topic = topic
	cp := kmsg.NewOffsetCommitRequestTopicPartition()
	cp.Offset = offset
	ct.Partitions = append(ct.Partitions, cp)
	commit.Topics = append(commit.Topics, ct)
	done, err := commit.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(done.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = group, joined.MemberID
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = joined.MemberID
	leave.Members = append(leave.Members, m)
	left, err := leave.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(left.ErrorCode)
	}
	return err
}

// TestCase26SimpleAndForeignGroups: groups that were never joined (assign() and commit) count like all others. Groups
// of other protocol types keep no consumer positions and are left alone, on the source as on the target.
func TestCase26SimpleAndForeignGroups(t *testing.T) {
	t.Parallel()
	const topic = "c26-t"
	f := newFlow(t, "c26", topic, "c26-.*", "")
	log := f.listen()
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 50})
	if err := joinAs(t.Context(), byName(t, suite.source), "connect", "c26-connect", topic, 5); err != nil {
		t.Fatal(err)
	}
	at := spots{}
	at.add("c26-simple", topic, 0, 20)
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)

	// A name that is a consumer group on the source and a Connect cluster on the target.
	if err := joinAs(t.Context(), byName(t, suite.target), "connect", "c26-clash", f.remote(topic), 3); err != nil {
		t.Fatal(err)
	}
	clash := spots{}
	clash.add("c26-clash", topic, 0, 30)
	f.commitAll(clash)
	f.until(30*time.Second, "the clash in the log", func(context.Context) (bool, string) {
		return log.line("group=c26-clash", "refused", "connect"), ""
	})
	at.add("c26-simple", topic, 0, 40)
	f.commitAll(at)
	f.exact(at, testcluster.ReadCommitted)
	if x, err := f.position(t.Context(), "c26-clash", topic, 0); err != nil || x != 3 {
		t.Errorf("the Connect group on the target stands at %d, want its own 3 (%v)", x, err)
	}
	groups, err := f.dst.ListGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := groups["c26-connect"]; ok {
		t.Errorf("the source's Connect group was carried to the target: %+v", g)
	}
}

// TestCase26GroupOnAnInternalTopic: a monitoring tool that also follows __consumer_offsets commits there. That topic is
// never mirrored, which must not hold the positions on the topics that are.
func TestCase26GroupOnAnInternalTopic(t *testing.T) {
	t.Parallel()
	const topic = "c26i-t"
	f := newFlow(t, "c26i", topic, "c26i-.*", "")
	f.topic(topic, 1, nil)
	f.produce(testcluster.Load{Topic: topic, Count: 50})
	at := spots{}
	at.add("c26i-g", topic, 0, 10)
	f.commitAll(at)
	f.commit("c26i-g", map[string]map[int32]int64{"__consumer_offsets": {0: 1}})
	f.start()
	f.exact(at, testcluster.ReadCommitted)
}

// TestCase26Chain: groups that a mirror writes are never joined either. A second flow that carries them on translates
// them from the middle cluster's positions, as it does all others.
func TestCase26Chain(t *testing.T) {
	t.Parallel()
	const topic = "c26x-t"
	f := newFlow(t, "c26x", topic, "c26x-.*", "")
	f.topic(topic, 1, nil)
	f.transactions(testcluster.Load{Topic: topic, Count: 100}, 6)
	at := spots{}
	for _, c := range []int64{0, 7, 50, 99, f.sourceEnd(topic, 0)} {
		at.add(fmt.Sprintf("c26x-%d", c), topic, 0, c)
	}
	f.commitAll(at)
	f.start()
	f.exact(at, testcluster.ReadCommitted)

	// The second flow's source is the first one's target, and its target the first one's source.
	on := newFlow(t, "c26y", "c26x.c26x-t", "c26x-.*", ", emit_heartbeats: false, replicate_heartbeats: false")
	on.rewrite(suite.source.BootstrapString(), "elsewhere:1")
	on.rewrite(suite.target.BootstrapString(), suite.source.BootstrapString())
	on.rewrite("elsewhere:1", suite.target.BootstrapString())
	on.start()
	const far = "c26y.c26x.c26x-t"
	source := f.read(suite.source, topic)
	var arrived []testcluster.Rec
	scl := suite.source.Client(t)
	f.until(60*time.Second, "the copy of the copy", func(ctx context.Context) (bool, string) {
		var err error
		arrived, err = testcluster.Read(ctx, scl, far, testcluster.ReadCommitted)
		return err == nil && len(arrived) >= len(source), fmt.Sprint(len(arrived), err)
	})
	if err := testcluster.Compare(source, arrived).Err(); err != nil {
		t.Error(err)
	}
	ends, err := testcluster.Ends(t.Context(), scl, far, testcluster.ReadUncommitted)
	if err != nil {
		t.Fatal(err)
	}
	for s, c := range at {
		f.until(60*time.Second, s.group+" at the end of the chain", func(ctx context.Context) (bool, string) {
			got, err := f.src.FetchOffsets(ctx, s.group)
			if err != nil {
				return false, err.Error()
			}
			o, ok := got.Lookup(far, 0)
			if !ok {
				return false, "no position"
			}
			err = testcluster.CheckPosition(source, c, arrived, o.At, ends[0])
			return err == nil, fmt.Sprint(err)
		})
	}
}
