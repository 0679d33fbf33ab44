package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
	"tidemark/internal/verdicts"
)

// soon is how long a process may take to say that it cannot work.
const soon = 20 * time.Second

// refused runs `tidemark run` on a file that cannot work, and gives what it said. It must end by itself, soon, with the
// code.
func refused(t *testing.T, yaml string, code int) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon+10*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "run", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began).Round(time.Millisecond)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || took > soon {
		t.Errorf("after %v: %v, want exit code %d within %v\n%s", took, err, code, soon, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	t.Logf("after %v: %s", took, lines[len(lines)-1])
	return out.String()
}

// says fails unless the text holds all parts.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("it does not say %q:\n%s", p, text)
		}
	}
}

// TestUnreachableAtStart: a cluster that cannot be reached is an error with its alias and address, soon.
func TestUnreachableAtStart(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	listen := func() net.Listener {
		l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	closed := listen()
	nobody := closed.Addr().String()
	_ = closed.Close()
	mute := listen() // takes connections and never says a word
	t.Cleanup(func() { _ = mute.Close() })
	web := listen() // no Kafka
	go func() {
		for {
			c, err := web.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = web.Close() })
	good := suite.target.BootstrapString()
	for _, c := range []struct {
		name, from, to string
		says           []string
	}{
		{"source refuses", nobody, good, []string{"cluster SRC", nobody, "refused"}},
		{"target refuses", good, nobody, []string{"cluster DST", nobody, "refused"}},
		{"source is mute", mute.Addr().String(), good, []string{"cluster SRC", mute.Addr().String()}},
		{"source is a web server", web.Addr().String(), good, []string{"cluster SRC", web.Addr().String(), "Kafka"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := refused(t, fmt.Sprintf("clusters:\n  SRC: {bootstrap: %q}\n  DST: {bootstrap: %q}\nflows:\n  - {from: SRC, to: DST}\n", c.from, c.to), 1)
			says(t, out, append(c.says, "flow SRC->DST")...)
		})
	}
}

// TestBadPattern: a pattern that is no regular expression is an error of the file, with line and key, before any
// cluster is asked.
func TestBadPattern(t *testing.T) {
	t.Parallel()
	const yaml = "clusters:\n  A: {bootstrap: 'a.invalid:1'}\n  B: {bootstrap: 'b.invalid:1'}\nflows:\n  - from: A\n    to: B\n    topics: ['orders(']\n    groups_exclude: ['[a']\n"
	out := refused(t, yaml, 2)
	says(t, out, "flow.yaml:7", "orders(", "flow.yaml:8", "[a")
}

// durable is an embedded cluster that keeps its data and addresses over restarts.
type durable struct {
	*testcluster.Fake
	opts []kfake.Opt
}

func newDurable(t *testing.T, id string) *durable {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	d := &durable{opts: []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port), kfake.ClusterID(id), kfake.DataDir(t.TempDir())}}
	d.up(t)
	t.Cleanup(func() { d.Close() })
	return d
}

func (d *durable) up(t *testing.T) {
	t.Helper()
	c, err := kfake.NewCluster(d.opts...)
	if err != nil {
		t.Fatal(err)
	}
	d.Fake = &testcluster.Fake{Cluster: c}
}

// counted waits until a topic's first partition holds n records.
func (f *flow) counted(c *testcluster.Fake, topic string, n int) {
	f.tb.Helper()
	cl := c.Client(f.tb)
	f.until(60*time.Second, fmt.Sprintf("%d records in %s", n, topic), func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, topic, testcluster.ReadUncommitted)
		if err == nil && len(recs) > n {
			f.tb.Fatalf("%d records in %s, want %d", len(recs), topic, n)
		}
		return err == nil && len(recs) == n, fmt.Sprint(len(recs), err)
	})
}

