package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/acls"
	"tidemark/internal/configfile"
	"tidemark/internal/engine"
	"tidemark/internal/events"
	"tidemark/internal/kafka"
	"tidemark/internal/testcluster"
	"tidemark/internal/topics"
)

// TestACLsCommand: what internal/acls computes from a flow's file is enough on both sides and on neither too much.
func TestACLsCommand(t *testing.T) {
	t.Parallel()
	opts := securedOptions()
	opts.Name, opts.Users = "secured-too", nil
	dst, err := startLater(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dst.Stop() })
	l := least{t, secured(t), dst}
	// First, and not beside the others: as long as nobody has created the heartbeats topic, the right to do so can be missed.
	t.Run("each is needed", l.eachIsNeeded)
	t.Run("together", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){"they are enough": l.areEnough, "commands": l.commands, "taken away": l.takenAway} {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t) })
		}
	})
}

// areEnough: a principal with exactly the computed rights mirrors all that there is to mirror, also after a kill.
func (l least) areEnough(t *testing.T) {
	const app = "User:lr-app"
	l.users("lr", "lrt")
	f := l.flow(t, "lr", "lr-data, 'lr-more-.*'", "lr-group", "")
	for _, c := range acls.Of(f.cfg, f.cfg.Flows, "").Clusters {
		grant(t, map[string]*testcluster.Real{"lr": l.src, "lrt": l.dst}[c.Alias], rulesOf(c))
	}
	fill(t, l.src, "lr-data", 50)
	fill(t, l.src, "lr-more-x", 30)
	grant(t, l.src, []granted{{app, "topic", "literal", "lr-data", "READ"}})
	f.commit("lr-group", map[string]map[int32]int64{"lr-data": {0: 20}})
	log := f.listen()
	stop := f.start()
	f.holds(l.dst, "lr.lr-data", 50)
	f.holds(l.dst, "lr.lr-more-x", 30)
	f.reaches("lr-group", "lr-data", 0, 20)
	f.commit("lr-group", map[string]map[int32]int64{"lr-data": {0: 40}})
	f.reaches("lr-group", "lr-data", 0, 40)

	configure(t.Context(), t, f.src, "lr-data", map[string]*string{"retention.ms": new("43200000")})
	f.own("lr-data", map[string]string{"retention.ms": "43200000"})
	if got, err := f.src.UpdatePartitions(t.Context(), 2, "lr-data"); err != nil || got.Error() != nil {
		t.Fatal(got, err)
	}
	began := time.Now()
	load := testcluster.Load{Topic: "lr-data", Partitions: 2, First: 50, Count: 100}
	if err := testcluster.Produce(t.Context(), l.src.ClientOpts(), load); err != nil {
		t.Fatal(err)
	}
	f.holds(l.dst, "lr.lr-data", 150)
	ends, err := testcluster.Ends(t.Context(), l.dst.Client(t), "lr.lr-data", testcluster.ReadCommitted)
	if err != nil || len(ends) != 2 || ends[1] < 1 {
		t.Errorf("log ends %v, %v: the remote topic has not followed to two partitions", ends, err)
	}
	t.Logf("partition growth followed within %v", time.Since(began).Round(time.Millisecond))
	f.until(30*time.Second, "the app's rule on the target", func(context.Context) (bool, string) {
		got := held(t, l.dst, app)
		return slices.Equal(got, []granted{{app, "topic", "literal", "lr.lr-data", "READ"}}), fmt.Sprint(got)
	})
	for topic, r := range map[string]*testcluster.Real{"heartbeats": l.dst, "lr.checkpoints.internal": l.dst, "mm2-offset-syncs.lrt.internal": l.src} {
		f.until(30*time.Second, "a record in "+topic, func(ctx context.Context) (bool, string) {
			recs, err := testcluster.Read(ctx, r.Client(t), topic, testcluster.ReadUncommitted)
			return err == nil && len(recs) > 0, fmt.Sprint(len(recs), err)
		})
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if log.line("is missing") || log.line("may be hidden") {
		t.Error("a right is missing by the log")
	}

	// An unclean stop: the next start fences, reads the end of remote topics and settles.
	w := f.process("--instance-id", "lr-1")
	load.First, load.Count = 150, 500
	if err := testcluster.Produce(t.Context(), l.src.ClientOpts(), load); err != nil {
		t.Fatal(err)
	}
	f.holds(l.dst, "lr.lr-data", 650)
	_ = w.end(syscall.SIGKILL, 10*time.Second) // how it ends is no news
	load.First, load.Count = 650, 100
	if err := testcluster.Produce(t.Context(), l.src.ClientOpts(), load); err != nil {
		t.Fatal(err)
	}
	again := f.process("--instance-id", "lr-1")
	f.holds(l.dst, "lr.lr-data", 750)
	l.reads(f)
	if err := again.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Error(err)
	}
	if out := again.output(); strings.Contains(out, "is missing") || !strings.Contains(out, "former owner ended without release") {
		t.Errorf("after the kill:\n%s", out)
	}
}

