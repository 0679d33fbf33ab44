package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/consumer"
	"tidemark/internal/translate"
)

// Groups is the positions of a flow's groups.
type Groups struct {
	Header
	Basis    string     `json:"basis,omitempty"`    // what the verdicts are made of; empty: Tidemark's own
	Groups   []Group    `json:"groups"`             // by id
	Excluded []Excluded `json:"excluded,omitempty"` // groups whose positions are not carried, as the source or the verdicts topic says
	// NotWritten is why no position of any group is written to the target: group sync is off in the file. Empty where it is on.
	NotWritten string `json:"not_written,omitempty"`
	// NoWorker is that no worker runs, so that neither verdicts nor positions are written. Empty where one does, or where
	// nobody could say.
	NoWorker string   `json:"no_worker,omitempty"`
	Known    []string `json:"-"`                // ids of groups that are carried, to tell who mistyped one; only where groups were named
	Damage   []Damage `json:"damage,omitempty"` // records of the verdicts topic that cannot be used
}

// Group is one consumer group.
type Group struct {
	Group       string `json:"group"`
	SourceState string `json:"source_state,omitempty"` // as the source lists it; empty where it does not or was not asked
	TargetState string `json:"target_state,omitempty"` // as the target lists it; empty where the group is not there
	Named       bool   `json:"named,omitempty"`        // the snapshot was asked for with its name
	Denied      string `json:"denied,omitempty"`       // the right that is missing to read its commits on the source
	// AtHome: the group has committed on topics of the target's own which the flow back mirrors. Its commits on remote topics are
	// those of an application that reads both.
	AtHome    bool       `json:"at_home_on_target,omitempty"`
	Moved     *Moved     `json:"moved,omitempty"` // somebody has decided that it has moved to the target; nil: nobody has
	Positions []Position `json:"positions"`       // by topic and partition
	// TargetOnly are the group's commits on remote topics of the flow where it has none on the source, and no verdict.
	TargetOnly []TargetOnly `json:"target_only,omitempty"`
}

// TargetOnly is a commit that a group has made on the target alone, as in a rehearsal.
type TargetOnly struct {
	RemoteTopic string `json:"remote_topic"`
	Partition   int32  `json:"partition"`
	OnTarget    int64  `json:"target_committed"`
}

// Position is one committed offset and its verdict.
type Position struct {
	Topic       string            `json:"topic"` // on the source
	Partition   int32             `json:"partition"`
	RemoteTopic string            `json:"remote_topic,omitempty"`
	Committed   int64             `json:"committed"`        // on the source, what the verdict speaks about
	Now         int64             `json:"source_committed"` // on the source now; Unknown where the source was not asked
	Metadata    string            `json:"metadata,omitempty"`
	SourceEnd   int64             `json:"source_end"`
	SourceAt    time.Time         `json:"source_end_at,omitzero"`
	SourceLive  bool              `json:"source_end_live"`  // the source itself said it, for this snapshot
	Lag         int64             `json:"lag"`              // source_end - committed
	Target      int64             `json:"target"`           // the translated position; Unknown where there is none
	OnTarget    int64             `json:"target_committed"` // what the group has committed on the target now
	TargetEnd   int64             `json:"target_end"`       // log end of the remote partition; Unknown where there is no commit, or it was not told
	Exact       bool              `json:"exact"`
	Verdict     translate.Verdict `json:"verdict"`
	Sentence    string            `json:"text"`           // the verdict as a sentence
	AsOf        time.Time         `json:"as_of,omitzero"` // when the verdict was written; zero: there is none yet
	// Gone: there is a verdict, and the source does not hold the commit any more. It expired, or the group, its offsets or the
	// topic were deleted there. GoneSince is when a run saw that first; zero where none has.
	Gone      bool      `json:"gone,omitempty"`
	GoneSince time.Time `json:"gone_since,omitzero"`
	// Open is how many offsets of the source wait behind an open transaction, where the group has read up to it: they are not on the
	// target. Transaction is that one; nil where nobody tells.
	Open        int64        `json:"behind_transaction,omitempty"`
	Transaction *Transaction `json:"transaction,omitempty"`
	Back        *Back        `json:"back,omitempty"` // of a position on a copy of one of the target's topics, which no flow carries
}

