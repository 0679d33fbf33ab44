package kafka

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a string that must never reach a log, an error or a dump. fmt
// (every verb but %p, which fmt answers itself and vet refuses), encoding/json,
// YAML encoders and slog print "[redacted]"; an empty Secret prints as empty, so
// that a forgotten password can be seen.
type Secret string

// Reveal returns the secret itself. Call it only where it is handed to a
// protocol.
func (s Secret) Reveal() string { return string(s) }

// String is "[redacted]", or empty for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format covers every fmt verb. String alone is not enough: %d and other verbs
// that do not suit a string print the value itself in fmt's complaint.
func (s Secret) Format(f fmt.State, _ rune) {
	// fmt.State has nowhere to report an error to.
	_, _ = io.WriteString(f, s.String())
}

// MarshalText redacts the secret for JSON and YAML encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue redacts the secret for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
