package mirror

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/offsetmap"
)

// lane runs one lane of a flow alone, as a worker that holds no other; the returned function kills it.
func (r *rig) lane(n int32, ps map[partition.ID]Partition) (run *running, kill func()) {
	r.t.Helper()
	f := NewFlow(r.settings, Clients{Source: r.src, Target: r.dst, SourceMeta: kafka.NewMetadata(r.src), TargetMeta: kafka.NewMetadata(r.dst)}, always{}, nil, r.log)
	f.SetPartitions(ps)
	f.SetExisting(r.existing)
	ctx, cancel := context.WithCancel(r.t.Context())
	run = &running{flow: f, errs: make([]error, 1)}
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	run.wg.Go(func() { run.errs[0] = f.RunLane(ctx, ctx, n) })
	kill = sync.OnceFunc(func() {
		cancel()
		run.wg.Wait()
		wg.Wait()
		f.Close()
	})
	r.t.Cleanup(kill)
	return run, kill
}

// A flow that is killed when only some of its lanes were owned has begun: what the others mirror begins there too.
func TestBeginIsOneForAllLanes(t *testing.T) {
	r := newRig(t, 2)
	r.both("orders", 4)
	r.produce("orders", 0, 400)
	old := r.read(r.src, "orders")
	r.fromEnd("orders")
	run, kill := r.lane(0, r.partitions("orders"))
	run.claimed(r, 0)
	kill()
	r.produce("orders", 400, 60)
	r.both("later", 8)
	r.produce("later", 0, 80)
	r.fromEnd("orders", "later") // as the second start sees it
	r.start(r.partitions("orders", "later"))
	newer := map[int32]int{}
	for p, all := range r.read(r.src, "orders") {
		newer[p] = len(all) - len(old[p])
	}
	r.holds("orders", newer)
	r.same("later")
}

// A lane that is owned before lane 0 waits for it, and lets go when it is told to.
func TestBeginWaitsForTheFirstLane(t *testing.T) {
	r := newRig(t, 2)
	r.both("orders", 4)
	r.produce("orders", 0, 400)
	r.fromEnd("orders")
	_, kill := r.lane(1, r.partitions("orders"))
	r.produce("orders", 400, 40) // before the flow's first start
	run, _ := r.lane(0, r.partitions("orders"))
	run.claimed(r, 0)
	run.claimed(r, 1)
	kill()
	c, err := run.flow.readLedger(t.Context(), partition.ID{Topic: r.settings.Ledger, Partition: 1})
	if err != nil {
		t.Fatal(err)
	}
	whole := r.read(r.src, "orders")
	for p, b := range c.Begins {
		if b.Offset != offsetmap.SourceOffset(len(whole[p.Partition])) {
			t.Errorf("%v begins at %d, its end was at %d", p, b.Offset, len(whole[p.Partition]))
		}
	}
	if len(c.Begins) == 0 {
		t.Error("lane 1 has no begins")
	}
}

// A first start that was not written whole counts for nothing: its owner died before its claim.
func TestBeginOfAnUnfinishedStart(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	half := ledger.StartTopic{ProducerID: 5, Epoch: 7, TopicID: r.existing[partition.ID{Topic: "orders"}], Offsets: []offsetmap.SourceOffset{50}}
	r.overwrite(testcluster.Rec{Key: []byte("start/orders")}, half.Encode())
	r.overwrite(testcluster.Rec{Key: []byte("start/payments")}, half.Encode())
	run := r.start(r.partitions("orders"))
	run.claimed(r, 0)
	r.produce("orders", 100, 7)
	r.holds("orders", map[int32]int{0: 7})
	c, err := run.flow.readLedger(t.Context(), partition.ID{Topic: r.settings.Ledger})
	if err != nil {
		t.Fatal(err)
	}
	if begins, ok := c.Started(); !ok || len(begins) != 1 {
		t.Errorf("the ledger's start: %v %v", begins, ok)
	}
}

// Where a record of the first start is damaged, lanes that were owned go on and the others say so: a start of today would
// pass over what came since. Without the record, which an operator deletes, they begin today.
func TestBeginOfADamagedStart(t *testing.T) {
	for _, which := range []ledger.Key{{Kind: ledger.KindStart}, {Kind: ledger.KindStartTopic, Topic: "orders"}} {
		t.Run(which.String(), func(t *testing.T) {
			r := newRig(t, 2)
			r.both("orders", 4)
			r.produce("orders", 0, 400)
			r.fromEnd("orders")
			run, kill := r.lane(0, r.partitions("orders"))
			run.claimed(r, 0)
			kill()
			rec := r.kept(which)
			at := r.overwrite(rec, flipped(rec.Value, 3))
			run, kill = r.lane(0, r.partitions("orders"))
			run.claimed(r, 0)
			waits, _ := r.lane(1, r.partitions("orders"))
			waits.wg.Wait()
			if err := waits.errs[0]; err == nil || !strings.Contains(err.Error(), fmt.Sprintf("ledger record %s at offset %d", which, at)) || !strings.Contains(err.Error(), "docs/stopped.md") {
				t.Error(err)
			}
			kill()
			r.overwrite(rec, nil)
			r.start(r.partitions("orders")).claimed(r, 1)
		})
	}
}

// refuse makes the source's leaders refuse to tell their ends, as those do that were just elected, until heal is called.
// asked is closed when they have done so n times.
func (r *rig) refuse(n int32) (asked <-chan struct{}, heal func()) {
	var healed atomic.Bool
	var times atomic.Int32
	done := make(chan struct{})
	r.source.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		r.source.KeepControl()
		if healed.Load() {
			return nil, nil, false
		}
		if times.Add(1) == n {
			close(done)
		}
		req := kreq.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, rt := range req.Topics {
			st := kmsg.NewListOffsetsResponseTopic()
			st.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				sp := kmsg.NewListOffsetsResponseTopicPartition()
				sp.Partition, sp.ErrorCode = rp.Partition, kerr.OffsetNotAvailable.Code
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp, nil, true
	})
	return done, func() { healed.Store(true) }
}

// What the source does not tell at once is asked again: nothing counts as old that came after the first start.
func TestBeginAsksAgain(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	asked, heal := r.refuse(5)
	run := r.start(r.partitions("orders"))
	<-asked
	heal()
	run.claimed(r, 0)
	r.produce("orders", 100, 25)
	r.holds("orders", map[int32]int{0: 25})
}

// A lane that is told to stop while it asks writes nothing: an unknown end is no end.
func TestBeginStoppedWhileAsking(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.produce("orders", 0, 100)
	r.fromEnd("orders")
	asked, heal := r.refuse(3)
	run := r.start(r.partitions("orders"))
	<-asked
	run.stop()
	run.wg.Wait()
	heal()
	c, err := run.flow.readLedger(t.Context(), partition.ID{Topic: r.settings.Ledger})
	if err != nil {
		t.Fatal(err)
	}
	if c.Claim != nil || c.Start != nil {
		t.Errorf("written were claim %v and start %v", c.Claim, c.Start)
	}
}
