package groups

import (
	"context"
	"errors"
	"maps"
	"time"

	"tidemark/internal/control"
	"tidemark/internal/translate"
)

// A group that has moved (tidemark moved) lives on the target: nothing of it is written or renewed there, and no checkpoint of it,
// whatever the source says. Its rows go on to say where its commits on the source would be, for whoever looks.

// errMoved: somebody has decided that the group has moved, between the look at it and the write.
var errMoved = errors.New("the group has moved to the target")

// Obey takes what people have decided, as a read that began at a time had it, and returns once nothing is written any more that a
// decision forbids, or ctx ends. What was read less far than what is known is passed over.
//
// A group is not written before its decisions were read behind the taking of its verdicts partition: the former owner may have
// said already that one is in force which this process has not heard of.
func (o *Owner) Obey(ctx context.Context, s *control.Set, began time.Time) {
	for _, done := range o.decided(s, began) {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// decided takes the decisions, and gives the writes that are on their way for groups that have moved.
func (o *Owner) decided(s *control.Set, began time.Time) (on []chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if late := began.Before(o.heard); s.Topic() == o.controls.Topic() && s.End() > o.controls.End() || s.Topic() != o.controls.Topic() && !late {
		o.take(s)
		o.nudge()
	}
	if began.After(o.heard) {
		o.heard = began
	}
	for id, done := range o.writing {
		if _, moved := o.moved[id]; moved {
			on = append(on, done)
		}
	}
	return on
}

// topic is one of the source, by name and id.
type topic struct{ name, id string }

// take is decided for decisions that are news.
func (o *Owner) take(s *control.Set) {
	o.controls, o.moved, o.ended = s, map[string]control.Decision{}, map[topic]bool{}
	for _, d := range s.AllMoved() {
		o.moved[d.Scope.Group] = d
	}
	for _, d := range s.Forgotten() {
		o.ended[topic{d.Scope.Topic, hexID(d.TopicID)}] = true
	}
	for id := range o.groups {
		o.dirty[id] = true // decisions are rare, and all groups are looked at twice a minute anyway
	}
}

// informed says whether decisions were read since this process owns a group. The lock is held.
func (o *Owner) informed(group string) bool { return o.heard.After(o.owned[o.lane(group)]) }

// left gives a group that has moved its state. What was ours of its positions is so no more, also if the move is taken back.
func (o *Owner) left(w *work) bool {
	o.mu.Lock()
	d, moved := o.moved[w.id]
	o.mu.Unlock()
	if !moved {
		return false
	}
	clear(w.g.wrote)
	clear(w.g.took)
	o.note(w, translate.WriteState{Kind: translate.NothingToWrite, Reason: "the group has moved to the target, says " + d.By}, recheck)
	return true
}

// Obey takes what people have decided: that the positions of a group which has moved cannot be read is no trouble.
func (r *Reader) Obey(s *control.Set) {
	moved := map[string]bool{}
	for _, d := range s.AllMoved() {
		moved[d.Scope.Group] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = moved
}

// missed leaves groups that have moved out of those that could not be read.
func (r *Reader) missed(failed map[string]error) map[string]error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := maps.Clone(failed)
	maps.DeleteFunc(out, func(g string, _ error) bool { return r.moved[g] })
	return out
}
