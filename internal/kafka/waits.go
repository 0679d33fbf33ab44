package kafka

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// tellAfter is how long a request may go without an answer that counts
	// before that is said.
	tellAfter = 10 * time.Second

	// lookAfter is how long it may before the reason is looked for, where it is
	// one that passes by no waiting: that is said at once.
	lookAfter = 3 * time.Second

	// forgetAfter is how long a request that failed counts as waited for, until
	// somebody makes it again.
	forgetAfter = 90 * time.Second
)

// Wait is something that a cluster has not done although it was asked to, for
// longer than ten seconds.
type Wait struct {
	Cluster string    // alias
	For     string    // the request, and about what: "InitProducerID of tidemark.A->B.lane.3"
	More    int       // how many others like it wait too
	Since   time.Time // when the oldest of them was asked for first
	Why     string
}

// Waits is what the clients of one cluster wait for. Each wait is logged once
// when it has lasted ten seconds, and once when it is over; until then it is in
// List. Requests of one kind share a wait: a coordinator that is away is one
// fact, however many lanes ask it. Safe for concurrent use.
type Waits struct {
	alias                string
	log                  *slog.Logger
	tellAfter, lookAfter time.Duration

	mu     sync.Mutex
	open   map[*wait]struct{}
	told   map[string]*tale // by request
	causes map[string]cause // what franz-go last made a request again for, by request
}

// wait is one call under way.
type wait struct {
	waits         *Waits
	what, subject string
	since         time.Time
	why           func() error                        // the cause as far as it is known without asking; may be nil
	look          func(context.Context, error) string // asks for a cause of an error that waiting does not cure; "" is none; may be nil
	timer         *time.Timer
	cause         error // what the last try gave
}

// tale is what was said about a request.
type tale struct {
	since    time.Time
	subjects map[string]time.Time // that wait, and when each was asked for last
	order    []string             // of subjects, as they were told
	said     map[string]bool      // causes, without their numbers
	why      string
	mute     bool // no broker gave a code: what one request says about that holds for all
	logged   bool
}

type cause struct {
	at  time.Time
	err error
}

// NewWaits makes the Waits of a cluster, to be given to all clients of it
// (Cluster.Waits), so that each cause is said once and not by each client.
func NewWaits(alias string, log *slog.Logger) *Waits {
	return &Waits{alias: alias, log: log, tellAfter: tellAfter, lookAfter: lookAfter, open: map[*wait]struct{}{}, told: map[string]*tale{}, causes: map[string]cause{}}
}

// List is what is waited for now, in order of requests.
func (w *Waits) List() []Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Wait
	mute := -1
	for _, what := range sortedKeys(w.told) {
		t := w.told[what]
		w.forget(what, t)
		switch {
		case len(t.order) == 0:
		case t.mute && mute >= 0:
			out[mute].More += len(t.order)
		default:
			if t.mute {
				mute = len(out)
			}
			out = append(out, Wait{Cluster: w.alias, For: called(what, t.order[0]), More: len(t.order) - 1, Since: t.since, Why: t.why})
		}
	}
	return out
}

func called(what, subject string) string {
	if subject == "" {
		return what
	}
	return what + " of " + subject
}

// begin notes a request that is about to be made. Every begin needs its end.
func (w *Waits) begin(what, subject string, why func() error, look func(context.Context, error) string) *wait {
	p := &wait{waits: w, what: what, subject: subject, since: time.Now(), why: why, look: look}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[p] = struct{}{}
	if t := w.told[what]; t != nil && !t.subjects[subject].IsZero() {
		t.subjects[subject] = p.since
	}
	first := w.tellAfter
	if look != nil {
		first = w.lookAfter
	}
	p.timer = time.AfterFunc(first, p.lasts)
	return p
}

// because notes what the last try of a request gave.
func (p *wait) because(err error) {
	p.waits.mu.Lock()
	defer p.waits.mu.Unlock()
	p.cause = err
}

// retried notes why franz-go makes a request again.
func (w *Waits) retried(what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.causes[what] = cause{at: time.Now(), err: err}
}

