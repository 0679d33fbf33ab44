package mirrormaker

import (
	"errors"
	"fmt"

	"tidemark/internal/partition"
	"tidemark/internal/translate"
	"tidemark/mm2"
	"tidemark/offsetmap"
)

// How the reasons of verdicts begin.
const (
	fromCheckpoint = "from MirrorMaker 2's checkpoint"
	fromSync       = "from MirrorMaker 2's offset syncs"
)

// A Log is a remote partition's log on the target: From is its first offset, To one past its last.
type Log struct {
	From, To int64
	Err      error // why it is not known; nil where it is
	Missing  bool  // with Err: the topic or partition is not there
}

// sampled is the one answer of MirrorMaker 2 about a position in the place of an offset map, so that translate.Judge
// fits it to the target's log as it does ours. Between target offsets each counts as a record.
type sampled struct {
	at  offsetmap.Position
	end offsetmap.TargetOffset
}

func (s sampled) Next(offsetmap.SourceOffset) offsetmap.Position { return s.at }
func (s sampled) Count(a, b offsetmap.TargetOffset) int64        { return int64(b - a) }
func (s sampled) TargetEnd() offsetmap.TargetOffset              { return s.end }

// Left is what checkpoints are judged by.
type Left struct {
	Checkpoints
	Syncs History              // empty where they cannot be read: bounds are wider then
	Logs  map[partition.ID]Log // by remote partition
}

// Remote is the remote partition that a checkpoint is about.
func Remote(c mm2.Checkpoint) partition.ID {
	return partition.ID{Topic: c.Topic, Partition: c.Partition}
}

// SourceOf is the source partition that a checkpoint is about.
func (f Flow) SourceOf(c mm2.Checkpoint) partition.ID {
	return partition.ID{Topic: f.SourceTopic(c.Topic), Partition: c.Partition}
}

// Judge is the verdict about a checkpoint.
func (f Flow) Judge(l *Left, c mm2.Checkpoint) translate.Verdict {
	remote := Remote(c)
	log, asked := l.Logs[remote]
	if !asked {
		log.Err = errors.New("nobody asked for it")
	}
	if log.Err != nil {
		return noRemote(remote, log)
	}
	syncs := l.Syncs[f.SourceOf(c)]
	if syncs == nil {
		syncs = &Syncs{}
	}
	if why := syncs.anew(remote, log); why != "" {
		return translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: why}
	}
	// MirrorMaker 2 does not move a checkpoint back, so after its remote topic was made anew one can be too far on. Newer
	// offset syncs tell, and where there are none, the log's end.
	down := c.Downstream
	if now, _, ok := syncs.Translate(c.Upstream); ok {
		down = min(down, now)
	}
	if down > log.To {
		return translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: fmt.Sprintf(
			"MirrorMaker 2's checkpoint is at offset %d of %s, whose log ends at %d: the remote topic was made anew, or lost records", down, remote, log.To)}
	}
	return f.fit(c.Upstream, log, offsetmap.Position{
		Kind: offsetmap.Bounded, Target: offsetmap.TargetOffset(down), N: syncs.Replays(c.Upstream, down, log.To),
	}, fromCheckpoint)
}

// fit fits an answer of MirrorMaker 2 to the target's log.
func (f Flow) fit(upstream int64, log Log, at offsetmap.Position, from string) translate.Verdict {
	v := translate.Judge(translate.Input{
		Committed: offsetmap.SourceOffset(upstream), Map: sampled{at: at, end: offsetmap.TargetOffset(log.To)},
		SourceStart: translate.Unknown, LastStable: translate.Unknown, Earliest: f.Earliest,
		TargetStart: offsetmap.TargetOffset(log.From), TargetEnd: offsetmap.TargetOffset(log.To),
	})
	v.Reason = from
	return v
}

// noRemote is the verdict where the target does not tell the remote partition's log.
func noRemote(remote partition.ID, log Log) translate.Verdict {
	v := translate.Verdict{Kind: translate.Pending, Target: translate.NoPosition, Reason: fmt.Sprintf("the log of %s is not known: %v", remote, log.Err)}
	if log.Missing {
		v.Kind, v.Reason = translate.TopicNotMirrored, fmt.Sprintf("MirrorMaker 2 has a checkpoint, and %s is not on the target", remote)
	}
	return v
}

// anew says that offset syncs are about another log than the one that is there; empty where nothing shows it. MirrorMaker 2
// writes a sync once its record is in the log, so none of this log can be at its end or beyond it.
func (s *Syncs) anew(remote partition.ID, log Log) string {
	newest, ok := s.Newest()
	if !ok || newest.Downstream < log.To {
		return ""
	}
	return fmt.Sprintf("MirrorMaker 2's offset syncs go to offset %d of %s, whose log ends at %d: the remote topic was made anew, or lost records", newest.Downstream, remote, log.To)
}
