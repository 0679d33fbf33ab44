package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/partition"
)

// Group is what is known of a consumer group that somebody says has moved to the target.
type Group struct {
	ID string
	// AtSource and AtTarget are its state there where it has members; empty: it has none, or nobody tells.
	AtSource, AtTarget string
	LeftOut            string // the rule by which the file leaves it out; empty: it is carried
	Written            bool   // workers write its positions on the target: group sync is on
	Unseen             string // why the source does not tell what it has committed there; empty: it does
	Places             []Place
}

// Place is one of its positions.
type Place struct {
	partition.ID        // on the source
	Remote       string // the topic on the target; empty: no verdict names one, so that what the group has there is not known
	Carried      bool   // it is not left out for good (filtered, never committed)
	Committed    int64  // on the source; where that does not tell as a run saw it last; Unknown: there is none
	Lag          int64  // Unknown
	Target       int64  // the translated position; Unknown: there is none
	OnTarget     int64  // what the group has committed there itself, or a run for it; Unknown: nothing
	Exact        bool
	Newest       bool // the translation is of the newest commit
}

// Move makes the decision that a group lives on the target for good, or with off that it does not. It says how it stands with
// the group now. The error says why not.
func (w World) Move(g Group, off bool, reason string) (d Decision, means []string, err error) {
	d = Decision{ID: w.ID, Kind: Moved, Off: off, At: w.Now, By: w.By, Reason: reason, Scope: Scope{Flow: w.Flow, Partition: AllPartitions, Group: g.ID}}
	last, decided := w.Set.Last(Moved, d.Scope)
	d.Supersedes = last.ID
	switch is := decided && !last.Off; {
	case off && !is:
		return Decision{}, nil, fmt.Errorf("nobody has said that group %s has moved to %s: there is nothing to take back", g.ID, w.Target)
	case off:
		means, err = w.moveBack(g, last)
	case is:
		return Decision{}, nil, fmt.Errorf("group %s has moved to %s already, since %s, says %s", g.ID, w.Target, when(last.At), last.By)
	case g.LeftOut != "":
		return Decision{}, nil, fmt.Errorf("group %s is left out (%s): nothing of it is carried, so there is nothing to decide", g.ID, g.LeftOut)
	default:
		d.SourceAway, d.Committed, d.Held = g.Unseen != "", g.offsets(committed), g.offsets(held)
		means = w.move(g)
	}
	if err != nil {
		return Decision{}, nil, err
	}
	return d, means, d.check()
}

// offsets collects what there is of its positions.
func (g Group) offsets(of func(Place) int64) map[string]map[int32]int64 {
	out := map[string]map[int32]int64{}
	for _, p := range g.Places {
		n := of(p)
		if n == Unknown {
			continue
		}
		if out[p.Topic] == nil {
			out[p.Topic] = map[int32]int64{}
		}
		out[p.Topic][p.Partition] = n
	}
	return out
}

func committed(p Place) int64 { return p.Committed }

// held is where it stands on the target, if that is not ahead of the source.
func held(p Place) int64 {
	if p.OnTarget > p.Target {
		return Unknown
	}
	return p.OnTarget
}

func (w World) move(g Group) []string {
	out := []string{
		fmt.Sprintf("Group %s has moved to %s for good: its positions there are its own. No worker writes or renews one, whatever %s says, and no check reports it.", g.ID, w.Target, w.Source),
		w.stands(g),
	}
	if none := g.names(func(p Place) bool { return p.Carried && p.OnTarget == Unknown }); none != "" {
		out = append(out, fmt.Sprintf("%s holds no commit of it on %s: its consumers begin there by their reset rule, and no worker writes one any more.", w.Target, none))
	}
	if g.AtTarget == "" {
		out = append(out, fmt.Sprintf("It has no members on %s now.", w.Target))
	} else {
		out = append(out, fmt.Sprintf("It has members on %s (%s).", w.Target, g.AtTarget))
	}
	if g.AtSource != "" {
		out = append(out, fmt.Sprintf("WARNING: it has members on %s too (%s). What they read there the group reads again on %s, and what they commit is carried nowhere. Stop them first.", w.Source, g.AtSource, w.Target))
	}
	if g.Unseen != "" {
		out = append(out, fmt.Sprintf("What it committed on %s last is not known: %s.", w.Source, g.Unseen))
	}
	return append(out, fmt.Sprintf("What it commits on %s after this is a finding of groups --check. --undo takes the decision back.", w.Source))
}

