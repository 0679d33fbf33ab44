package status

import (
	"fmt"
	"strings"
)

// Topics is what a flow takes of its source, and why not the others. It needs the source only: no run has to have been.
type Topics struct {
	Header
	Mirrored    []Mirror   `json:"mirrored"`                  // by name
	NotMirrored []Unmirror `json:"not_mirrored"`              // by name
	Unused      []string   `json:"unused_patterns,omitempty"` // of topics, which no topic of the source matches
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
	for _, p := range t.Unused {
		fmt.Fprintf(&b, "no topic of the source matches topics pattern %q\n", p)
	}
	return b.String()
}
