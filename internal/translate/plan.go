package translate

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/internal/consumer"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// A Present is the last commit of one position on the target.
type Present struct {
	// Offset is what is committed, below 0 if only a pending commit is there.
	Offset   offsetmap.TargetOffset
	Metadata string
	// Ours: we wrote it. From is then the source position we wrote it for, Unknown
	// if that is not known.
	Ours bool
	From offsetmap.SourceOffset
	// Pending: a transaction on the target has an open commit of this position.
	Pending bool
}

// A Row is one partition of a group.
type Row struct {
	Partition partition.ID           // on the target
	Committed offsetmap.SourceOffset // on the source, Unknown if there is none
	Metadata  string                 // of that commit
	// Live: the verdict is about the source's newest known commit. A verdict about one that the source passed some polls
	// ago is good for going forward, and no proof that the group went back.
	Live bool
	// Kept: the source holds the commit no more, and the verdict is the last one. It is written where the target has none, and
	// over ours. What somebody else committed there can be lower, and is the application's own way: it has moved.
	Kept bool
	// Renew, beside Kept: nobody can tell whether the topic on the target is still the one of the verdict, so that what stands
	// there is committed again, and nothing else.
	Renew   bool
	Verdict Verdict
	// Present is nil if the target has no commit.
	Present *Present
}

// A TargetGroup is the group on the target as ListGroups (v5) tells it.
// DescribeGroups does not do: it calls live KIP-848 groups Dead.
type TargetGroup struct {
	// Read: state and present commits were both read in this round. Without it
	// nothing is written: "not in the list" would mean nothing.
	Read     bool
	Exists   bool
	State    string // "Empty", "Stable", ...
	Type     string // "classic", "consumer", "share", "streams"
	Protocol string // protocol type: "consumer" or "" for groups with positions
}

// A Group is what Plan decides about. There is at most one row per partition.
type Group struct {
	Rows   []Row
	Target TargetGroup
	// SourceLive: the rows' positions were read from the source now, and are not
	// what is remembered of a source that is gone.
	SourceLive bool
	// Refresh commits unchanged positions of ours again, so that the broker does
	// not expire them while the source holds them, or nobody said what became of them.
	Refresh bool
}

// A Commit is one position to write, with leader epoch -1 and no member.
type Commit struct {
	Offset   offsetmap.TargetOffset
	Metadata string
	From     offsetmap.SourceOffset // the source position it is made of
}

// Plan decides what to commit for the whole group at once. The state is the one
// that holds after the commits are acknowledged; if they fail it is Refuse(err).
// The caller still compares before it sets: what Plan was told can have changed.
func Plan(g Group) (map[partition.ID]Commit, WriteState) {
	if state, done := g.before(); done {
		return nil, state
	}
	rows := slices.SortedFunc(slices.Values(g.Rows), func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Partition.Topic, b.Partition.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition))
	})
	if open := partitions(rows, func(r Row) bool { return r.Present != nil && r.Present.Pending }); len(open) > 0 {
		return nil, WriteState{Kind: Waiting, Partitions: open, Reason: "a transaction on the target has an open commit there"}
	}
	commits := map[partition.ID]Commit{}
	held := partitions(rows, func(r Row) bool { return r.Verdict.Temporary() })
	if first := !slices.ContainsFunc(rows, Row.present); first && len(held) > 0 {
		return nil, WriteState{Kind: Waiting, Partitions: held, Reason: cause(rows, held)}
	}
	ahead := WriteState{Kind: TargetAhead}
	for _, r := range rows {
		c, ok := g.commit(r)
		if ok {
			commits[r.Partition] = c
		}
		if n := r.ahead(); n > 0 && (!ok || c.Offset >= r.Present.Offset) {
			ahead.N += n
			ahead.Partitions = append(ahead.Partitions, r.Partition)
		}
	}
	switch {
	case len(commits) > 0:
		return commits, WriteState{Kind: Written, Partitions: held, N: ahead.N}
	case len(held) > 0:
		return nil, WriteState{Kind: Waiting, Partitions: held, N: ahead.N, Reason: cause(rows, held)}
	case ahead.N > 0:
		return nil, ahead
	}
	return nil, WriteState{Kind: UpToDate}
}

