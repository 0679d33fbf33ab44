package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a plain table: no lines, two blanks between columns, numbers to the right. Pasted into a ticket or piped
// through awk it stays what it is.
type grid struct{ w table.Writer }

// newGrid starts a table. A title that begins with ">" is of a column of numbers.
func newGrid(titles ...string) grid {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	header := make(table.Row, len(titles))
	columns := make([]table.ColumnConfig, len(titles))
	for i, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		header[i] = name
		columns[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if right {
			columns[i].Align, columns[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(columns)
	return grid{w}
}

func (g grid) row(cells ...string) {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	g.w.AppendRow(r)
}

func (g grid) String() string { return g.w.Render() + "\n" }

// Printable is text from a cluster made safe for a terminal (ST4): group ids, metadata and reasons can hold any bytes.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// orDash shows that there is nothing to show.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return Printable(s)
}

// number writes an offset or a count; what is not known is a dash.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func count(n int, one, many string) string { return count64(int64(n), one, many) }

func count64(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// age is how long ago something was, in the largest unit that says enough: "3s", "5m", "2h", "4d".
func age(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	d := max(now.Sub(at), 0) // two clocks are never the same
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// sourceEnd is a source's log end with its age, where the source itself did not say it. What is known is when that was written;
// when the source said it was not later than that.
func sourceEnd(end int64, live bool, at, now time.Time) string {
	if end == Unknown || live || at.IsZero() {
		return number(end)
	}
	return fmt.Sprintf("%d (%s ago or more)", end, age(at, now))
}

func partitionName(topic string, partition int32) string {
	return Printable(topic) + "-" + strconv.Itoa(int(partition))
}

// longest is how much of a key is shown: garbage can be as long as a topic allows.
const longest = 60

func shorten(s string) string {
	if len(s) <= longest {
		return s
	}
	return s[:longest] + "..."
}

// damageText lists records that cannot be used.
func damageText(ds []Damage) string {
	if len(ds) == 0 {
		return ""
	}
	g := newGrid("DAMAGED RECORD", ">PARTITION", ">OFFSET", "KEY", "WHY")
	for _, d := range ds {
		g.row(Printable(d.Topic), strconv.Itoa(int(d.Partition)), number(d.Offset), shorten(Printable(d.Key)), Printable(d.Error))
	}
	return "\n" + g.String()
}
