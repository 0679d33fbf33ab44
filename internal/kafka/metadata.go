package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
	"tidemark/internal/pause"
)

var (
	// ErrNotLoaded means that nobody has asked for the topic yet: call
	// Refresh with its name.
	ErrNotLoaded = errors.New("metadata not loaded")
	// ErrNoTopic means that the cluster said, when last asked, that there is
	// no such topic or partition. A broker that starts up can say so of a
	// topic that exists; believe it only after several refreshes.
	ErrNoTopic = errors.New("no such topic or partition")
	// ErrNoLeader means that the partition exists and has no leader now, or
	// one whose address is not known.
	ErrNoLeader = errors.New("no leader")
)

const (
	// refreshPace is the least time between the starts of two requests. A
	// broken cluster makes every partition ask at once; one request every
	// 50 ms answers them all.
	refreshPace = 50 * time.Millisecond

	// staleTolerance is how many refreshes in a row may show an older leader
	// epoch than known before it is believed. Brokers lag by moments; a
	// cluster restored from a backup has really gone back.
	staleTolerance = 5
)

// Leader is where to send Fetch and Produce requests of one partition.
type Leader struct {
	Broker  int32
	Epoch   int32 // leader epoch; -1 where the broker named none
	Addr    string
	TopicID [16]byte
}

// Metadata is what is known of one cluster: brokers, topics, leaders. It
// answers from memory; Refresh asks the cluster. Safe for concurrent use.
//
// Invariants:
//   - a leader epoch never goes back within one topic id, but see
//     staleTolerance;
//   - at most one request is under way, and all callers that arrive before it
//     starts share its answer;
//   - a topic once asked for stays in the cache and is part of each
//     Refresh without names.
type Metadata struct {
	client *Client
	slot   chan struct{} // holds one token: the right to send a request

	mu      sync.Mutex
	next    *flight // collects callers until it starts; nil if nobody waits
	started time.Time
	brokers map[int32]string
	topics  map[string]*topicMeta
}

type topicMeta struct {
	id         [16]byte
	err        error // why the cluster gives no partitions; nil if it does
	partitions []partitionMeta
}

type partitionMeta struct {
	broker int32 // -1: no leader
	epoch  int32
	stale  int // refreshes in a row that showed an older epoch
}

// flight is one request and those who wait for it.
type flight struct {
	topics map[string]struct{}
	all    bool          // every topic in the cache
	done   chan struct{} // closed when err is set
	err    error
}

// errAbandoned ends a flight whose leader's context ended; its other callers
// start over.
var errAbandoned = errors.New("metadata request abandoned")

// NewMetadata returns an empty cache of c's cluster.
func NewMetadata(c *Client) *Metadata {
	return &Metadata{
		client:  c,
		slot:    make(chan struct{}, 1),
		brokers: map[int32]string{},
		topics:  map[string]*topicMeta{},
	}
}

// Refresh asks the cluster about the named topics, or about every topic asked
// for so far if none is named. It returns when an answer that was requested
// after the call is in the cache. What is wrong with a single topic is no
// error here: Leader and TopicID say it.
//
// Concurrent calls share requests, and two requests start at least 50 ms
// apart, so calling it on every error is right.
func (m *Metadata) Refresh(ctx context.Context, topics ...string) error {
	for {
		f, lead := m.join(topics)
		if lead {
			f.err = m.lead(ctx, f)
			close(f.done)
			if !errors.Is(f.err, errAbandoned) {
				return f.err
			}
			return m.client.failed("refresh metadata", ctx.Err())
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return m.client.failed("refresh metadata", ctx.Err())
		}
		// The leader of that flight gave up for reasons of its own; ours is to
		// go on.
		if !errors.Is(f.err, errAbandoned) {
			return f.err
		}
	}
}

// join adds the topics to the flight that has not started yet. The caller that
// creates it must lead it.
func (m *Metadata) join(topics []string) (f *flight, lead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f = m.next
	if f == nil {
		f = &flight{topics: map[string]struct{}{}, done: make(chan struct{})}
		m.next = f
		lead = true
	}
	f.all = f.all || len(topics) == 0
	for _, t := range topics {
		f.topics[t] = struct{}{}
	}
	return f, lead
}

// lead takes the slot, keeps the pace, closes the flight to newcomers, asks and
// stores the answer. errAbandoned means that ctx ended.
func (m *Metadata) lead(ctx context.Context, f *flight) error {
	select {
	case m.slot <- struct{}{}:
		defer func() { <-m.slot }()
	case <-ctx.Done():
		m.depart(f)
		return errAbandoned
	}
	m.mu.Lock()
	wait := refreshPace - time.Since(m.started)
	m.mu.Unlock()
	if !pause.For(ctx, wait) {
		m.depart(f)
		return errAbandoned
	}
	names := m.depart(f)
	m.mu.Lock()
	m.started = time.Now()
	m.mu.Unlock()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(names))
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, asks{m.client})
	if err != nil {
		if ctx.Err() != nil {
			return errAbandoned
		}
		return m.client.failed("refresh metadata", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(resp)
	return nil
}

// depart closes the flight to newcomers and returns the topics it asks for.
func (m *Metadata) depart(f *flight) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = nil
	if f.all {
		for name := range m.topics {
			f.topics[name] = struct{}{}
		}
	}
	return sortedKeys(f.topics)
}

