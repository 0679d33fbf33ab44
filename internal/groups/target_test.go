package groups

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
)

// TestCase27LiveGroupOnTarget: a group with members on the target is left alone, says so, and is written again when they
// are gone, from where they left it.
func TestCase27LiveGroupOnTarget(t *testing.T) {
	f := newFix(t)
	write := counts(f.dst, kmsg.OffsetCommit)
	f.others("g", orders(0), 50, 0)
	leave := join(t, f.dst, f.target, "g", "A.orders")
	n := write.Hits()
	for i := range int64(3) {
		f.commit("g", orders(0), 20+i)
		f.commit("g", orders(1), 20+i)
		f.poll()
		f.judge("g", orders(0), 20+i, exact(30+i))
		f.judge("g", orders(1), 20+i, exact(30+i))
		f.clock.pass(retry)
		f.round()
		if s := f.state("g", translate.Active); s.GroupState != "Stable" {
			t.Errorf("the state on the target is %q, want Stable", s.GroupState)
		}
	}
	if write.Hits() != n {
		t.Errorf("%d commits for a group with members", write.Hits()-n)
	}
	leave()
	await(t, "the group to be empty", func() bool { return listed(t, f.target, "g").State == "Empty" })
	f.clock.pass(retry)
	f.round()
	f.want("g", orders(0), 50) // its own, ahead of ours
	f.want("g", orders(1), 32)
}

// TestCase4Flapping: whatever a target group does between two rounds, its own progress is never lowered.
func TestCase4Flapping(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 1000)
	f.poll()
	f.judge("g", orders(0), 1000, exact(1000))
	f.round()
	f.want("g", orders(0), 1000)
	for i := range int64(5) {
		leave := join(t, f.dst, f.target, "g", "A.orders")
		f.clock.pass(retry)
		f.round()
		leave()
		f.others("g", orders(0), 5000+i, 0)
		f.clock.pass(recheck)
		f.poll()
		f.round()
		f.want("g", orders(0), 5000+i)
		f.state("g", translate.TargetAhead)
	}
}

// TestJoinedInBetween: a member that joins between the look and the commit is found by the broker, and the group is live
// and not in trouble.
func TestJoinedInBetween(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	fault := f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownMemberID})
	f.round()
	if fault.Hits() != 1 {
		t.Fatal("no commit was tried")
	}
	f.state("g", translate.Active)
	f.clock.pass(retry)
	f.round()
	f.want("g", orders(0), 11)
}

// TestPartialFailure: a partition that the target refuses is in the state, is tried again alone, and does not make the
// others strangers.
func TestPartialFailure(t *testing.T) {
	f := newFix(t)
	for p := range int32(3) {
		f.commit("g", orders(p), 10)
		f.judge("g", orders(p), 10, exact(11))
	}
	f.poll()
	f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: "A.orders", Partitions: []int32{1}, Err: kerr.OffsetMetadataTooLarge})
	f.round()
	s := f.state("g", translate.Refused)
	if !strings.Contains(s.Reason, "A.orders-1") || !strings.Contains(s.Reason, "OFFSET_METADATA_TOO_LARGE") {
		t.Errorf("the reason %q does not say what was refused", s.Reason)
	}
	f.want("g", orders(0), 11)
	f.want("g", orders(1), -1)
	if _, known := f.owner.groups["g"].wrote[partition.ID{Topic: "A.orders", Partition: 1}]; known {
		t.Error("a refused commit is remembered as ours")
	}
	f.clock.pass(retry)
	f.round()
	f.want("g", orders(1), -1) // such a refusal does not pass in a second
	f.clock.pass(recheck)
	f.round()
	f.want("g", orders(1), 11)
	f.commit("g", orders(0), 5)
	f.poll()
	f.judge("g", orders(0), 5, exact(6))
	f.round()
	f.want("g", orders(0), 6) // reset on the source: the first commit was known as ours
}