// stands is how far the group is now.
func (w World) stands(g Group) string {
	n, exact, behind, lag, known := 0, 0, 0, int64(0), true
	for _, p := range g.Places {
		if !p.Carried {
			continue
		}
		n++
		if p.Exact && p.Newest {
			exact++
		}
		if p.OnTarget != Unknown && p.Target != Unknown && p.OnTarget < p.Target {
			behind++
		}
		if p.Lag == Unknown {
			known = false
		} else {
			lag += p.Lag
		}
	}
	if n == 0 {
		return fmt.Sprintf("Nothing of it is carried to %s now.", w.Target)
	}
	text := fmt.Sprintf("Of its positions (%d) %d are exact; ", n, exact)
	switch {
	case known && lag == 0:
		text += fmt.Sprintf("it has read all of %s", w.Source)
	case known:
		text += fmt.Sprintf("its lag on %s is %d", w.Source, lag)
	default:
		text += fmt.Sprintf("its lag on %s is %d at least", w.Source, lag)
	}
	if behind > 0 {
		text += fmt.Sprintf("; on %s it stands below the translated position in %d, where it reads again what it has read on %s", w.Target, behind, w.Source)
	}
	return text + "."
}

// moveBack takes a move back, unless a worker would then write over what the group has committed on the target itself.
func (w World) moveBack(g Group, was Decision) ([]string, error) {
	out := []string{fmt.Sprintf("Group %s follows %s again: workers write its positions on %s, never backwards, while it has no members there.", g.ID, w.Source, w.Target)}
	if !g.Written {
		out[0] = fmt.Sprintf("Group %s is one of %s again; group sync is off, so no worker writes its positions on %s.", g.ID, w.Source, w.Target)
	}
	own := func(p Place) bool { // it has committed on the target since
		at, ok := was.Held[p.Topic][p.Partition]
		return p.OnTarget != Unknown && (!ok || at != p.OnTarget)
	}
	var passed int64
	over := g.names(func(p Place) bool {
		is := p.Committed != Unknown && own(p) && p.Target > p.OnTarget // what the source has no more moves nothing
		if is {
			passed += p.Target - p.OnTarget
		}
		return is
	})
	open := g.names(func(p Place) bool {
		return p.Carried && p.Committed != Unknown && (own(p) || p.Remote == "") && (!p.Newest || p.Target == Unknown)
	})
	switch {
	case !g.Written:
	case over != "":
		return nil, fmt.Errorf("on %s the group would go on where it stands on %s, and pass over what it has not read yet on %s: %d offsets of %s. Nothing was changed. If it is to follow %s all the same, delete its offsets on %s first (kafka-consumer-groups.sh --delete-offsets)",
			w.Target, w.Source, w.Target, passed, over, w.Source, w.Target)
	case open != "" && g.Unseen != "":
		return nil, fmt.Errorf("what it committed on %s last is not known (%s), so it is not known either whether that would pass over what it has not read yet on %s (%s): try again when it is", w.Source, g.Unseen, w.Target, open)
	case open != "":
		return nil, errors.New("what it has committed on " + w.Source + " last is not translated yet (" + open + "), so it is not known whether it would pass over records on " + w.Target + ": try again once a worker has translated it")
	}
	if g.AtTarget != "" {
		out = append(out, fmt.Sprintf("It has members on %s now (%s): while it has, its positions are left to it, and checks report that.", w.Target, g.AtTarget))
	}
	if ahead := g.names(func(p Place) bool { return p.Target != Unknown && p.OnTarget > p.Target }); ahead != "" {
		out = append(out, fmt.Sprintf("On %s it is ahead (%s): it stays where it is until it is so far on %s, and checks report that.", w.Target, ahead, w.Source))
	}
	if g.Unseen != "" {
		return append(out, fmt.Sprintf("What it committed on %s last is not known (%s): it is followed when it is.", w.Source, g.Unseen)), nil
	}
	if !slices.ContainsFunc(g.Places, func(p Place) bool { return p.Committed != Unknown }) {
		out = append(out, w.Source+" holds no commit of it any more: there is nothing to follow until it commits there.")
	}
	return out, nil
}

// most is how many partitions a sentence names.
const most = 5

// names lists the remote partitions that are meant; empty where none is.
func (g Group) names(which func(Place) bool) string {
	var out []string
	n := 0
	for _, p := range g.Places {
		if !which(p) {
			continue
		}
		if n++; n <= most {
			topic := p.Remote
			if topic == "" {
				topic = p.Topic
			}
			out = append(out, fmt.Sprintf("%s-%d", topic, p.Partition))
		}
	}
	text := strings.Join(out, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}
