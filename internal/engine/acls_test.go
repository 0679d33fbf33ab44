package engine

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Two workers share the flow's lanes: access rules of every topic are copied, whichever of them owns its lane.
func TestACLsWithTwoWorkers(t *testing.T) {
	e := newEnds(t, ", sync_topic_acls_interval: 1s")
	ctx := t.Context()
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprint("t", i))
	}
	if _, err := e.src.CreateTopics(ctx, 1, 1, nil, names...); err != nil {
		t.Fatal(err)
	}
	e.run()
	e.run()
	e.until("both workers have lanes", func() bool {
		got, err := e.dst.DescribeGroups(ctx, "tidemark.A->B")
		if err != nil || got["tidemark.A->B"].State != "Stable" {
			return false
		}
		with := 0
		for _, m := range got["tidemark.A->B"].Members {
			if a, ok := m.Assigned.AsConsumer(); ok && len(a.Topics) > 0 && len(a.Topics[0].Partitions) > 0 {
				with++
			}
		}
		return with == 2
	})
	rules := kadm.NewACLs().Allow("User:app").AllowHosts("*").Topics(names...).Operations(kadm.OpRead)
	if got, err := e.src.CreateACLs(ctx, rules); err != nil || len(got) != len(names) {
		t.Fatal(got, err)
	}
	e.until("a rule for every remote topic", func() bool {
		got, err := e.dst.DescribeACLs(ctx, kadm.NewACLs().Allow().AllowHosts().Topics().Operations())
		n := 0
		for _, r := range got {
			n += len(r.Described)
		}
		return err == nil && n == len(names)
	})
}
