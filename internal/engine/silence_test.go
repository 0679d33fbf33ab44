package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/inspect"
	"tidemark/internal/ledger"
	"tidemark/internal/status"
)

// status is what `tidemark status` knows about the first flow.
func (e *ends) status() status.Flow {
	e.t.Helper()
	r, err := inspect.Open(e.cfg, e.cfg.Flows[0], inspect.Options{})
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Flow(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return got
}

// finds says whether `status --check` fails with a finding that has all the words.
func finds(f status.Flow, words ...string) bool {
	for _, finding := range f.Findings() {
		all := true
		for _, w := range words {
			all = all && strings.Contains(finding, w)
		}
		if all {
			return true
		}
	}
	return false
}

// TestLaneThatCannotRunIsSeen: a worker that may not own a lane's identity can write nothing to the ledger about it. Status
// knows all the same, with the reason and since when; once the right is there it knows nothing any more. The lane that runs is
// no news, and nothing is written about it.
func TestLaneThatCannotRunIsSeen(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	fault := target.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.TransactionalIDAuthorizationFailed, Count: -1,
		When: func(req kmsg.Request) bool {
			return *req.(*kmsg.InitProducerIDRequest).TransactionalID == "tidemark.A->B.lane.1"
		},
	})
	notes := target.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "tidemark.A->B", Observe: true, Count: -1})
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders]")
	began := time.Now()
	stop := e.run()
	e.until("a lane that waits", func() bool {
		got := e.status()
		return len(got.Lanes) == 2 && got.Lanes[1].State == status.LaneWaiting && finds(got, "lane 1 does not run since", "WRITE on transactional id", "lane.1")
	})
	got := e.status()
	if since := got.Lanes[1].Since; since.Before(began.Add(-time.Second)) || time.Since(since) < 10*time.Second {
		t.Errorf("waits since %v, the flow began at %v", since, began)
	}
	if got.Lanes[0].State != status.LaneOwned || got.Lanes[0].Why != "" {
		t.Errorf("the lane that runs: %+v", got.Lanes[0])
	}
	if text := got.Text(); !strings.Contains(text, "lane 1 does not run since 1") {
		t.Errorf("status does not show it:\n%s", text)
	}
	fault.Remove()
	e.until("both lanes run", func() bool { return e.status().Lanes[1].State == status.LaneOwned })
	if n := notes.Hits(); n < 2 || n > 6 {
		t.Errorf("%d notes were written", n)
	}
	e.halt(stop)
}

// TestLedgerThatTakesNothingIsSeen: a lane's ledger partition refuses every write while the flow runs. The lane cannot say so
// there; status shows it all the same, with the partition and the broker's reason, until it is over. Then the lane follows.
func TestLedgerThatTakesNothingIsSeen(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders]")
	stop := e.run()
	e.until("records on the target", func() bool { return target.holds("A.orders", 10) })
	lane := ledger.LaneOf("orders", 0, 2)
	fault := target.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: ledger.TopicName("A"), Partitions: []int32{lane}, Err: kerr.NotEnoughReplicas, Count: -1,
	})
	s.fill("orders", 5)
	e.until("a lane that waits for its ledger", func() bool {
		got := e.status()
		return got.Lanes[lane].State == status.LaneWaiting && finds(got, fmt.Sprintf("lane %d does not run since", lane), "can be written", "NOT_ENOUGH_REPLICAS")
	})
	fault.Remove()
	e.until("all records on the target", func() bool { return target.holds("A.orders", 15) && e.status().Lanes[lane].State == status.LaneOwned })
	e.halt(stop)
}

// TestHealthyFlowNotesNothing: while all is well nobody commits anything in the lane group.
func TestHealthyFlowNotesNothing(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	notes := target.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: "tidemark.A->B", Observe: true, Count: -1})
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders]")
	began := time.Now()
	stop := e.run()
	e.until("twelve seconds of work", func() bool { return target.holds("A.orders", 10) && time.Since(began) > 12*time.Second })
	if got := e.status().Findings(); len(got) > 0 {
		t.Errorf("findings: %v", got)
	}
	e.halt(stop)
	if n := notes.Hits(); n != 0 {
		t.Errorf("%d notes were written", n)
	}
}

