package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/testcluster"
	"tidemark/internal/topics"
)

// threeOptions describe a cluster in which one of three brokers may be away.
func threeOptions() testcluster.RealOptions {
	return testcluster.RealOptions{Name: "three", Brokers: 3, HeapMB: 384, Props: map[string]string{"min.insync.replicas": "2", "producer.id.expiration.ms": "86400001"}}
}

// three gives the cluster of three brokers.
func three(t *testing.T) *testcluster.Real {
	t.Helper()
	r, err := suite.three()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f *flow) moveLeaders(r *testcluster.Real) {
	f.tb.Helper()
	if err := testcluster.MoveLeaders(f.tb.Context(), r); err != nil {
		f.tb.Logf("move leaders: %v", err)
	}
}

// tool runs a command of the binary on the flow's file and gives its output and exit code.
func (f *flow) tool(args ...string) (string, int) {
	f.tb.Helper()
	path, err := binary()
	if err != nil {
		f.tb.Fatal(err)
	}
	file := filepath.Join(f.tb.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(f.yaml), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.tb.Context(), 350*time.Second)
	defer cancel()
	at := 1
	if args[0] == "inspect" {
		at = 2 // behind what is to be inspected
	}
	cmd := exec.CommandContext(ctx, path, append(slices.Insert(slices.Clone(args), at, file), "--log-level", "error")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

// healthy waits until status and groups find nothing stopped, held or inexact.
func (f *flow) healthy(within time.Duration) {
	f.tb.Helper()
	for _, c := range []string{"status", "groups"} {
		f.until(within, c+" --check", func(context.Context) (bool, string) {
			out, code := f.tool(c, "--check")
			return code == 0, fmt.Sprintf("exit %d: %s", code, out)
		})
	}
}

// anywhere commits groups at random places of the load's topics, and gives where.
func (f *flow) anywhere(seed uint64, groups int, topics ...string) spots {
	f.tb.Helper()
	rnd := rand.New(rand.NewPCG(seed, 77))
	at := spots{}
	cl := f.reads().Client(f.tb)
	for _, topic := range topics {
		ends, err := testcluster.Ends(f.tb.Context(), cl, topic, testcluster.ReadUncommitted)
		if err != nil {
			f.tb.Fatal(err)
		}
		for g := range groups {
			for p, end := range ends {
				at.add(fmt.Sprintf("%sg%d-%d", f.alias, seed, g), topic, p, rnd.Int64N(end+1))
			}
		}
	}
	f.commitAll(at)
	return at
}

// replicated asks for three replicas of everything on the target.
func (f *flow) replicated() {
	f.tb.Helper()
	f.rewrite("replication_factor: 1, offset_syncs_replication_factor: 1,", "replication_factor: 3, offset_syncs_replication_factor: 3,")
	f.rewrite("checkpoints_replication_factor: 1, heartbeats_replication_factor: 1", "checkpoints_replication_factor: 3, heartbeats_replication_factor: 3")
}

// shaken mirrors topics that begin with prefix under load while every leader and coordinator of a cluster moves again and
// again, some of its brokers are killed, one after the other, and start again, and the mirror itself is killed. Nothing may
// be lost or twice, and every group must be exact.
func (f *flow) shaken(r *testcluster.Real, prefix string, victims ...func() (broker int, err error)) {
	f.tb.Helper()
	plain := prefix + "plain"
	f.createLoadTopics(prefix)
	stop := f.load(prefix)
	w := f.process()
	f.remoteGrows(plain, 500)
	f.anywhere(1, 10, plain, prefix+"tx", prefix+"old")
	for range 2 {
		f.moveLeaders(r)
		f.remoteGrows(plain, 500)
	}
	for _, victim := range victims {
		i, err := victim()
		if err != nil {
			f.tb.Fatal(err)
		}
		if err := r.Kill(i); err != nil {
			f.tb.Fatal(err)
		}
		f.remoteGrows(plain, 500)
		if err := r.Restart(f.tb.Context(), i); err != nil {
			f.tb.Fatal(err)
		}
	}
	f.moveLeaders(r)
	f.remoteGrows(plain, 500)
	_ = w.end(syscall.SIGKILL, 10*time.Second)
	f.moveLeaders(r)
	w = f.process("--instance-id", "one")
	f.moveLeaders(r)
	f.remoteGrows(plain, 500)
	stop()
	f.wellAtLast(prefix, w)
}

// wellAtLast says that a load that has stopped is on the target as it is on the source, that groups anywhere in it are
// exact, that nothing is stopped or held, and that the workers end cleanly.
func (f *flow) wellAtLast(prefix string, workers ...*worker) {
	f.tb.Helper()
	all := []string{prefix + "plain", prefix + "tx", prefix + "old"}
	at := f.anywhere(2, 10, all...)
	f.faultless(all...)
	f.exact(at, testcluster.ReadCommitted)
	f.healthy(60 * time.Second)
	for _, w := range workers {
		if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
			f.tb.Errorf("SIGTERM: %v", err)
		}
	}
}

// TestThreeBrokers shakes a target of three brokers, of which those are killed that coordinate the lane group and a lane, and
// then a source of three brokers. Its parts are one test, as they cannot run beside each other, and one that waits for its
// turn keeps others from running.
func TestThreeBrokers(t *testing.T) {
	t.Parallel()
	r := three(t)
	brokersOfThree.Lock()
	defer brokersOfThree.Unlock()
	t.Run("own topics", func(t *testing.T) { ownTopics(t, r) })
	t.Run("the target's leaders move", func(t *testing.T) {
		f := newFlow(t, "lead", `le-.*`, `leadg.*`, "")
		f.toward(r)
		f.replicated()
		f.shaken(r, "le-",
			func() (int, error) { return r.Coordinator(t.Context(), f.dst, "tidemark.lead->T", "") },
			func() (int, error) { return r.Coordinator(t.Context(), f.dst, "", "tidemark.lead->T.lane.0") })
	})
	t.Run("the source's leaders move", func(t *testing.T) {
		f := newFlow(t, "slead", `sl-.*`, `sleadg.*`, "")
		f.awayFrom(r)
		f.shaken(r, "sl-", func() (int, error) { return 0, nil })
	})
}

// ownTopics: a topic that was just created is described by whichever broker is asked, and its settings
// by another one that may not have heard of it yet. The first start must not end because of that.
func ownTopics(t *testing.T, r *testcluster.Real) {
	c, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: r.Bootstrap()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 40 {
		if _, err := topics.Ensure(t.Context(), c, topics.LedgerTopic(fmt.Sprintf("own-%d", i), 8, 3)); err != nil {
			t.Errorf("topic %d: %v", i, err)
		}
	}
}
