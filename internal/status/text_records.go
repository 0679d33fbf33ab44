package status

import (
	"fmt"
	"strconv"
	"strings"
)

// Text is the records, the offset maps, the runs where they were asked for, and what is damaged.
func (l LedgerRecords) Text() string {
	var b strings.Builder
	g := newGrid(">LANE", ">OFFSET", ">WRITTEN", ">BYTES", "KEY", "MEANING")
	for _, r := range l.Records {
		g.row(strconv.Itoa(int(r.Lane)), number(r.Offset), age(r.Written, l.At), strconv.Itoa(r.Size), Printable(r.Key), Printable(r.Meaning))
	}
	b.WriteString(g.String())
	if len(l.Maps) > 0 {
		b.WriteString("\n" + l.maps())
	}
	for _, m := range l.Maps {
		if len(m.List) > 0 {
			b.WriteString("\n" + m.list())
		}
	}
	b.WriteString(damageText(l.Damage))
	return b.String()
}

func (l LedgerRecords) maps() string {
	g := newGrid("OFFSET MAP", ">PARTITION", ">LANE", "REMOTE TOPIC", ">FROM", ">MIRRORED TO", ">TARGET END", ">RUNS", ">BLOCKS", "REMARKS")
	for _, m := range l.Maps {
		g.row(Printable(m.Topic), strconv.Itoa(int(m.Partition)), strconv.Itoa(int(m.Lane)), orDash(m.RemoteTopic), number(m.From),
			number(m.MirroredTo), number(m.TargetEnd), number(m.Runs), strconv.Itoa(m.Blocks), m.remarks())
	}
	return g.String()
}

func (m Map) remarks() string {
	switch {
	case m.Error != "":
		return Printable(m.Error)
	case len(m.Missing) > 0:
		return fmt.Sprintf("bounded: %s missing, numbers %v", count(len(m.Missing), "block", "blocks"), m.Missing)
	}
	return "exact"
}

func (m Map) list() string {
	g := newGrid("RUNS OF "+partitionName(m.Topic, m.Partition), ">SOURCE", ">TARGET", ">COUNT")
	for _, r := range m.List {
		g.row("", number(r.Source), number(r.Target), number(r.Count))
	}
	return g.String()
}

// Text is the records as a table.
func (m MM2Records) Text() string {
	var g grid
	row := func(stored Stored, cells ...string) {
		g.row(append(cells, number(stored.Offset), age(stored.Written, m.At))...)
	}
	switch m.Kind {
	case KindCheckpoints:
		g = newGrid("GROUP", "TOPIC", ">PARTITION", ">UPSTREAM", ">DOWNSTREAM", "METADATA", ">RECORD", ">WRITTEN")
		for _, c := range m.Checkpoints {
			row(c.Stored, Printable(c.Group), Printable(c.Topic), strconv.Itoa(int(c.Partition)), number(c.Upstream), number(c.Downstream), orDash(c.Metadata))
		}
	case KindOffsetSyncs:
		g = newGrid("TOPIC", ">PARTITION", ">UPSTREAM", ">DOWNSTREAM", ">RECORD", ">WRITTEN")
		for _, s := range m.OffsetSyncs {
			row(s.Stored, Printable(s.Topic), strconv.Itoa(int(s.Partition)), number(s.Upstream), number(s.Downstream))
		}
	default:
		g = newGrid("SOURCE", "TARGET", ">LAST BEAT", ">RECORD", ">WRITTEN")
		for _, h := range m.Heartbeats {
			row(h.Stored, Printable(h.Source), Printable(h.Target), age(h.Timestamp, m.At))
		}
	}
	return g.String() + damageText(m.Damage)
}
