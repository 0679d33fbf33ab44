package groups

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// TestRowsThatCount: which of a lane's rows a group owner takes, by what it saw itself of the source's commits.
func TestRowsThatCount(t *testing.T) {
	for _, c := range []struct {
		name string
		seen []int64 // by poll, oldest first; -1: no commit
		row  int64
		want bool
	}{
		{"the newest", []int64{10, 20}, 20, true},
		{"one of a few polls ago", []int64{10, 20, 30, 40, 50}, 10, true},
		{"one of too many polls ago", []int64{10, 20, 30, 40, 50, 60}, 10, false},
		{"between two polls, seen by another process", []int64{10, 20, 30}, 15, true},
		{"before all that we saw", []int64{10, 20}, 9, false},
		{"newer than ours", []int64{10, 20}, 21, false},
		{"from before a reset", []int64{100, 10}, 100, false},
		{"passed over before a reset only", []int64{10, 100, 50}, 20, false},
		{"passed over since a reset", []int64{100, 10, 30}, 20, true},
		{"reset and back again", []int64{50, 10, 50}, 30, true},
		{"from before the commit was deleted", []int64{10, -1, 30}, 20, false},
		{"the first that we see", []int64{10}, 10, true},
		{"another than the only one that we saw", []int64{10}, 5, false},
		{"zero", []int64{0}, 0, true},
		{"nothing committed", []int64{-1}, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFix(t)
			for _, at := range c.seen {
				f.commit("g", orders(1), 7)
				f.commit("g", orders(0), at)
				f.poll()
			}
			f.judge("g", orders(0), c.row, exact(2*c.row))
			f.judge("g", orders(1), 7, exact(14))
			f.round()
			got := f.at("g", orders(0))
			if c.want && got != 2*c.row || !c.want && got != -1 {
				t.Errorf("the target has %d", got)
			}
		})
	}
}

// TestTwoProcesses: lane and owner poll a busy group at different times and never see the same commit. The group follows
// all the same, never ahead of what the owner knows.
func TestTwoProcesses(t *testing.T) {
	f := newFix(t)
	for i := int64(0); i <= 20; i++ {
		f.clock.pass(500 * time.Millisecond)
		if i%2 == 0 { // the lane's process
			f.judge("g", orders(0), 100*i, exact(100*i))
		} else { // ours
			f.commit("g", orders(0), 100*i)
			f.poll()
		}
		f.round()
		at := f.at("g", orders(0))
		if newest := 100 * (i - 1 + i%2); newest >= 0 && at > newest || i > 4 && at < newest-200 {
			t.Errorf("at step %d the target has %d, the newest commit known here is %d", i, at, newest)
		}
	}
	if log := f.log.String(); strings.Contains(log, "level=WARN") {
		t.Errorf("warnings about a group that follows:\n%s", log)
	}
}

// TestLaneThatStops: the last row stands in for a newer one for a while; then the group waits, and says so once it lasted.
func TestLaneThatStops(t *testing.T) {
	f := newFix(t)
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	f.commit("g", orders(0), 20)
	for range 8 {
		f.poll()
		f.clock.pass(retry)
		f.round()
		f.state("g", translate.UpToDate)
	}
	f.clock.pass(hold)
	f.poll()
	f.round()
	f.clock.pass(recheck)
	f.round()
	f.state("g", translate.Waiting)
	if log := f.log.String(); strings.Contains(log, "level=WARN") {
		t.Fatalf("a group that waits for a moment is warned about:\n%s", log)
	}
	for range 3 {
		f.clock.pass(loud)
		f.round()
	}
	if log := f.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "no lane has translated this commit yet") || !strings.Contains(log, "lasted=10s") {
		t.Errorf("a group that waits for long is to be warned about once, with cause and age:\n%s", log)
	}
	f.judge("g", orders(0), 20, exact(22))
	f.round()
	f.want("g", orders(0), 22)
	if log := f.log.String(); !strings.Contains(log, `level=INFO msg=group group=g state=written before=waiting`) {
		t.Errorf("the end of the wait is not in the log:\n%s", log)
	}
}