// store takes one response in. The caller holds mu.
func (m *Metadata) store(resp *kmsg.MetadataResponse) {
	// A response lists all live brokers, so those not in it are gone; an empty
	// list is a broker that has just started and knows of nobody.
	if len(resp.Brokers) > 0 {
		clear(m.brokers)
	}
	for _, b := range resp.Brokers {
		m.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue // asked by name, so it has one
		}
		old := m.topics[*t.Topic]
		if t.ErrorCode != 0 {
			m.topics[*t.Topic] = &topicMeta{err: m.client.topicError(*t.Topic, t.ErrorCode)}
			continue
		}
		m.topics[*t.Topic] = newTopicMeta(t, old)
	}
}

// newTopicMeta takes a topic's answer in, keeping newer leaders that are known
// already (from a hint, or from a broker less behind).
func newTopicMeta(t kmsg.MetadataResponseTopic, old *topicMeta) *topicMeta {
	size := 0
	for _, p := range t.Partitions {
		size = max(size, int(p.Partition)+1)
	}
	fresh := &topicMeta{id: t.TopicID, partitions: make([]partitionMeta, size)}
	for i := range fresh.partitions {
		fresh.partitions[i] = partitionMeta{broker: -1, epoch: -1}
	}
	for _, p := range t.Partitions {
		got := partitionMeta{broker: p.Leader, epoch: p.LeaderEpoch}
		if old != nil && old.err == nil && old.id == t.TopicID && int(p.Partition) < len(old.partitions) {
			if had := old.partitions[p.Partition]; got.epoch < had.epoch && had.stale < staleTolerance {
				had.stale++
				got = had
			}
		}
		fresh.partitions[p.Partition] = got
	}
	return fresh
}

// Leader says where a partition is led. Errors: ErrNotLoaded, ErrNoTopic,
// ErrNoLeader, or *ErrDenied; the first three are cured by Refresh.
func (m *Metadata) Leader(tp partition.ID) (Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(tp.Topic)
	if err != nil {
		return Leader{}, fmt.Errorf("find the leader of %v: %w", tp, err)
	}
	if tp.Partition < 0 || int(tp.Partition) >= len(t.partitions) {
		return Leader{}, fmt.Errorf("find the leader of %v: %w on cluster %s (it has %d partitions)",
			tp, ErrNoTopic, m.client.cluster.Alias, len(t.partitions))
	}
	p := t.partitions[tp.Partition]
	if p.broker < 0 {
		return Leader{}, fmt.Errorf("find the leader of %v: %w on cluster %s", tp, ErrNoLeader, m.client.cluster.Alias)
	}
	addr, ok := m.brokers[p.broker]
	if !ok {
		return Leader{}, fmt.Errorf("find the leader of %v: %w with a known address on cluster %s (broker %d)",
			tp, ErrNoLeader, m.client.cluster.Alias, p.broker)
	}
	return Leader{Broker: p.broker, Epoch: p.epoch, Addr: addr, TopicID: t.id}, nil
}

// topic finds a topic that the cluster described. The caller holds mu.
func (m *Metadata) topic(name string) (*topicMeta, error) {
	t, ok := m.topics[name]
	if !ok {
		return nil, fmt.Errorf("topic %q on cluster %s: %w", name, m.client.cluster.Alias, ErrNotLoaded)
	}
	if t.err != nil {
		return nil, t.err
	}
	return t, nil
}

// TopicID is the topic's id, which changes when the topic is deleted and
// created again. Errors as for Leader.
func (m *Metadata) TopicID(name string) ([16]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(name)
	if err != nil {
		return [16]byte{}, err
	}
	return t.id, nil
}

// Partitions is how many partitions the topic has. Errors as for Leader.
func (m *Metadata) Partitions(name string) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(name)
	if err != nil {
		return 0, err
	}
	return int32(len(t.partitions)), nil
}

// Hint takes a leader from a Fetch or Produce response (KIP-951) and reports
// whether it was news. A hint with an epoch that is not newer than known is
// ignored: it comes from a broker that is behind. Call HintBroker for the
// endpoints of the same response first.
func (m *Metadata) Hint(tp partition.ID, broker, epoch int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.topics[tp.Topic]
	if !ok || t.err != nil || broker < 0 || tp.Partition < 0 || int(tp.Partition) >= len(t.partitions) {
		return false
	}
	p := &t.partitions[tp.Partition]
	// An epoch has one leader, so an equal epoch is news only if we know of
	// no leader.
	if epoch < p.epoch || epoch == p.epoch && p.broker >= 0 {
		return false
	}
	*p = partitionMeta{broker: broker, epoch: epoch}
	return true
}

// HintBroker takes a broker's address (host:port) from a response's node
// endpoints (KIP-951).
func (m *Metadata) HintBroker(id int32, addr string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id >= 0 && addr != "" {
		m.brokers[id] = addr
	}
}

// Addr is a broker's address (host:port); false if the broker is not known.
func (m *Metadata) Addr(broker int32) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr, ok := m.brokers[broker]
	return addr, ok
}
