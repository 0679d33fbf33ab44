package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/mirrormaker"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
	"tidemark/mm2"
)

// Defaults of Options.
const (
	DefaultTimeout        = time.Minute
	DefaultConnectTimeout = 10 * time.Second
	DefaultSourceTimeout  = 5 * time.Second
)

// Options bound and observe a Reader. The zero value is usable.
type Options struct {
	Timeout time.Duration // of each call; 0 is DefaultTimeout
	// ConnectTimeout bounds the first answer of the target: dial, TLS, authentication. Brokers that hang up on a wrong
	// password would otherwise be asked again for as long as the clients below retry. 0 is DefaultConnectTimeout.
	ConnectTimeout time.Duration
	SourceTimeout  time.Duration                   // of each question to the source; 0 is DefaultSourceTimeout
	Standing       time.Duration                   // how long a partition must not move to be called standing; 0 is DefaultStanding
	Log            *slog.Logger                    // what the clients below have to say; nil is nothing
	Progress       func(what string, done, of int) // told as partitions are read, never at the same time twice; may be nil
}

// ErrNeverRun says that a topic is missing that `tidemark run` creates.
type ErrNeverRun struct {
	Flow, Topic, Cluster string
	Off                  string // the switch that is off in the file, so that no run would create it; empty otherwise
	Else                 string // that there is nothing to show instead either; empty where nothing was looked for
	MirrorMaker          string // a topic on the cluster that shows that a MirrorMaker 2 runs the flow, or did; empty: none is seen
}

func (e *ErrNeverRun) Error() string {
	text := fmt.Sprintf("no `tidemark run` has created %s on cluster %s for flow %s yet", e.Topic, e.Cluster, e.Flow)
	if e.Off != "" {
		return text + ", and none will: " + e.Off + " is off in the file"
	}
	if e.Else != "" {
		text += ", and " + e.Else
	}
	if e.MirrorMaker != "" {
		return text + "; a MirrorMaker 2 has been there (" + e.MirrorMaker + "), so read docs/from-mirrormaker.md before you start one"
	}
	return text + ": start one, or check that the file means the right cluster"
}

// Reader reads the traces of one flow. Its calls must not overlap.
type Reader struct {
	cfg         *config.Config
	flow        config.Flow
	opts        Options
	target      *topiclog.Client
	policy      mm2.Policy
	topics      mm2.Selection
	groups      *mm2.Filter
	source      *topiclog.Client // nil until it was reached
	ledger      string
	rows        string
	mirrorMaker mirrormaker.Reader // what a MirrorMaker 2 left of the flow
	talking     sync.Mutex         // one Progress call at a time
}

// Open prepares to read a flow of cfg. Nothing is connected yet; the errors are about files that the configuration
// names (PEM files, passwords) and patterns.
func Open(cfg *config.Config, flow config.Flow, opts Options) (*Reader, error) {
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, DefaultConnectTimeout)
	opts.SourceTimeout = cmp.Or(opts.SourceTimeout, DefaultSourceTimeout)
	opts.Standing = cmp.Or(opts.Standing, DefaultStanding)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	topics, err := cfg.Selection(flow)
	if err != nil {
		return nil, err
	}
	groups, err := flow.GroupNames()
	if err != nil {
		return nil, err
	}
	r := &Reader{cfg: cfg, flow: flow, opts: opts, policy: topics.Policy, topics: topics, groups: groups, ledger: ledger.TopicName(flow.Source), rows: ledger.VerdictsName(flow.Source)}
	if r.target, err = r.open(config.TargetAdmin); err != nil {
		return nil, err
	}
	r.mirrorMaker = mirrormaker.Reader{Flow: mirrorMakerOf(flow, topics.Policy), Target: r.target, Told: r.progress}
	return r, nil
}

func (r *Reader) open(as config.Role) (*topiclog.Client, error) {
	c, err := r.cfg.Client(r.flow.Name(), as).Kafka()
	if err != nil {
		return nil, err
	}
	return topiclog.Open(c, r.opts.Log)
}

