package groups

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// TestDeniedWhileRunning: a right on a group that is taken away hides the group from the list. It is not taken for deleted: its
// positions stay, the right is named once and stands as trouble, for each group, until it is given back.
func TestDeniedWhileRunning(t *testing.T) {
	f := newFix(t)
	for _, g := range []string{"g", "h", "open"} {
		if _, err := f.source.CommitPositions(f.ctx(), g, map[partition.ID]kafka.Committed{orders(0): {Offset: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	hidden := map[string]bool{}
	f.src.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		f.src.KeepControl()
		if _, lists := req.(*kmsg.ListGroupsRequest); !lists || len(hidden) == 0 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
		for _, g := range []string{"g", "h", "open"} {
			if !hidden[g] {
				resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{Group: g})
			}
		}
		return resp, nil, true
	})
	r := reader(t, f.source, f.log)
	poll := func() Snapshot {
		t.Helper()
		s, err := r.Poll(f.ctx())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	poll()
	var faults []*kfake.FaultHandle
	for _, g := range []string{"g", "h"} {
		hidden[g] = true
		faults = append(faults, f.src.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: g, Err: kerr.GroupAuthorizationFailed, Count: -1}))
		for range 2 {
			s := poll()
			if in := s.Groups[g]; s.answers(g) || !strings.Contains(in.Denied, "DESCRIBE on group") || s.Positions[g][orders(0)].Offset != 5 || !s.answers("open") {
				t.Fatalf("%s: %+v, positions %v", g, in, s.Positions)
			}
		}
		if trouble, ok := r.Trouble(); !ok || !strings.Contains(trouble.Why, "DESCRIBE on group") {
			t.Errorf("trouble %+v", trouble)
		}
	}
	if log := f.log.String(); strings.Count(log, "level=WARN") != 2 || !strings.Contains(log, `on group \"g\"`) || !strings.Contains(log, `on group \"h\"`) {
		t.Errorf("said:\n%s", log)
	}
	for _, fault := range faults {
		fault.Remove()
	}
	clear(hidden)
	if s := poll(); !s.answers("g") || !s.answers("h") {
		t.Errorf("given back: %+v", s.Groups)
	}
	if _, ok := r.Trouble(); ok || strings.Count(f.log.String(), "are read again") != 1 {
		t.Errorf("in the end:\n%s", f.log.String())
	}
	// One that is really gone is not asked for again and again.
	if res, err := f.source.Admin().DeleteGroups(f.ctx(), "h"); err != nil || res.Error() != nil {
		t.Fatal(err, res.Error())
	}
	for range 2 {
		if s := poll(); !s.answers("h") && s.Groups["h"].StaleSince.IsZero() {
			t.Errorf("deleted: %+v", s.Groups["h"])
		}
	}
	if _, there := r.last.Groups["h"]; there {
		t.Error("a deleted group is still known")
	}
}
