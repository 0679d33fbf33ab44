package events

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Whoever listens gets every event from then on, in order, until it ends that.
func TestBus(t *testing.T) {
	var b Bus
	var first, second []string
	note := func(to *[]string) func(Event) { return func(e Event) { *to = append(*to, e.String()) } }
	b.Publish(Event{Kind: SourceBack, Lane: NoLane})
	end := b.Listen(note(&first))
	b.Publish(Event{Kind: PartitionStopped, Lane: 3, Partition: "orders-0", Details: []slog.Attr{slog.String("reason", "too large")}})
	b.Listen(note(&second))
	end()
	end() // once more changes nothing
	b.Publish(Event{Kind: SourceBack, Lane: NoLane})
	if want := "partition stopped lane=3 partition=orders-0 reason=too large"; len(first) != 1 || first[0] != want {
		t.Errorf("first listener got %q, want %q", first, want)
	}
	if len(second) != 1 || second[0] != string(SourceBack) {
		t.Errorf("second listener got %q", second)
	}
}

// The log shows an event by its kind, and leaves out what is only the normal course of a start.
func TestToLog(t *testing.T) {
	var out bytes.Buffer
	var b Bus
	b.Listen(ToLog(slog.New(slog.NewTextHandler(&out, nil))))
	b.Publish(Event{Kind: LaneTaken, Lane: 0, Tone: Quiet})
	b.Publish(Event{Kind: LaneTaken, Lane: 1, Details: []slog.Attr{slog.String("how", "former owner ended without release")}})
	b.Publish(Event{Kind: PartitionStopped, Lane: 1, Partition: "orders-0"})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `level=INFO msg="taking over" lane=1 how=`) || !strings.Contains(lines[1], `level=WARN msg="partition stopped" lane=1 partition=orders-0`) {
		t.Errorf("log:\n%s", out.String())
	}
}
