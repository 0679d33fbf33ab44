package wire

import (
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
)

// handle takes one response in and delivers what it holds. An error means that
// the response as a whole is of no use.
func (b *fetchBroker) handle(buf *buffer) error {
	body, err := responseBody(buf, b.req.IsFlexible())
	if err != nil {
		return fmt.Errorf("read fetch response of broker %d: %w", b.id, err)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = b.version
	// Unsafe: topic names point into buf. They are only compared here.
	if err := resp.UnsafeReadFrom(body); err != nil {
		return fmt.Errorf("read fetch response of broker %d: %w", b.id, err)
	}
	b.link.conn.throttle(resp.ThrottleMillis)
	if resp.ErrorCode != 0 {
		return fmt.Errorf("fetch from broker %d: %w", b.id, kerr.ErrorForCode(resp.ErrorCode))
	}
	b.link.conn.worked.Store(true)
	for i := range resp.Brokers {
		e := &resp.Brokers[i]
		b.f.net.md.HintBroker(e.NodeID, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	now, records := time.Now(), 0
	b.out = b.out[:0]
	b.rested = b.rested[:0]
	b.f.mu.Lock()
	for i := range resp.Topics {
		t := &resp.Topics[i]
		g := b.groupOf(t)
		if g == nil {
			continue // all of them were dropped or moved meanwhile
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			records += len(p.RecordBatches)
			at, ok := g.search(p.Partition)
			if !ok {
				continue
			}
			w := g.parts[at]
			if w.request != b.request || w.gen != w.sentGen || !w.armed {
				continue
			}
			b.take(w, p, buf, now) // may take w out of g
		}
	}
	b.f.mu.Unlock()
	b.eased(resp.ThrottleMillis > 0, records)
	b.f.opt.Rate.took(records, now)
	b.deliver()
	return nil
}

// groupOf finds the group that a topic entry is about.
func (b *fetchBroker) groupOf(t *kmsg.FetchResponseTopic) *group {
	for _, g := range b.groups {
		if b.version > fetchByName && g.id == t.TopicID || b.version <= fetchByName && g.topic == t.Topic {
			return g
		}
	}
	return nil
}

// take decides what one partition's answer means. The caller holds Fetcher.mu.
func (b *fetchBroker) take(w *want, p *kmsg.FetchResponseTopicPartition, buf *buffer, now time.Time) {
	if p.ErrorCode != 0 {
		b.refuse(w, p, now)
		return
	}
	over := !w.trouble.reported.IsZero() // who was told that it lasts is told that it is over
	w.trouble = trouble{}
	said := w.tell()
	said.HighWatermark, said.LastStable, said.LogStart = p.HighWatermark, p.LastStableOffset, p.LogStartOffset
	ends := ends{p.HighWatermark, p.LastStableOffset, p.LogStartOffset}
	if p.DivergingEpoch.Epoch >= 0 || p.DivergingEpoch.EndOffset >= 0 {
		said.Diverging = &EpochEnd{Epoch: p.DivergingEpoch.Epoch, End: p.DivergingEpoch.EndOffset}
		b.f.halt(w)
		b.out = append(b.out, said)
		return
	}
	whole, need, ok := wholeBatches(p.RecordBatches)
	// The first batch of the first partition comes whole, however large it is (KIP-74). One that does not has a damaged
	// length, and asking for that many bytes again and again would take the whole budget.
	if whole == 0 && (!ok || w == b.lead && need > 0) {
		said.Code = kerr.CorruptMessage.Code
		b.f.halt(w)
		b.out = append(b.out, said)
		return
	}
	w.fragment = 0
	if whole == 0 {
		w.fragment = need
		if ends != w.seen || over {
			w.seen = ends
			b.out = append(b.out, said)
		}
		return
	}
	w.seen = ends
	said.Records = p.RecordBatches[:whole:whole]
	said.Release = buf.share()
	for _, a := range p.AbortedTransactions {
		said.Aborted = append(said.Aborted, batch.Aborted{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
	}
	w.arm(false)
	b.rested = append(b.rested, w)
	b.out = append(b.out, said)
}

// refuse acts on an error code. The caller holds Fetcher.mu.
func (b *fetchBroker) refuse(w *want, p *kmsg.FetchResponseTopicPartition, now time.Time) {
	class := kafka.Classify(p.ErrorCode)
	if p.ErrorCode == kerr.UnknownServerError.Code {
		// On a fetch this is what a failing remote log (KIP-405) looks like:
		// nothing was read, nothing is lost by asking again.
		class = kafka.Retry
	}
	if class != kafka.Retry && class != kafka.Refresh {
		said := w.tell()
		said.HighWatermark, said.LastStable, said.LogStart = p.HighWatermark, p.LastStableOffset, p.LogStartOffset
		said.Code = p.ErrorCode
		b.f.halt(w)
		b.out = append(b.out, said)
		return
	}
	if w.trouble.add(now) {
		said := w.tell()
		said.Err = fmt.Errorf("fetch %v from broker %d for %v: %w",
			w.tp, b.id, now.Sub(w.trouble.since).Round(time.Millisecond), kerr.ErrorForCode(p.ErrorCode))
		b.out = append(b.out, said)
	}
	// A broker that is behind answers UNKNOWN_LEADER_EPOCH and catches up by
	// itself; if it does not, it may be us who know too much.
	stale := w.trouble.failures > 3
	if class == kafka.Refresh {
		stale = !b.f.net.elsewhere(w.tp, b.id, w.epoch, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	}
	// The first time at once: a new leader is in office by the time the old
	// one says so.
	failures := w.trouble.failures
	if class == kafka.Refresh {
		failures--
	}
	b.f.seek(w, stale, b.f.net.seekBackoff().after(failures))
}

// wholeBatches is the length of the whole batches (or legacy messages) at the
// start of records, and the size of the one behind them that was cut off, 0 if
// there is none. Not ok means that what follows is no batch at all.
//
// Every magic begins with an offset and the length of the rest, so this needs
// no look inside. A size that is not known, because not even the length is
// there, counts as one page.
func wholeBatches(records []byte) (whole int, need int64, ok bool) {
	const (
		prefix = 12 // offset and length
		least  = 14 // of the rest: a v0 message without key and value
		page   = 4096
	)
	for {
		rest := records[whole:]
		if len(rest) == 0 {
			return whole, 0, true
		}
		if len(rest) < prefix {
			return whole, page, true
		}
		length := int32(binary.BigEndian.Uint32(rest[8:]))
		if length < least {
			return whole, 0, false
		}
		if size := prefix + int64(length); size <= int64(len(rest)) {
			whole += int(size)
		} else {
			return whole, size, true
		}
	}
}