// TestWorkersWithOtherFiles: two workers of one flow whose files select other topics. Each names the other in its log within
// ten seconds, with the patterns that only one of them has, and once; status shows it and the check fails, until one is gone.
func TestWorkersWithOtherFiles(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	for _, topic := range []string{"one", "two", "four"} {
		s.fill(topic, 1)
	}
	sites := map[string]*site{"A": s, "B": target}
	here := world(t, sites, "from: A, to: B, topics: [one, two]")
	there := world(t, sites, "from: A, to: B, topics: [two, four], isolation: read_committed")
	logs := []*lines{{}, {}}
	stopHere := here.runWith(logs[0])
	here.until("the first worker has both lanes", func() bool { w := here.status().Workers; return len(w) == 1 && len(w[0].Lanes) == 2 })
	began := time.Now()
	stopThere := there.runWith(logs[1])
	here.until("each names the other", func() bool {
		return logs[0].count("another worker of this flow", "topics only here: one, only there: four") == 1 &&
			logs[1].count("another worker of this flow", "topics only here: four, only there: one") == 1
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	here.until("status finds it", func() bool {
		return finds(here.status(), "runs with another file", "topics only at", "only here", "one", "four")
	})
	if text := here.status().Text(); !strings.Contains(text, "runs with another file than") {
		t.Errorf("status does not show it:\n%s", text)
	}
	here.halt(stopThere)
	here.until("the other one is gone", func() bool {
		got := here.status()
		return logs[0].count("a worker that ran with another file is gone") == 1 && !finds(got, "another file") && len(got.Workers) == 1
	})
	if n := logs[0].count("another worker of this flow"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	here.halt(stopHere)
}

// TestRightsThatAreTakenAwayAreSeen: rights that are taken away from a worker while it runs stop no data. What it may not do any
// more is a finding of `status --check`, which asks with rights of its own, until it is given back.
func TestRightsThatAreTakenAwayAreSeen(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	s.commit("billing", "orders", 3)
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders], sync_topic_configs_interval: 1s, refresh_topics_interval: 1s")
	stop := e.run()
	e.until("all is there", func() bool { return target.holds("A.orders", 10) && target.stands("billing", "A.orders", 3) })
	configs := s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: "orders", Err: kerr.TopicAuthorizationFailed, Count: -1})
	groups := s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "billing", Err: kerr.GroupAuthorizationFailed, Count: -1})
	e.until("both are found", func() bool {
		got := e.status()
		return finds(got, "settings of topics cannot be read: orders", "DESCRIBE_CONFIGS on topic") && finds(got, "positions of groups cannot be read", "DESCRIBE on group")
	})
	e.halt(stop)
	stop = e.run()
	s.fill("orders", 5)
	e.until("records go on after a restart", func() bool { return target.holds("A.orders", 15) })
	configs.Remove()
	groups.Remove()
	e.until("nothing is found", func() bool { return len(e.status().Findings()) == 0 })
	e.halt(stop)
}

// TestPartitionThatStandsIsSeen: while records flow, status never says that a partition stands. Once the target refuses them
// it says so within seconds, long before the partition's owner gives up.
func TestPartitionThatStandsIsSeen(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, "S"), newSite(t, "T")
	s.fill("orders", 10)
	e := world(t, map[string]*site{"A": s, "B": target}, "from: A, to: B, topics: [orders]")
	stop := e.run()
	e.until("all is there", func() bool { return target.holds("A.orders", 10) })
	for i := range int64(10) {
		s.fill("orders", 50)
		if got := e.status(); finds(got, "standing") {
			t.Fatalf("busy, look %d: %q", i, got.Findings())
		}
	}
	e.until("all is there", func() bool { return target.holds("A.orders", 510) })
	refuse := target.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "A.orders", Err: kerr.NotEnoughReplicas, Count: -1})
	s.fill("orders", 50)
	began := time.Now()
	e.until("it is standing", func() bool { return finds(e.status(), "orders-0 is standing") })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	refuse.Remove()
	e.until("it goes on", func() bool { return target.holds("A.orders", 560) && len(e.status().Findings()) == 0 })
	e.halt(stop)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, string(p))
	return len(p), nil
}

// count is how many lines have all words.
func (l *lines) count(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.said {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}
