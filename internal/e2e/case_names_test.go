package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/inspect"
	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// flood writes records to partitions of a topic, 1000 a second over all of them, and gives the next sequence number.
func (f *flow) flood(topic string, partitions []int32, seq int64, records int) int64 {
	f.tb.Helper()
	cl := suite.source.Client(f.tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	const each = 20 // records every 20 ms
	tick := time.NewTicker(each * time.Millisecond)
	defer tick.Stop()
	for left := records; left > 0; left -= each {
		for range each {
			cl.Produce(f.tb.Context(), numbered(topic, partitions[int(seq)%len(partitions)], seq), nil)
			seq++
		}
		<-tick.C
	}
	if err := cl.Flush(f.tb.Context()); err != nil {
		f.tb.Fatal(err)
	}
	return seq
}

// TestCase31NewTopicFilledAtOnce: a topic that is created while the flow runs, and written to at 1000 records a second from
// then on, arrives whole, with what was written before anybody noticed it. So do partitions that are added later.
func TestCase31NewTopicFilledAtOnce(t *testing.T) {
	t.Parallel()
	const topic = "c31-new"
	f := newFlow(t, "c31", "c31-.*", "c31-.*", "")
	f.topic("c31-old", 1, nil)
	f.write(numbered("c31-old", 0, 0))
	f.start()
	f.same("c31-old") // the flow has looked at the topics, and looks again in some seconds

	f.topic(topic, 3, nil)
	seq := f.flood(topic, []int32{0, 1, 2}, 0, 3000)
	more, err := f.src.CreatePartitions(t.Context(), 3, topic)
	if err != nil || more.Error() != nil {
		t.Fatal(err, more)
	}
	f.flood(topic, []int32{3, 4, 5, 0}, seq, 2000)
	f.same(topic)
	ends, err := testcluster.Ends(t.Context(), suite.target.Client(t), f.remote(topic), testcluster.ReadUncommitted)
	if err != nil || len(ends) != 6 {
		t.Fatalf("%d partitions on the target, %v", len(ends), err)
	}
	for p, end := range ends {
		if want := f.sourceEnd(topic, p); end != want {
			t.Errorf("partition %d ends at %d, want %d: it is mirrored from its first record on", p, end, want)
		}
	}
}

// TestCase35EveryGroupHasAReason: groups of every sort, and what `tidemark groups` says about each.
func TestCase35EveryGroupHasAReason(t *testing.T) {
	t.Parallel()
	const topic, empty, excluded = "c35-t", "c35-empty", "c35-left-out"
	f := newFlow(t, "c35", "c35-.*", "c35-.*", ", topics_exclude: ['c35-left-.*']")
	f.rewrite(`groups: ["c35-.*"]`, `groups: ["c35-.*", "console-consumer-c35", "connect-c35", "__c35", "other"]`)
	f.topic(topic, 1, nil)
	f.topic(empty, 1, nil)
	f.topic(excluded, 1, nil)
	for seq := range int64(100) {
		f.write(numbered(topic, 0, seq))
	}
	f.write(numbered(excluded, 0, 0))
	at := func(group, topic string, offset int64) {
		f.commit(group, map[string]map[int32]int64{topic: {0: offset}})
	}
	at("c35-idle", topic, 40) // long ago, as far as the flow knows
	at("c35-end", topic, 100)
	at("c35-zero", topic, 0)
	at("c35-beyond", topic, 105)
	at("c35-on-empty", empty, 0)
	at("c35-elsewhere", excluded, 1)
	at("c35-active", topic, 10)
	for _, g := range []string{"console-consumer-c35", "connect-c35", "__c35", "c35x"} {
		at(g, topic, 50)
	}
	f.start()
	f.reaches("c35-active", topic, 0, 10)
	live := f.join("c35-active", topic)
	live.read(1)
	f.commit("c35-active", map[string]map[int32]int64{topic: {0: 20}})

	reader, err := inspect.Open(f.cfg, f.cfg.Flows[0], inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	want := map[string]string{ // by group: a part of its line
		"c35-idle":      "exact at offset 40",
		"c35-end":       "exact at offset 100, the end of what is mirrored",
		"c35-zero":      "exact at offset 0",
		"c35-beyond":    "ahead of the mirror by 5",
		"c35-on-empty":  "exact at offset 0, the end of what is mirrored",
		"c35-elsewhere": `excluded by topics.exclude pattern "c35-left-.*"`,
		"c35-active":    "c35-active is Stable on the target: its own commits count there",

		"console-consumer-c35": `left out: excluded by groups.exclude pattern "console-consumer-.*": console-consumer-c35`,
		"connect-c35":          `left out: excluded by groups.exclude pattern "connect-.*": connect-c35`,
		"__c35":                `left out: excluded by groups.exclude pattern "__.*": __c35`,
		"c35x":                 `left out: not included by groups ("c35-.*", "console-consumer-c35", "connect-c35" and 2 more):`,
	}
	var text string
	f.until(60*time.Second, "a reason for every group", func(ctx context.Context) (bool, string) {
		s, err := reader.Groups(ctx, nil)
		if err != nil {
			return false, err.Error()
		}
		text = s.Text()
		for group, part := range want {
			if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
				return strings.Contains(line, group) && strings.Contains(line, part)
			}) && !excludedFor(s, group, part) {
				return false, fmt.Sprintf("%s: nothing says %q in\n%s", group, part, text)
			}
		}
		return true, ""
	})
	t.Log(text)
	// What is said is so: those that have a place are at it on the target, the others are not there.
	for group, x := range map[string]int64{"c35-idle": 40, "c35-end": 100, "c35-zero": 0, "c35-beyond": 100} {
		f.reaches(group, topic, 0, x)
	}
	f.reaches("c35-on-empty", empty, 0, 0)
	for _, group := range []string{"console-consumer-c35", "connect-c35", "__c35", "c35x"} {
		if x, err := f.position(t.Context(), group, topic, 0); err != nil || x != -1 {
			t.Errorf("%s stands at %d on the target: %v", group, x, err)
		}
	}
	if x, err := f.position(t.Context(), "c35-elsewhere", excluded, 0); err != nil || x != -1 {
		t.Errorf("c35-elsewhere stands at %d on the target: %v", x, err)
	}
}

// excludedFor says whether a group is left out for a reason, as the snapshot has it: other tests' groups are among them, so
// that the text may only count it.
func excludedFor(s status.Groups, group, part string) bool {
	return slices.ContainsFunc(s.Excluded, func(x status.Excluded) bool {
		return x.Group == group && strings.HasPrefix(strings.TrimPrefix(part, "left out: "), x.Why)
	})
}
