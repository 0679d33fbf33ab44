package status

import (
	"fmt"
	"time"

	"tidemark/internal/control"
)

// Throttle is how fast somebody has decided that a flow may copy.
type Throttle struct {
	Bytes  int64     `json:"bytes"` // a second, all workers together
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

func (t Throttle) text() string {
	text := fmt.Sprintf("copies %s a second at most, since %s by %s", control.Size(t.Bytes), t.At.UTC().Format("2006-01-02 15:04 UTC"), Printable(t.By))
	if t.Reason != "" {
		text += ": " + Printable(t.Reason)
	}
	return text
}
