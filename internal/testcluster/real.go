//go:build unix

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// stopGrace is how long a broker may take to shut down before it is killed.
// Its data is thrown away, so the only reason to ask politely is to find
// brokers that hang.
const stopGrace = 5 * time.Second

// RealOptions describe a cluster of real brokers. The zero value is one broker
// without security.
type RealOptions struct {
	Name    string // for messages and directory names; "kafka" where empty
	Brokers int    // 1 (also 0) or 3
	// Props are broker properties; they win over the defaults of this package.
	Props map[string]string
	// Features are feature levels to format with, such as "transaction.version": 0.
	Features map[string]int
	Security Security
	Users    []User // SASL users beside Admin
	// CertificateName is the only name in the brokers' certificates. They are
	// reached by 127.0.0.1 in any case, so a client that checks names refuses
	// them. Empty: the names by which they are reached.
	CertificateName string
	// Authorizer turns StandardAuthorizer on with Admin as the only super
	// user. It needs a listener that authenticates.
	Authorizer bool
	// Env is added to the environment of the brokers' processes, as "NAME=value".
	Env []string
	// Front, where set, is called once for each broker with the address of one
	// more listener, and gives the address that the broker tells clients of
	// that listener instead: that of a proxy. [Real.Fronts] has those addresses.
	Front  func(broker int, to string) (addr string, err error)
	HeapMB int // maximum heap of a broker; 512 where 0
	// FullJIT lets the JVM optimise as in production. By default only its first
	// compiler runs, which starts sooner and costs less than half the CPU in a
	// test of a few seconds, but is slower in the long run: benchmarks set it.
	FullJIT bool
}

func (o RealOptions) users() []User { return append([]User{Admin()}, o.Users...) }

func (o RealOptions) withDefaults() (RealOptions, error) {
	if o.Name == "" {
		o.Name = "kafka"
	}
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.HeapMB == 0 {
		o.HeapMB = 512
	}
	if o.Brokers != 1 && o.Brokers != 3 {
		return o, fmt.Errorf("a real cluster has 1 or 3 brokers, not %d", o.Brokers)
	}
	if o.Authorizer && o.Security == SecurityNone {
		return o, errors.New("an authorizer needs a listener that authenticates: set Security")
	}
	return o, nil
}

// Real is a running cluster of Apache Kafka brokers in KRaft mode, each node
// broker and controller in one process. Brokers are named by their index, from
// 0; [Real.NodeID] gives the id that Kafka knows. The methods may be called from
// several goroutines, but not two of them on one broker at the same time.
type Real struct {
	opts  RealOptions
	dir   string
	libs  string
	id    string
	certs *Certificates
	ports *ports

	mu    sync.Mutex // guards proc and frozen of the nodes
	nodes []*node
}

// node is one broker process, running or not.
type node struct {
	index      int
	dir        string
	client     string // addresses of the listeners; internal is empty where
	controller string // clients and brokers share one
	internal   string
	behind     string // address of the listener that a proxy is in front of, and the proxy's
	front      string
	proc       *Process
	frozen     bool
}

// StartReal starts a cluster and returns when all its brokers are in its
// metadata and it would create a topic on all of them. On an error everything
// is ended and removed, and the error holds the last lines of the brokers' logs.
// Several clusters may be started at the same time.
func StartReal(ctx context.Context, o RealOptions) (*Real, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	libs, err := Libs(ctx)
	if err != nil {
		return nil, err
	}
	if err := ensureTools(ctx, "java"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-"+o.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("create cluster directory: %w", err)
	}
	r := &Real{opts: o, dir: dir, libs: libs, ports: &ports{}}
	if err := r.boot(ctx); err != nil {
		err = fmt.Errorf("start cluster %s: %w\n%s", o.Name, err, r.LogTail(25))
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// boot does everything that can fail after the directory exists.
func (r *Real) boot(ctx context.Context) error {
	if err := r.layout(); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if err := r.format(ctx, n); err != nil {
			return err
		}
	}
	for _, n := range r.nodes {
		if err := r.launch(n); err != nil {
			return err
		}
	}
	return r.awaitReady(ctx)
}

// layout chooses ports and writes the files that brokers read.
func (r *Real) layout() (err error) {
	r.id = newUUID()
	if r.opts.Security.tls() {
		if r.certs, err = newCertificates(r.dir, r.opts.CertificateName); err != nil {
			return err
		}
	}
	const listeners = 4
	if r.ports, err = reservePorts(listeners * r.opts.Brokers); err != nil {
		return err
	}
	for i := range r.opts.Brokers {
		n := &node{
			index:      i,
			dir:        filepath.Join(r.dir, fmt.Sprintf("broker-%d", r.NodeID(i))),
			client:     loopback(r.ports.numbers[listeners*i]),
			controller: loopback(r.ports.numbers[listeners*i+1]),
		}
		if r.opts.Security != SecurityNone {
			n.internal = loopback(r.ports.numbers[listeners*i+2])
		}
		if r.opts.Front != nil {
			n.behind = loopback(r.ports.numbers[listeners*i+3])
			if n.front, err = r.opts.Front(i, n.behind); err != nil {
				return err
			}
		}
		r.nodes = append(r.nodes, n)
	}
	for _, n := range r.nodes {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return fmt.Errorf("create broker directory: %w", err)
		}
		if err := writeProps(n.propsFile(), r.brokerProps(n)); err != nil {
			return err
		}
	}
	return writeLogging(r.dir)
}