// TestClusterAway: a cluster that goes away while the flow runs is waited for, with a word in the log, and everything
// goes on when it is back. Nothing is lost, nothing comes twice.
func TestClusterAway(t *testing.T) {
	t.Parallel()
	for _, away := range []string{"source", "target"} {
		t.Run(away, func(t *testing.T) {
			t.Parallel()
			a, b := newDurable(t, "away-a"), newDurable(t, "away-b")
			f := fakeFlow(t, a.Fake, b.Fake, "A", "B", "")
			log := f.listen()
			if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
				t.Fatal(err)
			}
			produce := func(first int64) {
				t.Helper()
				if err := testcluster.Produce(t.Context(), a.ClientOpts(), testcluster.Load{Topic: "orders", First: first, Count: 100}); err != nil {
					t.Fatal(err)
				}
			}
			produce(0)
			stop := f.start()
			f.counted(b.Fake, "A.orders", 100)
			d, alias := a, "A"
			if away == "target" {
				d, alias = b, "B"
			}
			d.Close()
			f.until(30*time.Second, "a word in the log", func(context.Context) (bool, string) {
				return log.line("level=WARN", "cluster="+alias) || log.line("level=WARN", "cluster "+alias), ""
			})
			if away == "target" {
				produce(100)
			}
			d.up(t)
			if away == "source" {
				produce(100)
			}
			f.counted(b.Fake, "A.orders", 200)
			f.scl, f.tcl = a.Client(t), b.Client(t)
			f.src, f.dst = kadm.NewClient(f.scl), kadm.NewClient(f.tcl)
			f.commit("billing", map[string]map[int32]int64{"orders": {0: 150}})
			f.reaches("billing", "orders", 0, 150)
			if err := stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

// TestAliasMeansAnotherCluster: an alias whose address was changed to another cluster is not taken for the old one. The
// partitions of the old one stop and name both clusters; nothing of the new one goes behind the old records.
func TestAliasMeansAnotherCluster(t *testing.T) {
	t.Parallel()
	one := newDurable(t, "cluster-one")
	two := newDurable(t, "cluster-two")
	target := newDurable(t, "cluster-target")
	f := fakeFlow(t, one.Fake, target.Fake, "A", "B", "")
	for i, c := range []*durable{one, two} {
		if _, err := kadm.NewClient(c.Client(t)).CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
			t.Fatal(err)
		}
		if err := testcluster.Produce(t.Context(), c.ClientOpts(), testcluster.Load{Topic: "orders", Count: int64(100 + 100*i)}); err != nil {
			t.Fatal(err)
		}
	}
	f.commit("billing", map[string]map[int32]int64{"orders": {0: 50}})
	stop := f.start()
	f.counted(target.Fake, "A.orders", 100)
	f.reaches("billing", "orders", 0, 50)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.rewrite(strings.Join(one.Bootstrap(), ","), strings.Join(two.Bootstrap(), ","))
	f.src = kadm.NewClient(two.Client(t))
	if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, "fresh"); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Produce(t.Context(), two.ClientOpts(), testcluster.Load{Topic: "fresh", Count: 30}); err != nil {
		t.Fatal(err)
	}
	f.commit("billing", map[string]map[int32]int64{"orders": {0: 180}})
	stop = f.start()
	f.stopped(target.Client(t), spot{"billing", "orders", 0}, "cluster-one", "cluster-two")
	f.counted(target.Fake, "A.fresh", 30)
	f.counted(target.Fake, "A.orders", 100)
	if at, err := f.position(t.Context(), "billing", "orders", 0); err != nil || at != 50 {
		t.Errorf("the group went to %d (%v), want 50 as before", at, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestStrangersInOwnTopics: records in our own topics that are none of ours are named with their place in the log and left
// out; the flow works beside them.
func TestStrangersInOwnTopics(t *testing.T) {
	t.Parallel()
	a, b := testcluster.NewPair(t)
	f := fakeFlow(t, a, b, "A", "B", "")
	log := f.listen()
	if _, err := f.src.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Produce(t.Context(), a.ClientOpts(), testcluster.Load{Topic: "orders", Count: 100}); err != nil {
		t.Fatal(err)
	}
	f.commit("billing", map[string]map[int32]int64{"orders": {0: 50}})
	stop := f.start()
	f.reaches("billing", "orders", 0, 50)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	lane, rows := ledger.LaneOf("orders", 0, 2), ledger.GroupLane("billing", 2)
	key := verdicts.Key{Group: "billing", Topic: "orders"}.EncodeKey()
	cl := b.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, r := range []*kgo.Record{
		{Topic: ledger.TopicName("A"), Partition: lane, Key: []byte("what/is/this"), Value: []byte("?")},
		{Topic: ledger.VerdictsName("A"), Partition: rows, Key: []byte("no JSON"), Value: []byte("{}")},
		{Topic: ledger.VerdictsName("A"), Partition: rows, Key: key, Value: []byte(`{"version": 1, "committed": 50, "verdict": {"kind": "exact", "target": 99`)},
		{Topic: ledger.VerdictsName("A"), Partition: rows, Key: key, Value: []byte(`{"version": 7, "committed": 50, "verdict": {"kind": "exact", "target": 99}}`)},
	} {
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	stop = f.start()
	if err := testcluster.Produce(t.Context(), a.ClientOpts(), testcluster.Load{Topic: "orders", First: 100, Count: 100}); err != nil {
		t.Fatal(err)
	}
	f.commit("billing", map[string]map[int32]int64{"orders": {0: 150}})
	f.reaches("billing", "orders", 0, 150)
	f.counted(b, "A.orders", 200)
	const row = "a record of the verdicts topic is no row and is left out"
	for _, parts := range [][]string{{"damaged ledger record", "what/is/this"}, {row, "no JSON"}, {row, "unexpected end"}, {row, "version 7"}} {
		if !log.line(append(parts, "level=WARN", "offset=")...) {
			t.Errorf("the log has no line with %q", parts)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
