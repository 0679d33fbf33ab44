package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// laneFindings are lanes that nobody owns or that do not run, and lanes that a worker with this file may be refused.
func (f Flow) laneFindings() (out []string) {
	var free, others []string
	for _, l := range f.Lanes {
		if l.State == LaneFree {
			free = append(free, strconv.Itoa(int(l.Lane)))
		}
		if l.Isolation != "" && l.Isolation != f.Isolation {
			others = append(others, strconv.Itoa(int(l.Lane)))
		}
	}
	if len(others) > 0 {
		out = append(out, f.Flow+": isolation is "+f.Isolation+" in the file, and something else was read last in lanes "+strings.Join(others, ", ")+
			": a worker with this file may be refused them (docs/stopped.md)")
	}
	switch {
	case len(free) > 0 && len(free) == len(f.Lanes):
		out = append(out, f.Flow+": "+NoWorker(len(free)))
	case len(free) > 0:
		out = append(out, f.Flow+": no owner of lanes "+strings.Join(free, ", "))
	}
	for _, w := range f.waiting() {
		out = append(out, f.Flow+": "+w.text(f.At))
	}
	return out
}

// workerFindings are what workers say about themselves.
func (f Flow) workerFindings() (out []string) {
	for _, w := range f.Workers {
		if len(w.Differs) > 0 {
			out = append(out, f.Flow+": "+w.differs())
		}
		for _, t := range w.Troubles {
			out = append(out, f.Flow+": "+w.text(t, f.At))
		}
	}
	return out
}

func (w Worker) text(t WorkerTrouble, now time.Time) string {
	return fmt.Sprintf("worker %s, since %s: %s: %s", Printable(w.Worker), age(t.Since, now), Printable(t.What), Printable(t.Why))
}

func (w Worker) differs() string {
	return fmt.Sprintf("worker %s runs with another file than %s: %s", Printable(w.Worker), Printable(w.DiffersFrom), Printable(strings.Join(w.Differs, "; ")))
}

// waiting are lanes that do not run for one reason.
type waiting struct {
	lanes     []string
	since     time.Time // of the oldest
	what, why string
}

func (w waiting) text(now time.Time) string {
	which, verb := "lane", "does not run"
	if len(w.lanes) > 1 {
		which, verb = "lanes", "do not run"
	}
	return fmt.Sprintf("%s %s %s since %s (%s): %s", which, strings.Join(w.lanes, ", "), verb, age(w.since, now), Printable(w.what), Printable(w.why))
}

// waiting puts lanes together that do not run for one reason: where a target can do no transactions that is all of them. A
// reason that names its lane in a way of its own is the same for all, so digits do not count.
func (f Flow) waiting() []waiting {
	var out []waiting
	for _, l := range f.Lanes {
		if l.State != LaneWaiting {
			continue
		}
		i := slices.IndexFunc(out, func(w waiting) bool { return w.what == l.What && digitless(w.why) == digitless(l.Why) })
		if i < 0 {
			i, out = len(out), append(out, waiting{since: l.Since, what: l.What, why: l.Why})
		}
		out[i].lanes = append(out[i].lanes, strconv.Itoa(int(l.Lane)))
		if l.Since.Before(out[i].since) {
			out[i].since = l.Since
		}
	}
	return out
}

func digitless(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// troubles is a line for each reason why lanes do not run, and for each thing that a worker says about itself.
func (f Flow) troubles() string {
	var b strings.Builder
	for _, w := range f.waiting() {
		b.WriteString(w.text(f.At) + "\n")
	}
	for _, w := range f.Workers {
		if len(w.Differs) > 0 {
			b.WriteString(w.differs() + "\n")
		}
		for _, t := range w.Troubles {
			b.WriteString(w.text(t, f.At) + "\n")
		}
	}
	return b.String()
}
