package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// step is one fault. String tells it; Do makes it and waits until it is over.
type step interface {
	String() string
	Do(ctx context.Context, x *world) error
}

// planned is a step of a schedule and how many records the target must have taken before it.
type planned struct {
	after int64
	step  step
}

func (p planned) String() string { return p.step.String() }

// draw makes a step of a kind. Everything that is decided by chance is decided here.
type draw func(rnd *rand.Rand) step

// between draws a time.
func between(rnd *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(rnd.Int64N(int64(most-least)+1))).Round(10 * time.Millisecond)
}

// points are the names of the failpoints, and up to which hit they are armed.
func points() map[string]int {
	return map[string]int{
		"after-fence": 6, "after-claim": 4, "after-produce": 60, "after-ack": 60, "after-ledger": 20, "after-checkpoint": 12, "after-group-write": 6,
	}
}

func pointNames() []string {
	return []string{"after-fence", "after-claim", "after-produce", "after-ack", "after-ledger", "after-checkpoint", "after-group-write"}
}

// cost is about how long a step takes, for the length of a schedule.
func cost(kind string) time.Duration {
	switch kind {
	case "minute":
		return time.Minute
	case "longzombie":
		return 90 * time.Second
	case "upgrade", "mixed":
		return 25 * time.Second
	case "zombie", "stoppoint", "away", "rolling", "coordinator", "broker", "source":
		return 15 * time.Second
	}
	return 5 * time.Second
}

// kinds are all kinds of faults, by the name in -chaos.faults.
func kinds() map[string]draw {
	place := func(rnd *rand.Rand) int { return rnd.IntN(places) }
	return map[string]draw{
		"kill": func(rnd *rand.Rand) step { return kill{place(rnd), between(rnd, 0, 2*time.Second)} },
		"point": func(rnd *rand.Rand) step {
			p := pointNames()[rnd.IntN(len(points()))]
			return atPoint{place(rnd), p, 1 + rnd.IntN(points()[p])}
		},
		"zombie": func(rnd *rand.Rand) step {
			return zombie{place(rnd), between(rnd, 3*time.Second, 15*time.Second)}
		},
		"longzombie": func(rnd *rand.Rand) step { return zombie{place(rnd), 90 * time.Second} },
		"stoppoint": func(rnd *rand.Rand) step {
			p := pointNames()[rnd.IntN(len(points()))]
			return stopPoint{place(rnd), p, 1 + rnd.IntN(points()[p]), between(rnd, 10*time.Second, 16*time.Second)}
		},
		"clean":   func(rnd *rand.Rand) step { return clean{place(rnd)} },
		"rolling": func(*rand.Rand) step { return rolling{} },
		"more":    func(*rand.Rand) step { return more{} },
		"fewer":   func(rnd *rand.Rand) step { return fewer{place(rnd), rnd.IntN(2) == 0} },
		"twin":    func(rnd *rand.Rand) step { return twin{place(rnd), between(rnd, time.Second, 8*time.Second)} },
		"clock": func(rnd *rand.Rand) step {
			by := []time.Duration{-30 * time.Hour, -time.Hour, time.Hour, 30 * time.Hour}[rnd.IntN(4)]
			return clock{place(rnd), by, between(rnd, 2*time.Second, 6*time.Second)}
		},

		"upgrade": func(rnd *rand.Rand) step {
			return upgrade{[places]bool{rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(2) == 0}, between(rnd, 0, 6*time.Second)}
		},
		"mixed": func(rnd *rand.Rand) step {
			return mixed{place(rnd), rnd.IntN(2) == 0, between(rnd, 2*time.Second, 15*time.Second)}
		},

		"broker":      func(rnd *rand.Rand) step { return broker{"target", rnd.IntN(3), between(rnd, 0, 6*time.Second)} },
		"source":      func(rnd *rand.Rand) step { return broker{"source", rnd.IntN(3), between(rnd, 0, 6*time.Second)} },
		"coordinator": func(rnd *rand.Rand) step { return coordinator{rnd.IntN(4) - 1, between(rnd, 0, 6*time.Second)} },
		"leaders":     func(rnd *rand.Rand) step { return leaders{side(rnd)} },
		"replicas": func(rnd *rand.Rand) step {
			return replicas{rnd.IntN(2) == 0, between(rnd, time.Second, 6*time.Second)}
		},
		"freeze": func(rnd *rand.Rand) step { return freeze{rnd.IntN(3), between(rnd, time.Second, 7*time.Second)} },

		"away": func(rnd *rand.Rand) step {
			return away{side(rnd), rnd.IntN(2) == 0, between(rnd, 8*time.Second, 20*time.Second)}
		},
		"minute": func(rnd *rand.Rand) step { return away{side(rnd), rnd.IntN(2) == 0, time.Minute} },
		"cut":    func(rnd *rand.Rand) step { return cut{side(rnd), rnd.IntN(2) == 0, 1 + rnd.IntN(3)} },
		"half": func(rnd *rand.Rand) step {
			return network{side(rnd), fault{up: rnd.IntN(2) == 0, swallow: true, one: rnd.IntN(2) == 0, seed: rnd.Uint64()}, between(rnd, time.Second, 14*time.Second)}
		},
		"stall": func(rnd *rand.Rand) step {
			return network{side(rnd), fault{up: rnd.IntN(2) == 0, both: rnd.IntN(3) == 0, hold: true, one: rnd.IntN(3) == 0, seed: rnd.Uint64()}, between(rnd, 500*time.Millisecond, 14*time.Second)}
		},
		"slow": func(rnd *rand.Rand) step {
			f := fault{both: true, delay: between(rnd, 10*time.Millisecond, 400*time.Millisecond), seed: rnd.Uint64()}
			if rnd.IntN(2) == 0 {
				f = fault{up: rnd.IntN(2) == 0, rate: 20_000 << rnd.IntN(4), seed: rnd.Uint64()}
			}
			return network{side(rnd), f, between(rnd, 2*time.Second, 8*time.Second)}
		},
		"lost": func(rnd *rand.Rand) step {
			s := lost{rnd.IntN(len(lossy())), 1 + rnd.IntN(4), rnd.IntN(3) == 0, place(rnd)}
			s.kill = s.kill || takesOver(s.key) // otherwise nobody sends such a request
			return s
		},
		"quota": func(rnd *rand.Rand) step {
			return quota{20_000 << rnd.IntN(3), between(rnd, 3*time.Second, 8*time.Second)}
		},
	}
}

