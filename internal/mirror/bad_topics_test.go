package mirror

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
)

// TestFilledByOthers: a remote topic that holds records which no head knows is stopped before anything is written to it,
// with what can be done about it. Its neighbours are mirrored.
func TestFilledByOthers(t *testing.T) {
	r := newRig(t, 2)
	log := r.listen()
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("orders", 0, 50)
	r.produce("payments", 0, 50)
	r.write(r.dst, &kgo.Record{Topic: "A.orders", Value: []byte("of another mirror")})
	run := r.start(r.partitions("orders", "payments"))
	r.stopped(run, partition.ID{Topic: "orders"}, "A.orders holds 1 offsets that Tidemark did not write", "another alias or policy", "delete the remote topic")
	r.same("payments")
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 1 {
		t.Errorf("the remote topic's end is %d, want 1", end)
	}
	if !log.line("level=WARN", "partition stopped", "orders-0", "did not write") {
		t.Error("the log does not say that the partition stopped")
	}
}

// recreate deletes a topic and creates it again with n records.
func (r *rig) recreate(topic string, n int) {
	r.t.Helper()
	if err := r.source.DeleteTopic(topic); err != nil {
		r.t.Fatal(err)
	}
	r.create(r.src, topic, 1, nil)
	r.write(r.src, numbered(topic, "new", n)...)
}

func numbered(topic, word string, n int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%s=%d", word, i)}
	}
	return recs
}

// TestSourceTopicDeleted: the partition of a source topic that is deleted while it is mirrored stops and says so; what
// was mirrored stays, and the neighbours go on.
func TestSourceTopicDeleted(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.both("payments", 1)
	r.produce("orders", 0, 100)
	run := r.start(r.partitions("orders", "payments"))
	r.same("orders")
	if err := r.source.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	tp := partition.ID{Topic: "orders"}
	r.stopped(run, tp, "source topic", "gone")
	r.produce("payments", 0, 100)
	r.same("payments")
	run.flow.SetPartitions(r.partitions("payments")) // the flow has noticed as well
	r.stopped(run, tp, "gone")
	r.produce("payments", 100, 100)
	r.same("payments")
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 100 {
		t.Errorf("the remote topic's end is %d, want 100", end)
	}
	run.halt(t)
	r.start(r.partitions("payments"))
	r.produce("payments", 200, 100)
	r.same("payments")
}

// TestSourceTopicRecreated: a source topic that was deleted and created again is another topic. Nothing of it goes behind
// the old one's records, at whatever offset the old one stood, before and after the flow itself notices the new id.
func TestSourceTopicRecreated(t *testing.T) {
	for name, records := range map[string]int{"shorter": 30, "longer": 300} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, running %v", name, running), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1)
				r.both("orders", 1)
				r.both("payments", 1)
				r.produce("orders", 0, 100)
				run := r.start(r.partitions("orders", "payments"))
				r.same("orders")
				tp := partition.ID{Topic: "orders"}
				if running {
					r.recreate("orders", records)
					r.stopped(run, tp, "source topic")
					for i := range 5 { // over several tries of the stopped partition, by its old id
						r.produce("payments", 10*i, 10)
						r.same("payments")
						r.tries(run, tp)
					}
					run.flow.SetPartitions(r.partitions("orders", "payments"))
				} else {
					run.halt(t)
					r.recreate("orders", records)
					run = r.start(r.partitions("orders", "payments"))
				}
				r.stopped(run, tp, "source topic", "created again", "topic id")
				r.produce("payments", 50, 10)
				r.same("payments")
				if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 100 {
					t.Errorf("the remote topic's end is %d, want 100", end)
				}
			})
		}
	}
}

// tries waits for two more tries of a stopped partition.
func (r *rig) tries(_ *running, tp partition.ID) {
	r.t.Helper()
	h := r.source.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets, kmsg.Metadata, kmsg.Fetch}, Topic: tp.Topic, Observe: true, Count: 2})
	defer h.Remove()
	if err := h.Wait(r.t.Context(), 2); err != nil {
		r.t.Fatal(err)
	}
}

