package status

import (
	"fmt"
	"strings"
	"time"
)

// Live is what one worker knows of a flow that it runs: of the lanes that it has, while it has them. What is durable, and
// what other workers do, is in Flow.
type Live struct {
	Flow    string     `json:"flow"`
	At      time.Time  `json:"at"`
	Lanes   []LiveLane `json:"lanes"`
	OfLanes int        `json:"of_lanes"`        // that the flow has, here and on other workers
	Waits   []LiveWait `json:"waits,omitempty"` // what it waits for as a whole, such as a cluster that does not answer
	Records int64      `json:"records"`         // mirrored since the process started
	Bytes   int64      `json:"bytes"`           // on the wire of the target
	Used    int64      `json:"memory_used"`
	Memory  int64      `json:"memory"` // bytes that fetched and not yet acknowledged records may take
}

// LiveWait is something that a worker waits for, or is not allowed to do.
type LiveWait struct {
	Since time.Time `json:"since"`
	What  string    `json:"what"`
	Why   string    `json:"why"`
}

// LiveLane is a lane that the worker has.
type LiveLane struct {
	Lane       int32           `json:"lane"`
	Waits      string          `json:"waits,omitempty"` // what it is about while it does not run
	Why        string          `json:"why,omitempty"`
	Partitions []LivePartition `json:"partitions"` // by topic and number
}

// LivePartition is a partition of it.
type LivePartition struct {
	Topic      string    `json:"topic"`
	Partition  int32     `json:"partition"`
	State      string    `json:"state"`
	Since      time.Time `json:"since"`
	Reason     string    `json:"reason,omitempty"` // why it is stopped, or was until the try that goes on
	MirroredTo int64     `json:"mirrored_to"`      // source offset below which everything is accounted for; Unknown before it is opened
	ReadTo     int64     `json:"read_to"`          // source offset that is read next
	SourceEnd  int64     `json:"source_end"`       // high watermark as last seen
	TargetEnd  int64     `json:"target_end"`       // of the offset map
	Held       int64     `json:"held"`             // fetched bytes that are not acknowledged yet
}

// Text is the snapshot for people: lanes that wait, partitions that are not live, and how many are.
func (l Live) Text() string {
	var b strings.Builder
	live, held, rows := 0, 0, 0
	g := newGrid("TOPIC", ">PARTITION", ">LANE", "STATE", ">FOR", ">MIRRORED TO", ">READ TO", ">SOURCE END", ">HELD", "REMARKS")
	for _, lane := range l.Lanes {
		for _, p := range lane.Partitions {
			if p.State == LiveState {
				live++
			}
			if p.Held > 0 {
				held++
			}
			if p.State != LiveState || p.Reason != "" || p.Held > 0 {
				rows++
				g.row(Printable(p.Topic), fmt.Sprint(p.Partition), fmt.Sprint(lane.Lane), p.State, age(p.Since, l.At), number(p.MirroredTo), number(p.ReadTo),
					number(p.SourceEnd), number(p.Held), Printable(p.Reason))
			}
		}
	}
	fmt.Fprintf(&b, "flow %s, this worker: %d of %s, %s mirrored, %d with records on their way, %d of %d MB of memory used, %d records since the start\n",
		l.Flow, len(l.Lanes), count(l.OfLanes, "lane", "lanes"), count(live, "partition", "partitions"), held, l.Used>>20, l.Memory>>20, l.Records)
	for _, w := range l.Waits {
		fmt.Fprintf(&b, "%s (for %s)%s\n", Printable(w.What), age(w.Since, l.At), because(w.Why))
	}
	for _, text := range l.waiting() {
		b.WriteString(text + "\n")
	}
	if rows > 0 {
		b.WriteString(g.String())
	}
	return b.String()
}

// waiting is a line for each thing that lanes wait for: where a cluster is away that is all of them.
func (l Live) waiting() []string {
	var order []string
	lanes := map[string][]string{}
	for _, lane := range l.Lanes {
		if lane.Waits == "" {
			continue
		}
		what := lane.Waits + because(lane.Why)
		if lanes[what] == nil {
			order = append(order, what)
		}
		lanes[what] = append(lanes[what], fmt.Sprint(lane.Lane))
	}
	for i, what := range order {
		name := "lane "
		if len(lanes[what]) > 1 {
			name = "lanes "
		}
		order[i] = name + strings.Join(lanes[what], ", ") + ": " + what
	}
	return order
}

// LiveState is the state of a partition that is mirrored.
const LiveState = "live"

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + Printable(why)
}