// before asks what stands above single partitions: whether there is anything to
// say, and whether the group may be written.
func (g Group) before() (WriteState, bool) {
	t := g.Target
	listed := consumer.Group{Type: t.Type, Protocol: t.Protocol}
	switch {
	case len(g.Rows) == 0:
		return WriteState{Kind: NothingToWrite, Reason: "the group has no positions"}, true
	case !slices.ContainsFunc(g.Rows, func(r Row) bool { return !r.Verdict.Final() }):
		return WriteState{Kind: NothingToWrite, Reason: g.Rows[0].Verdict.String()}, true
	case !t.Read:
		return WriteState{Kind: Refused, Reason: "the group's state and commits on the target were not read"}, true
	case !t.Exists:
		return WriteState{}, false
	case listed.Share():
		return WriteState{Kind: Refused, Reason: "on the target the name belongs to a share group, which has no positions"}, true
	case !listed.Positions():
		return WriteState{Kind: Refused, Reason: fmt.Sprintf("on the target the name belongs to a group of protocol type %q", t.Protocol)}, true
	case !consumer.Empty(t.State):
		return WriteState{Kind: Active, GroupState: t.State}, true
	}
	return WriteState{}, false
}

// present says whether the target has a commit of this row.
func (r Row) present() bool { return r.Present != nil && r.Present.Offset >= 0 }

// commit gives what to write for one row, if anything.
func (g Group) commit(r Row) (Commit, bool) {
	c := Commit{Offset: r.Verdict.Target, Metadata: r.Metadata, From: r.Committed}
	if !r.Verdict.HasPosition() || r.Renew {
		return g.refresh(r)
	}
	switch {
	case r.Kept && r.present() && !r.Present.Ours:
		return Commit{}, false
	case !r.present(), c.Offset > r.Present.Offset, c.Offset < r.Present.Offset && g.movedBack(r):
		return c, true
	case c.Offset == r.Present.Offset && r.Present.Ours && c.Metadata != r.Present.Metadata:
		return c, true // Kafka Streams keeps its clock in the metadata
	}
	return g.refresh(r)
}

// movedBack says whether an operator moved the group back on the source since we
// last wrote. A lower translation alone is no proof: a damaged map gives one too.
func (g Group) movedBack(r Row) bool {
	return g.SourceLive && r.Live && r.Present.Ours && r.Committed < r.Present.From
}

// refresh writes our own last commit again, to the letter.
func (g Group) refresh(r Row) (Commit, bool) {
	if !g.Refresh || !r.present() || !r.Present.Ours || r.Committed < 0 || r.Verdict.Final() {
		return Commit{}, false
	}
	return Commit{Offset: r.Present.Offset, Metadata: r.Present.Metadata, From: r.Present.From}, true
}

// ahead is by how many target offsets the target's commit is ahead of the
// translated position, 0 if it is not.
func (r Row) ahead() int64 {
	if !r.present() || !r.Verdict.HasPosition() {
		return 0
	}
	return max(0, int64(r.Present.Offset-r.Verdict.Target))
}

func partitions(rows []Row, which func(Row) bool) []partition.ID {
	var ps []partition.ID
	for _, r := range rows {
		if which(r) {
			ps = append(ps, r.Partition)
		}
	}
	return ps
}

// cause is why the first of the partitions in the way is there.
func cause(rows []Row, held []partition.ID) string {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Partition == held[0] })
	if len(held) == 1 {
		return rows[i].Verdict.String()
	}
	return fmt.Sprintf("%s: %s", held[0], rows[i].Verdict)
}
