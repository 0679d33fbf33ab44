package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/control"
	"tidemark/internal/controls"
	"tidemark/internal/inspect"
	"tidemark/internal/partition"
	"tidemark/internal/pause"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// decideOptions are what commands that decide something have in common.
type decideOptions struct {
	flow        string
	dryRun, yes bool
	wait        time.Duration
}

// errDisobeyed ends a command whose decision stands and is not in force everywhere yet.
var errDisobeyed = errors.New("the decision stands, and these lanes obey when they can: tidemark status says what they wait for, tidemark controls whether it is in force")

// decide says what a decision means, asks, writes it, and waits until it is in force.
func (e *env) decide(file string, r control.Request, o decideOptions) error {
	cfg, flow, err := e.loadOne(file, o.flow)
	if err != nil {
		return err
	}
	read := readOptions{timeout: inspect.DefaultTimeout}
	var d control.Decision
	var means []string
	err = e.ask(cfg, flow, read, func(ctx context.Context, in *inspect.Reader) error {
		w, err := world(ctx, in, flow)
		if err != nil {
			return err
		}
		d, means, err = w.Decide(r)
		if err != nil {
			return usageError{err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.carryOut(cfg, flow, []control.Decision{d}, means, o)
}

// carryOut shows what decisions mean, asks, writes them, and waits until all are in force.
func (e *env) carryOut(cfg *config.Config, flow config.Flow, ds []control.Decision, means []string, o decideOptions) error {
	fmt.Fprintf(e.stdout, "flow %s\n", flow.Name())
	for _, m := range means {
		fmt.Fprintf(e.stdout, "  %s\n", status.Printable(m))
	}
	if o.dryRun {
		fmt.Fprintln(e.stdout, "nothing is decided: --dry-run")
		return nil
	}
	if err := e.confirm("decide that?", o.yes); err != nil {
		return err
	}
	for i, d := range ds {
		var err error
		if ds[i], err = e.write(cfg, flow, d); err != nil {
			return fmt.Errorf("%s of %s: %w", d.Kind, d.Scope, err)
		}
	}
	return e.obeyed(cfg, flow, ds, o.wait)
}

// world is what is known of the flow.
func world(ctx context.Context, in *inspect.Reader, flow config.Flow) (control.World, error) {
	w, decided, err := decider(ctx, in, flow)
	if err != nil {
		return w, err
	}
	now, err := in.Flow(ctx)
	if err != nil {
		return w, err
	}
	selected, reached := in.Selected(ctx)
	w.SourceAway = !reached
	topics := map[partition.ID]control.TopicID{}
	for _, k := range decided.Known {
		topics[k.ID] = k.TopicID
	}
	for _, p := range now.Partitions {
		id := partition.ID{Topic: p.Topic, Partition: p.Partition}
		topic, known := topics[id]
		w.Partitions = append(w.Partitions, control.Known{
			ID: id, Mirrored: known, TopicID: topic, MirroredTo: p.MirroredTo, SourceEnd: p.SourceEnd,
			Selected: selected[p.Topic],
		})
	}
	return w, nil
}

// decider is who decides, and what was decided so far.
func decider(ctx context.Context, in *inspect.Reader, flow config.Flow) (control.World, status.Controls, error) {
	w := control.World{Flow: flow.Name().String(), Source: flow.Source, Target: flow.Target, ID: rand.Text(), Now: time.Now(), By: who()}
	decided, err := in.Controls(ctx)
	if err != nil {
		return w, decided, err
	}
	if len(decided.Unknown) > 0 {
		return w, decided, fmt.Errorf("a newer build has decided what this one does not know (%s): use that build", decided.Unknown[0])
	}
	w.Set = decided.Set
	return w, decided, nil
}

// who is the person who decides.
func who() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return name + "@" + host
}

// write puts the decision into its topic.
func (e *env) write(cfg *config.Config, flow config.Flow, d control.Decision) (control.Decision, error) {
	ctx, cancel := context.WithTimeout(e.ctx, inspect.DefaultTimeout)
	defer cancel()
	c, err := cfg.Client(flow.Name(), config.TargetAdmin).Kafka()
	if err != nil {
		return d, err
	}
	log, err := e.logger()
	if err != nil {
		return d, err
	}
	client, err := topiclog.Open(c, log)
	if err != nil {
		return d, err
	}
	defer client.Close()
	_, d, err = controls.Write(ctx, client, flow.Source, flow.OffsetSyncsReplicationFactor, d)
	return d, err
}

// askAgain is how often the lanes are asked whether they obey.
const askAgain = time.Second

// obeyed waits until all lanes say that decisions are in force.
func (e *env) obeyed(cfg *config.Config, flow config.Flow, ds []control.Decision, wait time.Duration) error {
	began := time.Now()
	o := readOptions{timeout: inspect.DefaultTimeout}
	for {
		var s status.Controls
		err := e.ask(cfg, flow, o, func(ctx context.Context, in *inspect.Reader) (err error) {
			s, err = in.Controls(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("it is decided, and whether the lanes obey is not known: %w", err)
		}
		left := map[int32]status.ObeyingLane{}
		for _, d := range ds {
			for _, l := range s.Disobey(d) {
				left[l.Lane] = l
			}
		}
		switch {
		case !s.Run():
			fmt.Fprintln(e.stdout, "decided; no worker runs, and the next start obeys")
			return nil
		case len(left) == 0:
			fmt.Fprintf(e.stdout, "decided, and in force after %v\n", time.Since(began).Round(100*time.Millisecond))
			return nil
		case time.Since(began) >= wait:
			for _, l := range slices.SortedFunc(maps.Values(left), func(a, b status.ObeyingLane) int {
				return cmp.Or(strings.Compare(a.Worker, b.Worker), cmp.Compare(a.Lane, b.Lane))
			}) {
				owner := l.Worker
				if owner == "" {
					owner = "nobody has it now"
				}
				e.say("not after %v: lane %d, %s", wait, l.Lane, owner)
			}
			return errDisobeyed
		}
		if !pause.For(e.ctx, askAgain) {
			return errStopped
		}
	}
}
