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
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/internal/partition"
)

// live starts a consumer of the group and waits until it has joined.
func live(t *testing.T, fc *kfake.Cluster, c Cluster, group string, opts ...kgo.Opt) {
	t.Helper()
	cl := open(t, c, append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics("t")}, opts...)...)
	ctx, cancel := context.WithCancel(t.Context())
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		for ctx.Err() == nil {
			cl.Kgo().PollFetches(ctx)
		}
	}()
	t.Cleanup(func() { cancel(); <-polled })
	_, err := fc.WaitGroupStable(deadline(t), group, 1)
	noError(t, err)
}

func commit(t *testing.T, cl *Client, group string, tp partition.ID, offset int64) {
	t.Helper()
	refused, err := cl.CommitPositions(deadline(t), group, map[partition.ID]Committed{tp: {Offset: offset}})
	noError(t, err)
	if len(refused) != 0 {
		t.Fatalf("refused %v", refused)
	}
}

func TestGroups(t *testing.T) {
	fc, c := fake(t, kfake.SeedTopics(1, "t"))
	cl := open(t, c)
	live(t, fc, c, "classic")
	live(t, fc, c, "next", kgo.ServerSideBalancer())
	for _, g := range []string{"empty-a", "empty-b", "empty-c"} {
		commit(t, cl, g, partition.ID{Topic: "t", Partition: 0}, 1)
	}
	groups, err := cl.Groups(deadline(t))
	noError(t, err)
	want := []Group{
		{ID: "classic", Type: "classic", State: "stable"},
		{ID: "empty-a", Type: "classic", State: "empty"},
		{ID: "empty-b", Type: "classic", State: "empty"},
		{ID: "empty-c", Type: "classic", State: "empty"},
		{ID: "next", Type: "consumer", State: "stable"},
	}
	if len(groups) != len(want) {
		t.Fatalf("got %+v", groups)
	}
	for i, w := range want {
		got := groups[i]
		if got.ID != w.ID || !strings.EqualFold(got.Type, w.Type) || !strings.EqualFold(got.State, w.State) {
			t.Errorf("got  %+v\nwant %+v", got, w)
		}
		if got.Coordinator != fc.CoordinatorFor(w.ID) {
			t.Errorf("%s: coordinator %d, want %d", w.ID, got.Coordinator, fc.CoordinatorFor(w.ID))
		}
	}
	if groups[0].ProtocolType != "consumer" {
		t.Errorf("protocol type %q", groups[0].ProtocolType)
	}
}

func TestGroupsOfAPartlyDeadCluster(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, g := range names {
		commit(t, cl, g, partition.ID{Topic: "t", Partition: 0}, 1)
	}
	bad := fc.CoordinatorFor("a")
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Nodes: []int32{bad}, Err: kerr.UnknownServerError, TopLevel: true, Count: -1})
	groups, err := cl.Groups(deadline(t))
	missing := as[*ErrBrokers](t, err)
	if len(missing.Brokers) != 1 || missing.Brokers[bad] == nil || !strings.Contains(err.Error(), "is not complete: broker ") {
		t.Errorf("the error says %q", err)
	}
	for _, g := range groups {
		if g.Coordinator == bad {
			t.Errorf("group %q of the broker that failed", g.ID)
		}
	}
	listed := 0
	for _, g := range names {
		if fc.CoordinatorFor(g) != bad {
			listed++
		}
	}
	if len(groups) != listed {
		t.Errorf("%d groups of the others, want %d", len(groups), listed)
	}

	// A group of that broker is neither empty nor gone: nothing is known.
	states, failed, err := cl.GroupStates(deadline(t), names...)
	noError(t, err)
	if _, ok := states["a"]; ok || failed["a"] == nil {
		t.Errorf("group a: %+v, %v", states["a"], failed["a"])
	}
	if len(states) != listed {
		t.Errorf("%d states, want %d", len(states), listed)
	}
}

