package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tidemark/internal/kafka"
	"tidemark/internal/status"
)

// Topics says what the flow takes of its source as it is now, and which rule keeps each other topic out. Only the source
// is asked, so nothing needs to have run. Topics that the source does not show us are missing: brokers leave out those
// that a login may not DESCRIBE, without a word.
func (r *Reader) Topics(ctx context.Context) (status.Topics, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	out := status.Topics{Header: r.header(), Mirrored: []status.Mirror{}, NotMirrored: []status.Unmirror{}}
	src := r.sourceTopics(ctx)
	out.Source = src.answer.Source
	if !out.Source.Reached {
		return out, fmt.Errorf("the source %s cannot be asked: %s", r.flow.Source, out.Source.Error)
	}
	out.NotMirrored = append(out.NotMirrored, src.leftOut...)
	for name, t := range src.topics {
		if src.mirrored[name] {
			out.Mirrored = append(out.Mirrored, r.mirror(t))
		}
	}
	out.Unused, out.Missing = src.unused, src.missing
	slices.SortFunc(out.Mirrored, func(a, b status.Mirror) int { return cmp.Compare(a.Topic, b.Topic) })
	slices.SortFunc(out.NotMirrored, func(a, b status.Unmirror) int { return cmp.Compare(a.Topic, b.Topic) })
	return out, nil
}

func (r *Reader) mirror(t kafka.Topic) status.Mirror {
	choice := r.topics.Select(t.Name)
	m := status.Mirror{
		Topic: t.Name, Partitions: int64(t.Partitions), RemoteTopic: r.policy.RemoteTopic(r.flow.SourceAlias, t.Name),
		Rule: string(choice.Rule), Why: choice.Detail,
	}
	if t.Err != nil {
		m.Partitions = status.Unknown
	}
	return m
}
