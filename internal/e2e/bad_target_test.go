package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTargetRightsAtStart: rights without which the flow cannot even begin are named one by one by a process that ends
// soon; with each one granted it gets further.
func TestTargetRightsAtStart(t *testing.T) {
	t.Parallel()
	f, may := securedFlow(t, "ts", "ts-.*", "ts-.*", "creator", false, "")
	const ledgerTopic = `topic "tidemark-ledger.ts.internal"`
	var granted []string // last: a broker may not know of it at once
	for _, step := range []struct {
		says  []string
		grant func()
	}{
		{[]string{"DESCRIBE", ledgerTopic}, func() { may.under(topicACL, "tidemark-", describe) }},
		{[]string{"CREATE", ledgerTopic}, func() { may.under(topicACL, "tidemark-", create) }},
		{[]string{"DESCRIBE_CONFIGS", ledgerTopic}, func() { may.under(topicACL, "tidemark-", configs) }},
		{[]string{"DESCRIBE", `topic "ts.checkpoints.internal"`}, func() { may.under(topicACL, "ts.", create, describe, configs) }},
		{[]string{"DESCRIBE", `topic "heartbeats"`}, func() { may.on(topicACL, "heartbeats", create, describe, configs) }},
		{[]string{"READ", `group "tidemark.ts->T"`, "target"}, func() { may.on(groupACL, "tidemark.ts->T", read) }},
	} {
		var out string
		f.until(30*time.Second, "an end that says "+strings.Join(step.says, ", "), func(context.Context) (bool, string) {
			out = refused(t, f.yaml, 1)
			return granted == nil || !mentions(out, granted), out
		})
		says(t, out, append(step.says, "is missing", "flow ts->T")...)
		step.grant()
		granted = step.says
	}
}

// mentions says whether a text has all parts.
func mentions(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

// TestTargetRights: rights that are missing while the flow runs are named in the log, and where they are about one topic
// or group only that one waits. Each one takes effect as soon as it is granted, without a restart. IDEMPOTENT_WRITE is
// needed by brokers before 2.8 only.
func TestTargetRights(t *testing.T) {
	t.Parallel()
	r := secured(t)
	at := spots{}
	for _, topic := range []string{"tr-a", "tr-b"} {
		fill(t, suite.source, topic, 50)
		for _, group := range []string{"gtr-undescribed", "gtr-unread", "gtr-full"} {
			at.add(group+topic[2:], topic, 0, 20)
		}
	}
	newFlow(t, "unused", "none", "none", "").commitAll(at)
	f, may := securedFlow(t, "tr", "tr-.*", "gtr-.*", "writer", false, "")
	log := f.listen()
	missing := func(parts ...string) {
		t.Helper()
		began := time.Now()
		f.until(40*time.Second, "a word in the log", func(context.Context) (bool, string) {
			return log.line(append(parts, "is missing")...), parts[0] + " " + parts[1]
		})
		t.Logf("%v after %v", parts, time.Since(began).Round(time.Millisecond))
	}
	may.under(topicACL, "tidemark-", create, describe, configs)
	may.on(topicACL, "tr.checkpoints.internal", create, describe, configs)
	may.on(topicACL, "heartbeats", describe, create, configs)
	may.on(groupACL, "tidemark.tr->T", read)
	may.under(groupACL, "gtr-unread", describe)
	may.under(groupACL, "gtr-full", describe, read)
	f.start()
	missing("WRITE", `transactional id \"tidemark.tr->T.lane.`)
	missing("CREATE", `topic \"tr.tr-a\"`)
	missing("WRITE", `topic \"heartbeats\"`)
	may.under(txnACL, "tidemark.tr->T.", write, describe)
	may.under(topicACL, "tidemark-", write)
	missing("READ", `topic \"tidemark-verdicts.tr.internal\"`)
	may.under(topicACL, "tidemark-", read)
	may.on(topicACL, "heartbeats", write)
	may.under(topicACL, "tr.tr-", create, describe)
	missing("DESCRIBE_CONFIGS", `topic \"tr.tr-a\"`)
	may.under(topicACL, "tr.tr-", configs)
	missing("WRITE", `topic \"tr.tr-a\"`)
	missing("WRITE", `topic \"tr.tr-b\"`)
	may.on(topicACL, "tr.tr-a", write)
	f.holds(r, "tr.tr-a", 50)
	missing("WRITE", `topic \"tr.checkpoints.internal\"`)
	missing("DESCRIBE", `group \"gtr-undescribed-a\"`)
	missing("READ", `group \"gtr-unread-a\"`)
	missing("READ", `topic \"tr.tr-a\"`) // a commit needs it
	may.under(groupACL, "gtr-", describe, read)
	may.under(topicACL, "tr.tr-", read, write)
	f.holds(r, "tr.tr-b", 50)
	for s, committed := range at {
		f.reaches(s.group, s.topic, 0, committed)
	}
}