// TestRemoteTopicDeleted: a remote topic that is deleted while it is written to stops its partitions within a bounded
// time; one that somebody creates again is not filled from the middle. The neighbours go on.
func TestRemoteTopicDeleted(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("created again %v", again), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.settings.Limits.RetryMax = 100 // twenty refusals before the topic counts as gone
			r.both("orders", 1)
			r.both("payments", 1)
			r.produce("orders", 0, 100)
			run := r.start(r.partitions("orders", "payments"))
			r.same("orders")
			if err := r.target.DeleteTopic("A.orders"); err != nil {
				t.Fatal(err)
			}
			tp := partition.ID{Topic: "orders"}
			if again {
				r.create(r.dst, "A.orders", 1, nil)
				run.flow.SetPartitions(r.partitions("orders", "payments"))
			}
			r.produce("orders", 100, 10)
			r.stopped(run, tp, "emote topic")
			r.produce("payments", 0, 100)
			r.same("payments")
			if !again {
				return
			}
			r.tries(run, partition.ID{Topic: "payments"})
			if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end > 0 {
				t.Errorf("%d records were written to the new topic", end)
			}
		})
	}
}

// TestTrimmedPastTheMirror: records that retention removed before they were mirrored are counted, logged, and said in
// the verdicts of positions among them; what is left is mirrored.
func TestTrimmedPastTheMirror(t *testing.T) {
	r := newRig(t, 1)
	log := r.listen()
	r.both("orders", 1)
	r.both("payments", 1)
	r.write(r.src, numbered("orders", "seq", 20)...)
	run := r.start(r.partitions("orders", "payments"))
	r.same("orders")
	h := r.source.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Count: -1, Err: kerr.KafkaStorageError})
	if err := h.Wait(t.Context(), 1); err != nil { // the mirror is held off from now on
		t.Fatal(err)
	}
	r.write(r.src, numbered("orders", "late", 50)...)
	if err := r.source.DeleteRecords("orders", 0, 60); err != nil {
		t.Fatal(err)
	}
	h.Remove()
	r.until("what is left", func() (bool, string) {
		got := r.read(r.dst, "A.orders")[0]
		return len(got) == 30 && got[19] == "seq=19" && got[20] == "late=40", fmt.Sprint(len(got))
	})
	if !log.line("level=WARN", "source records were removed before they were mirrored", "orders-0", "lost_at_most=40", "source_log_start=60") {
		t.Error("the log does not count what was lost")
	}
	tp := partition.ID{Topic: "orders"}
	for committed, want := range map[int64]translate.Verdict{
		10: {Kind: translate.Exact, Target: 10},
		20: {Kind: translate.ExactLost, Target: 20, Lost: 40},
		45: {Kind: translate.ExactLost, Target: 20, Lost: 40},
		60: {Kind: translate.Exact, Target: 20},
		65: {Kind: translate.Exact, Target: 25},
		70: {Kind: translate.AtEnd, Target: 30},
	} {
		v := r.judged(run, fmt.Sprint("g", committed), tp, committed, translate.Verdict.IsExact)
		if v.Kind != want.Kind || v.Target != want.Target || v.Lost > want.Lost || want.Lost > 0 && v.Lost == 0 {
			t.Errorf("committed %d: %v, want %v", committed, v, want)
		}
	}
	r.produce("payments", 0, 10)
	r.same("payments")
}

// TestDenied: a right that is missing on one topic stops that topic, names the right and the cluster, and going on needs
// no restart once it is granted.
func TestDenied(t *testing.T) {
	for _, c := range []struct {
		name  string
		key   kmsg.Key
		topic string
		err   *kerr.Error
		says  []string
	}{
		{"read", kmsg.Fetch, "orders", kerr.TopicAuthorizationFailed, []string{"READ", `topic "orders"`, "source"}},
		{"write", kmsg.Produce, "A.orders", kerr.TopicAuthorizationFailed, []string{"WRITE", `topic "A.orders"`, "target"}},
		{"idempotent write", kmsg.Produce, "A.orders", kerr.ClusterAuthorizationFailed, []string{"IDEMPOTENT_WRITE", "cluster", "target"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.both("orders", 1)
			r.both("payments", 1)
			r.produce("orders", 0, 100)
			at := r.source
			if c.key == kmsg.Produce {
				at = r.target
			}
			h := at.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Topic: c.topic, Count: -1, Err: c.err})
			run := r.start(r.partitions("orders", "payments"))
			r.stopped(run, partition.ID{Topic: "orders"}, c.says...)
			r.produce("payments", 0, 100)
			r.same("payments")
			h.Remove()
			r.same("orders")
		})
	}
}