// TestOwnRows: positions that no lane answers for get a row of ours, once; it is given again until it is in the log.
func TestOwnRows(t *testing.T) {
	f := newFix(t)
	logs := partition.ID{Topic: "logs"}
	f.commit("g", logs, 10)
	f.info["connect-x"] = Info{Excluded: "protocol type connect keeps no consumer positions"}
	f.info["closed"] = Info{Denied: `DESCRIBE on group "closed" is missing on cluster A`, StaleSince: f.clock.now()}
	f.env.lose = true
	f.poll()
	f.round()
	rows, _ := f.env.since()
	want := map[verdicts.Key]translate.Verdict{
		{Group: "g", Topic: "logs"}:         none(translate.TopicFiltered, "excluded by logs"),
		{Group: "connect-x", Partition: -1}: none(translate.GroupFiltered, f.info["connect-x"].Excluded),
		{Group: "closed", Partition: -1}:    none(translate.PermissionMissing, f.info["closed"].Denied),
	}
	got := map[verdicts.Key]translate.Verdict{}
	for _, p := range rows {
		got[p.key] = p.row.Verdict
		if p.row.ClaimEpoch != -1 || p.key.Group == "g" && p.row.Committed != 10 {
			t.Errorf("row of %v: %+v", p.key, p.row)
		}
	}
	if !cmp.Equal(got, want) || len(rows) != len(want) {
		t.Errorf("published %v, want %v", got, want)
	}
	f.state("g", translate.NothingToWrite)
	f.clock.pass(retry)
	f.round()
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Errorf("published again at once: %v", rows)
	}
	f.env.lose = false
	f.clock.pass(republish)
	f.round()
	if rows, _ := f.env.since(); len(rows) != len(want) {
		t.Errorf("lost rows were published again %d times, want %d", len(rows), len(want))
	}
	for range 3 {
		f.clock.pass(recheck)
		f.poll()
		f.round()
	}
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Errorf("what is in the log was published again: %v", rows)
	}
	delete(f.info, "connect-x") // gone
	f.info["closed"] = Info{}   // opened
	for range forget {
		f.poll()
	}
	f.round()
	rows, _ = f.env.since()
	for _, p := range rows {
		if p.row != nil || p.key.Partition != verdicts.WholeGroup {
			t.Errorf("published %v", p)
		}
	}
	if len(rows) != 2 {
		t.Errorf("%d rows of groups were taken back, want 2", len(rows))
	}
}

// TestRowsOfTheLogComeFirst: after a takeover the log's rows are on their way; ours are not written over them.
func TestRowsOfTheLogComeFirst(t *testing.T) {
	f := newFix(t)
	lane := f.owner.lane("g")
	f.owner.Own(lane, false)
	f.takes(lane)
	f.commit("g", partition.ID{Topic: "logs"}, 10)
	f.poll()
	f.round()
	row := verdicts.Row{Version: 1, Committed: 10, CommitAt: -1, ClaimEpoch: -1, SourceEnd: -1, Verdict: none(translate.TopicFiltered, "excluded by logs")}
	f.owner.Apply(verdicts.Key{Group: "g", Topic: "logs"}, &row)
	f.round()
	f.clock.pass(reading)
	f.round()
	if rows, _ := f.env.since(); len(rows) != 0 {
		t.Errorf("the log has the row, and it was published: %v", rows)
	}
	f.owner.Own(lane, false)
	f.takes(lane)
	f.poll()
	f.round()
	f.clock.pass(reading)
	f.round()
	if rows, _ := f.env.since(); len(rows) != 1 {
		t.Errorf("the log has no row, and %d were published, want 1", len(rows))
	}
}