// side draws the attacked side: the target twice as often as the source.
func side(rnd *rand.Rand) string { return []string{"target", "target", "source"}[rnd.IntN(3)] }

// named are the kinds that a schedule has only where they are named: they take long, or need a former binary.
func named() []string { return append(fromFormer(), "minute", "longzombie") }

// usual are the kinds of a schedule that names none.
func usual() []string {
	var names []string
	for name := range kinds() {
		if !slices.Contains(named(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// plan makes a schedule of about a length from a seed.
func plan(seed uint64, names []string, length time.Duration) ([]planned, error) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := kinds()
	var steps []planned
	for t := time.Duration(0); t < length; {
		name := names[rnd.IntN(len(names))]
		make, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("no fault %q: %s", name, strings.Join(append(usual(), named()...), ","))
		}
		steps = append(steps, planned{100 + rnd.Int64N(1500), make(rnd)})
		t += cost(name)
	}
	return steps, nil
}

// run makes a schedule, heals, and lets the oracle look.
func (x *world) run(ctx context.Context, seed uint64, steps []planned) error {
	x.beginFormer(steps)
	for n := range 2 {
		if err := x.start(x.workers[n]); err != nil {
			return err
		}
	}
	for i, s := range steps {
		if err := x.grows(ctx, s.after); err != nil {
			return fmt.Errorf("before step %d: %w", i+1, err)
		}
		x.tell("step %d of %d: %v", i+1, len(steps), s.step)
		if err := s.step.Do(ctx, x); err != nil {
			return fmt.Errorf("step %d (%v): %w", i+1, s.step, err)
		}
		x.count("step " + strings.Fields(s.String())[0])
	}
	return x.finish(ctx, seed)
}

// finish heals everything and judges.
func (x *world) finish(ctx context.Context, seed uint64) error {
	if err := x.heal(ctx); err != nil {
		return err
	}
	x.tell("healed")
	if err := x.endFormer(ctx); err != nil {
		return err
	}
	if err := x.grows(ctx, 200); err != nil {
		return fmt.Errorf("after all faults are over: %w", err)
	}
	if err := x.rest(ctx, seed); err != nil {
		return err
	}
	x.tell("at rest")
	return x.judge(ctx)
}

// TestPlanIsItsSeed: a failure can be run again.
func TestPlanIsItsSeed(t *testing.T) {
	story := func(seed uint64) string {
		steps, err := plan(seed, usual(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(steps)
	}
	one, again, two := story(1), story(1), story(2)
	if one != again || one == two {
		t.Error("a schedule does not follow from its seed alone")
	}
	for name := range kinds() {
		if !strings.Contains(one, strings.Fields(fmt.Sprint(kinds()[name](rand.New(rand.NewPCG(1, 1)))))[0]) && !slices.Contains(named(), name) {
			t.Errorf("an hour of faults has none of kind %s", name)
		}
	}
	if _, err := plan(1, []string{"none"}, time.Minute); err == nil {
		t.Error("a fault that does not exist is taken")
	}
}
