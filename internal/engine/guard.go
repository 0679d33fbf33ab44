package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/pause"
)

// guardEvery is how often a flow looks whether its own topics are still the ones that it began with.
const guardEvery = 5 * time.Second

// goneAfter looks in a row must not show a topic before it counts as deleted: a broker that starts says so of topics
// that exist.
const goneAfter = 3

// guard ends the flow when a topic of its own was deleted, or created again, under it. Its lanes could not go on: their
// identity, fences and maps are in those topics. Making the topic anew here was rejected: every lane would have to begin
// again as after a crash, which is what the next start does anyway.
func (f *flow) guard(ctx context.Context) error {
	names := []string{ledger.TopicName(f.cfg.Source), ledger.VerdictsName(f.cfg.Source)}
	first, missed := map[string][16]byte{}, map[string]int{}
	for {
		got, err := f.target.DescribeTopics(ctx, names...)
		for _, t := range got {
			was, known := first[t.Name]
			switch {
			case err != nil || t.Err != nil && !errors.Is(t.Err, kafka.ErrNoTopic):
				continue // nothing is known now
			case t.Err != nil:
				missed[t.Name]++
			case known && was != t.ID:
				return f.vanished(t.Name, "deleted and created again")
			default:
				first[t.Name], missed[t.Name] = t.ID, 0
			}
			if missed[t.Name] >= goneAfter {
				return f.vanished(t.Name, "deleted")
			}
		}
		if !pause.For(ctx, guardEvery) {
			return nil
		}
	}
}

func (f *flow) vanished(name, how string) error {
	what := "verdicts are written anew by the next start"
	if name == ledger.TopicName(f.cfg.Source) {
		what = "what was mirrored is not known any more: after the next start partitions whose remote topic holds records are stopped with the choices"
	}
	return fmt.Errorf("topic %s on cluster %s was %s while this flow ran; %s", name, f.cfg.Target, how, what)
}
