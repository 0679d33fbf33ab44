package demo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotExact ends a demo in which a group lost a record, read one twice, or was given one that it must not get. The
// table that was printed says which.
var ErrNotExact = errors.New("the failover was not exact")

// table shows the groups, one a line.
func table(rs []result) string {
	cells := [][]string{{"group", "position on A", "lag", "read on A", "read on B", "MirrorMaker 2 again", "Tidemark again", "lost"}}
	for _, r := range rs {
		cells = append(cells, []string{
			r.group.name, r.group.where, strconv.Itoa(r.lag), strconv.Itoa(r.group.total.onA), strconv.Itoa(r.group.total.onB),
			strconv.FormatInt(r.mm2, 10), strconv.Itoa(r.twice), strconv.Itoa(r.lost),
		})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], len(c))
		}
	}
	var b strings.Builder
	for _, line := range cells {
		for i, c := range line {
			if i < 2 {
				fmt.Fprintf(&b, "%-*s  ", widths[i], c)
			} else {
				fmt.Fprintf(&b, "%*s  ", widths[i], c)
			}
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), "  \n", "\n")
}

// verdict prints what came out and says whether that is what it must be.
func verdict(s *screen, rs []result) error {
	s.print("\n" + table(rs) + `
lag: records that the group had not read on A when A stopped; again: records that it reads a second time on B.
Tidemark's columns are counted by the unique number in each record, from what the group's consumers were given.
MirrorMaker 2's is computed by its rule: an offset sync each 100 records and after each gap, up to 64 kept, resume at
the sync's offset + 1; the sync that it adds once a minute is not there yet.

`)
	var lost, twice, strange int
	var errs []error
	for _, r := range rs {
		lost, twice, strange = lost+r.lost, twice+r.twice, strange+r.strange
		if r.group.gaveUp != nil {
			errs = append(errs, r.group.gaveUp)
		}
	}
	if strange > 0 {
		s.print(fmt.Sprintf("records of aborted transactions or of nobody that were read: %d\n", strange))
	}
	s.print(fmt.Sprintf("records lost %d, records read twice %d\n", lost, twice))
	if lost+twice+strange > 0 || len(errs) > 0 {
		errs = append([]error{fmt.Errorf("%w: records lost %d, read twice %d, read and not to be read %d", ErrNotExact, lost, twice, strange)}, errs...)
	}
	return errors.Join(append(errs, s.err)...)
}
