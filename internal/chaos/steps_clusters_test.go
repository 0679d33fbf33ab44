package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/chaos/proxy"
	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

func (x *world) side(name string) *cluster {
	if name == "source" {
		return x.pair.source
	}
	return x.pair.target
}

// broker kills a broker and starts it again.
type broker struct {
	side string
	n    int
	last time.Duration
}

func (s broker) String() string {
	return fmt.Sprintf("broker %d of the %s killed for %v", s.n, s.side, s.last)
}

func (s broker) Do(ctx context.Context, x *world) error {
	c := x.side(s.side)
	return x.bounce(ctx, c, s.n%c.Brokers(), s.last)
}

func (x *world) bounce(ctx context.Context, c *cluster, n int, last time.Duration) error {
	x.count("SIGKILL of a broker")
	if err := c.Kill(n); err != nil {
		return err
	}
	pause.For(ctx, last)
	return c.Restart(ctx, n)
}

// coordinator kills the broker that coordinates a lane, or the lane group (-1).
type coordinator struct {
	lane int
	last time.Duration
}

func (s coordinator) String() string {
	of := fmt.Sprintf("lane %d", s.lane)
	if s.lane < 0 {
		of = "the lane group"
	}
	return fmt.Sprintf("coordinator of %s killed for %v", of, s.last)
}

func (s coordinator) Do(ctx context.Context, x *world) error {
	group, txn := "tidemark."+x.alias+"->T", ""
	if s.lane >= 0 {
		group, txn = "", fmt.Sprintf("tidemark.%s->T.lane.%d", x.alias, s.lane)
	}
	n, err := x.pair.target.Coordinator(ctx, kadm.NewClient(x.dst), group, txn)
	if err != nil {
		return err
	}
	return x.bounce(ctx, x.pair.target, n, s.last)
}

// leaders moves every leader and coordinator of a cluster, of the other one where it has a single broker.
type leaders struct{ side string }

func (s leaders) String() string { return "leaders move on the " + s.side }

func (s leaders) Do(ctx context.Context, x *world) error {
	c := x.side(s.side)
	if c.Brokers() == 1 { // nowhere to move: the other one, if any
		c = map[bool]*cluster{true: x.pair.target, false: x.pair.source}[s.side == "source"]
	}
	if err := testcluster.MoveLeaders(ctx, c.Real); err != nil {
		x.tell("leaders: %v", err) // some stay where they are, for instance those without an ISR
	}
	return nil
}

// replicas takes a replica from every partition of the target, its leader or another one, and gives it back.
type replicas struct {
	leader bool
	last   time.Duration
}

func (s replicas) String() string {
	return fmt.Sprintf("replicas: one fewer of each partition of the target (its leader: %t) for %v", s.leader, s.last)
}

func (s replicas) Do(ctx context.Context, x *world) error {
	back, err := testcluster.DropReplicas(ctx, kadm.NewClient(x.dst), s.leader)
	if err != nil {
		x.tell("replicas: %v", err) // of partitions that are reassigned already, for instance
	}
	if back == nil {
		return nil
	}
	pause.For(ctx, s.last)
	if err := back(ctx); err != nil {
		x.tell("replicas: %v", err)
	}
	return nil
}

// freeze stops a broker of the target, a follower in the ISR of many partitions, from running.
type freeze struct {
	n    int
	last time.Duration
}

func (s freeze) String() string {
	return fmt.Sprintf("freeze broker %d of the target for %v", s.n, s.last)
}

func (s freeze) Do(ctx context.Context, x *world) error {
	c := x.pair.target
	n := s.n % c.Brokers()
	if err := c.Freeze(n); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	return c.Thaw(n)
}

// away takes a cluster off the network: its connections end and new ones are refused, or nothing answers any more.
type away struct {
	side   string
	refuse bool
	last   time.Duration
}

func (s away) String() string {
	return fmt.Sprintf("away: the %s, refusing: %t, for %v", s.side, s.refuse, s.last)
}

func (s away) Do(ctx context.Context, x *world) error {
	c := x.side(s.side)
	for _, p := range c.proxies {
		if s.refuse {
			p.Refuse(true)
			p.Reset()
			continue
		}
		for d := range proxy.Direction(2) {
			p.Set(d, proxy.Fault{Swallow: true})
		}
	}
	pause.For(ctx, s.last)
	c.heal()
	return nil
}

// cut ends all connections to a cluster some times in a row.
type cut struct {
	side  string
	reset bool
	times int
}

func (s cut) String() string {
	return fmt.Sprintf("cut links to the %s %d times (reset: %t)", s.side, s.times, s.reset)
}

