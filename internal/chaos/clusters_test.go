package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/chaos/proxy"
	"tidemark/internal/testcluster"
)

// cluster is a cluster and the proxies in front of its brokers.
type cluster struct {
	*testcluster.Real
	proxies []*proxy.Proxy
}

// front is where workers reach the cluster.
func (c *cluster) front() string { return strings.Join(c.Fronts(), ",") }

// heal lifts every fault of the network.
func (c *cluster) heal() {
	for _, p := range c.proxies {
		p.Heal()
	}
}

func startCluster(ctx context.Context, o testcluster.RealOptions) (*cluster, error) {
	c := &cluster{}
	o.HeapMB = 384
	o.Front = func(_ int, to string) (string, error) {
		p, err := proxy.New(to)
		if err != nil {
			return "", err
		}
		c.proxies = append(c.proxies, p)
		return p.Addr(), nil
	}
	var err error
	c.Real, err = testcluster.StartReal(ctx, o)
	return c, err
}

// pair is the clusters that a test runs between.
type pair struct{ source, target *cluster }

// kinds of pairs, by the name in -chaos.world.
func pairOptions(name string) (source, target testcluster.RealOptions, err error) {
	source = testcluster.RealOptions{Name: "chaos-source", Brokers: 1}
	target = testcluster.RealOptions{Name: "chaos-target", Brokers: 1}
	day := map[string]string{"producer.id.expiration.ms": "86400000"}
	target.Props = day
	switch name {
	case "single":
	case "three":
		target.Brokers = 3
		// Longer than a broker is frozen for, so that it stays in the ISR meanwhile.
		target.Props = map[string]string{"broker.session.timeout.ms": "9000", "producer.id.expiration.ms": "86400000"}
	case "source3":
		source.Brokers = 3
	case "short":
		target.Props = map[string]string{
			"producer.id.expiration.ms": "30000", "producer.id.expiration.check.interval.ms": "2000",
			"transactional.id.expiration.ms": "40000", "transaction.remove.expired.transaction.cleanup.interval.ms": "2000",
		}
	case "tv0":
		source.Features = map[string]int{"transaction.version": 0}
		target.Features = source.Features
	default:
		err = fmt.Errorf("no world %q: single, three, source3, short, tv0", name)
	}
	return source, target, err
}

// clusters starts a pair that ends with the test.
func clusters(t testing.TB, name string) *pair {
	t.Helper()
	source, target, err := pairOptions(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{}
	var g errgroup.Group
	g.Go(func() (err error) {
		p.source, err = startCluster(t.Context(), source)
		return err
	})
	g.Go(func() (err error) {
		p.target, err = startCluster(t.Context(), target)
		return err
	})
	err = g.Wait()
	t.Cleanup(func() {
		for _, c := range []*cluster{p.source, p.target} {
			if c.Real != nil {
				_ = c.Stop()
			}
			for _, x := range c.proxies {
				x.Close()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bin is the folder of the binary, which TestMain makes and removes.
var bin string

// binary is the mirror, built with failpoints, once.
var binary = sync.OnceValues(func() (string, error) {
	if *binaryFlag != "" {
		return *binaryFlag, nil
	}
	path := filepath.Join(bin, "tidemark")
	cmd := exec.Command("go", "build", "-tags", "failpoints", "-o", path, "tidemark/cmd/tidemark")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tidemark: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "tidemark-chaos-bin-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}
