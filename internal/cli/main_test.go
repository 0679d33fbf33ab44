package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/testcluster"
)

// TestMain makes the test binary tidemark itself when a script runs it, so that scripts see exit codes, streams and
// signals as a shell does.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tidemark": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

type pairKey struct{}

// TestScripts runs the stories in testdata/script, each against two embedded clusters of its own. $SOURCE and $TARGET
// are their addresses; flow.yaml is a file with the flow A->B between them, two.yaml has B->A as well.
//
// Commands beside testscript's own:
//
//	exits N CMD...  run a command that must end with exit code N
//	until P CMD...  run a command again and again until its standard output matches P
//	seed            what runs leave on the target, made by hand (see seed_test.go)
//	down source     end the source cluster
//	produce T N     write N records to topic T of the source, creating it with one partition where it is not there
//	foreign T N     write N records to topic T of the target, as somebody else would
//	commit G T N    commit offset N of partition 0 of topic T for group G on the source
//	rehearse G T N  commit offset N of partition 0 of topic T for group G on the target
//	takeback G T    delete the offsets of group G on topic T of the target
//	member G T      let a consumer of group G read topic T of the source until the script ends
//	delete T        delete topic T of the target
//	mirrored T N    wait until topic T of the target holds N records
//	scrub           standard output, a JSON document, with the snapshot's time and addresses replaced
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "", // rewrites what cmp compares with; to be reviewed
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    cmdExits,
			"until":    cmdUntil,
			"seed":     cmdSeed,
			"down":     cmdDown,
			"produce":  cmdProduce,
			"foreign":  cmdForeign,
			"commit":   cmdCommit,
			"rehearse": cmdRehearse,
			"takeback": cmdTakeBack,
			"member":   cmdMember,
			"delete":   cmdDelete,
			"expire":   cmdExpire,
			"mirrored": cmdMirrored,
			"scrub":    cmdScrub,
		},
	})
}

func setup(e *testscript.Env) error {
	pair, err := testcluster.StartPair(nil, nil)
	if err != nil {
		return err
	}
	e.Defer(pair.Close)
	e.Values[pairKey{}] = pair
	e.Setenv("SOURCE", pair.Source.Bootstrap()[0])
	e.Setenv("TARGET", pair.Target.Bootstrap()[0])
	clusters := fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\ndefaults:\n  replication_factor: 1\n  lanes: 4\n  groups_exclude: ['console-.*']\n  positions_interval: 100ms\n",
		pair.Source.Bootstrap()[0], pair.Target.Bootstrap()[0])
	for name, flows := range map[string]string{
		"flow.yaml":       "flows:\n  - {from: A, to: B}\n",
		"two.yaml":        "flows:\n  - {from: A, to: B}\n  - {from: B, to: A}\n",
		"all.yaml":        "flows:\n  - {from: A, to: B, topics_exclude: []}\n",
		"some.yaml":       "flows:\n  - {from: A, to: B, topics: [orders, ordesr, pay+]}\n",
		"silent.yaml":     "flows:\n  - {from: A, to: B, emit_heartbeats: false}\n",
		"same.properties": sameProperties(pair.Target.Bootstrap()[0]),
		"same.yaml":       sameYAML(pair.Target.Bootstrap()[0]),
		"nosync.properties": fmt.Sprintf("clusters = A, B\nA.bootstrap.servers = %s\nB.bootstrap.servers = %s\nA->B.enabled = true\ntidemark.lanes = 4\n",
			pair.Source.Bootstrap()[0], pair.Target.Bootstrap()[0]),
		"away.properties": fmt.Sprintf("clusters = A, B\nA.bootstrap.servers = %s\nB.bootstrap.servers = 127.0.0.1:1\nA->B.enabled = true\n", pair.Source.Bootstrap()[0]),
		"away.yaml":       fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: '127.0.0.1:1'}\nflows: [{from: A, to: B}]\n", pair.Source.Bootstrap()[0]),
		"off.yaml":        "flows:\n  - {from: A, to: B, enabled: false}\n  - {from: B, to: A}\n",
	} {
		text := clusters + flows
		if strings.HasPrefix(flows, "clusters") { // a whole file
			text = flows
		}
		if err := os.WriteFile(filepath.Join(e.WorkDir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sameYAML is a file whose two clusters are one.
func sameYAML(addr string) string {
	return fmt.Sprintf("clusters:\n  A: {bootstrap: %q}\n  B: {bootstrap: %q}\nflows: [{from: A, to: B}]\n", addr, addr)
}

// sameProperties is the same as a MirrorMaker 2 file, with a key that has no effect here and a misspelt one.
func sameProperties(addr string) string {
	return fmt.Sprintf("clusters = A, B\nA.bootstrap.servers = %s\nB.bootstrap.servers = %s\nA->B.enabled = true\ntasks.max = 4\ntopcis = orders\n", addr, addr)
}

func pair(ts *testscript.TestScript) *testcluster.Pair {
	return ts.Value(pairKey{}).(*testcluster.Pair)
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	if got := exitOf(ts, args[1:]); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, cancel := patience()
	defer cancel()
	ts.Check(testcluster.Await(ctx, strings.Join(args[1:], " "), func(context.Context) (bool, string, error) {
		code := exitOf(ts, args[1:])
		return want.MatchString(ts.ReadFile("stdout")), "exit code " + code, nil
	}))
}

func exitOf(ts *testscript.TestScript, command []string) string {
	err := ts.Exec(command[0], command[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &exit):
		return strconv.Itoa(exit.ExitCode())
	}
	ts.Fatalf("%v", err)
	return ""
}

func cmdDown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "source" {
		ts.Fatalf("usage: down source")
	}
	source := pair(ts).Source
	addrs := source.ListenAddrs()
	source.Close()
	// Close returns before the last listener is gone: a dial that is still taken fails in other words than one that is refused.
	ctx, cancel := patience()
	defer cancel()
	var d net.Dialer
	for _, addr := range addrs {
		for {
			conn, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				break
			}
			_ = conn.Close()
		}
	}
	ts.Check(ctx.Err())
}

func cmdProduce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: produce TOPIC N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := patience()
	defer cancel()
	conn := pair(ts).Source.ClientOpts()
	if err := testcluster.CreateTopic(ctx, conn, args[0], 1, nil); !errors.Is(err, kerr.TopicAlreadyExists) {
		ts.Check(err)
	}
	ts.Check(produceNumbers(ctx, conn, args[0], 0, n))
}

