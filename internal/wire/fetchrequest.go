package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// first chooses the partition that leads the next request. Only the first
// partition with data may exceed the limits (a broker's minOneMessage), so it
// is one whose batch did not fit last time, with the bytes that it needs; nil
// if there is none, and then the order rotates.
func (b *fetchBroker) first() (w *want, need int64) {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	for i := range b.groups {
		for _, w := range b.groups[(b.turn+i)%len(b.groups)].parts {
			if w.armed && w.fragment > 0 {
				return w, w.fragment
			}
		}
	}
	return nil, 0
}

// build puts all armed partitions into b.req, within room bytes. It returns how
// long the broker may hold the request; zero if there is nothing left to fetch.
func (b *fetchBroker) build(first *want, room int64) (time.Duration, error) {
	version, err := b.link.conn.pick(b.req.Key())
	if err != nil {
		return 0, err
	}
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.armed == 0 {
		return 0, nil
	}
	b.f.requests++
	b.request = b.f.requests
	limit := int32(min(room, max(int64(b.f.opt.PartitionMaxBytes)>>b.ease, 1)))
	topics := b.req.Topics[:0]
	b.lead = nil
	if first != nil && first.armed && first.broker == b {
		topics = addTopic(topics, first.group)
		b.add(&topics[0], first, int32(max(int64(limit), min(room, first.fragment))))
		b.lead = first
	}
	n := len(b.groups)
	for i := range b.groups {
		g := b.groups[(b.turn+i)%n]
		if g.id == [16]byte{} {
			version = min(version, fetchByName)
		}
		t := -1
		if len(topics) > 0 && first != nil && g == first.group {
			t = 0
		}
		for j := range g.parts {
			w := g.parts[(b.turn/n+j)%len(g.parts)]
			if !w.armed || w.request == b.request {
				continue
			}
			if t < 0 {
				t = len(topics)
				topics = addTopic(topics, g)
			}
			b.add(&topics[t], w, limit)
		}
	}
	b.turn++
	hold := b.f.opt.MaxWait
	if b.armed < b.total {
		hold = min(hold, shortWait)
	}
	b.version = version
	b.req.Version = version
	b.req.MaxWaitMillis = int32(hold.Milliseconds())
	b.req.MinBytes = b.f.opt.MinBytes
	b.req.MaxBytes = int32(room)
	b.req.IsolationLevel = b.f.opt.Isolation
	b.req.Topics = topics
	return hold, nil
}

// addTopic appends a topic entry, with the partition slice of an earlier
// request's entry where there is one.
func addTopic(topics []kmsg.FetchRequestTopic, g *group) []kmsg.FetchRequestTopic {
	var parts []kmsg.FetchRequestTopicPartition
	if n := len(topics); n < cap(topics) {
		parts = topics[:n+1][n].Partitions[:0]
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = g.topic, g.id, parts
	return append(topics, t)
}

// add makes w part of the request under construction.
func (b *fetchBroker) add(t *kmsg.FetchRequestTopic, w *want, limit int32) {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = w.tp.Partition
	p.CurrentLeaderEpoch = w.epoch
	p.FetchOffset = w.offset
	p.LastFetchedEpoch = w.lastEpoch
	p.PartitionMaxBytes = limit
	t.Partitions = append(t.Partitions, p)
	w.request, w.sentGen = b.request, w.gen
}
