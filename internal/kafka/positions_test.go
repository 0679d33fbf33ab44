package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/internal/partition"
)

func TestCommitAndFetch(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(3, "t", "u"))
	want := map[partition.ID]Committed{
		{Topic: "t", Partition: 0}: {Offset: 0, LeaderEpoch: 7},
		{Topic: "t", Partition: 2}: {Offset: 1 << 40, Metadata: "text"},
		{Topic: "u", Partition: 1}: {Offset: 5},
	}
	refused, err := cl.CommitPositions(deadline(t), "g", want)
	noError(t, err)
	if len(refused) != 0 {
		t.Fatalf("refused %v", refused)
	}
	for topic, parts := range fc.GroupInfo("g").Commits {
		for p, got := range parts {
			if got.LeaderEpoch != -1 {
				t.Errorf("%s-%d carries leader epoch %d of another cluster", topic, p, got.LeaderEpoch)
			}
		}
	}
	pos, failed, err := cl.FetchPositions(deadline(t), []string{"g", "never", "g"}, true)
	noError(t, err)
	if len(failed) != 0 || len(pos) != 2 || len(pos["never"]) != 0 || pos["never"] == nil {
		t.Errorf("positions %v, failed %v", pos, failed)
	}
	if len(pos["g"]) != len(want) {
		t.Fatalf("positions %v", pos["g"])
	}
	for tp, w := range want {
		got := pos["g"][tp]
		if got.Offset != w.Offset || got.Metadata != w.Metadata || got.LeaderEpoch != -1 {
			t.Errorf("%v: got %+v, want %+v", tp, got, w)
		}
	}
}

func TestManyGroupsInFewRequests(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(3), kfake.SeedTopics(2, "t"))
	groups := make([]string, 1000)
	for i := range groups {
		groups[i] = fmt.Sprintf("g%04d", i)
		_, err := cl.CommitPositions(deadline(t), groups[i], map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: int64(i)}, {Topic: "t", Partition: 1}: {Offset: 1}})
		noError(t, err)
	}
	fresh := open(t, cl.Cluster()) // knows no coordinator yet
	seen := fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch, kmsg.FindCoordinator}, Count: -1, Observe: true})
	pos, failed, err := fresh.FetchPositions(deadline(t), groups, true)
	noError(t, err)
	if len(pos) != 1000 || len(failed) != 0 {
		t.Fatalf("%d groups, failed %v", len(pos), failed)
	}
	for i, g := range groups {
		if pos[g][partition.ID{Topic: "t", Partition: 0}].Offset != int64(i) || len(pos[g]) != 2 {
			t.Fatalf("group %s: %v", g, pos[g])
		}
	}
	// Two rounds of 500 groups: one search for coordinators and one fetch from
	// each of three brokers.
	if seen.Hits() > 8 {
		t.Errorf("%d requests for 1000 groups", seen.Hits())
	}
}

// Before 3.0 a request names one group.
func TestFetchFromOldBrokers(t *testing.T) {
	_, c := fake(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"), kfake.MaxVersions(kversion.V2_8_0()))
	cl := open(t, c)
	groups := []string{"a", "b", "c", "d"}
	for i, g := range groups {
		commit(t, cl, g, partition.ID{Topic: "t", Partition: 0}, int64(i))
	}
	pos, failed, err := cl.FetchPositions(deadline(t), groups, true)
	noError(t, err)
	for i, g := range groups {
		if got, ok := pos[g][partition.ID{Topic: "t", Partition: 0}]; !ok || got.Offset != int64(i) || failed[g] != nil {
			t.Errorf("group %s: %v, %v", g, pos[g], failed[g])
		}
	}
}

func TestCommitToALiveGroup(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{"classic": nil, "KIP-848": {kgo.ServerSideBalancer()}} {
		t.Run(name, func(t *testing.T) {
			fc, c := fake(t, kfake.SeedTopics(1, "t"))
			live(t, fc, c, "g", opts...)
			_, err := open(t, c).CommitPositions(deadline(t), "g", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: 9}})
			e := as[*ErrGroupLive](t, err)
			if e.Group != "g" || e.Cluster != "A" || ClassifyErr(err) != Live {
				t.Errorf("class %v: %v", ClassifyErr(err), err)
			}
			if got, ok := fc.GroupInfo("g").Commits["t"][0]; ok && got.Offset == 9 {
				t.Error("the position was written all the same")
			}
		})
	}
}

