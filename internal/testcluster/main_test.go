//go:build unix

package testcluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// clusters are the two real clusters of this package's tests, started once.
type clusters struct {
	source, target *Real
}

// shared holds them between TestMain and the tests; the testing package offers
// no other way to hand something over.
var shared clusters

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(childMain(dir))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := Tools(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	began := time.Now()
	var g errgroup.Group
	for name, into := range map[string]**Real{"source": &shared.source, "target": &shared.target} {
		g.Go(func() (err error) {
			*into, err = StartReal(ctx, RealOptions{Name: name})
			return err
		})
	}
	err := g.Wait()
	defer func() {
		for _, r := range []*Real{shared.source, shared.target} {
			if r == nil {
				continue
			}
			if err := r.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("two clusters of one broker ready after %v\n", time.Since(began).Round(10*time.Millisecond))
	return m.Run()
}

// patience bounds a test, and the start of the clusters. On a quiet machine with
// two cores none takes more than 40 s; the machines that run them are shared.
const patience = 8 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
