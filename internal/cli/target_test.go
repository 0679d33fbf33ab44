package cli

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What others do while a flow runs: applications on the target, somebody who writes to a remote topic, consumers.

func cmdForeign(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: foreign TOPIC N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := patience()
	defer cancel()
	ts.Check(produceNumbers(ctx, pair(ts).Target.ClientOpts(), args[0], 0, n))
}

func cmdRehearse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: rehearse GROUP TOPIC N")
	}
	commitOn(ts, pair(ts).Target, args)
}

func cmdTakeBack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: takeback GROUP TOPIC")
	}
	ctx, cancel := patience()
	defer cancel()
	cl, err := client(pair(ts).Target.ClientOpts())
	ts.Check(err)
	defer cl.Close()
	var gone kadm.TopicsSet
	gone.Add(args[1], 0)
	res, err := kadm.NewClient(cl).DeleteOffsets(ctx, args[0], gone)
	ts.Check(err)
	ts.Check(res.Error())
}

func cmdMember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: member GROUP TOPIC")
	}
	cl, err := client(append(pair(ts).Source.ClientOpts(), kgo.ConsumerGroup(args[0]), kgo.ConsumeTopics(args[1]), kgo.DisableAutoCommit()))
	ts.Check(err)
	ts.Defer(cl.Close) // it joins by itself; nothing is read
}

// cmdExpire has old records of a topic on the target deleted.
func cmdExpire(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expire TOPIC")
	}
	ctx, cancel := patience()
	defer cancel()
	cl, err := client(pair(ts).Target.ClientOpts())
	ts.Check(err)
	defer cl.Close()
	policy := "delete"
	rs, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "cleanup.policy", Value: &policy}}, args[0])
	ts.Check(err)
	for _, r := range rs {
		ts.Check(r.Err)
	}
}