// reads: with the rights of a flow the reading commands can read all but MirrorMaker 2's topics, which a flow only writes.
func (l least) reads(f *flow) {
	f.tb.Helper()
	path, err := binary()
	if err != nil {
		f.tb.Fatal(err)
	}
	file := filepath.Join(f.tb.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(f.yaml), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	for args, missing := range map[string]string{
		"status": "", "groups": "", "translate %s lr-group": "", "inspect ledger": "", "inspect checkpoints": `READ on topic "lr.checkpoints.internal"`,
		"inspect heartbeats": `READ on topic "heartbeats"`, "inspect offset-syncs": `READ on topic "mm2-offset-syncs.lrt.internal"`,
	} {
		if !strings.Contains(args, "%s") {
			args += " %s"
		}
		out, err := exec.CommandContext(f.tb.Context(), path, strings.Fields(fmt.Sprintf(args, file))...).CombinedOutput()
		if (err == nil) != (missing == "") || strings.Contains(string(out), "is missing") != (missing != "") || !strings.Contains(string(out), missing) {
			f.tb.Errorf("%s: %v, want %q\n%s", args, err, missing, out)
		}
	}
}

// eachIsNeeded: with any one right left out, a run names it, or the DESCRIBE that it includes.
func (l least) eachIsNeeded(t *testing.T) {
	type omission struct {
		alias string // of the source, and the user
		what  granted
		right acls.Right
		f     *flow
	}
	var all []omission
	rules := map[*testcluster.Real][]granted{}
	var users []string
	file := func(n int) (*flow, string) {
		alias := fmt.Sprintf("ln%d", n)
		return l.flow(t, alias, alias+"-data", alias+"-group", ", replicate_heartbeats: false"), alias
	}
	for n := 0; ; n++ {
		f, alias := file(n)
		at, found := 0, false
		for i, c := range acls.Of(f.cfg, f.cfg.Flows, "").Clusters {
			r := []*testcluster.Real{l.src, l.dst}[i]
			for _, rule := range c.Rules {
				for _, right := range rule.Rights {
					g := granted{c.Principal, string(rule.Resource), rule.Pattern, rule.Name, string(right.Operation)}
					if at == n {
						all, found = append(all, omission{alias, g, right, f}), true
					} else {
						rules[r] = append(rules[r], g)
					}
					at++
				}
			}
		}
		if !found {
			break
		}
		users = append(users, alias, alias+"t")
	}
	l.users(users...)
	for r, g := range rules {
		grant(t, r, g)
	}
	prepare, ctx := errgroup.WithContext(t.Context())
	prepare.SetLimit(4)
	for _, o := range all {
		prepare.Go(func() error {
			topic := o.alias + "-data"
			if err := testcluster.CreateTopic(ctx, l.src.ClientOpts(), topic, 1, nil); err != nil {
				return err
			}
			at := kadm.Offsets{}
			at.AddOffset(topic, 0, 3, -1)
			return errors.Join(testcluster.Produce(ctx, l.src.ClientOpts(), testcluster.Load{Topic: topic, Count: 5}), o.f.src.CommitAllOffsets(ctx, o.alias+"-group", at))
		})
	}
	if err := prepare.Wait(); err != nil {
		t.Fatal(err)
	}
	// The right to create a topic that all flows share is missed before any of them has it.
	first := func(o omission) int {
		if o.what.name == "heartbeats" && o.what.operation == "CREATE" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b omission) int { return first(a) - first(b) })
	if len(all) < 25 || first(all[0]) != 0 {
		t.Fatalf("%d rights, the first is %v", len(all), all[0].what)
	}
	var g errgroup.Group
	g.SetLimit(10)
	for i, o := range all {
		look := func() error { l.missed(t, o.f, o.what, o.right); return nil }
		if i == 0 {
			_ = look() // it reports by itself
			continue
		}
		g.Go(look)
	}
	_ = g.Wait() // see above
}

// missed runs a flow without one right until that is said.
func (l least) missed(t *testing.T, f *flow, without granted, right acls.Right) {
	log := &heard{next: io.Discard}
	f.log = slog.New(slog.NewTextHandler(log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := engine.Run(ctx, f.cfg, f.cfg.Flows, engine.Options{Log: f.log}); err != nil {
			f.log.Error("ended", "error", err)
		}
	}()
	defer func() { cancel(); <-done }()
	names := []string{string(right.Operation)}
	for _, why := range right.Reasons {
		if why.Included != "" && !slices.Contains(names, string(why.Included)) {
			names = append(names, string(why.Included))
		}
	}
	began, changed := time.Now(), false
	ok, wait := false, time.NewTicker(100*time.Millisecond)
	defer wait.Stop()
	for !ok && time.Since(began) < 60*time.Second && ctx.Err() == nil {
		<-wait.C
		for _, name := range names {
			what := fmt.Sprintf(`%s on %s \"%s`, name, strings.ReplaceAll(without.resource, "-", " "), without.name)
			if without.resource == "cluster" {
				what = name + " on the cluster is missing"
			}
			ok = ok || log.line(what, "is missing")
		}
		if without.resource == "topic" && without.name == f.alias+"-data" && without.operation == "READ" { // with it DESCRIBE is gone, so that it is not listed
			ok = ok || log.line("DESCRIBE on it is missing", "pattern="+without.name)
		}
		if without.operation == "ALTER" && without.resource == "topic" && !changed && log.line("remote topic created") {
			changed = true
			if _, err := f.src.UpdatePartitions(ctx, 2, f.alias+"-data"); err != nil {
				t.Error(err)
			}
		}
	}
	if !ok {
		t.Errorf("without %+v nothing is said:\n%s", without, strings.Join(log.lines, ""))
		return
	}
	t.Logf("%s on %s %s: said after %v", without.operation, without.resource, without.name, time.Since(began).Round(100*time.Millisecond))
}

// writes counts the CreateAcls requests that a client sends.
type writes struct{ creates atomic.Int32 }

// OnBrokerWrite is franz-go's hook.
func (w *writes) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && key == kmsg.NewPtrCreateACLsRequest().Key() {
		w.creates.Add(1)
	}
}