func TestCommitGuards(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(1, "t"))
	seen := observe(fc, kmsg.OffsetCommit)
	for name, call := range map[string]func() (map[partition.ID]error, error){
		"no name": func() (map[partition.ID]error, error) {
			return cl.CommitPositions(deadline(t), "", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {}})
		},
		"negative offset": func() (map[partition.ID]error, error) {
			return cl.CommitPositions(deadline(t), "g", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: -1}})
		},
	} {
		if _, err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if refused, err := cl.CommitPositions(deadline(t), "g", nil); err != nil || len(refused) != 0 {
		t.Errorf("nothing to commit: %v, %v", refused, err)
	}
	if seen.Hits() != 0 {
		t.Errorf("%d requests were sent", seen.Hits())
	}
}

func TestOneBadPartitionDoesNotStopACommit(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(1, "t", "u", "v"))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: "u", Err: kerr.TopicAuthorizationFailed, Count: -1})
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: "v", Err: kerr.OffsetMetadataTooLarge, Count: -1})
	refused, err := cl.CommitPositions(deadline(t), "g", map[partition.ID]Committed{
		{Topic: "t", Partition: 0}: {Offset: 1}, {Topic: "u", Partition: 0}: {Offset: 2}, {Topic: "v", Partition: 0}: {Offset: 3}, {Topic: "gone", Partition: 0}: {Offset: 4},
	})
	noError(t, err)
	if got := *as[*ErrDenied](t, refused[partition.ID{Topic: "u", Partition: 0}]); got != (ErrDenied{"READ", "topic", "u", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	if !errors.Is(refused[partition.ID{Topic: "v", Partition: 0}], kerr.OffsetMetadataTooLarge) || !errors.Is(refused[partition.ID{Topic: "gone", Partition: 0}], ErrNoTopic) || len(refused) != 3 {
		t.Errorf("refused %v", refused)
	}
	if fc.GroupInfo("g").Commits["t"][0].Offset != 1 {
		t.Error("the good partition was not committed")
	}
}

func TestCommitErrors(t *testing.T) {
	for _, c := range []struct {
		code  *kerr.Error
		class Class
	}{
		{kerr.GroupAuthorizationFailed, Denied},
		{kerr.GroupIDNotFound, Stop}, // what a share group answers
		{kerr.IllegalGeneration, Live},
		{kerr.RebalanceInProgress, Live},
		{kerr.FencedInstanceID, Live},
		{kerr.InvalidGroupID, Stop},
	} {
		t.Run(c.code.Message, func(t *testing.T) {
			fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
			fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "g", Err: c.code, Count: -1})
			_, err := cl.CommitPositions(deadline(t), "g", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: 1}})
			if got := ClassifyErr(err); got != c.class {
				t.Errorf("class %v, want %v: %v", got, c.class, err)
			}
			if err == nil || !strings.Contains(err.Error(), `"g"`) || !strings.Contains(err.Error(), "cluster A") {
				t.Errorf("the error says %q", err)
			}
		})
	}
}

func TestFetchNeverTakesUnstableForStable(t *testing.T) {
	_, c := fake(t, kfake.SeedTopics(1, "t"))
	cl := open(t, c)
	commit(t, cl, "g", partition.ID{Topic: "t", Partition: 0}, 5)
	pendingCommit(t, c, "g", partition.ID{Topic: "t", Partition: 0}, 50)
	pos, failed, err := cl.FetchPositions(deadline(t), []string{"g"}, true)
	noError(t, err)
	bad := as[*ErrPartitions](t, failed["g"])
	if !errors.Is(bad.Partitions[partition.ID{Topic: "t", Partition: 0}], kerr.UnstableOffsetCommit) || ClassifyErr(bad) != Retry {
		t.Errorf("failed: %v", failed["g"])
	}
	if got, ok := pos["g"][partition.ID{Topic: "t", Partition: 0}]; ok {
		t.Errorf("an unstable position is answered as %v", got)
	}
	pos, failed, err = cl.FetchPositions(deadline(t), []string{"g"}, false)
	noError(t, err)
	if pos["g"][partition.ID{Topic: "t", Partition: 0}].Offset != 5 || len(failed) != 0 {
		t.Errorf("without RequireStable: %v, %v", pos["g"], failed)
	}
}