// TestDenied: a refusal for want of rights is the group's state, with the right that is missing.
func TestDenied(t *testing.T) {
	f := newFix(t)
	for _, g := range []string{"g", "other"} {
		f.commit(g, orders(0), 10)
		f.judge(g, orders(0), 10, exact(11))
	}
	f.poll()
	f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "g", Err: kerr.GroupAuthorizationFailed, Count: -1})
	f.round()
	if s := f.state("g", translate.Refused); !strings.Contains(s.Reason, `READ on group "g" is missing`) {
		t.Errorf("the reason is %q", s.Reason)
	}
	f.want("other", orders(0), 11)
	f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "other", Err: kerr.GroupAuthorizationFailed, Count: 1})
	f.commit("other", orders(0), 20)
	f.poll()
	f.judge("other", orders(0), 20, exact(22))
	f.round()
	if s := f.state("other", translate.Refused); !strings.Contains(s.Reason, `DESCRIBE on group "other" is missing`) {
		t.Errorf("the reason is %q", s.Reason)
	}
	f.want("other", orders(0), 11)
}

// TestTargetDoesNotAnswer: what could not be read in this round is not written, the rest is, and all is made up for
// later (field case 4).
func TestTargetDoesNotAnswer(t *testing.T) {
	f := newFix(t, kfake.NumBrokers(2))
	var here, there string // groups of two coordinators
	for i := 0; here == "" || there == ""; i++ {
		g := fmt.Sprintf("g%d", i)
		if f.dst.CoordinatorFor(g) == 0 {
			here = g
		} else {
			there = g
		}
	}
	news := func(to int64) {
		for _, g := range []string{here, there} {
			f.commit(g, orders(0), to)
			f.judge(g, orders(0), to, exact(to))
		}
		f.poll()
	}
	news(10)
	f.round()

	write := counts(f.dst, kmsg.OffsetCommit)
	fault := f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	news(20)
	if err := f.owner.Round(f.ctx()); err == nil {
		t.Error("a round in which no group was listed gave no error")
	}
	fault.Remove()
	if write.Hits() != 0 {
		t.Errorf("%d commits without a list of groups", write.Hits())
	}

	fault = f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Nodes: []int32{1}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	f.clock.pass(retry)
	if _, ok := errors.AsType[*kafka.ErrBrokers](f.owner.Round(f.ctx())); !ok {
		t.Error("a broker that did not list its groups is not in the error")
	}
	fault.Remove()
	f.want(here, orders(0), 20)
	f.want(there, orders(0), 10)

	fault = f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: here, Err: kerr.UnknownServerError, Count: 1})
	news(30)
	f.round()
	fault.Remove()
	f.want(there, orders(0), 30)
	f.want(here, orders(0), 20)
	f.clock.pass(recheck)
	f.round()
	f.want(here, orders(0), 30)

	fault = f.dst.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: here, Err: kerr.CoordinatorLoadInProgress, Count: -1})
	news(40)
	if err := f.owner.Round(f.ctx()); err == nil {
		t.Error("a coordinator that is loading gave no error")
	}
	f.want(there, orders(0), 40)
	f.state(here, translate.Written) // its state is what it was: the trouble is not the group's
	f.commit(there, orders(0), 50)
	f.judge(there, orders(0), 50, exact(50))
	f.poll()
	before := time.Now()
	f.round() // the group in trouble is not asked for yet
	if took := time.Since(before); took > patience/4 {
		t.Errorf("the round of a healthy group took %v", took)
	}
	f.want(there, orders(0), 50)
	f.commit(there, orders(0), 60)
	f.judge(there, orders(0), 60, exact(60))
	f.poll()
	f.clock.pass(patience)
	n, done := write.Hits(), make(chan error, 1)
	go func() { done <- f.owner.Round(f.ctx()) }() // both are due
	before = time.Now()
	if err := write.Wait(f.ctx(), n+1); err != nil || time.Since(before) > patience/4 {
		t.Errorf("a healthy group had to wait for one in trouble: %v (%v)", time.Since(before), err)
	}
	if err := <-done; err == nil {
		t.Error("a coordinator that is still loading gave no error")
	}
	f.want(there, orders(0), 60)
	fault.Remove()
	f.want(here, orders(0), 30)
	f.clock.pass(patience)
	f.round()
	f.want(here, orders(0), 40)
}

