package mirror

import (
	"context"
	"fmt"
	"time"

	"tidemark/internal/control"
	"tidemark/internal/events"
	"tidemark/internal/lane"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// controlsChanged says that people have decided something.
type controlsChanged struct{}

// SetControls says what people have decided, as the controls topic had it when it was read. It is passed on to the lanes,
// which say in the ledger once it is in force.
func (f *Flow) SetControls(s *control.Set) {
	f.heard(s)
	f.mu.Lock()
	f.controls = s
	f.mu.Unlock()
	f.tell(func(l *Lane) { l.post(controlsChanged{}) })
}

// readControls is the step of a take-over: what stands in the topic now counts, not what the process has heard so far. A lane
// that cannot read it does not run: what it would go on with may have been ended.
func (l *Lane) readControls(ctx context.Context) error {
	f := l.flow
	if f.ReadControls == nil {
		return nil
	}
	s, err := f.ReadControls(ctx)
	if err != nil {
		return fmt.Errorf("read what people have decided: %w", err)
	}
	if unknown := s.Unknown(); len(unknown) > 0 {
		return fmt.Errorf("this build does not know how to obey %s: run the build that wrote it, or a newer one", unknown[0])
	}
	l.controls = s
	f.heard(s)
	return nil
}

// controlsChanged takes in what the process has heard.
func (l *Lane) controlsChanged() {
	l.flow.mu.Lock()
	s := l.flow.controls
	l.flow.mu.Unlock()
	if s.End() < l.controls.End() && s.Topic() == l.controls.Topic() {
		return // the take-over has read further
	}
	if unknown := s.Unknown(); len(unknown) > 0 {
		l.lose(fmt.Sprintf("this build does not know how to obey %s: run the build that wrote it, or a newer one", unknown[0]))
		return
	}
	l.controls = s
	for _, p := range l.parts {
		l.step(p, lane.Decided{Controls: l.controlsOf(p)})
	}
	l.forgetTopics()
}

// controlsOf is what is decided about a partition.
func (l *Lane) controlsOf(p *part) (c lane.Controls) {
	tp := p.TP
	if d, ok := l.controls.Paused(tp); ok {
		c.Paused = PausedBy(d)
	}
	for _, d := range l.controls.Skips(tp) {
		c.Skips = append(c.Skips, lane.Skip(d))
	}
	// Without a map nothing tells that a decision was obeyed but the lane's own word: the map was forgotten, or is damaged.
	if d, ok := l.controls.Restart(tp); ok && (p.core.Map() != nil || d.Offset >= l.obeyed.Below || l.obeyed.Topic != l.controls.Topic()) {
		c.Restart = restart(d)
	}
	return c
}

// PausedBy is the reason of a partition that is paused.
func PausedBy(d control.Decision) string {
	text := fmt.Sprintf("paused by %s since %s", d.By, d.At.UTC().Format("2006-01-02 15:04 UTC"))
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// restart is the decision as the core takes it.
func restart(d control.Decision) lane.Restart {
	r := lane.Restart{Incarnation: d.Incarnation}
	at, err := time.Parse(time.RFC3339, d.From)
	switch {
	case d.From == "latest":
		r.From = lane.FromLatest
	case err == nil:
		r.From, r.Offset = lane.FromTime, offsetmap.SourceOffset(at.UnixMilli())
	case d.From != "earliest":
		r.From = lane.FromOffset
		if _, err := fmt.Sscanf(d.From, "%d", &r.Offset); err != nil {
			r.From = lane.FromEarliest
		}
	}
	return r
}

// beginAnew writes down where a new copy begins, ahead of its first head: what lies below an end, an offset or a time that
// somebody chose was left out, and nobody's position there is exact.
func (l *Lane) beginAnew(p *part, m *offsetmap.Map) {
	r := p.core.Controls().Restart
	if m == nil || r.Incarnation == 0 || m.Origin().Incarnation != r.Incarnation || !r.Due(p.core.Map()) {
		return
	}
	p.damaged, p.begin = "", nil
	if r.From != lane.FromEarliest {
		p.begin = &ledger.Begin{TopicID: m.Origin().SourceTopicID, Offset: m.Origin().SourceStart}
		l.contents.SetBegin(p.TP, *p.begin)
		l.writeBegin(p.TP, *p.begin)
		return
	}
	l.contents.DropBegin(p.TP)
	l.ledger.add([]byte(ledger.Key{Kind: ledger.KindBegin, Topic: p.TP.Topic, Partition: p.TP.Partition}.String()), nil, nil)
}

// forgetTopics drops what the lane knows of topics that people have ended. What the flow still names waits until it does not.
func (l *Lane) forgetTopics() (waits bool) {
	for _, d := range l.controls.Forgotten() {
		for tp, p := range l.parts {
			m := p.core.Map()
			switch {
			case tp.Topic != d.Scope.Topic || p.core.Is(lane.Opening) || m != nil && m.Origin().SourceTopicID != [16]byte(d.TopicID):
			case !p.core.Absent():
				waits = waits || m != nil
			default:
				l.forgetPart(tp, m)
			}
		}
		for tp := range l.contents.Heads {
			if tp.Topic != d.Scope.Topic || l.parts[tp] != nil {
				continue
			}
			if m, err := l.contents.Map(tp); err != nil || m.Origin().SourceTopicID == [16]byte(d.TopicID) {
				l.forgetPart(tp, m)
			}
		}
	}
	return waits
}

// forgetPart deletes a partition's records in the ledger and what was said of positions in it.
func (l *Lane) forgetPart(tp partition.ID, m *offsetmap.Map) {
	keys := []ledger.Key{{Kind: ledger.KindHead, Topic: tp.Topic, Partition: tp.Partition}, {Kind: ledger.KindBegin, Topic: tp.Topic, Partition: tp.Partition}}
	if tp.Partition == 0 {
		keys = append(keys, ledger.Key{Kind: ledger.KindConfigs, Topic: tp.Topic})
		l.flow.mu.Lock()
		delete(l.configs, tp.Topic)
		l.flow.mu.Unlock()
	}
	if m != nil {
		for _, n := range m.Blocks() {
			keys = append(keys, ledger.Key{Kind: ledger.KindBlock, Topic: tp.Topic, Partition: tp.Partition, Incarnation: m.Origin().Incarnation, Block: n})
		}
	}
	for _, k := range keys {
		l.ledger.add([]byte(k.String()), nil, nil)
	}
	l.contents.Forget(tp)
	var rows []verdicts.Key
	for key := range l.rows {
		if key.Topic == tp.Topic && key.Partition == tp.Partition {
			rows = append(rows, key)
		}
	}
	for _, key := range rows {
		l.publish(key, nil)
	}
	l.flow.say(events.PartitionForgotten, "partition", tp.String())
	p := l.parts[tp]
	if p == nil {
		return
	}
	p.feed.stop(l.flow)
	p.dropAll(l.flow)
	delete(l.parts, tp)
	delete(l.unfenced, tp)
	l.flow.mu.Lock()
	delete(l.flow.feeds, tp)
	l.flow.mu.Unlock()
	l.flow.fetcher.Drop(tp)
}

// obeys writes down that what is decided is in force, once each partition has its part in the ledger.
func (l *Lane) obeys() {
	now := ledger.Obeys{Topic: l.controls.Topic(), Below: l.controls.End(), Owner: l.flow.Owner}
	if now.Topic == l.obeyed.Topic && now.Below == l.obeyed.Below || l.draining || !l.claimed || l.forgetTopics() {
		return
	}
	for _, p := range l.parts {
		// What could not be fenced may still get something of the former owner's.
		if !p.core.Obeys() || l.unfenced[p.TP] != nil && p.core.Controls().Paused != "" {
			return
		}
	}
	l.obeyed = now
	l.ledger.add([]byte(ledger.Key{Kind: ledger.KindObeys}.String()), now.Encode(), nil)
}