func TestGroupsCannotBeListed(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, TopLevel: true, Count: -1})
	_, err := cl.Groups(deadline(t))
	if got := *as[*ErrDenied](t, err); got != (ErrDenied{"DESCRIBE", "cluster", "", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	_, _, err = cl.GroupStates(deadline(t), "g")
	if ClassifyErr(err) == OK {
		t.Error("states without a list")
	}
	cl = open(t, Cluster{Alias: "B", Bootstrap: []string{closedPort(t)}})
	_, err = cl.Groups(deadline(t))
	as[*ErrUnreachable](t, err)
}

func TestGroupStates(t *testing.T) {
	fc, c := fake(t, kfake.SeedTopics(1, "t"))
	cl := open(t, c)
	live(t, fc, c, "classic")
	live(t, fc, c, "next", kgo.ServerSideBalancer())
	commit(t, cl, "empty", partition.ID{Topic: "t", Partition: 0}, 1)
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Group: "denied", Err: kerr.GroupAuthorizationFailed, Count: -1})
	states, failed, err := cl.GroupStates(deadline(t), "classic", "next", "empty", "never", "denied")
	noError(t, err)
	for id, state := range map[string]string{"classic": "stable", "next": "stable", "empty": "empty", "never": ""} {
		g, ok := states[id]
		if !ok || !strings.EqualFold(g.State, state) || g.ID != id {
			t.Errorf("%s: %+v (known %v, %v)", id, g, ok, failed[id])
		}
	}
	if got := *as[*ErrDenied](t, failed["denied"]); got != (ErrDenied{"DESCRIBE", "group", "denied", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	if len(failed) != 1 {
		t.Errorf("failed: %v", failed)
	}
	if states, failed, err := cl.GroupStates(deadline(t)); err != nil || len(states)+len(failed) != 0 {
		t.Errorf("no groups: %v %v %v", states, failed, err)
	}
}

// Before 2.6 the list has no states, before 3.8 no types.
func TestGroupsOfOldBrokers(t *testing.T) {
	_, older := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.MaxVersions(kversion.V3_0_0()))
	cl := open(t, older)
	commit(t, cl, "g", partition.ID{Topic: "t", Partition: 0}, 1)
	groups, err := cl.Groups(deadline(t))
	noError(t, err)
	if len(groups) != 1 || groups[0].Type != "" || !strings.EqualFold(groups[0].State, "empty") {
		t.Errorf("3.0: %+v", groups)
	}

	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.MaxVersions(kversion.V2_5_0()))
	cl = open(t, c)
	commit(t, cl, "g", partition.ID{Topic: "t", Partition: 0}, 1)
	live(t, fc, c, "alive", kgo.Balancers(kgo.RangeBalancer()))
	states, failed, err := cl.GroupStates(deadline(t), "g", "alive", "never")
	noError(t, err)
	if len(failed) != 0 || !strings.EqualFold(states["g"].State, "empty") || !strings.EqualFold(states["alive"].State, "stable") ||
		states["never"].State != "" {
		t.Errorf("2.5: %+v, %v", states, failed)
	}
}

func TestCoordinatorsMove(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	groups := []string{"a", "b", "c", "d", "e", "f"}
	for i, g := range groups {
		commit(t, cl, g, partition.ID{Topic: "t", Partition: 0}, int64(i))
	}
	moved := func() bool {
		was := map[string]int32{}
		for _, g := range groups {
			was[g] = fc.CoordinatorFor(g)
		}
		fc.RehashCoordinators()
		for _, g := range groups {
			if fc.CoordinatorFor(g) != was[g] {
				return true
			}
		}
		return false
	}
	for tries := 0; !moved(); tries++ {
		if tries > 50 {
			t.Fatal("no coordinator moves")
		}
	}
	for i, g := range groups {
		commit(t, cl, g, partition.ID{Topic: "t", Partition: 0}, int64(i+10))
	}
	pos, failed, err := cl.FetchPositions(deadline(t), groups, true)
	noError(t, err)
	if len(failed) != 0 {
		t.Fatal(failed)
	}
	for i, g := range groups {
		if got := pos[g][partition.ID{Topic: "t", Partition: 0}].Offset; got != int64(i+10) {
			t.Errorf("group %s is at %d", g, got)
		}
	}
}

func TestGroupErrorsAreTyped(t *testing.T) {
	cl := &Client{cluster: Cluster{Alias: "A"}}
	if err := cl.groupError("g", "READ", 0); err != nil {
		t.Error(err)
	}
	as[*ErrGroupLive](t, cl.groupError("g", "READ", kerr.RebalanceInProgress.Code))
	err := cl.groupError("g", "READ", kerr.InvalidGroupID.Code)
	if !errors.Is(err, kerr.InvalidGroupID) || !strings.Contains(err.Error(), `group "g" on cluster A`) {
		t.Error(err)
	}
}

func TestGroupStatesWithoutACoordinator(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	commit(t, cl, "empty", partition.ID{Topic: "t", Partition: 0}, 1)
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Group: "denied", Err: kerr.GroupAuthorizationFailed, Count: -1})
	fc.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, id := range r.(*kmsg.DescribeGroupsRequest).Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.State = id, "Stable"
			if id != "silent" {
				resp.Groups = append(resp.Groups, g)
			}
		}
		return resp, nil, true
	})
	states, failed, err := cl.GroupStates(deadline(t), "empty", "denied", "silent", "newborn")
	noError(t, err)
	as[*ErrDenied](t, failed["denied"])
	if failed["silent"] == nil || !strings.Contains(failed["silent"].Error(), "left it out") || len(failed) != 2 {
		t.Errorf("failed: %v", failed)
	}
	// The list is believed where it answers; a group that came since is not
	// called missing.
	if !strings.EqualFold(states["empty"].State, "empty") || states["newborn"].State != "Stable" {
		t.Errorf("states: %+v", states)
	}
}