// TestNamedPositions: a group that names partitions is asked about them only, one that names none about all.
func TestNamedPositions(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(3, "t", "u"))
	for _, g := range []string{"g", "h"} {
		for _, tp := range []partition.ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}, {Topic: "u", Partition: 2}} {
			commit(t, cl, g, tp, 5)
		}
	}
	var asked map[string]string
	fc.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		asked = map[string]string{}
		for _, g := range r.(*kmsg.OffsetFetchRequest).Groups {
			for _, rt := range g.Topics {
				asked[g.Group] += fmt.Sprint(rt.Topic, rt.Partitions)
			}
		}
		return nil, nil, false
	})
	pos, failed, err := cl.FetchPositionsOf(deadline(t), map[string][]partition.ID{"g": {{Topic: "t", Partition: 1}, {Topic: "u", Partition: 0}, {Topic: "t", Partition: 2}}, "h": nil}, true)
	noError(t, err)
	if len(failed) != 0 || len(pos["g"]) != 1 || pos["g"][partition.ID{Topic: "t", Partition: 1}].Offset != 5 || len(pos["h"]) != 3 {
		t.Errorf("positions %v, failed %v", pos, failed)
	}
	if len(asked) != 1 || asked["g"] != "t[1 2]u[0]" {
		t.Errorf("asked about %v", asked)
	}
}

// pendingCommit leaves a transactional commit undecided.
func pendingCommit(t *testing.T, c Cluster, group string, tp partition.ID, offset int64) {
	t.Helper()
	app, id := lane(t, c)
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "lane", id.ProducerID, id.Epoch, group
	added, err := add.RequestWith(deadline(t), app.Kgo())
	noError(t, err)
	noError(t, kerr.ErrorForCode(added.ErrorCode))
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = "lane", id.ProducerID, id.Epoch, group
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset = tp.Partition, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(deadline(t), app.Kgo())
	noError(t, err)
	noError(t, kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode))
}

func TestOneDeniedGroupDoesNotHideOthers(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	commit(t, cl, "good", partition.ID{Topic: "t", Partition: 0}, 3)
	answer(fc, func(req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = g.Group
			switch g.Group {
			case "denied":
				rg.ErrorCode = kerr.GroupAuthorizationFailed.Code
			case "unknown":
				rg.ErrorCode = kerr.GroupIDNotFound.Code
			case "silent":
				continue
			}
			resp.Groups = append(resp.Groups, rg)
		}
	})
	pos, failed, err := cl.FetchPositions(deadline(t), []string{"good", "denied", "unknown", "silent"}, false)
	noError(t, err)
	if got := *as[*ErrDenied](t, failed["denied"]); got != (ErrDenied{"DESCRIBE", "group", "denied", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	if pos["good"] == nil || pos["unknown"] == nil || pos["denied"] != nil {
		t.Errorf("positions %v", pos)
	}
	if failed["silent"] == nil || !strings.Contains(failed["silent"].Error(), "left it out") || len(failed) != 2 {
		t.Errorf("failed %v", failed)
	}
}

func TestFetchFromNobody(t *testing.T) {
	cl := open(t, Cluster{Alias: "A", Bootstrap: []string{closedPort(t)}})
	_, _, err := cl.FetchPositions(deadline(t), []string{"g", "h"}, false)
	as[*ErrUnreachable](t, err)
	_, good := fakeClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := good.FetchPositions(ctx, []string{"g"}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if pos, failed, err := good.FetchPositions(deadline(t), nil, false); err != nil || len(pos)+len(failed) != 0 {
		t.Errorf("no groups: %v %v %v", pos, failed, err)
	}
}

func TestOneBadPartitionDoesNotHideOthers(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
	answer(fc, func(_ *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic = "t"
		for p, code := range []int16{0, kerr.UnstableOffsetCommit.Code, 0} {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.ErrorCode = int32(p), int64(7-8*(p/2)), code // 7, 7, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group, rg.Topics = "g", append(rg.Topics, rt)
		resp.Groups = append(resp.Groups, rg)
	})
	pos, failed, err := cl.FetchPositions(deadline(t), []string{"g"}, true)
	noError(t, err)
	if want := (Committed{Offset: 7, LeaderEpoch: -1}); len(pos["g"]) != 1 || pos["g"][partition.ID{Topic: "t", Partition: 0}] != want {
		t.Errorf("positions %+v", pos["g"])
	}
	if bad := as[*ErrPartitions](t, failed["g"]); len(bad.Partitions) != 1 || bad.Partitions[partition.ID{Topic: "t", Partition: 1}] == nil {
		t.Errorf("failed: %v", failed["g"])
	}
}
