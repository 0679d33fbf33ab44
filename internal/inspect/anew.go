package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
)

// Whether remote topics are still those that verdicts and offset maps speak about. A run notices by itself when somebody
// deletes a remote topic. Where none goes on (the operator went back to MirrorMaker 2, and our topics were left) what we
// wrote still has offsets of the former topic, which are other records, or none, in the one that has its name now.

// remoteTopics are remote topics as the target describes them now; nil where it did not answer.
type remoteTopics map[string]kafka.Topic

// remoteTopics asks the target for topics. What it does not tell is a note: an answer that cannot be checked stands.
func (r *Reader) remoteTopics(ctx context.Context, h *status.Header, names []string) remoteTopics {
	if len(names) == 0 {
		return nil
	}
	unknown := func(name string, err error) {
		h.Notes = append(h.Notes, fmt.Sprintf("whether %s is still the remote topic that was mirrored is not known: %v", name, err))
	}
	described, err := r.target.DescribeTopics(ctx, names...)
	if err != nil {
		unknown(few(names), err)
		return nil
	}
	out := remoteTopics{}
	var untold []string
	var first error
	for _, t := range described {
		if t.Err == nil || errors.Is(t.Err, kafka.ErrNoTopic) {
			out[t.Name] = t
			continue
		}
		untold = append(untold, t.Name)
		if first == nil {
			first = t.Err
		}
	}
	if first != nil {
		unknown(few(untold), first)
	}
	return out
}

// few names the first of several topics.
func few(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("each of %d topics (%s, ...)", len(names), names[0])
}

// lost is the verdict about positions in a remote topic with an id, where there is no such topic any more. Without an id
// only that a topic is not there can be told.
func (t remoteTopics) lost(name string, id [16]byte) (translate.Verdict, bool) {
	now, known := t[name]
	v := translate.Verdict{Target: translate.NoPosition}
	switch {
	case !known:
		return v, false
	case now.Err != nil:
		v.Kind, v.Reason = translate.TopicNotMirrored, fmt.Sprintf("remote topic %s is not on the target any more; docs/stopped.md says what to do", name)
	case another(now.ID, id):
		v.Kind, v.Reason = translate.IncarnationChanged, fmt.Sprintf("remote topic %s is another one on the target now than the one that was mirrored; docs/stopped.md says what to do", name)
	default:
		return v, false
	}
	return v, true
}

// current takes positions in remote topics that are not there any more out of rows.
func (r *Reader) current(ctx context.Context, h *status.Header, by map[verdicts.Key]verdicts.Row) {
	names := map[string]bool{}
	for _, row := range by {
		if row.Verdict.HasPosition() {
			names[row.RemoteTopic] = true
		}
	}
	topics := r.remoteTopics(ctx, h, slices.Sorted(maps.Keys(names)))
	for key, row := range by {
		if v, lost := topics.lost(row.RemoteTopic, topicID(row.TargetTopic)); lost && row.Verdict.HasPosition() {
			row.Verdict = v
			by[key] = row
		}
	}
}

// topicID reads an id as rows have it; zero where it is none.
func topicID(text string) [16]byte {
	var id [16]byte
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// lookupLost answers a question about an offset whose remote topic is not there any more; false where it is.
func (r *Reader) lookupLost(ctx context.Context, out *status.Lookup, head ledger.Head, id [16]byte) bool {
	v, lost := r.remoteTopics(ctx, &out.Header, []string{head.RemoteTopic}).lost(head.RemoteTopic, id)
	if !lost {
		return false
	}
	out.Sentence = v.String()
	if !out.Reverse {
		out.Verdict = &v
	}
	return true
}
