package wire

import (
	"errors"
	"log/slog"
	"sync"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// ErrClosed means that Net.Close was called.
var ErrClosed = errors.New("transport closed")

// Net opens the connections of one cluster for its Fetchers, Producers and
// Scans. Safe for concurrent use.
type Net struct {
	cluster kafka.Cluster
	set     kafka.Settings // complete
	md      *kafka.Metadata
	log     *slog.Logger
	pool    *pool

	mu   sync.Mutex
	open map[*conn]struct{}
	gone chan struct{} // closed by Close
}

// New makes a Net that finds leaders in md. It opens nothing yet.
func New(cl kafka.Cluster, md *kafka.Metadata, log *slog.Logger) *Net {
	cl = cl.Watched(log)
	return &Net{cluster: cl, set: cl.Settings.Or(kafka.TransportDefaults()), md: md, log: log, pool: &pool{}, open: map[*conn]struct{}{}, gone: make(chan struct{})}
}

// Close closes every connection. Runs and Scans that are still going on end
// with ErrClosed; their own goroutines end before they return, as always.
// Closing again does nothing.
func (n *Net) Close() {
	n.mu.Lock()
	if n.isClosed() {
		n.mu.Unlock()
		return
	}
	close(n.gone)
	open := make([]*conn, 0, len(n.open))
	for c := range n.open {
		open = append(open, c)
	}
	n.mu.Unlock()
	for _, c := range open {
		c.close(ErrClosed)
	}
}

func (n *Net) remember(c *conn) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isClosed() {
		return ErrClosed
	}
	n.open[c] = struct{}{}
	return nil
}

func (n *Net) isClosed() bool {
	select {
	case <-n.gone:
		return true
	default:
		return false
	}
}

func (n *Net) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

func (n *Net) clientID() string {
	if n.cluster.ClientID == "" {
		return "tidemark"
	}
	return n.cluster.ClientID
}

// elsewhere takes the leader that an answer of a broker names (KIP-951), if it
// names one, and says whether metadata now knows of another leader than that
// broker in that epoch (-1: any epoch). If not, it is metadata that is behind.
func (n *Net) elsewhere(tp partition.ID, broker, epoch, hintBroker, hintEpoch int32) bool {
	n.md.Hint(tp, hintBroker, hintEpoch)
	l, err := n.md.Leader(tp)
	return err == nil && (l.Broker != broker || epoch >= 0 && l.Epoch > epoch)
}