// TestCase78OnlyDifferencesOfACLs: of 2,000 access rules the first round creates all and later rounds none. One that is
// revoked on the source stays on the target; one that is removed there too stays away, one that is removed there alone comes
// back. One cluster plays both sides.
func TestCase78OnlyDifferencesOfACLs(t *testing.T) {
	t.Parallel()
	const nTopics, nUsers = 200, 10
	r := secured(t)
	admin := kadm.NewClient(r.Client(t))
	newUser(t, "acl78")
	rights{t: t, user: "acl78", admin: admin}.on(clusterACL, "kafka-cluster", alter) // includes DESCRIBE
	var rules []granted
	for i := range nTopics {
		for u := range nUsers {
			rules = append(rules, granted{fmt.Sprintf("User:c78-%d", u), "topic", "literal", fmt.Sprintf("c78-%d", i), "READ"})
		}
	}
	for some := range slices.Chunk(rules, 500) {
		grant(t, r, some)
	}
	counted := &writes{}
	open := func(alias string, opts ...kgo.Opt) *kafka.Client {
		cfg, err := configfile.Parse("test.yaml", []byte(fmt.Sprintf("clusters:\n  %s: %s\n  other: {bootstrap: \"127.0.0.1:1\"}\nflows:\n  - {from: %s, to: other}\n", alias, cluster(r.BootstrapString(), login(r, "acl78")), alias)))
		if err != nil {
			t.Fatal(err)
		}
		kc, err := cfg.Clusters[alias].Kafka()
		if err != nil {
			t.Fatal(err)
		}
		c, err := kafka.Open(kc, nil, opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	log := &heard{next: io.Discard}
	target := open("B", kgo.WithHooks(counted))
	s := topics.NewACLs(open("A"), target, aclRules(t, "c78-.*"), events.From(slog.New(slog.NewTextHandler(log, nil))))
	// A broker hears of rules from the controller, a moment after the answer.
	there := func(prefix string, want int) {
		t.Helper()
		(&flow{tb: t}).until(20*time.Second, fmt.Sprintf("%d rules on %s*", want, prefix), func(ctx context.Context) (bool, string) {
			n := 0
			got, err := target.TopicACLs(ctx)
			for _, a := range got {
				if strings.HasPrefix(a.Topic, prefix) {
					n++
				}
			}
			return err == nil && n == want, fmt.Sprint(n, err)
		})
	}
	rounds := func(what string, created, requests int32, after int) {
		t.Helper()
		lines, sent, began := len(log.lines), counted.creates.Load(), time.Now()
		s.Round(t.Context())
		took := time.Since(began).Round(time.Millisecond)
		n := 0
		for _, line := range log.lines[lines:] {
			if strings.Contains(line, "access rule copied") {
				n++
			} else if strings.Contains(line, "level=WARN") { // the cluster has rules of other tests too, about which something is said
				t.Errorf("%s: %s", what, line)
			}
		}
		got := counted.creates.Load() - sent
		if got != requests || n != int(created) {
			t.Errorf("%s: %d rules created by %d requests, want %d by %d", what, n, got, created, requests)
		}
		there("A.c78-", after)
		t.Logf("%s: %d rules created by %d requests in %v", what, n, got, took)
	}
	revoke := func(topic, prefix string, left int) {
		t.Helper()
		b := kadm.NewACLs().Topics(topic).Allow("User:c78-3").AllowHosts("*").Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral)
		if got, err := admin.DeleteACLs(t.Context(), b); err != nil || len(got) != 1 || len(got[0].Deleted) != 1 {
			t.Fatal(got, err)
		}
		there(prefix, left)
	}
	const all = nTopics * nUsers
	there("c78-", all)
	rounds("first round", all, 2, all)
	rounds("second round", 0, 0, all)
	rounds("third round", 0, 0, all)
	revoke("c78-7", "c78-", all-1)
	rounds("revoked on the source", 0, 0, all)
	revoke("A.c78-7", "A.c78-", all-1)
	rounds("revoked on both sides", 0, 0, all-1)
	revoke("A.c78-8", "A.c78-", all-2)
	rounds("revoked on the target alone", 1, 1, all-1)
}
