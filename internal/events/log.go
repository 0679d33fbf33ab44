package events

import (
	"context"
	"log/slog"
)

// ToLog writes events to a log, each as one line at its level.
func ToLog(log *slog.Logger) func(Event) {
	return func(e Event) {
		log.LogAttrs(context.Background(), e.Level(), string(e.Kind), e.attrs()...) //nolint:sloglint // kinds are constants
	}
}