func (s cut) Do(ctx context.Context, x *world) error {
	for range s.times {
		for _, p := range x.side(s.side).proxies {
			if s.reset {
				p.Reset()
			} else {
				p.Cut()
			}
		}
		pause.For(ctx, 300*time.Millisecond)
	}
	return nil
}

// fault is a fault of the network, of every connection to a cluster or of about half of those that are there.
type fault struct {
	up, both      bool // which direction
	one           bool // some connections, not all
	hold, swallow bool
	delay         time.Duration
	rate          int
	seed          uint64
}

// network has a fault for a while.
type network struct {
	side  string
	fault fault
	last  time.Duration
}

func (f fault) proxy() proxy.Fault {
	return proxy.Fault{Delay: f.delay, Rate: f.rate, Hold: f.hold, Swallow: f.swallow}
}

func (f fault) directions() []proxy.Direction {
	switch {
	case f.both:
		return []proxy.Direction{proxy.Up, proxy.Down}
	case f.up:
		return []proxy.Direction{proxy.Up}
	}
	return []proxy.Direction{proxy.Down}
}

func (s network) String() string {
	which := "all"
	if s.fault.one {
		which = "some"
	}
	return fmt.Sprintf("network to the %s: %v %v on %s connections for %v", s.side, s.fault.proxy(), s.fault.directions(), which, s.last)
}

func (s network) Do(ctx context.Context, x *world) error {
	rnd := rand.New(rand.NewPCG(s.fault.seed, 5))
	c := x.side(s.side)
	for _, p := range c.proxies {
		for _, d := range s.fault.directions() {
			if !s.fault.one {
				p.Set(d, s.fault.proxy())
				continue
			}
			for _, conn := range p.Conns() {
				if rnd.IntN(2) == 0 {
					conn.Set(d, s.fault.proxy())
				}
			}
		}
	}
	pause.For(ctx, s.last)
	c.heal()
	return nil
}

// lossy are the requests whose answers are worth losing: they change something.
func lossy() []kmsg.Key {
	return []kmsg.Key{
		kmsg.Produce, kmsg.Produce, kmsg.Produce, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.EndTxn, kmsg.OffsetCommit, kmsg.TxnOffsetCommit,
		kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.Fetch,
	}
}

// takesOver says that a request is one of those that only a take-over sends.
func takesOver(key int) bool {
	return slices.Contains([]kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.EndTxn, kmsg.JoinGroup, kmsg.SyncGroup}, lossy()[key])
}

// lost loses answers of the target after the requests took effect, and kills a worker meanwhile, or makes one take over.
type lost struct {
	key   int
	times int
	kill  bool
	place int
}

func (s lost) String() string {
	return fmt.Sprintf("lost answers: %d of %s a broker, with a kill: %t", s.times, lossy()[s.key].Name(), s.kill)
}

func (s lost) Do(ctx context.Context, x *world) error {
	key := int16(lossy()[s.key])
	for _, p := range x.pair.target.proxies {
		p.LoseAnswers(key, s.times)
	}
	if s.kill {
		if err := (kill{s.place, 0}).Do(ctx, x); err != nil {
			return err
		}
	}
	pause.For(ctx, 3*time.Second)
	var n []string
	for _, p := range x.pair.target.proxies {
		n = append(n, fmt.Sprint(p.Lost(key)))
	}
	x.tell("lost so far, by broker: %s", strings.Join(n, ", "))
	x.pair.target.heal()
	return nil
}

// quota slows every client of the target down, by a byte rate.
type quota struct {
	rate int
	last time.Duration
}

func (s quota) String() string {
	return fmt.Sprintf("quota of %d bytes/s on the target for %v", s.rate, s.last)
}

func (s quota) Do(ctx context.Context, x *world) error {
	set := func(remove bool) error {
		req := kmsg.NewPtrAlterClientQuotasRequest()
		e := kmsg.NewAlterClientQuotasRequestEntry()
		e.Entity = []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id"}}
		for _, key := range []string{"producer_byte_rate", "consumer_byte_rate"} {
			e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: float64(s.rate), Remove: remove})
		}
		req.Entries = append(req.Entries, e)
		_, err := req.RequestWith(ctx, x.dst)
		return err
	}
	if err := set(false); err != nil {
		return err
	}
	pause.For(ctx, s.last)
	return set(true)
}

// hasThree says which faults need more than one broker.
func hasThree(kind string) bool {
	return slices.Contains([]string{"leaders", "replicas", "freeze"}, kind)
}