func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: commit GROUP TOPIC N")
	}
	commitOn(ts, pair(ts).Source, args)
}

func commitOn(ts *testscript.TestScript, c *testcluster.Fake, args []string) {
	at, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	ctx, cancel := patience()
	defer cancel()
	cl, err := client(c.ClientOpts())
	ts.Check(err)
	defer cl.Close()
	o := kadm.Offsets{}
	o.AddOffset(args[1], 0, at, -1)
	ts.Check(kadm.NewClient(cl).CommitAllOffsets(ctx, args[0], o))
}

func cmdDelete(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: delete TOPIC")
	}
	ctx, cancel := patience()
	defer cancel()
	cl, err := client(pair(ts).Target.ClientOpts())
	ts.Check(err)
	defer cl.Close()
	_, err = kadm.NewClient(cl).DeleteTopic(ctx, args[0])
	ts.Check(err)
}

func cmdMirrored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mirrored TOPIC N")
	}
	want, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ctx, cancel := patience()
	defer cancel()
	cl, err := client(pair(ts).Target.ClientOpts())
	ts.Check(err)
	defer cl.Close()
	ts.Check(testcluster.Await(ctx, "records of "+args[0], func(ctx context.Context) (bool, string, error) {
		ends, err := testcluster.Ends(ctx, cl, args[0], testcluster.ReadUncommitted)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // the topic is not there yet
		}
		total := int64(0)
		for _, end := range ends {
			total += end
		}
		return total >= want, fmt.Sprintf("%d records", total), nil
	}))
}

// patience bounds what scripts wait for.
func patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 150*time.Second)
}

// cmdScrub replaces in standard output what differs from run to run: the time of the snapshot and addresses. What is
// left is for testscript's cmp, which can update it.
func cmdScrub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: scrub")
	}
	text := ts.ReadFile("stdout")
	var head struct {
		At    string
		Flows []struct{ At string }
	}
	ts.Check(json.Unmarshal([]byte(text), &head))
	for _, f := range append(head.Flows, struct{ At string }{head.At}) {
		if f.At != "" {
			text = strings.ReplaceAll(text, f.At, "NOW")
		}
	}
	text = strings.NewReplacer(ts.Getenv("SOURCE"), "SOURCE", ts.Getenv("TARGET"), "TARGET").Replace(text)
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}
