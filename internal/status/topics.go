package status

import (
	"fmt"
	"slices"
	"strings"
)

// Topics is what a flow takes of its source, and why not the others. It needs the source only: no run has to have been.
type Topics struct {
	Header
	Mirrored    []Mirror   `json:"mirrored"`                  // by name
	NotMirrored []Unmirror `json:"not_mirrored"`              // by name
	Unused      []string   `json:"unused_patterns,omitempty"` // of topics, which no topic of the source matches
	Missing     []Missing  `json:"missing_topics,omitempty"`  // those of them that are names
}

// Missing is a topic that the file names, and that the source does not have, or does not show.
type Missing struct {
	Topic   string `json:"topic"`
	Nearest string `json:"nearest,omitempty"` // the name there that is most like it
}

// text is one sentence for people.
func (m Missing) text() string {
	what := "topic " + Printable(m.Topic) + " is named in the file, and the source has none of that name, or does not show it (DESCRIBE)"
	if m.Nearest != "" {
		what += "; did you mean " + Printable(m.Nearest) + "?"
	}
	return what
}

// Mirror is a topic that the flow mirrors.
type Mirror struct {
	Topic       string `json:"topic"`
	Partitions  int64  `json:"partitions"` // Unknown where the source would not say
	RemoteTopic string `json:"remote_topic"`
	Rule        string `json:"rule"`
	Why         string `json:"why"`
}

// Text is a table of what is mirrored, one of what is not, and the patterns that serve for nothing now.
func (t Topics) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s mirrored, %s not\n", Printable(t.Flow), count(len(t.Mirrored), "topic is", "topics are"), count(len(t.NotMirrored), "is", "are"))
	if len(t.Mirrored) > 0 {
		g := newGrid("MIRRORED", ">PARTITIONS", "REMOTE TOPIC", "WHY")
		for _, m := range t.Mirrored {
			g.row(Printable(m.Topic), number(m.Partitions), Printable(m.RemoteTopic), Printable(m.Why))
		}
		b.WriteString("\n" + g.String())
	}
	if len(t.NotMirrored) > 0 {
		g := newGrid("NOT MIRRORED", "WHY")
		for _, u := range t.NotMirrored {
			g.row(Printable(u.Topic), Printable(u.Why))
		}
		b.WriteString("\n" + g.String())
	}
	if len(t.Unused) > 0 {
		b.WriteString("\n")
	}
	for _, m := range t.Missing {
		b.WriteString(m.text() + "\n")
	}
	for _, p := range t.Unused {
		if slices.ContainsFunc(t.Missing, func(m Missing) bool { return m.Topic == p }) {
			continue
		}
		fmt.Fprintf(&b, "no topic of the source matches topics pattern %q\n", p)
	}
	return b.String()
}
