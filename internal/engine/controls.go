package engine

import (
	"context"
	"sync"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/control"
	"tidemark/internal/controls"
	"tidemark/internal/events"
	"tidemark/internal/notes"
	"tidemark/internal/pause"
	"tidemark/internal/topiclog"
)

// controlsEvery is how often the flow looks for new decisions. The topic need not exist, and hardly ever changes: a question
// for its end costs less than a consumer that waits on it.
const controlsEvery = 2 * time.Second

// decisions is what the flow knows of what people have decided.
type decisions struct {
	flow   *flow
	client *topiclog.Client

	mu    sync.Mutex
	since time.Time // since when they cannot be read; zero: they can
	why   string
}

func newDecisions(f *flow) (*decisions, error) {
	reads, err := f.cluster(config.TargetConsumer)
	if err != nil {
		return nil, err
	}
	c, err := topiclog.Open(reads, f.log)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, c.Close)
	return &decisions{flow: f, client: c}, nil
}

// read is what a lane asks when it is taken over.
func (d *decisions) read(ctx context.Context) (*control.Set, error) {
	began := time.Now()
	log, err := controls.Read(ctx, d.client, control.TopicName(d.flow.cfg.Source))
	if err != nil {
		return nil, err
	}
	s := log.Set(d.flow.cfg.Name().String())
	d.flow.positions.obey(ctx, s, began)
	return s, nil
}

// follow tells the lanes of new decisions, once those about groups are obeyed: a lane says for both that they are in force.
func (d *decisions) follow(ctx context.Context) error {
	var have controls.Mark
	var set *control.Set
	for pause.For(ctx, controlsEvery) {
		began := time.Now()
		log, err := controls.News(ctx, d.client, control.TopicName(d.flow.cfg.Source), &have)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is the end of the work
		}
		d.note(err)
		if err != nil {
			continue
		}
		if log != nil {
			set = log.Set(d.flow.cfg.Name().String())
		}
		d.flow.positions.obey(ctx, set, began)
		if log != nil {
			d.flow.mirror.SetControls(set)
		}
	}
	return nil
}

// note says that decisions cannot be read, and that they can be again.
func (d *decisions) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil && !d.since.IsZero():
		d.flow.events.Say(events.DecisionsBack)
		d.since = time.Time{}
	case err != nil && d.since.IsZero():
		d.since = time.Now()
		d.flow.events.Say(events.DecisionsAway, "error", err)
	}
	if err != nil {
		d.why = err.Error()
	}
}

// trouble is that decisions cannot be read.
func (d *decisions) trouble() (notes.Trouble, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return notes.Trouble{Since: d.since, What: "what people decide (tidemark controls) cannot be read", Why: d.why}, !d.since.IsZero()
}