// launch starts the node's process, which must not be running.
func (r *Real) launch(n *node) error {
	jvm := jvmArgs{libs: r.libs, logging: r.dir, heapMB: r.opts.HeapMB, fullJIT: r.opts.FullJIT}
	p, err := start(command{
		name: fmt.Sprintf("broker %d of cluster %s", r.NodeID(n.index), r.opts.Name),
		argv: jvm.argv("kafka.Kafka", n.propsFile()),
		dir:  n.dir,
		env:  r.opts.Env,
		log:  n.logFile(),
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n.proc, n.frozen = p, false
	return nil
}

func (n *node) propsFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) logFile() string   { return filepath.Join(n.dir, "broker.log") }

// process returns the node's process; nil before the first launch.
func (r *Real) process(i int) *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[i].proc
}

// Name is the name given in the options.
func (r *Real) Name() string { return r.opts.Name }

// ClusterID is the cluster id that the brokers tell.
func (r *Real) ClusterID() string { return r.id }

// Brokers is the number of brokers, running or not.
func (r *Real) Brokers() int { return r.opts.Brokers }

// Bootstrap returns the addresses of all brokers' client listeners.
func (r *Real) Bootstrap() []string {
	var addrs []string
	for _, n := range r.nodes {
		addrs = append(addrs, n.client)
	}
	return addrs
}

// BootstrapString is Bootstrap as the one comma separated value of a property.
func (r *Real) BootstrapString() string { return strings.Join(r.Bootstrap(), ",") }

// Fronts are the addresses that [RealOptions.Front] gave, of all brokers.
func (r *Real) Fronts() []string {
	var addrs []string
	for _, n := range r.nodes {
		addrs = append(addrs, n.front)
	}
	return addrs
}

// BrokerAddr is the address of broker i's client listener.
func (r *Real) BrokerAddr(i int) string { return r.nodes[i].client }

// NodeID is the node.id of broker i. Ids start at 1, as in most installations,
// so that an id taken for an index is noticed.
func (r *Real) NodeID(i int) int32 { return int32(i) + 1 }

// BrokerPID is the process id of broker i, for measuring its CPU time.
func (r *Real) BrokerPID(i int) int { return r.process(i).PID() }

// Client makes a client that logs in as Admin and is closed with the test.
func (r *Real) Client(t T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return NewClient(t, r.ClientOpts(), opts...)
}

// Alive reports whether the process of broker i has not ended; it may be frozen.
func (r *Real) Alive(i int) bool { return r.process(i).Running() }

// Kill ends broker i as a crash would, and waits until it is gone.
func (r *Real) Kill(i int) error { return r.process(i).Kill() }

// StopBroker shuts broker i down in order: leaders move away first. Its data stays.
func (r *Real) StopBroker(i int) error {
	const grace = 30 * time.Second // a controlled shutdown moves every leader
	return r.process(i).Stop(grace)
}

// Restart starts broker i again on its data and address, having shut it down in
// order where it still ran, and returns when the cluster is ready with it.
func (r *Real) Restart(ctx context.Context, i int) error {
	if err := r.StopBroker(i); err != nil {
		return err
	}
	if err := r.launch(r.nodes[i]); err != nil {
		return err
	}
	if err := r.awaitReady(ctx); err != nil {
		return fmt.Errorf("restart broker %d: %w\n%s", r.NodeID(i), err, r.process(i).LogTail(25))
	}
	return nil
}

// Freeze stops broker i from running (SIGSTOP): connections stay open and
// nothing answers, as with a machine that hangs.
func (r *Real) Freeze(i int) error { return r.setFrozen(i, true) }

// Thaw lets a frozen broker i run on.
func (r *Real) Thaw(i int) error { return r.setFrozen(i, false) }

func (r *Real) setFrozen(i int, frozen bool) error {
	sig := syscall.SIGCONT
	if frozen {
		sig = syscall.SIGSTOP
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.nodes[i].proc.Signal(sig); err != nil {
		return err
	}
	r.nodes[i].frozen = frozen
	if !frozen {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return Await(ctx, fmt.Sprintf("all threads of broker %d to stop", i), func(context.Context) (bool, string, error) {
		still, err := standsStill(r.nodes[i].proc.PID())
		return still, "", err
	})
}

// Stop ends all brokers and removes everything the cluster has written. It may
// be called more than once.
func (r *Real) Stop() error {
	var g errgroup.Group
	for i := range r.nodes {
		if p := r.process(i); p != nil {
			g.Go(func() error { return p.Stop(stopGrace) })
		}
	}
	err := g.Wait()
	r.ports.release()
	return errors.Join(err, os.RemoveAll(r.dir))
}

// LogTail returns the last lines of every broker's log, warnings and errors
// only, for the message of a failed test.
func (r *Real) LogTail(lines int) string {
	var b strings.Builder
	for _, n := range r.nodes {
		if r.process(n.index) == nil {
			continue
		}
		fmt.Fprintf(&b, "--- broker %d (%s)\n%s\n", r.NodeID(n.index), n.client, tailFile(n.logFile(), lines))
	}
	return b.String()
}