// Excluded is a group whose positions are not carried.
type Excluded struct {
	Group string `json:"group"`
	Why   string `json:"why"`
	Named bool   `json:"named,omitempty"` // the snapshot was asked for with its name
}

// Stale says whether the group has committed on the source since the verdict was made.
func (p Position) Stale() bool { return p.Now != Unknown && !p.AsOf.IsZero() && p.Now != p.Committed }

// Findings are the reasons why a group could not be started on the target now and go on exactly where it left off: one
// clause each. A verdict that is a final no (filtered, never committed) and a group that is left out are none, unless
// the group was named: whoever asks about it by name wants to move it.
func (g Groups) Findings() []string {
	out := g.flowFindings()
	for _, x := range g.Excluded {
		if x.Named && !g.hasMoved(x.Group) {
			out = append(out, "group "+x.Group+" is left out: "+x.Why)
		}
	}
	for _, group := range g.Groups {
		out = append(out, g.groupFindings(group)...)
	}
	for _, d := range g.Damage {
		out = append(out, "damaged record "+shorten(Printable(d.Key))+" in "+partitionName(d.Topic, d.Partition))
	}
	for _, t := range g.Trouble {
		out = append(out, t.String())
	}
	return out
}

// flowFindings are those that are about every group.
func (g Groups) flowFindings() []string {
	out := g.sourceFindings()
	if g.NoWorker != "" {
		out = append(out, g.NoWorker)
	}
	if g.NotWritten != "" {
		out = append(out, g.NotWritten)
	}
	return out
}

// summary is how many groups can move now; empty where something is about all of them, and said below.
func (g Groups) summary() string {
	if len(g.flowFindings()) > 0 || g.Basis != "" {
		return ""
	}
	all, can, moved := 0, 0, 0
	for _, group := range g.Groups {
		if len(group.Positions) == 0 {
			continue
		}
		all++
		switch {
		case group.Moved != nil:
			moved++
		case len(g.groupFindings(group)) == 0:
			can++
		}
	}
	text := fmt.Sprintf("%s: %d can move to %s now", count(all, "group", "groups"), can, Printable(g.Tools.Target.Alias))
	if moved > 0 {
		text += fmt.Sprintf(", %d moved", moved)
	}
	if cannot := all - can - moved; cannot > 0 {
		text += fmt.Sprintf(", %d cannot (--check says why)", cannot)
	}
	return text + "\n\n"
}

func (g Groups) groupFindings(group Group) []string {
	if group.Moved != nil {
		return g.movedFindings(group)
	}
	var out []string
	carried := false
	said := map[string]int{}
	numbers := map[int][]int32{}
	for _, p := range group.Positions {
		carried = carried || !p.Verdict.Final()
		for _, what := range []string{beyondClause(p.OnTarget, p.TargetEnd), g.finding(group, p)} {
			if what == "" {
				continue
			}
			key := p.Topic + "\x00" + what // a topic's name has no such byte
			i, ok := said[key]
			if !ok {
				i = len(out)
				said[key] = i
				out = append(out, what)
			}
			numbers[i] = append(numbers[i], p.Partition)
		}
	}
	for key, i := range said {
		topic, what, _ := strings.Cut(key, "\x00")
		out[i] = "group " + group.Group + ", " + partitionsName(topic, numbers[i]) + ": " + what
	}
	if group.active() && carried { // a group of which nothing is carried is at home there
		out = append(out, g.runsThere(group))
	}
	if group.Named { // another one may have lived there for years
		out = append(out, group.targetOnly()...)
	}
	if what := g.takeBack(group); what != "" {
		out = append(out, what)
	}
	if group.Named && len(group.Positions) > 0 && !carried {
		out = append(out, "group "+group.Group+": none of its positions is carried to the target")
	}
	return out
}

