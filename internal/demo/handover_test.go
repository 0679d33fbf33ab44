package demo

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/verdicts"
)

// A poll whose time ran out as its records came brings both. Rows left out then are never seen again, and the demo waits
// for them to its end; on a full machine that was one run in twenty.
func TestRowsOfALatePollCount(t *testing.T) {
	key := verdicts.Key{Group: "g", Topic: "t"}
	row := verdicts.Row{RemoteTopic: "A.t", Committed: 7}
	value, err := row.EncodeRow()
	if err != nil {
		t.Fatal(err)
	}
	h := newHandover(nil, nil)
	late := kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "v", Partitions: []kgo.FetchPartition{{
		Records: []*kgo.Record{{Key: key.EncodeKey(), Value: value}},
	}}}}}}
	late = append(late, kgo.NewErrFetch(context.DeadlineExceeded)...)
	if err := h.take(late); err != nil {
		t.Fatal(err)
	}
	if got, ok := h.rows[key]; !ok || got.Committed != 7 {
		t.Errorf("the row is lost: %v", h.rows)
	}
	broken := errors.New("broken")
	if err := h.take(kgo.NewErrFetch(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
