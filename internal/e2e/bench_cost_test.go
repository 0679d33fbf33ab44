package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/testcluster"
)

// part scales the side by side benchmarks: -part 0.05 shows that they work. Only 1 gives numbers to quote.
var part = flag.Float64("part", 1, "part of the records that the benchmarks beside MirrorMaker 2 use")

func scaled(n int) int { return int(float64(n) * *part) }

// optimised makes the benchmark use brokers that the JVM optimises as in production. The suite's run on its first
// compiler only, which would triple what the target broker pays for decompression.
func optimised(b *testing.B) {
	b.Helper()
	source, target := suite.source, suite.target
	for _, r := range []struct {
		name string
		into **testcluster.Real
	}{{"bench-source", &suite.source}, {"bench-target", &suite.target}} {
		real, err := testcluster.StartReal(b.Context(), testcluster.RealOptions{Name: r.name, HeapMB: 1024, FullJIT: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = real.Stop() })
		*r.into = real
	}
	b.Cleanup(func() { suite.source, suite.target = source, target })
}

// mirror is a running mirror, ours or theirs.
type mirror struct {
	pid   int
	alive func() error // why it ended, nil while it runs
	stop  func() error
}

// mirrorOf is a kind of mirror: it starts one that copies topic to alias.topic.
type mirrorOf struct {
	name  string
	start func(b *testing.B, alias, topic, groups string) mirror
}

func tidemark() mirrorOf { return tidemarkBy("tidemark", "") }

// tidemarkBy is Tidemark by a binary of another revision; by this one's where the path is empty.
func tidemarkBy(name, binary string) mirrorOf {
	return mirrorOf{name: name, start: func(b *testing.B, alias, topic, groups string) mirror {
		f := newFlow(b, alias, topic, groups, os.Getenv("BENCH_FLOW"))
		f.binary = binary
		w := f.process("--instance-id", "bench")
		return mirror{
			pid: w.cmd.Process.Pid,
			alive: func() error {
				select {
				case <-w.done:
					return fmt.Errorf("tidemark ended: %w\n%s", w.err, w.output())
				default:
					return nil
				}
			},
			stop: func() error { return w.end(syscall.SIGTERM, 60*time.Second) },
		}
	}}
}

// mirrorMaker is MirrorMaker 2 in dedicated mode. tune is added to what it needs to mirror one topic between clusters
// of one broker; sync of topic ACLs is off, as the brokers have no authorizer.
func mirrorMaker(name string, tune map[string]string) mirrorOf {
	return mirrorOf{name: name, start: func(b *testing.B, alias, topic, groups string) mirror {
		flow := alias + "->T."
		props := map[string]string{
			"clusters": alias + ", T", "tasks.max": "2",
			alias + ".bootstrap.servers": suite.source.BootstrapString(), "T.bootstrap.servers": suite.target.BootstrapString(),
			flow + "enabled": "true", flow + "topics": topic, flow + "groups": groups,
			"emit.heartbeats.enabled": "false", "sync.topic.acls.enabled": "false",
		}
		for _, of := range []string{"", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "offset.storage.", "config.storage.", "status.storage."} {
			props[of+"replication.factor"] = "1"
		}
		for k, v := range tune {
			props[strings.ReplaceAll(k, "SOURCE", alias)] = v
		}
		const heapMB = 2048
		p, err := testcluster.MirrorMakerHeap(b.Context(), props, heapMB)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Stop(time.Second) })
		return mirror{
			pid: p.PID(),
			alive: func() error {
				if p.Running() {
					return nil
				}
				return fmt.Errorf("%s ended: %w\n%s", name, p.Err(), p.LogTail(40))
			},
			stop: func() error { return p.Stop(30 * time.Second) },
		}
	}}
}

// cost is what one mirror took to copy one topic. The window is from the first mirrored record that was seen to the last.
type cost struct {
	started time.Duration // from the start of the process to the first mirrored record
	wall    time.Duration // the window
	cpu     time.Duration // of the mirror in the window
	allCPU  time.Duration // of the mirror from its start to the last record
	target  time.Duration // of the target broker in the window
	rssMB   float64       // largest resident size of the mirror
	seen    int64         // records that were there when the first was seen: how sharp the window is
	stored  int64         // bytes of the remote topic on the target
}

// measure starts a mirror of a source topic and watches the remote topic's log ends until all records are there.
func measure(b *testing.B, m mirrorOf, alias, topic string, l load, records int64) cost {
	b.Helper()
	const limit = 10 * time.Minute
	remote := alias + "." + topic
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	cl := suite.target.Client(b)
	broker := suite.target.BrokerPID(0)
	began := time.Now()
	run := m.start(b, alias, topic, "none")
	var c cost
	var first time.Time
	var cpu, target time.Duration
	// A look costs the target some 0.1 ms of CPU, so they are rarer once the window has begun.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		at := time.Now()
		n, err := logEnds(ctx, cl, remote, l.partitions)
		if err == nil {
			err = run.alive()
		}
		if err != nil {
			b.Fatalf("%s, %d of %d records of %s on the target: %v", m.name, n, records, topic, err)
		}
		if n > 0 && first.IsZero() {
			first, c.started, c.seen = at, at.Sub(began), n
			cpu, target = cpuOf(b, run.pid), cpuOf(b, broker)
			tick.Reset(20 * time.Millisecond)
		}
		if n >= records {
			c.wall, c.allCPU = at.Sub(first), cpuOf(b, run.pid)
			c.cpu, c.target = c.allCPU-cpu, cpuOf(b, broker)-target
			break
		}
		<-tick.C
	}
	c.rssMB = peakOf(b, run.pid)
	if err := run.stop(); err != nil {
		b.Fatal(err)
	}
	if n := ends(b, suite.target, remote); n != records {
		b.Errorf("%s: %d records on the target, %d on the source", m.name, n, records)
	}
	c.stored = logSize(b, suite.target, remote)
	return c
}

// logEnds adds up the log ends of a topic that the only broker of the target leads, in one request.
func logEnds(ctx context.Context, cl *kgo.Client, topic string, partitions int32) (int64, error) {
	const latest = -1
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for p := range partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = p, latest
		t.Partitions = append(t.Partitions, part)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl.Broker(int(suite.target.NodeID(0))))
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, p := range resp.Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err == nil {
			sum += p.Offset
		} else if !kerr.IsRetriable(err) { // the topic is made while we look
			return 0, fmt.Errorf("list offsets of %s-%d: %w", topic, p.Partition, err)
		}
	}
	return sum, nil
}

// cpuOf is the CPU time that a process has used, user and system, all its threads (proc_pid_stat(5): fields 14 and 15,
// in 1/100 s).
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// The second field, the program's name in parentheses, may hold spaces.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatalf("/proc/%d/stat: %v", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peakOf is the largest resident size that a process had, MB. The exit status has a number of that name too, but Linux
// counts this test's own size into it, from before the new program took the forked process over.
func peakOf(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatalf("no VmHWM in /proc/PID/status: %v", err)
	}
	return kb / 1024
}