// TestOpenTransaction: a position that a transaction on the target is about to commit holds the group (KIP-447).
func TestOpenTransaction(t *testing.T) {
	f := newFix(t)
	f.others("g", orders(0), 5, -1)
	open := true
	f.dst.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.dst.KeepControl()
		req := r.(*kmsg.OffsetFetchRequest)
		if !open || !req.RequireStable {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, rg := range req.Groups {
			g := kmsg.NewOffsetFetchResponseGroup()
			g.Group = rg.Group
			tp := kmsg.NewOffsetFetchResponseGroupTopic()
			tp.Topic = "A.orders"
			for p, code := range []int16{0, kerr.UnstableOffsetCommit.Code} {
				rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				rp.Partition, rp.Offset, rp.LeaderEpoch, rp.ErrorCode = int32(p), 5-6*int64(p), -1, code
				tp.Partitions = append(tp.Partitions, rp)
			}
			g.Topics = append(g.Topics, tp)
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	for p := range int32(2) {
		f.commit("g", orders(p), 10)
		f.judge("g", orders(p), 10, exact(11))
	}
	f.poll()
	f.round()
	s := f.state("g", translate.Waiting)
	if want := []partition.ID{{Topic: "A.orders", Partition: 1}}; !slices.Equal(s.Partitions, want) || !strings.Contains(s.Reason, "transaction") {
		t.Errorf("the group waits: %v", s)
	}
	f.want("g", orders(0), 5)
	open = false
	f.clock.pass(retry)
	f.round()
	f.want("g", orders(0), 11)
	f.want("g", orders(1), 11)
}

// TestLateAnswers: what the target said some seconds ago is no ground to write on, nor is a lane that was ours then.
func TestLateAnswers(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(f *fix)
	}{
		{"the look took long", func(f *fix) { f.clock.pass(patience) }},
		{"the lane went away", func(f *fix) { f.owner.Own(f.owner.lane("g"), false) }},
		{"the lease ran out", func(f *fix) { f.env.expired.Store(true) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFix(t)
			f.commit("g", orders(0), 10)
			f.poll()
			f.judge("g", orders(0), 10, exact(11))
			f.dst.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.meanwhile(f)
				return nil, nil, false
			})
			if err := f.owner.Round(f.ctx()); err == nil {
				t.Error("the round gave no error")
			}
			f.want("g", orders(0), -1)
		})
	}
}

// TestLostOnTheTarget: commits that vanish on the target (expiry, an admin) are written again at the next look.
func TestLostOnTheTarget(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	res, err := f.target.Admin().DeleteGroups(t.Context(), "g")
	if err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	f.clock.pass(recheck)
	f.round()
	f.want("g", orders(0), 11)
}

// TestNames: a group name on the target that belongs to something without positions is not touched.
func TestNames(t *testing.T) {
	f := newFix(t)
	f.dst.ControlKey(int16(kmsg.ListGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.dst.KeepControl()
		resp := r.ResponseKind().(*kmsg.ListGroupsResponse)
		for g, is := range map[string][2]string{"shared": {"Share", "share"}, "worker": {"Classic", "connect"}} {
			lg := kmsg.NewListGroupsResponseGroup()
			lg.Group, lg.GroupType, lg.ProtocolType, lg.GroupState = g, is[0], is[1], "Empty"
			resp.Groups = append(resp.Groups, lg)
		}
		return resp, nil, true
	})
	write := counts(f.dst, kmsg.OffsetCommit)
	for _, g := range []string{"shared", "worker"} {
		f.commit(g, orders(0), 10)
		f.judge(g, orders(0), 10, exact(11))
	}
	f.poll()
	asked := counts(f.dst, kmsg.OffsetFetch)
	f.round()
	for range 5 {
		f.clock.pass(retry)
		f.round()
	}
	if asked.Hits() > 1 {
		t.Errorf("a name that is taken was looked at %d times in %v", asked.Hits(), 5*retry)
	}
	f.state("shared", translate.Refused)
	f.state("worker", translate.Refused)
	if write.Hits() != 0 {
		t.Error("a group of another kind was written")
	}
}
