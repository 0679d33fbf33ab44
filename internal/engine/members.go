package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/mirror"
	"tidemark/internal/notes"
	"tidemark/internal/pause"
	"tidemark/internal/terms"
)

// heartbeatEvery is how often the lease is renewed. kgo sends heartbeats of its own, but its hooks hide the answers and
// it sends none while it joins, so the lease lives by requests that we send and read.
const heartbeatEvery = time.Second

// hearEvery is how often kgo asks the coordinator whether a rebalance has begun, and how often we do once we know of one. A
// rebalance waits for the member that hears of it last, and in the second half of a cooperative one the lanes that move
// have no owner: with kgo's usual 3 s a hand-over between healthy workers would take almost four.
const hearEvery = 250 * time.Millisecond

// members is this process's membership in the flow's lane group on the target: Kafka's group protocol spreads the
// ledger's partitions over the workers, and the partition assigned is the lane owned.
type members struct {
	group    string
	topic    string
	instance string // static member id; empty: none
	lease    *lease
	events   *events.Bus
	run      func(ctx, abort context.Context, lane int32) error
	runs     func(lane int32) bool  // whether a lane is taken over and does its work
	troubles func() []notes.Trouble // of this worker, not of one lane
	board    *board
	terms    terms.Terms      // what all workers of the flow must have alike
	allRun   bool             // it was said that every lane runs; of the loop that writes notes
	noted    map[int32]string // why lanes do not run, as their notes say; of the loop that writes them
	client   *kafka.Client

	mu    sync.Mutex
	lanes map[int32]*ownership
	begun map[int32]bool // lanes that this process ran and did not release
	wg    sync.WaitGroup
	stop  context.Context //nolint:containedctx // callbacks of kgo carry the client's context, not ours
}

// ownership is one assigned lane and the goroutine that runs it.
type ownership struct {
	cancel context.CancelFunc // drain and release
	abort  context.CancelFunc // end now
	done   chan struct{}
}

// session is the group's session time-out: how long a dead worker's lanes stay idle, and the life of a lease.
const session = 10 * time.Second

// rebalanceTimeout is how long a rebalance waits for members to give up lanes.
const rebalanceTimeout = 30 * time.Second

