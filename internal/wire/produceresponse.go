package wire

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// reply is one batch's result as the broker gave it.
type reply struct {
	Result
	there bool // it is in the response
	moved bool // another leader is known by now
}

// noReply is the result of a batch without an answer.
func noReply(err error) reply {
	return reply{Result: Result{BaseOffset: -1, LogAppendTime: -1, LogStart: -1, Err: err}}
}

// answered hands out the results of one request. It runs in the connection's
// read goroutine, so the results of a connection come in the order of sending.
func (b *produceBroker) answered(c *conn, f *flight, cl *call, buf *buffer, err error) {
	var replies []reply
	if err == nil {
		replies, err = b.replies(c, f, buf)
		buf.release()
		if err != nil {
			// Nothing behind it can be trusted: W1.
			c.shut(err)
		}
	}
	if err != nil {
		replies = make([]reply, len(f.picks))
		for i := range replies {
			replies[i] = noReply(fmt.Errorf("produce %v to broker %d: %w", f.picks[i].line.tp, b.id, err))
		}
	} else {
		c.worked.Store(true)
	}
	verdicts := make([]verdict, 0, len(f.picks))
	b.p.mu.Lock()
	b.flying--
	for i, k := range f.picks {
		replies[i].Sent = cl.sent
		verdicts = b.settle(verdicts, k, replies[i])
	}
	b.p.mu.Unlock()
	signal(b.wake)
	b.p.tell(verdicts)
}

// settle ends one batch, and after a failure its line's queue as soon as none
// of the line's batches is under way. The caller holds Producer.mu.
func (b *produceBroker) settle(verdicts []verdict, k pick, r reply) []verdict {
	l := k.line
	l.flying--
	l.telling++
	verdicts = append(verdicts, verdict{l, k.done, r.Result})
	if r.failed() {
		l.failures++
		l.halted = true
		b.strike(l)
		if r.Err != nil || kafka.Classify(r.Code) == kafka.Refresh {
			l.moved = true
			l.stale = !r.moved
		}
	} else {
		l.failures = 0
	}
	return l.resume(verdicts)
}

// resume ends a halt as soon as nothing of the line is under way: what is
// queued comes back unsent, and the next batch may find a new leader. The
// caller holds Producer.mu.
func (l *line) resume(verdicts []verdict) []verdict {
	if !l.halted || l.flying > 0 {
		return verdicts
	}
	l.halted = false
	verdicts = append(verdicts, l.drain(unsent(fmt.Errorf("a batch of %v before it failed", l.tp)))...)
	if l.moved {
		l.moved = false
		l.broker = nil
	}
	return verdicts
}

// replies reads a response, one reply for each pick. It takes hints about
// leaders (KIP-951) and throttling in.
func (b *produceBroker) replies(c *conn, f *flight, buf *buffer) ([]reply, error) {
	body, err := responseBody(buf, f.version >= produceFlexible)
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = f.version
	// Unsafe: strings point into buf. Those that are kept are copied below.
	if err := resp.UnsafeReadFrom(body); err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	md := b.p.net.md
	for i := range resp.Brokers {
		e := &resp.Brokers[i]
		md.HintBroker(e.NodeID, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	replies := make([]reply, len(f.picks))
	names := map[[16]byte]string{}
	for _, k := range f.picks {
		names[k.id] = k.line.tp.Topic
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if f.version > produceByName {
			t.Topic = names[t.TopicID]
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if at, ok := f.search(partition.ID{Topic: t.Topic, Partition: p.Partition}); ok {
				replies[at] = reply{Result: resultOf(p), there: true}
				if kafka.Classify(p.ErrorCode) == kafka.Refresh {
					replies[at].moved = b.p.net.elsewhere(f.picks[at].line.tp, b.id, -1, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
				}
			}
		}
	}
	for i := range replies {
		if !replies[i].there {
			replies[i] = noReply(fmt.Errorf("produce %v to broker %d: the partition is not in the response", f.picks[i].line.tp, b.id))
		}
	}
	c.throttle(resp.ThrottleMillis)
	return replies, nil
}

func resultOf(p *kmsg.ProduceResponseTopicPartition) Result {
	r := Result{
		BaseOffset:    p.BaseOffset,
		LogAppendTime: p.LogAppendTime,
		LogStart:      p.LogStartOffset,
		Code:          p.ErrorCode,
	}
	if p.ErrorCode == 0 {
		return r
	}
	r.BaseOffset = -1
	if p.ErrorMessage != nil && *p.ErrorMessage != "" {
		r.Message = strings.Clone(*p.ErrorMessage)
	} else if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		r.Message = err.Error()
	}
	for _, e := range p.ErrorRecords {
		if e.ErrorMessage != nil {
			r.Message += fmt.Sprintf("; record %d: %s", e.RelativeOffset, *e.ErrorMessage)
			break // one is enough to see what is wrong
		}
	}
	return r
}

// search finds a partition's pick.
func (f *flight) search(tp partition.ID) (int, bool) {
	return slices.BinarySearchFunc(f.picks, tp, func(k pick, tp partition.ID) int { return k.line.tp.Compare(tp) })
}
