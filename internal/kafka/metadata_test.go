package kafka

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

func TestLeader(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(6, "t"))
	md := NewMetadata(cl)
	if _, err := md.Leader(partition.ID{Topic: "t", Partition: 0}); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("a topic never asked for: %v", err)
	}
	noError(t, md.Refresh(deadline(t), "t", "gone"))
	for p := range int32(6) {
		l, err := md.Leader(partition.ID{Topic: "t", Partition: p})
		noError(t, err)
		if want := fc.LeaderFor("t", p); l.Broker != want {
			t.Errorf("partition %d: leader %d, want %d", p, l.Broker, want)
		}
		if addr, ok := md.Addr(l.Broker); !ok || addr != l.Addr {
			t.Errorf("broker %d: %q and %q", l.Broker, addr, l.Addr)
		}
		if l.TopicID != fc.TopicInfo("t").TopicID {
			t.Errorf("topic id %x", l.TopicID)
		}
	}
	if n, err := md.Partitions("t"); n != 6 || err != nil {
		t.Errorf("%d partitions, %v", n, err)
	}
	for _, tp := range []partition.ID{{Topic: "gone", Partition: 0}, {Topic: "t", Partition: 6}, {Topic: "t", Partition: -1}} {
		if _, err := md.Leader(tp); !errors.Is(err, ErrNoTopic) || !strings.Contains(err.Error(), "cluster A") {
			t.Errorf("%v: %v", tp, err)
		}
	}
	if _, ok := md.Addr(99); ok {
		t.Error("a broker that does not exist has an address")
	}
	// A topic that comes later is found by a refresh of all.
	noError(t, fc.CreateTopic("gone", 1, nil))
	noError(t, md.Refresh(deadline(t)))
	if _, err := md.Leader(partition.ID{Topic: "gone", Partition: 0}); err != nil {
		t.Errorf("a topic created later: %v", err)
	}
}

func TestTopicIDChangesWithTheTopic(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(1, "t"))
	md := NewMetadata(cl)
	noError(t, md.Refresh(deadline(t), "t"))
	was, err := md.TopicID("t")
	noError(t, err)
	// A leader epoch of the old incarnation says nothing about the new one.
	if !md.Hint(partition.ID{Topic: "t", Partition: 0}, 1, 1000) {
		t.Fatal("a newer epoch was not taken")
	}
	noError(t, fc.DeleteTopic("t"))
	noError(t, fc.CreateTopic("t", 1, nil))
	noError(t, md.Refresh(deadline(t), "t"))
	is, err := md.TopicID("t")
	noError(t, err)
	l, err := md.Leader(partition.ID{Topic: "t", Partition: 0})
	noError(t, err)
	if is == was || is == [16]byte{} || l.Epoch >= 1000 {
		t.Errorf("id %x then %x, epoch %d", was, is, l.Epoch)
	}
}

func TestHints(t *testing.T) {
	_, cl := fakeClient(t, kfake.SeedTopics(2, "t"))
	md := NewMetadata(cl)
	tp := partition.ID{Topic: "t", Partition: 0}
	if md.Hint(tp, 1, 5) {
		t.Error("a hint for a topic that is not loaded was taken: its id is not known")
	}
	noError(t, md.Refresh(deadline(t), "t"))
	start, err := md.Leader(tp)
	noError(t, err)
	md.HintBroker(77, "127.0.0.1:7777")
	steps := []struct {
		name          string
		broker, epoch int32
		news          bool
	}{
		{"newer", 77, start.Epoch + 2, true},
		{"older than the hint", 1, start.Epoch + 1, false},
		{"equal", 1, start.Epoch + 2, false},
		{"no leader", -1, start.Epoch + 3, false},
	}
	for _, s := range steps {
		if got := md.Hint(tp, s.broker, s.epoch); got != s.news {
			t.Errorf("%s: news %v", s.name, got)
		}
		l, err := md.Leader(tp)
		if err != nil || l.Broker != 77 || l.Epoch != start.Epoch+2 || l.Addr != "127.0.0.1:7777" {
			t.Errorf("%s: %+v, %v", s.name, l, err)
		}
	}
	if md.Hint(partition.ID{Topic: "t", Partition: 9}, 1, 100) || md.Hint(partition.ID{Topic: "u", Partition: 0}, 1, 100) {
		t.Error("a hint for an unknown partition was taken")
	}
	if !md.Hint(tp, 88, start.Epoch+5) {
		t.Error("a newer hint was not taken")
	}
	if _, err := md.Leader(tp); !errors.Is(err, ErrNoLeader) {
		t.Errorf("a leader without a known address: %v", err)
	}
}

