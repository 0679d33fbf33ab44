package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/ledger"
	"tidemark/internal/pause"
	"tidemark/internal/testcluster"
)

// How long the forgetful cluster remembers a producer's state on a partition, and an idle transactional id. The second is
// longer than a lane's session: whoever waits that out must still have the identity that it took before.
const (
	forgets    = 4 * time.Second
	forgetsTxn = 13 * time.Second
)

// forgetfulOptions describe a broker on which what takes others a day or a week happens within seconds. Its second
// listener is reached through a lossy relay.
func forgetfulOptions() testcluster.RealOptions {
	return testcluster.RealOptions{
		Name: "forgetful", HeapMB: 384,
		Props: map[string]string{
			"producer.id.expiration.ms": fmt.Sprint(forgets.Milliseconds()), "producer.id.expiration.check.interval.ms": "200",
			"transactional.id.expiration.ms": fmt.Sprint(forgetsTxn.Milliseconds()), "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
			"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
		},
		Front: func(_ int, to string) (string, error) { return frontDoor.start(to) },
	}
}

func forgetful(t *testing.T) *testcluster.Real {
	t.Helper()
	r, err := suite.forgetful()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// onto makes another cluster the flow's target.
func (f *flow) onto(target *testcluster.Real) *flow {
	f.tb.Helper()
	f.rewrite(suite.target.BootstrapString(), target.BootstrapString())
	f.to, f.dst = target, kadm.NewClient(target.Client(f.tb))
	return f
}

// lossy is a TCP relay that can lose what a broker answers: the requests arrive and are carried out, and whoever sent
// them cannot know.
type lossy struct {
	mu    sync.Mutex
	mute  bool // answers are lost
	conns map[net.Conn]bool
}

// frontDoor is the way to the forgetful cluster's second listener. It ends with the process.
var frontDoor = &lossy{conns: map[net.Conn]bool{}}

func (l *lossy) start(to string) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			l.mu.Lock()
			l.conns[in], l.conns[out] = true, true
			l.mu.Unlock()
			go l.pass(in, out, false)
			go l.pass(out, in, true)
		}
	}()
	return ln.Addr().String(), nil
}

func (l *lossy) pass(from, to net.Conn, answers bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, from)
		delete(l.conns, to)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		lost := answers && l.mute
		l.mu.Unlock()
		if n > 0 && !lost {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lose drops all answers for a while, and then every connection.
func (l *lossy) lose(t *testing.T, d time.Duration) {
	t.Helper()
	l.mu.Lock()
	l.mute = true
	l.mu.Unlock()
	pause.For(t.Context(), d)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
	l.mute = false
}

// ledgers reads the ledger of a flow, by lane.
func (f *flow) ledgers(r *testcluster.Real) []*ledger.Contents {
	f.tb.Helper()
	out, cl := make([]*ledger.Contents, 4), r.Client(f.tb)
	for n := range out {
		out[n] = ledger.NewContents()
		recs, err := testcluster.ReadPartition(f.tb.Context(), cl, ledger.TopicName(f.alias), int32(n), testcluster.ReadUncommitted)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue // the flow has just started
		}
		if err != nil {
			f.tb.Fatal(err)
		}
		for _, rec := range recs {
			if err := out[n].Apply(rec.Offset, rec.Key, rec.Value); err != nil {
				f.tb.Fatal(err)
			}
		}
	}
	return out
}

func (f *flow) transactional(lane int) string {
	return fmt.Sprintf("tidemark.%s->T.lane.%d", f.alias, lane)
}

// through is the flow as a worker sees it whose way to the forgetful target loses answers.
func (f *flow) through(target *testcluster.Real) *flow {
	g := *f
	g.yaml = strings.ReplaceAll(f.yaml, target.BootstrapString(), target.Fronts()[0])
	return &g
}