// Close ends the connections.
func (r *Reader) Close() {
	r.target.Close()
	if r.source != nil {
		r.source.Close()
	}
}

func (r *Reader) header() status.Header {
	return status.Header{Flow: r.flow.Name().String(), At: time.Now().UTC().Truncate(time.Millisecond), Tools: status.Tools{
		Source: r.reach(config.SourceAdmin), Target: r.reach(config.TargetAdmin), File: r.cfg.File, Several: len(r.cfg.Flows) > 1,
	}}
}

func (r *Reader) reach(as config.Role) status.Reach {
	c := r.cfg.Client(r.flow.Name(), as)
	return status.Reach{Alias: c.Alias, Bootstrap: c.Bootstrap, Secured: c.UsesTLS() || c.UsesSASL()}
}

// begin bounds a call and makes sure that the target can be reached and lets us in.
func (r *Reader) begin(parent context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeout(parent, r.opts.Timeout)
	if err := reach(ctx, r.target.Cluster()); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("%w; is %s in %s right, and do its brokers run?", err, r.cfg.BootstrapKey(r.flow.Target), r.cfg.File)
	}
	first, done := context.WithTimeout(ctx, r.opts.ConnectTimeout)
	defer done()
	if _, err := r.target.ClusterID(first); err != nil {
		cancel()
		if first.Err() != nil && ctx.Err() == nil { // what --timeout ends is said by who was given it
			err = fmt.Errorf("cluster %s takes connections at %s and does not answer: nothing came within %v; look at its brokers (frozen, overloaded, or no brokers of Kafka?) and ask again: %w",
				r.flow.Target, strings.Join(r.target.Cluster().Bootstrap, ", "), r.opts.ConnectTimeout, err)
		}
		return nil, nil, err
	}
	return ctx, cancel, nil
}

// reach dials the bootstrap servers, all at once; one that answers is enough. The clients below would go on trying for
// half a minute where nothing listens, which is right for a mirror and wrong for somebody who waits for an answer.
func reach(ctx context.Context, c kafka.Cluster) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, len(c.Bootstrap))
	for _, addr := range c.Bootstrap {
		go func() {
			conn, err := c.DialTLS(ctx, addr)
			if err == nil {
				_ = conn.Close() // nothing was written to it
			}
			answers <- err
		}()
	}
	var first error
	for range c.Bootstrap {
		err := <-answers
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// openSource makes sure that the source can be asked, and says so in the header. It answers false where it cannot.
func (r *Reader) openSource(ctx context.Context, h *status.Header) bool {
	h.Source.Asked = true
	err := r.askSource(ctx, func(ctx context.Context) error {
		if r.source == nil {
			s, err := r.open(config.SourceAdmin)
			if err != nil {
				return err
			}
			r.source, r.mirrorMaker.Source = s, s
		}
		if err := reach(ctx, r.source.Cluster()); err != nil {
			return err
		}
		id, err := r.source.ClusterID(ctx)
		h.Source.ClusterID = id
		return err
	})
	return r.sourceAnswered(h, err)
}

// askSource bounds one question to the source.
func (r *Reader) askSource(ctx context.Context, ask func(context.Context) error) error {
	sctx, cancel := context.WithTimeout(ctx, r.opts.SourceTimeout)
	defer cancel()
	err := ask(sctx)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer after %v: %w", r.opts.SourceTimeout, err)
	}
	return err
}

// sourceAnswered notes in the header how a question to the source went.
func (r *Reader) sourceAnswered(h *status.Header, err error) bool {
	h.Source.Reached = err == nil
	if err != nil {
		h.Source.Error = err.Error()
	}
	return err == nil
}

func (r *Reader) progress(what string, done, of int) {
	if r.opts.Progress == nil {
		return
	}
	r.talking.Lock()
	defer r.talking.Unlock()
	r.opts.Progress(what, done, of)
}
