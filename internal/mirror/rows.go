package mirror

import (
	"encoding/hex"
	"hash/fnv"
	"time"

	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// published is what the verdicts topic says about a position, as far as we wrote it.
type published struct {
	committed offsetmap.SourceOffset
	metadata  string
	verdict   translate.Verdict
	at        int64
}

// restateEvery bounds how often a row is written again when only its number changed ("ahead by 10,000", "by 9,000").
const restateEvery = 2000

// restateAfter is when a row is written again although nothing is news, ms: the group's owner may have deleted it while it did
// not see the commit, and then waits for it. A row whose lane is in the owner's process is forgotten at once instead (forget).
// Owners asking the lanes of other workers for rows was rejected: it takes a channel of its own for what hardly ever happens.
const restateAfter = 3600 * 1000

// due says whether a row is to be written again for its age; rows that were first written together are spread over an hour.
func (p published) due(key verdicts.Key, t int64) bool {
	h := fnv.New32a()
	_, _ = h.Write(key.EncodeKey())
	return t-p.at >= restateAfter+int64(h.Sum32())%restateAfter
}

// forget has a row that its owner deleted count as never written.
type forget struct{ key verdicts.Key }

// translateAll brings the rows of every partition up to date with the source's commits.
func (l *Lane) translateAll() {
	for _, p := range l.parts {
		l.translatePart(p)
	}
}

// forgetRows drops what we know to have published about positions that the source no longer holds. Their owner deletes
// such rows after a while; the same commit coming back must be news then.
func (l *Lane) forgetRows() {
	_, commits := l.flow.snapshot()
	held := map[verdicts.Key]bool{}
	for tp, cs := range commits {
		if l.parts[tp] == nil {
			continue
		}
		for _, c := range cs {
			held[verdicts.Key{Group: c.Group, Topic: tp.Topic, Partition: tp.Partition}] = true
		}
	}
	for key := range l.rows {
		if !held[key] {
			delete(l.rows, key)
		}
	}
}

// translatePart judges every committed position of a partition and publishes what is news. While a job owns the map
// the last rows stay as they are.
func (l *Lane) translatePart(p *part) {
	if p.core.Is(lane.Opening) || l.draining || l.ledger == nil {
		return
	}
	_, commits := l.flow.snapshot()
	for _, c := range commits[p.TP] {
		l.judge(p, c)
	}
}

// rejudge translates again what was not exact the last time: positions ahead of the mirror move as it advances. Exact
// ones stay what they are until the commit or the partition changes, which is told by other events.
func (l *Lane) rejudge() {
	_, commits := l.flow.snapshot()
	t := now()
	for _, p := range l.parts {
		if p.core.Is(lane.Opening) || l.draining {
			continue
		}
		for _, c := range commits[p.TP] {
			key := verdicts.Key{Group: c.Group, Topic: p.TP.Topic, Partition: p.TP.Partition}
			last, known := l.rows[key]
			if !known || last.committed != c.Offset || !last.verdict.IsExact() || last.due(key, t) {
				l.judge(p, c)
			}
		}
	}
}

func (l *Lane) judge(p *part, c verdicts.Commit) {
	key := verdicts.Key{Group: c.Group, Topic: p.TP.Topic, Partition: p.TP.Partition}
	v := translate.Judge(l.input(p, c))
	last, known := l.rows[key]
	t := now()
	if known && last.committed == c.Offset && last.metadata == c.Metadata && !last.due(key, t) {
		if last.verdict == v {
			return
		}
		if last.verdict.Kind == v.Kind && last.verdict.Target == v.Target && t-last.at < restateEvery {
			return
		}
	}
	l.rows[key] = published{committed: c.Offset, metadata: c.Metadata, verdict: v, at: t}
	source, target := p.SourceTopicID, p.TargetTopicID
	if m := p.core.Map(); m != nil {
		source, target = m.Origin().SourceTopicID, m.Origin().TargetTopicID // a position is one in the topics of its map
	}
	l.publish(key, &verdicts.Row{
		RemoteTopic: p.Remote, SourceTopic: hex.EncodeToString(source[:]), TargetTopic: hex.EncodeToString(target[:]),
		Committed: int64(c.Offset), CommitAt: -1, Metadata: c.Metadata, ClaimEpoch: l.id.Epoch, SourceEnd: int64(p.core.Seen().SourceEnd),
		Verdict: v, At: time.UnixMilli(t),
	})
}

func (l *Lane) input(p *part, c verdicts.Commit) translate.Input {
	seen := p.core.Seen()
	in := translate.Input{
		Committed:   c.Offset,
		SourceStart: seen.SourceStart, LastStable: translate.Unknown,
		TargetStart: seen.TargetStart, TargetEnd: translate.Unknown,
		Earliest: l.flow.Earliest, Absent: "the mirror has not looked at the partition yet",
	}
	if l.flow.Committed && seen.SourceStable < seen.SourceEnd { // without an open transaction a position beyond both waits for none
		in.LastStable = seen.SourceStable
	}
	if m := p.core.Map(); m != nil {
		in.Map = m
		in.BeganAtLogStart, in.StartByChoice = l.contents.Beginning(p.TP, m.Origin().SourceTopicID)
	}
	in.Stopped = p.core.Reason() // until it goes on: a try that fails at once would have the group written in between
	return in
}

// publish writes a row, or deletes it when row is nil.
func (l *Lane) publish(key verdicts.Key, row *verdicts.Row) {
	n := ledger.GroupLane(key.Group, l.flow.Lanes)
	j := l.verdicts[n]
	if j == nil {
		j = l.newRowJournal(n)
		l.verdicts[n] = j
	}
	if row == nil {
		delete(l.rows, key)
		j.add(key.EncodeKey(), nil, nil)
		return
	}
	value, err := row.EncodeRow()
	if err != nil {
		l.lose("encode a verdict row: " + err.Error())
		return
	}
	j.add(key.EncodeKey(), value, nil)
}

func (l *Lane) newRowJournal(n int32) *journal {
	return l.newJournal(partition.ID{Topic: l.flow.Verdicts, Partition: n})
}
