// Package prose lays out sentences for a terminal, and words for a shell. It owns how lines are broken, so that the reports of
// commands look alike, and how names are quoted, so that commands that are printed run. It is pure: text in, text out. What the sentences say, and tables, are the business of those who have them; it
// knows no colours and no terminal.
package prose

import "strings"

// Hanging writes a text behind a head, broken between words so that lines are at most width bytes long where words allow
// it, with the later lines below the first word. It ends with a line end.
func Hanging(head, text string, width int) string {
	var b strings.Builder
	b.WriteString(head)
	at := len(head)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", len(head)))
			at = len(head)
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteString("\n")
	return b.String()
}
