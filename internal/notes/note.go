package notes

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// MaxBytes is how long a note may be: brokers take that much metadata of a position unless offset.metadata.max.bytes is
// set to less.
const MaxBytes = 4096

// version of the format. A reader takes newer ones too: fields are only added.
const version = 1

// Note is what a worker says about one lane, and in the note of its lowest lane about itself.
type Note struct {
	Version int       `json:"version"`
	Since   time.Time `json:"since,omitzero"` // when the lane was given to the worker, or ran last; zero while it runs
	What    string    `json:"what,omitempty"` // what the lane does instead of running, in a word or two; empty while it runs
	Why     string    `json:"why,omitempty"`
	Worker  string    `json:"worker"` // host, process and start, for people
	Member  string    `json:"member"` // the worker's member id in the lane group
	// Troubles are the worker's own, not of a single lane.
	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble is something that a worker waits for, or may not do.
type Trouble struct {
	Since time.Time `json:"since"`
	What  string    `json:"what"`
	Why   string    `json:"why"`
}

// Encode gives the note as it is committed. What is too long is cut: a part of a reason is better than none.
func (n Note) Encode() string {
	n.Version = version
	for longest := MaxBytes / 4; ; longest /= 2 {
		cut := n
		cut.Why = short(n.Why, longest)
		cut.Troubles = nil
		for _, t := range n.Troubles {
			cut.Troubles = append(cut.Troubles, Trouble{Since: t.Since, What: short(t.What, longest), Why: short(t.Why, longest)})
		}
		// Strings, times and numbers cannot fail.
		text, _ := json.Marshal(cut)
		if len(text) <= MaxBytes || longest == 0 {
			return string(text)
		}
		if longest < 64 {
			n.Troubles = n.Troubles[:len(n.Troubles)/2]
		}
	}
}

// short cuts a text to a number of bytes, at a whole character.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}

// Parse reads a note; ok is false where there is none.
func Parse(metadata string) (n Note, ok bool, err error) {
	if metadata == "" {
		return Note{}, false, nil
	}
	if err := json.Unmarshal([]byte(metadata), &n); err != nil {
		return Note{}, false, fmt.Errorf("a note about a lane is no JSON: %w", err)
	}
	return n, true, nil
}
