package engine

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/inspect"
	"tidemark/mm2"
)

// site is an embedded cluster that counts who connects to it.
type site struct {
	t     *testing.T
	admin *kadm.Client // nil until the test itself connects
	fake  *kfake.Cluster
	conns *atomic.Int32
}

type counted struct {
	net.Listener
	n *atomic.Int32
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

func newSite(t *testing.T, id string) *site {
	t.Helper()
	s := &site{t: t, conns: new(atomic.Int32)}
	var err error
	s.fake, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID(id), kfake.ListenFn(func(network, address string) (net.Listener, error) {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), network, address)
		return counted{l, s.conns}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.fake.Close)
	return s
}

func (s *site) client() *kadm.Client {
	if s.admin == nil {
		// A topic that is not there yet is looked for again at once, not after 5 s.
		cl, err := kgo.NewClient(kgo.SeedBrokers(s.fake.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(cl.Close)
		s.admin = kadm.NewClient(cl)
	}
	return s.admin
}

// fill creates a topic of one partition with n records. A topic that is there already is filled only.
func (s *site) fill(topic string, n int) {
	s.t.Helper()
	if _, err := s.client().CreateTopics(s.t.Context(), 1, 1, nil, topic); err != nil {
		s.t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.fake.ListenAddrs()...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	for i := range n {
		cl.Produce(s.t.Context(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "seq=%d", i)}, nil)
	}
	if err := cl.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// holds says whether a topic's first partition ends at n.
func (s *site) holds(topic string, n int64) bool {
	ends, err := s.client().ListEndOffsets(s.t.Context(), topic)
	o, ok := ends.Lookup(topic, 0)
	return err == nil && ok && o.Offset == n
}

func (s *site) commit(group, topic string, at int64) {
	s.t.Helper()
	o := kadm.Offsets{}
	o.AddOffset(topic, 0, at, -1)
	if err := s.client().CommitAllOffsets(s.t.Context(), group, o); err != nil {
		s.t.Fatal(err)
	}
}

// stands says whether a group's position is at an offset.
func (s *site) stands(group, topic string, at int64) bool {
	got, err := s.client().FetchOffsets(s.t.Context(), group)
	o, ok := got.Lookup(topic, 0)
	return err == nil && ok && o.At == at
}

// topics are the names of all topics apart from those that belong to Tidemark, MirrorMaker 2 and the brokers.
func (s *site) topics() []string {
	s.t.Helper()
	all, err := s.client().ListTopics(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return mm2.IsOwn(name) || strings.HasSuffix(name, "internal") && strings.Contains(name, "checkpoints") || strings.HasPrefix(name, "mm2-")
	})
}

// quick are the keys of a flow in a test of embedded clusters.
const quick = "replication_factor: 1, offset_syncs_replication_factor: 1, checkpoints_replication_factor: 1, heartbeats_replication_factor: 1, lanes: 2, positions_interval: 100ms, heartbeats_interval: 200ms"

// world is a file about some sites, each named by its alias.
func world(t *testing.T, sites map[string]*site, flows ...string) *ends {
	t.Helper()
	e := &ends{t: t}
	var b strings.Builder
	b.WriteString("clusters:\n")
	for _, alias := range slices.Sorted(maps.Keys(sites)) {
		fmt.Fprintf(&b, "  %s: {bootstrap: %q}\n", alias, strings.Join(sites[alias].fake.ListenAddrs(), ","))
	}
	b.WriteString("flows:\n")
	for _, f := range flows {
		fmt.Fprintf(&b, "  - {%s, %s}\n", f, quick)
	}
	e.cfg = e.parse(b.String())
	return e
}

func (e *ends) halt(stop func() error) {
	e.t.Helper()
	if err := stop(); err != nil {
		e.t.Fatal(err)
	}
}

// rules are what `tidemark topics` says about the first flow: the rule by topic.
func (e *ends) rules() map[string]string {
	e.t.Helper()
	r, err := inspect.Open(e.cfg, e.cfg.Flows[0], inspect.Options{})
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Topics(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range got.Mirrored {
		out[m.Topic] = m.Rule
	}
	for _, u := range got.NotMirrored {
		out[u.Topic] = u.Rule
	}
	return out
}
