package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/plugin/kslog"
)

const (
	defaultClientID = "tidemark"

	// metadataMinAge lets a moved leader be found again within a quarter of a
	// second; kgo's default of 5 s would be the length of a stall.
	metadataMinAge = 250 * time.Millisecond
)

// Client is one franz-go client of one cluster, with the calls a mirror needs.
// Safe for concurrent use.
type Client struct {
	cluster Cluster
	kgo     *kgo.Client
	admin   *kadm.Client
	dials   *dialLog
	waits   *Waits
}

// Open builds a client. It does not connect: the first call does. Later opts
// win over ours, so a caller can add consumer options, or LaneVersions.
//
// franz-go's own log goes to log from level warn on, and so does what Watched
// says; nil means no log.
func Open(c Cluster, log *slog.Logger, opts ...kgo.Opt) (*Client, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("open cluster: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c = c.Watched(log)
	if c.Waits == nil {
		c.Waits = NewWaits(c.Alias, log)
	}
	dials := &dialLog{failed: map[string]error{}}
	set := c.Settings.Or(ClientDefaults())
	base := []kgo.Opt{
		kgo.SeedBrokers(c.Bootstrap...),
		kgo.ClientID(cmp.Or(c.ClientID, defaultClientID)),
		kgo.WithLogger(retryLog{kslog.New(slog.New(newQuiet(log.Handler())).With("cluster", c.Alias)), c.Waits}),
		kgo.Dialer(func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := c.DialTLS(ctx, addr)
			dials.note(addr, err, ctx.Err() != nil)
			return conn, err
		}),
		kgo.WithHooks(dials),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.RequestTimeoutOverhead(set.RequestTimeout),
		kgo.RetryTimeout(set.APITimeout),
		kgo.RetryBackoffFn(set.retryBackoff),
		kgo.ConnIdleTimeout(set.IdleTimeout),
		kgo.MetadataMaxAge(set.MetadataMaxAge),
		kgo.DisableClientMetrics(),
		kgo.MaxVersions(baseVersions()),
	}
	if mech, ok := c.Mechanism(); ok {
		base = append(base, kgo.SASL(mech))
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", c.Alias, err)
	}
	return &Client{cluster: c, kgo: cl, admin: kadm.NewClient(cl), dials: dials, waits: c.Waits}, nil
}

// Cluster is the description the client was opened with.
func (c *Client) Cluster() Cluster { return c.cluster }

// Kgo is the franz-go client below, for group membership and for requests that
// have no method here.
func (c *Client) Kgo() *kgo.Client { return c.kgo }

// Admin is a kadm client over the same connections. Note that kadm commits
// leader epoch 0 for an Offset that names none; CommitPositions does not.
func (c *Client) Admin() *kadm.Client { return c.admin }

// Close ends the client's connections and goroutines. Calls under way return
// an error.
func (c *Client) Close() { c.kgo.Close() }

// ClusterID asks the cluster for its id, which brokers have had since 0.10.1.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil would mean all
	resp, err := req.RequestWith(ctx, asks{c})
	if err != nil {
		return "", c.failed("ask for the cluster id", err)
	}
	if resp.ClusterID == nil {
		return "", c.failed("ask for the cluster id", errors.New("the broker named none"))
	}
	return *resp.ClusterID, nil
}

// dialLog remembers the last failed dial of each address until a dial of that
// address succeeds, and the last failed authentication until one succeeds.
// franz-go retries both inside and then reports only the caller's deadline, or
// the end of a connection; this keeps the reason.
type dialLog struct {
	mu     sync.Mutex
	failed map[string]error
	latest string // address of the newest failure
	auth   error
}

// OnBrokerE2E is franz-go's hook for each request and answer. Kafka answers
// wrong credentials by an error code, but proxies and other implementations
// just hang up in the middle of the authentication.
func (d *dialLog) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	err := cmp.Or(e2e.WriteErr, e2e.ReadErr)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case key == int16(kmsg.SASLHandshake) || key == int16(kmsg.SASLAuthenticate):
		// A step that goes well proves nothing yet.
		if err != nil && !errors.Is(err, context.Canceled) {
			d.auth = err
		}
	case key != int16(kmsg.ApiVersions) && err == nil:
		d.auth = nil
	}
}

// refused is the last failed authentication, nil if a request went well since.
func (d *dialLog) refused() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.auth
}

// note takes the result of a dial. cut says that the caller's context ended
// first: then the dial says little, but it may be all there is to say.
func (d *dialLog) note(addr string, err error, cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		delete(d.failed, addr)
		return
	case errors.Is(err, context.Canceled) || cut && d.auth != nil:
		return
	case !cut:
		d.auth = nil // a broker that went away did not refuse us
	}
	d.failed[addr] = err
	d.latest = addr
}

// last returns the newest failure that still stands, nil if there is none.
func (d *dialLog) last() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failed[d.latest]; err != nil {
		return err
	}
	for _, addr := range sortedKeys(d.failed) {
		return d.failed[addr]
	}
	return nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
