package events

import (
	"context"
	"log/slog"
)

// From is a bus from which a log hangs.
func From(log *slog.Logger) *Bus {
	b := &Bus{}
	b.Listen(ToLog(log))
	return b
}

// ToLog writes events to a log, each as one line at its level.
func ToLog(log *slog.Logger) func(Event) {
	return func(e Event) {
		log.LogAttrs(context.Background(), e.Level(), string(e.Kind), e.attrs()...) //nolint:sloglint // kinds are constants
	}
}