func (m *members) options() []kgo.Opt {
	host, _ := os.Hostname()
	opts := []kgo.Opt{
		kgo.ClientID(fmt.Sprintf("tidemark-%s-%d", host, os.Getpid())), // what "status" shows as the owner of a lane
		kgo.ConsumerGroup(m.group),
		kgo.ConsumeTopics(m.topic),
		kgo.Balancers(withTerms{kgo.CooperativeStickyBalancer(), m.terms}),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(hearEvery),
		kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { m.assigned(got[m.topic]) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.revoked(lost[m.topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.lost(lost[m.topic]) }),
	}
	if m.instance != "" {
		opts = append(opts, kgo.InstanceID(m.instance))
	}
	return opts
}

func (m *members) assigned(lanes []int32) {
	if len(lanes) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events.Say(events.LanesAssigned, "lanes", lanes, "held", len(m.lanes)+len(lanes))
	for _, n := range lanes {
		if m.lanes[n] != nil || m.stop.Err() != nil {
			continue
		}
		abortCtx, abort := context.WithCancel(context.WithoutCancel(m.stop))
		ctx, cancel := context.WithCancel(abortCtx)
		o := &ownership{cancel: cancel, abort: abort, done: make(chan struct{})}
		m.lanes[n] = o
		m.board.do(func(b *notes.Board) { b.Assigned(n, time.Now()) })
		m.wg.Go(func() {
			defer close(o.done)
			defer abort()
			m.own(ctx, abortCtx, n)
		})
	}
}

// mostWait is the longest pause before a lane that ended is taken over again. A try is a few requests, so there is no reason
// for one that is longer than people wait once what kept the lane from running is mended.
const mostWait = 5 * time.Second

// own runs a lane again and again while it is ours. A lane that was lost to another owner although the group says that
// it is ours is taken again only after a heartbeat that was answered since: otherwise two processes with one view of
// the past would fence each other in turn.
func (m *members) own(ctx, abort context.Context, n int32) {
	wait, said := time.Second, ""
	for first := true; ctx.Err() == nil; first = false {
		if first {
			m.report(n, "starting", "the lane group's coordinator has not confirmed yet that this worker is a member")
		}
		if !m.confirmed(ctx) {
			return
		}
		if first {
			m.report(n, "starting", "it is being taken over") // later tries keep what made them necessary
		}
		began := time.Now()
		err := m.run(ctx, abort, n)
		m.note(n, err)
		if ctx.Err() != nil {
			if errors.Is(err, mirror.ErrUnreleased) {
				m.events.Publish(events.Event{Kind: events.LaneUnreleased, Lane: n, Details: events.Details("error", err)})
			}
			return
		}
		if time.Since(began) > time.Minute {
			wait, said = time.Second, ""
		}
		m.report(n, retries, fmt.Sprint(err))
		e := events.Event{Kind: events.LaneEnded, Lane: n, Details: events.Details("error", err, "pause", wait)}
		if said == fmt.Sprint(err) {
			e.Tone = events.Quiet // once in the log; status goes on showing it
		}
		said = fmt.Sprint(err)
		m.events.Publish(e)
		if !pause.For(ctx, wait) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

// note keeps which lanes wait for their release, from how they ended. One that is lost stays among them, also when another
// worker has it by now: what we know is that we did not release it. One that was only about to be taken over is as its former
// owner left it, often released: two workers that are told to stop at once hand each other lanes on the way out.
func (m *members) note(n int32, ended error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, untouched := errors.AsType[*mirror.NotTakenError](ended); untouched {
		return
	}
	if m.begun == nil {
		m.begun = map[int32]bool{}
	}
	if ended != nil {
		m.begun[n] = true
	} else {
		delete(m.begun, n)
	}
}

// unreleased is how many lanes ended without release.
func (m *members) unreleased() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.begun)
}

// confirmed waits for a heartbeat answered after this call.
func (m *members) confirmed(ctx context.Context) bool {
	from := m.lease.confirmed()
	m.lease.ask()
	for m.lease.confirmed() == from || !m.lease.Valid() {
		if !pause.For(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

func (m *members) revoked(lanes []int32) {
	if len(lanes) > 0 && m.stop.Err() == nil {
		m.events.Say(events.LanesRevoked, "lanes", lanes)
	}
	m.end(lanes, func(o *ownership) { o.cancel() })
}

// lost: the coordinator does not know us any more; somebody else may own the lanes already.
func (m *members) lost(lanes []int32) {
	if len(lanes) > 0 && m.stop.Err() == nil {
		m.events.Say(events.LanesLost, "lanes", lanes)
	}
	m.lease.end()
	m.end(lanes, func(o *ownership) { o.abort() })
}

// end tells lanes to end and waits for them.
func (m *members) end(lanes []int32, tell func(*ownership)) {
	m.mu.Lock()
	var waits []*ownership
	for _, n := range lanes {
		if o := m.lanes[n]; o != nil {
			tell(o)
			waits = append(waits, o)
			delete(m.lanes, n)
			m.board.do(func(b *notes.Board) { b.Revoked(n) })
		}
	}
	m.mu.Unlock()
	for _, o := range waits {
		<-o.done
	}
}

// heartbeats renews the lease until ctx ends. That it ran out is said here, since nothing else may be said: data that is
// not allowed to be sent waits without a word.
func (m *members) heartbeats(ctx context.Context) error {
	cl := m.client.Kgo()
	away := false
	for every, sent := heartbeatEvery, m.lease.clock(); m.rest(ctx, every-(m.lease.clock()-sent)); {
		every, sent = heartbeatEvery, m.lease.clock() // due by its sending: by the answer, a long way would double the time
		member, generation := cl.GroupMetadata()
		if member == "" || generation < 0 {
			continue
		}
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.Generation = m.group, member, generation
		if m.instance != "" {
			req.InstanceID = &m.instance
		}
		hctx, cancel := context.WithTimeout(ctx, session)
		resp, err := req.RequestWith(hctx, cl)
		cancel()
		if err != nil {
			if !away && ctx.Err() == nil && !m.lease.Valid() {
				away = true
				m.events.Say(events.TargetAway, "cluster", m.client.Cluster().Alias, "error", err)
			}
			continue
		}
		if away {
			away = false
			m.events.Say(events.TargetBack, "cluster", m.client.Cluster().Alias)
		}
		switch err := kerr.ErrorForCode(resp.ErrorCode); {
		case err == nil:
			m.lease.renew(sent, generation, false)
		case errors.Is(err, kerr.RebalanceInProgress):
			m.lease.renew(sent, generation, true)
			every = hearEvery
		case errors.Is(err, kerr.GroupAuthorizationFailed):
			return m.denied()
		}
	}
	return nil
}

// rest waits until the next heartbeat is due or a lane asks for one; it is false where ctx ended first.
func (m *members) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-m.lease.asked:
	case <-t.C:
	}
	return true
}

// watch says what keeps this process out of the group, until ctx ends: kgo tells only whoever polls. A missing right is
// the end, as it is for the flow's own topics; everything else kgo tries again.
func (m *members) watch(ctx context.Context) error {
	said := ""
	for {
		fs := m.client.Kgo().PollFetches(ctx)
		if ctx.Err() != nil || fs.IsClientClosed() {
			return nil //nolint:nilerr // a heartbeat without answer renews nothing: the lease runs out by itself
		}
		for _, e := range fs.Errors() {
			session, ok := errors.AsType[*kgo.ErrGroupSession](e.Err)
			switch {
			case !ok:
			case errors.Is(session, kerr.GroupAuthorizationFailed):
				return m.denied()
			case session.Error() != said:
				said = session.Error()
				m.events.Say(events.NotMember, "group", m.group, "error", session)
			}
		}
	}
}

func (m *members) denied() error {
	return fmt.Errorf("join group %q on the target: READ on group %q is missing", m.group, m.group)
}

// endAll drains and releases every lane, all at once.
func (m *members) endAll() {
	m.mu.Lock()
	for _, o := range m.lanes {
		o.cancel()
	}
	m.mu.Unlock()
	m.wg.Wait()
}

// leaveWithin bounds the goodbye to a coordinator that does not answer: what ends a process (Kubernetes after 30 s) would
// otherwise use SIGKILL while nothing but this goodbye is left to do.
const leaveWithin = 5 * time.Second

// leave leaves the group, so that the others need not wait for the session's end, and closes the client. A static member
// stays in it: its next start takes its lanes back.
func (m *members) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	cl := m.client.Kgo()
	member, _ := cl.GroupMetadata()
	left, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_ = cl.LeaveGroupContext(ctx) // no new join begins from here on
	}()
	if m.instance == "" && member != "" {
		// kgo's own goodbye waits for the rebalance that it is in, which can wait for us: ours ends that.
		if err := m.goodbye(ctx, member); err != nil {
			m.events.Say(events.LeaveFailed, "group", m.group, "session", session, "error", err)
		}
	}
	go func() {
		defer close(closed)
		<-left
		cl.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done(): // what is left of the client ends with the process
	}
}

func (m *members) goodbye(ctx context.Context, member string) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, member
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = member
	req.Members = append(req.Members, one)
	resp, err := req.RequestWith(ctx, m.client.Kgo())
	if err != nil {
		return err
	}
	err = kerr.ErrorForCode(resp.ErrorCode)
	for _, r := range resp.Members {
		err = cmp.Or(err, kerr.ErrorForCode(r.ErrorCode))
	}
	if errors.Is(err, kerr.UnknownMemberID) { // kgo's was faster, or the session is over
		return nil
	}
	return err
}
