package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/testcluster"
)

// places is how many workers there can be.
const places = 3

// world is one flow under attack. Several worlds may use the same clusters, one after the other.
type world struct {
	t       testing.TB
	pair    *pair
	alias   string // of the source, and in front of every name
	prefix  string // of the source's topics
	dir     string // files and logs, kept where the test fails
	file    string // what the workers are given: everything through the proxies
	outside string // the same past the proxies
	dynamic bool   // workers without instance ids
	lanes   int
	workers []*worker
	load    *load
	groups  *commits
	src     *kgo.Client
	dst     *kgo.Client
	began   time.Time
	exits   int // workers that ended by themselves

	mu    sync.Mutex
	story []string
	done  map[string]int // what was done, how often
}

// count notes a deed for the report.
func (x *world) count(deed string) {
	x.mu.Lock()
	x.done[deed]++
	x.mu.Unlock()
}

// tell adds to the story.
func (x *world) tell(format string, args ...any) {
	line := fmt.Sprintf("+%6.2fs  ", time.Since(x.began).Seconds()) + fmt.Sprintf(format, args...)
	x.mu.Lock()
	x.story = append(x.story, line)
	x.mu.Unlock()
	x.t.Log(line)
}

// newWorld makes topics, load, groups and the files of a flow. What it starts ends with the test at the latest.
func newWorld(t *testing.T, p *pair, seed uint64, name string) *world {
	t.Helper()
	x := bareWorld(t, p, name, 4)
	for _, s := range streams() {
		if err := testcluster.CreateTopic(t.Context(), p.source.ClientOpts(), x.prefix+s.name, s.partitions, nil); err != nil {
			t.Fatal(err)
		}
	}
	x.load = startLoad(t.Context(), p.source.ClientOpts(), x.prefix, seed)
	x.groups = startCommits(t.Context(), x.src, x.dst, x.alias, x.prefix, seed)
	return x
}

// bareWorld is a world without topics, load and groups.
func bareWorld(t testing.TB, p *pair, name string, lanes int) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "tidemark-chaos-"+name+"-") //nolint:usetesting // kept where the test fails
	if err != nil {
		t.Fatal(err)
	}
	x := &world{
		t: t, pair: p, alias: name, prefix: name + "-", dir: dir, lanes: lanes,
		file: filepath.Join(dir, "flow.yaml"), outside: filepath.Join(dir, "outside.yaml"), began: time.Now(), done: map[string]int{},
	}
	x.src, x.dst = p.source.Client(t), p.target.Client(t)
	for path, to := range map[string][2]string{
		x.file: {p.source.front(), p.target.front()}, x.outside: {p.source.BootstrapString(), p.target.BootstrapString()},
	} {
		if err := os.WriteFile(path, []byte(x.yaml(to[0], to[1])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range places {
		x.workers = append(x.workers, &worker{n: n, log: x.logFile(n)})
	}
	t.Cleanup(x.end)
	return x
}

func (x *world) yaml(source, target string) string {
	return fmt.Sprintf(`
clusters:
  %[1]s: {bootstrap: %[2]q}
  T: {bootstrap: %[3]q}
flows:
  - {from: %[1]s, to: T, topics: ["%[1]s-.*"], groups: ["%[1]s-g.*"], replication_factor: %[4]d, offset_syncs_replication_factor: %[5]d,
     checkpoints_replication_factor: %[4]d, heartbeats_replication_factor: %[4]d, lanes: %[6]d, positions_interval: 200ms}
`, x.alias, source, target, x.pair.target.Brokers(), min(x.pair.target.Brokers(), x.pair.source.Brokers()), x.lanes)
}

// end ends everything of the world. Logs are kept where the test failed.
func (x *world) end() {
	if x.load != nil {
		x.load.stop()
		x.groups.cancel()
		x.groups.wg.Wait()
	}
	for _, w := range x.workers {
		if w.proc != nil {
			_ = w.proc.Kill()
		}
	}
	x.t.Logf("done: %v", x.done)
	if !x.t.Failed() {
		_ = os.RemoveAll(x.dir)
		return
	}
	_ = os.WriteFile(filepath.Join(x.dir, "story.txt"), []byte(strings.Join(x.story, "\n")), 0o600)
	x.t.Logf("story and logs are in %s", x.dir)
}

// total is how much of the load's topics the target holds; topics that are not there yet hold nothing.
func (x *world) total(ctx context.Context) (int64, error) {
	var names []string
	for _, s := range streams() {
		names = append(names, x.remote(s.name))
	}
	ends, err := kadm.NewClient(x.dst).ListEndOffsets(ctx, names...)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err == nil {
			sum += max(o.Offset, 0)
		}
	})
	return sum, nil
}

func (x *world) remote(topic string) string { return x.alias + "." + x.prefix + topic }

// still is how long the mirror may bring nothing although nothing is wrong any more: a session, a rebalance in which one
// member does not answer, transactions of a dead coordinator, and some time for two busy cores.
const still = 100 * time.Second

// grows waits until the target holds n more records. A mirror that stands still is a failure.
func (x *world) grows(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, still)
	defer cancel()
	from := int64(-1)
	return testcluster.Await(ctx, fmt.Sprintf("%d more records on the target", n), func(ctx context.Context) (bool, string, error) {
		if err := x.supervise(); err != nil {
			return false, "", err
		}
		lctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		now, err := x.total(lctx)
		if err != nil {
			return false, err.Error(), nil
		}
		if from < 0 {
			from = now
		}
		return now >= from+n, fmt.Sprintf("%d", now-from), nil
	})
}

// up are the workers that run.
func (x *world) up() []*worker {
	var up []*worker
	for _, w := range x.workers {
		if w.running() && !w.frozen {
			up = append(up, w)
		}
	}
	return up
}

// one is the n-th of the running workers; a worker is started where none runs.
func (x *world) one(n int) (*worker, error) {
	up := x.up()
	if len(up) == 0 {
		w := x.workers[n%places]
		if w.frozen {
			w = x.workers[slices.IndexFunc(x.workers, func(w *worker) bool { return !w.frozen })]
		}
		return w, x.start(w)
	}
	return up[n%len(up)], nil
}

// heal ends every fault: networks, frozen brokers and workers; brokers that are away are started.
func (x *world) heal(ctx context.Context) error {
	for _, c := range []*cluster{x.pair.source, x.pair.target} {
		c.heal()
		for i := range c.Brokers() {
			if c.Alive(i) {
				if err := c.Thaw(i); err != nil {
					return err
				}
				continue
			}
			if err := c.Restart(ctx, i); err != nil {
				return err
			}
		}
	}
	for _, w := range x.workers {
		if err := x.cont(w); err != nil {
			return err
		}
	}
	if _, err := x.one(0); err != nil {
		return err
	}
	return x.supervise()
}

// rest stops load and groups.
func (x *world) rest(ctx context.Context, seed uint64) error {
	x.load.stop()
	for _, said := range x.load.said {
		x.tell("load: %s", said)
	}
	return x.groups.stop(ctx, rand.New(rand.NewPCG(seed, 7)))
}
