package kafka

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sayAgain is how long a line of franz-go's that was logged is not repeated. A
// broker that is away makes every client log each attempt, some twenty a
// second, which hides the lines that matter.
const sayAgain = time.Minute

// quiet is the slog handler of franz-go's own log: warnings and errors only, and
// the same line about the same address, topic or group once in a while. kslog
// asks the handler for its level, so what is below is not even formatted.
type quiet struct {
	slog.Handler
	said *said
}

type said struct {
	mu    sync.Mutex
	lines map[string]time.Time
}

func newQuiet(h slog.Handler) quiet { return quiet{h, &said{lines: map[string]time.Time{}}} }

func (h quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h quiet) Handle(ctx context.Context, r slog.Record) error {
	key := r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "addr", "topic", "group":
			key += " " + a.Value.String()
		}
		return true
	})
	if !h.said.due(key, r.Time) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (s *said) due(key string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.lines[key]; ok && now.Sub(last) < sayAgain {
		return false
	}
	s.lines[key] = now
	return true
}

func (h quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{h.Handler.WithAttrs(attrs), h.said}
}

func (h quiet) WithGroup(name string) slog.Handler {
	return quiet{h.Handler.WithGroup(name), h.said}
}