// onePartition is a cache of one topic whose answers the test makes up.
func onePartition(t *testing.T) (*Metadata, func(broker, epoch int32)) {
	t.Helper()
	md := NewMetadata(&Client{cluster: Cluster{Alias: "A"}})
	return md, func(broker, epoch int32) {
		resp := kmsg.NewPtrMetadataResponse()
		for id := range int32(3) {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = id, "h", 9000+id
			resp.Brokers = append(resp.Brokers, b)
		}
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic = new("t")
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Leader, p.LeaderEpoch = broker, epoch
		rt.Partitions = append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
		md.mu.Lock()
		defer md.mu.Unlock()
		md.store(resp)
	}
}

func TestStaleBrokersAreNotBelieved(t *testing.T) {
	md, store := onePartition(t)
	tp := partition.ID{Topic: "t", Partition: 0}
	leader := func() int32 {
		l, err := md.Leader(tp)
		noError(t, err)
		return l.Broker
	}
	store(1, 10)
	md.Hint(tp, 2, 11)
	for range staleTolerance {
		store(1, 10) // a broker that has not heard of epoch 11
		if got := leader(); got != 2 {
			t.Fatalf("an older epoch was believed: leader %d", got)
		}
	}
	store(1, 10)
	if got := leader(); got != 1 {
		t.Errorf("a cluster that has really gone back is never believed: leader %d", got)
	}
	store(-1, 12)
	if _, err := md.Leader(tp); !errors.Is(err, ErrNoLeader) {
		t.Errorf("no leader: %v", err)
	}
	if !md.Hint(tp, 2, 12) || leader() != 2 {
		t.Error("a hint that names the leader of an epoch without one was not taken")
	}
}

func TestRefreshIsShared(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	noError(t, NewMetadata(cl).Refresh(deadline(t))) // connects; kgo asks for itself here
	md := NewMetadata(cl)
	seen := observe(fc, kmsg.Metadata)
	start := time.Now()
	const callers = 500
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() { errs[i] = md.Refresh(t.Context(), "t") })
	}
	wg.Wait()
	noError(t, errors.Join(errs...))
	// One request for the first, and one more for each pace that passed while
	// the callers were being started.
	if most := 2 + int(time.Since(start)/refreshPace); seen.Hits() > most {
		t.Errorf("%d callers made %d requests in %v, want at most %d", callers, seen.Hits(), time.Since(start), most)
	}
	if _, err := md.Leader(partition.ID{Topic: "t", Partition: 0}); err != nil {
		t.Error(err)
	}
}

func TestRefreshKeepsThePace(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	md := NewMetadata(cl)
	noError(t, md.Refresh(deadline(t), "t"))
	seen := observe(fc, kmsg.Metadata)
	start := time.Now()
	for range 4 {
		noError(t, md.Refresh(deadline(t), "t"))
	}
	if took := time.Since(start); took < 3*refreshPace || seen.Hits() > 4 {
		t.Errorf("4 refreshes took %v and %d requests", took, seen.Hits())
	}
}

// The caller whose turn it is gives up; those who wait for its request must
// get one of their own, not its error.
func TestRefreshOutlivesItsLeader(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	md := NewMetadata(cl)
	noError(t, md.Refresh(deadline(t), "t"))
	reached := make(chan struct{})
	release := make(chan struct{})
	fc.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		fc.DropControl()
		close(reached)
		fc.SleepControl(func() { <-release })
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- md.Refresh(ctx, "t") }()
	<-reached
	second := make(chan error, 1)
	go func() { second <- md.Refresh(t.Context(), "t") }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled caller got %v", err)
	}
	close(release)
	if err := <-second; err != nil {
		t.Errorf("the other caller got %v", err)
	}
}

func TestRefreshReportsTheCluster(t *testing.T) {
	cl := open(t, Cluster{Alias: "A", Bootstrap: []string{closedPort(t)}})
	err := NewMetadata(cl).Refresh(deadline(t), "t")
	as[*ErrUnreachable](t, err)
	if !strings.Contains(err.Error(), "refresh metadata on cluster A") {
		t.Errorf("the error says %q", err)
	}
}

func TestMetadataWithoutRights(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: kerr.TopicAuthorizationFailed, Count: -1})
	md := NewMetadata(cl)
	noError(t, md.Refresh(deadline(t), "t"))
	_, err := md.Leader(partition.ID{Topic: "t", Partition: 0})
	if got := *as[*ErrDenied](t, err); got != (ErrDenied{"DESCRIBE", "topic", "t", "A"}) {
		t.Errorf("denied: %+v", got)
	}
}