// lasts is called when the request has gone without an answer for a while.
func (p *wait) lasts() {
	w := p.waits
	w.mu.Lock()
	early, looks, err := time.Since(p.since) < w.tellAfter, p.look != nil && p.first(), p.known()
	w.mu.Unlock()
	found := ""
	if looks && err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lookAfter)
		found = p.look(ctx, err)
		cancel()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, open := w.open[p]; !open {
		return
	}
	if early && found == "" {
		p.timer = time.AfterFunc(w.tellAfter-time.Since(p.since), p.lasts)
		return
	}
	why := "no answer"
	if err = p.known(); err != nil {
		why = err.Error()
	}
	if found != "" {
		why = found + " (" + why + ")"
	}
	_, code := errorCode(err)
	w.tell(p, why, !code)
}

// first says whether no other call of the same request is older: one looks for
// the cause, not each of a hundred. The caller holds mu.
func (p *wait) first() bool {
	for o := range p.waits.open {
		if o.what == p.what && (o.since.Before(p.since) || o.since.Equal(p.since) && o.subject < p.subject) {
			return false
		}
	}
	return true
}

// known is the cause as far as it is known. The caller holds mu.
func (p *wait) known() error {
	if p.cause != nil {
		return p.cause
	}
	if c := p.waits.causes[p.what]; !c.at.Before(p.since) {
		return c.err
	}
	if p.why != nil {
		return p.why()
	}
	return nil
}

// tell says a wait, unless the same was said about another of its kind, or about
// any other where no broker answers at all. The caller holds mu.
func (w *Waits) tell(p *wait, why string, mute bool) {
	t := w.told[p.what]
	if t == nil {
		t = &tale{since: p.since, subjects: map[string]time.Time{}, said: map[string]bool{}}
		w.told[p.what] = t
	}
	if t.subjects[p.subject].IsZero() {
		t.order = append(t.order, p.subject)
	}
	t.subjects[p.subject] = p.since
	t.mute = mute
	bare := digitless(why) // ports of connections, and times
	// Who asked second knows less: it did not look for the cause.
	for said := range t.said {
		if strings.Contains(said, bare) {
			return
		}
	}
	t.said[bare], t.why = true, why
	if mute && w.anyMute() {
		return
	}
	t.logged = true
	w.log.Warn("waiting for a cluster that does not do what it was asked for", "cluster", w.alias, "request", p.what, "subject", cmp.Or(p.subject, "-"),
		"waited", time.Since(t.since).Round(time.Second).String(), "why", why)
}

// anyMute says whether it was said already that no broker answers. The caller
// holds mu.
func (w *Waits) anyMute() bool {
	for _, t := range w.told {
		if t.mute && t.logged {
			return true
		}
	}
	return false
}

func digitless(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// end notes how the request went. One that failed is waited for until it is
// made again and succeeds, or is not made again.
func (p *wait) end(err error) {
	w := p.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	p.timer.Stop()
	delete(w.open, p)
	t := w.told[p.what]
	if t == nil || t.subjects[p.subject].IsZero() {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.subjects[p.subject] = time.Now()
		return
	}
	t.drop(p.subject)
	how := "it was done"
	if err != nil {
		how = "it was given up: what asked for it has ended"
	}
	w.over(p.what, t, how)
}

func (t *tale) drop(subject string) {
	delete(t.subjects, subject)
	t.order = slices.DeleteFunc(t.order, func(s string) bool { return s == subject })
}

// over says that nothing of a kind is waited for any more, if that is so. The
// caller holds mu.
func (w *Waits) over(what string, t *tale, how string) {
	if len(t.order) > 0 {
		return
	}
	delete(w.told, what)
	if !t.logged {
		return
	}
	w.log.Info("not waiting any more", "cluster", w.alias, "request", what, "waited", time.Since(t.since).Round(time.Second).String(), "because", how)
}

// forget drops what nobody asks for any more: a lane that went to another
// worker. The caller holds mu.
func (w *Waits) forget(what string, t *tale) {
	open := map[string]bool{}
	for p := range w.open {
		if p.what == what {
			open[p.subject] = true
		}
	}
	for _, s := range slices.Clone(t.order) {
		if !open[s] && time.Since(t.subjects[s]) > forgetAfter {
			t.drop(s)
		}
	}
	w.over(what, t, "it is not asked for any more")
}