// TestTopicsSeenByOthersFirst: another process has seen that a topic is mirrored, this one not yet. The lane's row stays,
// since the lane would not give it again.
func TestTopicsSeenByOthersFirst(t *testing.T) {
	f := newFix(t)
	f.env.fate("orders", Fate{Why: "not yet included"})
	f.commit("g", orders(0), 10)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	f.env.fate("orders", Fate{Mirrored: true, Remote: "A.orders", SourceID: sourceID})
	f.clock.pass(recheck)
	f.round()
	f.want("g", orders(0), 11)
	// If it stays that way, the row is a leftover.
	f.env.fate("orders", Fate{Why: "excluded"})
	f.clock.pass(settle)
	f.round()
	if rows, _ := f.env.since(); len(rows) != 1 || rows[0].row.Verdict.Kind != translate.TopicFiltered {
		t.Errorf("published %v, want one row that says that the topic is filtered", rows)
	}
	f.want("g", orders(0), 11)
}

// TestUnknownTopic: a topic that was not looked at holds its groups, but not for ever: brokers can keep positions of
// deleted topics.
func TestUnknownTopic(t *testing.T) {
	f := newFix(t)
	young := partition.ID{Topic: "young"}
	f.commit("g", orders(0), 10)
	f.commit("g", young, 5)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	for range 3 {
		f.round()
		f.want("g", orders(0), -1)
		if s := f.state("g", translate.Waiting); !strings.Contains(s.Reason, "not looked at yet") {
			t.Errorf("the group waits: %v", s)
		}
		f.clock.pass(vanished / 4)
	}
	f.env.fate("young", Fate{Mirrored: true, Remote: "A.young", SourceID: sourceID})
	f.round()
	f.want("g", orders(0), -1) // now it waits for the lane
	f.env.mu.Lock()
	delete(f.env.fates, "young")
	f.env.mu.Unlock()
	f.clock.pass(vanished / 2)
	f.round()
	f.want("g", orders(0), -1) // counted from the last time it was known
	f.clock.pass(vanished)
	f.round()
	f.want("g", orders(0), 11)
	if rows, _ := f.env.since(); len(rows) != 1 || rows[0].row.Verdict.Kind != translate.TopicNotMirrored || !rows[0].row.Verdict.Final() {
		t.Errorf("published %v, want one final no", rows)
	}
}

// TestSameNames: a topic of the source that is not mirrored can bear the name of another one's remote topic.
func TestSameNames(t *testing.T) {
	f := newFix(t)
	twin := partition.ID{Topic: "A.orders"}
	f.env.fate("A.orders", Fate{Why: "a cycle"})
	f.others("g", orders(0), 3, -1)
	f.commit("g", orders(0), 10)
	f.commit("g", twin, 999)
	f.poll()
	f.judge("g", orders(0), 10, exact(11))
	f.round()
	f.want("g", orders(0), 11)
	f.commit("new", orders(0), 10)
	f.commit("new", twin, 999)
	f.poll()
	f.round()
	f.want("new", orders(0), -1) // no row yet; the twin has a final no
	f.judge("new", orders(0), 10, exact(11))
	f.round()
	f.want("new", orders(0), 11)
	// What the target has for a remote topic says nothing about its namesake on the source.
	bills := partition.ID{Topic: "bills"}
	f.others("half", orders(0), 3, -1)
	f.commit("half", twin, 999)
	f.commit("half", bills, 20)
	f.commit("half", partition.ID{Topic: "bills", Partition: 1}, 20)
	f.poll()
	f.judge("half", bills, 20, exact(22))
	f.round()
	f.want("half", bills, -1)
}

// TestSummary is the line for the log.
func TestSummary(t *testing.T) {
	w := func(k translate.WriteKind) translate.WriteState { return translate.WriteState{Kind: k} }
	for want, states := range map[string]map[string]translate.WriteState{
		"no groups":                         nil,
		"1 group: 1 waiting":                {"a": w(translate.Waiting)},
		"3 groups: 2 up-to-date, 1 waiting": {"a": w(translate.UpToDate), "b": w(translate.Waiting), "c": w(translate.UpToDate)},
	} {
		if got := Summary(states); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
