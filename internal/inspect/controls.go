package inspect

import (
	"context"
	"errors"

	"tidemark/internal/control"
	"tidemark/internal/controls"
	"tidemark/internal/ledger"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// Controls gives what people have decided about the flow, and which lanes say that it is in force. A flow that never ran has no
// lanes.
func (r *Reader) Controls(ctx context.Context) (status.Controls, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return status.Controls{}, err
	}
	defer cancel()
	out := status.Controls{Header: r.header(), Topic: control.TopicName(r.flow.Source), Decisions: []status.Decision{}, Lanes: []status.ObeyingLane{}}
	log, err := controls.Read(ctx, r.target, out.Topic)
	if err != nil {
		return out, err
	}
	out.Set = log.Set(r.flow.Name().String())
	n, err := r.lanes(ctx, r.ledger)
	if never := (*ErrNeverRun)(nil); errors.As(err, &never) {
		out.Tell()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Owner = func(group string) int32 { return ledger.GroupLane(group, n) }
	contents, trouble, err := r.readLedger(ctx, topiclog.All(n), nil)
	if err != nil {
		return out, err
	}
	out.Trouble = trouble
	owners, err := r.owners(ctx)
	if err != nil {
		out.Notes = append(out.Notes, "who owns the lanes now is not known: "+err.Error())
		owners = &members{}
	}
	for lane := range n {
		c := contents[lane]
		if c == nil {
			continue
		}
		l := status.ObeyingLane{Lane: lane, Worker: owners.worker(lane)}
		if c.Obeys.Topic == out.Set.Topic() {
			l.Below = c.Obeys.Below
		}
		out.Lanes = append(out.Lanes, l)
		for p := range c.Heads {
			k := control.Known{ID: p, Mirrored: true}
			if m, err := c.Map(p); err == nil {
				k.TopicID = control.TopicID(m.Origin().SourceTopicID)
			}
			out.Known = append(out.Known, k)
		}
	}
	out.Tell()
	return out, nil
}

// decided is what people have decided, for snapshots that are about something else: where it cannot be read that is a note.
func (r *Reader) decided(ctx context.Context, h *status.Header) *control.Set {
	log, err := controls.Read(ctx, r.target, control.TopicName(r.flow.Source))
	if err != nil {
		h.Notes = append(h.Notes, "what people have decided is not known, which groups have moved among it: "+err.Error())
		return nil
	}
	return log.Set(r.flow.Name().String())
}

// Selected are the topics that the source has and the flow takes. known is false where the source does not answer.
func (r *Reader) Selected(ctx context.Context) (topics map[string]bool, known bool) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	src := r.sourceTopics(ctx)
	return src.mirrored, src.answer.Source.Reached
}
