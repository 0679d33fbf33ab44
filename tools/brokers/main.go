// Command brokers runs two real Kafka brokers on this machine until it is interrupted, to try Tidemark on: from the jars that the
// tests use, so it needs Java and Maven and nothing else. Their data is gone when it ends. Kubernetes, Compose and the like can do
// the same and need images; a tarball of Kafka needs three commands for each broker and leaves its data behind.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/testcluster"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "brokers:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	aliases := []string{"A", "B"}
	props := map[string]string{"auto.create.topics.enable": "true"} // Kafka's default; tests make their topics themselves
	clusters := make([]*testcluster.Real, len(aliases))
	g, starting := errgroup.WithContext(ctx)
	starting, cancel := context.WithTimeout(starting, 5*time.Minute) // the first start fetches the jars
	defer cancel()
	for i, name := range aliases {
		g.Go(func() (err error) {
			clusters[i], err = testcluster.StartReal(starting, testcluster.RealOptions{Name: name, Brokers: 1, FullJIT: true, Props: props})
			return err
		})
	}
	err := g.Wait()
	defer func() {
		for _, c := range clusters {
			if c != nil {
				_ = c.Stop()
			}
		}
	}()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Two brokers, until this is interrupted. A file for bin/tidemark:\nclusters:\n")
	for i, name := range aliases {
		fmt.Fprintf(&b, "  %s: {bootstrap: %q}\n", name, clusters[i].BootstrapString())
	}
	b.WriteString("flows:\n  - {from: A, to: B, topics: [\".*\"], replication_factor: 1}\n")
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
