//go:build unix

package peer

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	all  = flag.Bool("peer.all", false, "run all of Kafka's tests, and write the table in docs/from-mirrormaker.md")
	some = flag.String("peer.test", "", "with -peer.all: only tests whose Class.name (Base.testReplication) matches this regular expression")
	tell = flag.Bool("peer.table", false, "write the table as the expectations have it, and run nothing")
)

// page holds the table between two markers.
const (
	page  = "../../docs/from-mirrormaker.md"
	begin = "<!-- made by `make peer`: begin -->\n"
	end   = "<!-- made by `make peer`: end -->\n"
)

// quick are tests of the first class that take about a minute of CPU together, all that is built for them included, and go
// through topics, records, positions and a restart.
func quick() []string {
	return []string{"testOneWayReplicationWithAutoOffsetSync", "testRestartReplication"}
}

// TestKafkasOwn runs Kafka's tests of MirrorMaker 2: a few, or all of them with -peer.all. Each must come to what is expected.
func TestKafkasOwn(t *testing.T) {
	switch {
	case *tell:
		return
	case !*all:
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		c := classes()[0]
		results, err := runClass(ctx, c, quick())
		for again := range 2 { // Kafka's tests have time-outs of their own, half a minute each, which a busy machine runs into
			late := unlike(c.short, results)
			if err != nil || len(late) == 0 {
				break
			}
			t.Logf("run again (%d): %v", again+1, late)
			var more []result
			more, err = runClass(ctx, c, late)
			results = append(slices.DeleteFunc(results, func(r result) bool { return slices.Contains(late, r.Test) }), more...)
		}
		compare(t, c, quick(), results, err)
		return
	}
	names, err := regexp.Compile(*some)
	if err != nil {
		t.Fatal(err)
	}
	tests, done := listed(t), atomic.Int32{}
	t.Cleanup(func() {
		if !t.Failed() && *some == "" && int(done.Load()) == len(classes()) {
			write(t, table(tests))
		}
	})
	for _, c := range classes() {
		var wanted []string
		for _, test := range tests[c.name] {
			if names.MatchString(c.short + "." + test) {
				wanted = append(wanted, test)
			}
		}
		if len(wanted) == 0 {
			continue
		}
		t.Run(c.short, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			results, err := runClass(ctx, c, wanted)
			compare(t, c, wanted, results, err)
			done.Add(1)
		})
	}
}

// compare holds what came of a class's tests against what is expected of them.
func compare(t *testing.T, c class, tests []string, results []result, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	for _, test := range tests {
		if !slices.ContainsFunc(results, func(r result) bool { return r.Test == test }) {
			t.Errorf("%s.%s was not run", c.short, test)
		}
	}
	for _, r := range results {
		t.Log(r)
		for _, complaint := range unexpected(c.short, r) {
			t.Error(complaint)
		}
	}
}

// unlike are the tests whose result is not as expected.
func unlike(short string, results []result) (tests []string) {
	for _, r := range results {
		if len(unexpected(short, r)) > 0 {
			tests = append(tests, r.Test)
		}
	}
	return tests
}

// unexpected says what about a result is not as expected.
func unexpected(short string, r result) []string {
	return against(expected(short, r.Test), short, r)
}

func against(e expectation, short string, r result) []string {
	switch {
	case e.or != "" && r.Outcome == string(e.or):
		return nil
	case r.Outcome == string(e.want) && strings.Contains(r.Says, e.says):
		return nil
	case r.Outcome == string(e.want):
		return []string{fmt.Sprintf("%s.%s is %s for another reason than expected, %q: %s", short, r.Test, r.Outcome, e.says, r.Says)}
	case r.Outcome == string(passes):
		return []string{fmt.Sprintf("%s.%s passes: take its row out of the table of expectations (%s)", short, r.Test, e.why)}
	}
	return []string{fmt.Sprintf("%s.%s is %s, expected %s: %s", short, r.Test, r.Outcome, e.want, r.Says)}
}

// TestUnexpected: a result that differs from what is expected is told, both ways, and one for another reason too.
func TestUnexpected(t *testing.T) {
	odd := expectation{want: differs, says: "no heartbeats", why: "deliberate"}
	for _, tc := range []struct {
		e             expectation
		outcome, says string
		want          string // empty: as expected
	}{
		{expectation{want: passes}, "SUCCESSFUL", "", ""},
		{expectation{want: passes}, "FAILED", "late", "expected SUCCESSFUL: late"},
		{expectation{want: passes}, "SKIPPED", "", "expected SUCCESSFUL"},
		{odd, "FAILED", "there are no heartbeats", ""},
		{odd, "FAILED", "other", "for another reason"},
		{odd, "SUCCESSFUL", "", "passes: take its row out"},
		{odd, "ABORTED", "no heartbeats", "expected FAILED"},
		{expectation{want: differs, or: passes}, "SUCCESSFUL", "", ""},
		{expectation{want: differs, or: passes}, "ABORTED", "", "expected FAILED"},
	} {
		got := strings.Join(against(tc.e, "Base", result{Test: "testX", Outcome: tc.outcome, Says: tc.says}), "\n")
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%v, %s %s: got %q, want %q", tc.e, tc.outcome, tc.says, got, tc.want)
		}
	}
}

// listed are the names of the tests of each class.
func listed(t *testing.T) map[string][]string {
	t.Helper()
	found, err := list()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, r := range found {
		out[r.Class] = append(out[r.Class], r.Test)
	}
	for _, c := range classes() {
		if len(out[c.name]) == 0 {
			t.Fatalf("no tests in class %s", c.name)
		}
	}
	return out
}

// TestEveryExpectationIsOfATest: rows of tests that are gone would stay for ever.
func TestEveryExpectationIsOfATest(t *testing.T) {
	tests := listed(t)
	rows := expectations()
	used := map[int]bool{}
	for _, c := range classes() {
		for _, test := range tests[c.name] {
			used[row(rows, c.short, test)] = true
		}
	}
	for i, e := range rows {
		if !used[i] {
			t.Errorf("row %d is about no test: %s %v", i, e.tests, e.classes)
		}
	}
}

// TestTableIsAsExpected: the page has what the expectations say about the tests that there are.
func TestTableIsAsExpected(t *testing.T) {
	switch {
	case *all:
		return // it is being written
	case *tell:
		write(t, table(listed(t)))
		return
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), begin)
	got, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no markers %q and %q", page, begin, end)
	}
	if want := table(listed(t)); got != want {
		t.Errorf("%s is not what `make peer` writes:\n%s\nwant:\n%s", page, got, want)
	}
}

func write(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no markers %q and %q", page, begin, end)
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