// finding is what keeps the group from resuming exactly at the position; empty where nothing does.
func (g Groups) finding(group Group, p Position) string {
	switch {
	case p.Back != nil:
		return g.back(group, p)
	case p.Verdict.Final() && p.Verdict.Kind == translate.NotMirrored:
		return p.Sentence // left out by choice, and a group that moves skips those records all the same
	case p.Verdict.Final():
		return ""
	case p.Gone:
		return p.gone(g.At)
	case group.Denied != "" && p.Now == Unknown:
		return "its newest commit is not known: " + group.Denied
	case p.Stale() && !p.Verdict.HasPosition():
		return p.short() + "; the group has committed on the source since that verdict" // which may be the smaller trouble
	case p.Stale():
		return "the group has committed on the source since the verdict was made"
	case p.Open > 0 && p.Transaction != nil && p.Transaction.Hangs:
		return p.waiting(g.At) + ", " + g.hangs(p.Topic, p.Partition, *p.Transaction)
	case !p.Exact:
		return p.short()
	case g.Source.Reached && p.Now == Unknown:
		return "the source tells no commit of the group there now, so its newest one is not known"
	case aheadBy(p.OnTarget, p.Target) > 0:
		if group.active() {
			return fmt.Sprintf("consumers on the target have committed offset %d, %d ahead of what the group has read on the source", p.OnTarget, p.OnTarget-p.Target)
		}
		return aheadClause(p.OnTarget, p.Target)
	case g.NotWritten != "" || p.Target == Unknown || p.OnTarget == p.Target:
		return ""
	}
	return p.behind(group)
}

// goneSince says that the source holds no such commit any more, and how old what is known of it is.
func (p Position) goneSince(now time.Time) string {
	what := "gone from the source"
	if !p.GoneSince.IsZero() {
		what += " since " + age(p.GoneSince, now)
	}
	return what + ", the verdict is " + age(p.AsOf, now) + " old"
}

// gone is what there is of a position that the source does not hold any more.
func (p Position) gone(now time.Time) string {
	what := p.goneSince(now) + " and kept: " + p.short()
	switch {
	case p.Target == Unknown:
		return what
	case p.OnTarget == Unknown:
		return what + "; the target holds no commit of it"
	case p.OnTarget == p.Target:
		return what + "; the target holds it"
	case p.OnTarget > p.Target:
		return what + fmt.Sprintf("; the target's own commit is ahead by %d", p.OnTarget-p.Target)
	}
	return what + fmt.Sprintf("; committed on the target is offset %d", p.OnTarget)
}

// short is the verdict as a sentence, without the long reason where that is the partition's: it stands in the table, and
// once more in `tidemark status`.
func (p Position) short() string {
	if p.Verdict.Kind == translate.PartitionStopped {
		v := p.Verdict
		v.Reason = ""
		return v.String()
	}
	return p.Sentence
}

// waiting is what a group that has read up to an open transaction has in front of it.
func (p Position) waiting(now time.Time) string {
	what := count64(p.Open, "offset", "offsets") + " of the source wait behind "
	if p.Transaction == nil {
		return what + "an open transaction"
	}
	return what + p.Transaction.whose(now)
}

// runsThere is that consumers of the group run on the target. From then on its position there is theirs, and what it reads on the
// source is read twice, or not at all; and a stray one that commits ahead is not told from one that was moved.
func (g Groups) runsThere(group Group) string {
	from, to := Printable(g.Tools.Source.Alias), Printable(g.Tools.Target.Alias)
	return fmt.Sprintf("group %s has members on %s (%s): its position there is theirs, and what it commits on %s is not carried; stop them, or if it has moved say so: %s", Printable(group.Group), to, group.TargetState, from, g.Command("moved", group.Group))
}

// behind says how far the target's commit is from where it has to be.
func (p Position) behind(group Group) string {
	what := "committed on the target is offset " + strconv.FormatInt(p.OnTarget, 10)
	if p.OnTarget == Unknown {
		what = "no commit on the target is known"
	}
	what += ", it has to be " + strconv.FormatInt(p.Target, 10)
	if group.active() {
		what += "; the group is " + group.TargetState + " there, and positions of a group that is active on the target are left to it"
	}
	return what
}

// active says whether the group has members on the target, or had at the look.
func (g Group) active() bool { return consumer.Active(g.TargetState) }

// OnlyThere says whether a group has committed on the target, and the source and the verdicts know nothing of it.
func (g Groups) OnlyThere(id string) bool {
	return slices.ContainsFunc(g.Groups, func(group Group) bool { return group.Group == id && len(group.TargetOnly) > 0 })
}

// Alive says whether the group has members on the source, or had at the look, and so goes on committing there.
func (g Group) Alive() bool { return consumer.Active(g.SourceState) }

// NoWorker is the sentence about a flow none of whose lanes has an owner.
func NoWorker(lanes int) string {
	return "no worker runs, none of the " + strconv.Itoa(lanes) + " lanes has an owner"
}
