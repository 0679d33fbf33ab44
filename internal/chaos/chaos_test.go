package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Uint64("chaos.seed", 1, "the first seed")
	seedsFlag  = flag.Uint64("chaos.seeds", 1, "how many seeds, from the first one on")
	forFlag    = flag.Duration("chaos.for", 12*time.Second, "about how long each schedule is")
	faultsFlag = flag.String("chaos.faults", "", "kinds of faults, with commas; all but those that take a minute or more or need a former binary where empty")
	worldFlag  = flag.String("chaos.world", "single", "clusters: single, three (the target), source3, short (expirations), tv0 (transaction.version)")
	eachFlag   = flag.Int("chaos.each", 1, "how often TestPoints kills at each point")
	binaryFlag = flag.String("chaos.binary", "", "a binary built with -tags failpoints before, instead of the working tree's")
	formerFlag = flag.String("chaos.former", "", "a git revision, whose binary the faults upgrade and mixed begin with")
	dynamic    = flag.Bool("chaos.dynamic", false, "workers without instance ids")
)

// TestChaos runs schedules of faults.
func TestChaos(t *testing.T) {
	names := usual()
	if *faultsFlag != "" {
		names = strings.Split(*faultsFlag, ",")
	} else if *worldFlag != "three" {
		names = slices.DeleteFunc(names, hasThree)
	}
	if slices.ContainsFunc(fromFormer(), func(kind string) bool { return slices.Contains(names, kind) }) {
		if _, err := former(); err != nil {
			t.Fatal(err)
		}
		if _, err := binary(); err != nil { // a first start that builds it would look like a standstill
			t.Fatal(err)
		}
	}
	p := clusters(t, *worldFlag)
	for seed := *seedFlag; seed < *seedFlag+*seedsFlag; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			steps, err := plan(seed, names, *forFlag)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("run again: go test ./internal/chaos -run TestChaos -v -chaos.seed=%d -chaos.for=%v -chaos.world=%s -chaos.faults=%s -chaos.dynamic=%t -chaos.former=%s",
				seed, *forFlag, *worldFlag, strings.Join(names, ","), *dynamic, *formerFlag)
			x := newWorld(t, p, seed, fmt.Sprintf("c%d", seed))
			x.dynamic = *dynamic
			if err := x.run(t.Context(), seed, steps); err != nil {
				t.Error(err)
				x.autopsy(t.Context())
				_ = x.heal(t.Context()) // for the next seed
			}
		})
	}
}

// TestPoints kills the only worker at every named point, again and again; as a static member it has its lanes back at once.
func TestPoints(t *testing.T) {
	p := clusters(t, *worldFlag)
	x := newWorld(t, p, *seedFlag, fmt.Sprintf("p%d", *seedFlag))
	x.dynamic = *dynamic
	reached, missed := map[string]int{}, map[string]int{}
	err := x.points(t.Context(), reached, missed)
	t.Logf("killed at: %v, not reached: %v", reached, missed)
	if err != nil {
		t.Error(err)
		x.autopsy(t.Context())
	}
}

func (x *world) points(ctx context.Context, reached, missed map[string]int) error {
	rnd := rand.New(rand.NewPCG(*seedFlag, 3))
	if err := x.start(x.workers[0]); err != nil {
		return err
	}
	if err := x.grows(ctx, 500); err != nil {
		return err
	}
	for range *eachFlag {
		for _, name := range pointNames() {
			s := atPoint{0, name, 1 + rnd.IntN(points()[name])}
			ok, err := x.dieAt(ctx, s)
			if err != nil {
				return fmt.Errorf("%v: %w", s, err)
			}
			if ok {
				reached[name]++
			} else {
				missed[name]++
			}
			if err := x.grows(ctx, 50); err != nil {
				return fmt.Errorf("after %v: %w", s, err)
			}
		}
	}
	return x.finish(ctx, *seedFlag)
}