// TestNextObstacle: a partition that waits for something says what it waits for now, not what it waited for first.
func TestNextObstacle(t *testing.T) {
	r := newRig(t, 1)
	r.settings.Limits.StopRetry = 60_000 // so that only the news itself can bring the new reason
	log := r.listen()
	r.both("orders", 1)
	r.produce("orders", 0, 10)
	tp := partition.ID{Topic: "orders"}
	why := func(s string) map[partition.ID]Partition {
		ps := r.partitions("orders")
		p := ps[tp]
		p.NotYet = s
		ps[tp] = p
		return ps
	}
	run := r.start(why("CREATE on the topic is missing"))
	r.stopped(run, tp, "CREATE")
	run.flow.SetPartitions(why("DESCRIBE_CONFIGS on the topic is missing"))
	r.stopped(run, tp, "DESCRIBE_CONFIGS")
	if !log.line("partition stopped", "DESCRIBE_CONFIGS") {
		t.Error("the log does not say what is missing now")
	}
	run.flow.SetPartitions(r.partitions("orders"))
	r.same("orders")
}

// TestDeniedIdentity: rights that a lane needs for its own identity and topics are named in the error that ends it, and
// the next take-over has them.
func TestDeniedIdentity(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault kfake.Fault
		says  []string
	}{
		{"transactional id", kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.TransactionalIDAuthorizationFailed}, []string{"WRITE", `transactional id "tidemark.A->B.lane.0"`, "cluster B"}},
		{"idempotent write", kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ClusterAuthorizationFailed}, []string{"IDEMPOTENT_WRITE", "cluster B"}},
		{"write the ledger", kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "tidemark-ledger.A.internal", Err: kerr.TopicAuthorizationFailed}, []string{"WRITE", `topic "tidemark-ledger.A.internal"`}},
		{"fence the verdicts", kfake.Fault{Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Topic: "tidemark-verdicts.A.internal", Err: kerr.TopicAuthorizationFailed}, []string{"WRITE", `topic "tidemark-`, "cluster B"}},
		{"read the ledger", kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "tidemark-ledger.A.internal", Err: kerr.TopicAuthorizationFailed}, []string{"READ", `topic "tidemark-ledger.A.internal"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.both("orders", 1)
			r.produce("orders", 0, 100)
			run := r.start(r.partitions("orders")) // so that there is something to read
			r.same("orders")
			run.kill()
			run.wg.Wait()
			c.fault.Count = -1
			h := r.target.Fault(c.fault)
			run = r.start(r.partitions("orders"))
			run.wg.Wait()
			for _, want := range append(c.says, "is missing") {
				if err := run.errs[0]; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want one with %q", err, want)
				}
			}
			h.Remove()
			r.produce("orders", 100, 100)
			r.start(r.partitions("orders"))
			r.same("orders")
		})
	}
}

// TestForeignRecords: what somebody else writes into a remote topic that is being mirrored is kept apart: our records stay
// in order, and positions are right in front of it and behind it.
func TestForeignRecords(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	r.write(r.src, numbered("orders", "seq", 50)...)
	run := r.start(r.partitions("orders"))
	r.same("orders")
	r.write(r.dst, numbered("A.orders", "foreign", 3)...)
	r.write(r.src, numbered("orders", "late", 50)...)
	r.until("all records", func() (bool, string) {
		got := r.read(r.dst, "A.orders")[0]
		return len(got) == 103 && got[49] == "seq=49" && got[50] == "foreign=0" && got[53] == "late=0" && got[102] == "late=49", fmt.Sprint(len(got))
	})
	for committed, want := range map[int64]int64{49: 49, 50: 50, 51: 54, 100: 103} {
		v := r.judged(run, fmt.Sprint("g", committed), partition.ID{Topic: "orders"}, committed, translate.Verdict.IsExact)
		if int64(v.Target) != want {
			t.Errorf("committed %d: %v, want %d", committed, v, want)
		}
	}
}

// TestStopIsSaidOnce: a partition that stays stopped is tried again and again, and logged once.
func TestStopIsSaidOnce(t *testing.T) {
	r := newRig(t, 1)
	log := r.listen()
	r.both("orders", 1)
	r.produce("orders", 0, 10)
	h := r.source.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Count: -1, Err: kerr.CorruptMessage})
	run := r.start(r.partitions("orders"))
	r.stopped(run, partition.ID{Topic: "orders"}, "damaged batch", "offset 0")
	if err := h.Wait(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	count := func(words string) (n int) {
		log.mu.Lock()
		defer log.mu.Unlock()
		for _, line := range log.lines {
			if strings.Contains(line, words) {
				n++
			}
		}
		return n
	}
	if n := count("partition stopped"); n != 1 {
		t.Errorf("said %d times that the partition stopped", n)
	}
	if n := count("partition goes on"); n != 0 {
		t.Errorf("said %d times that it goes on, which it does not", n)
	}
	h.Remove()
	r.same("orders")
	r.until("it is said that the partition goes on", func() (bool, string) { return count("partition goes on") == 1, "" })
}
