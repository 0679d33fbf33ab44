package wire

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// link is the way of one goroutine to one broker: a connection that is opened
// when needed and opened again, after a back-off, when it was lost.
type link struct {
	net    *Net
	broker int32
	kind   string // "fetch" or "produce", for logs

	conn  *conn
	fails int       // connections lost or not made since the last answer
	retry time.Time // no dial before this
}

// connect makes sure that there is a connection on which a request may be sent
// now: authenticated, and not throttled.
func (k *link) connect(ctx context.Context) error {
	if k.conn != nil && (!k.conn.alive() || k.conn.unused(k.net.set.IdleTimeout)) {
		// It broke, and those whose requests were under way know. Often none
		// was: brokers close idle connections (connections.max.idle.ms). One
		// that rested for too long is not tried: if what lies between dropped
		// it, a request would wait for its whole time-out.
		k.drop(context.Canceled)
	}
	if k.conn == nil {
		if time.Now().Before(k.retry) {
			return fmt.Errorf("broker %d failed moments ago", k.broker)
		}
		addr, ok := k.net.md.Addr(k.broker)
		if !ok {
			return fmt.Errorf("the address of broker %d is not known", k.broker)
		}
		c, err := k.net.dial(ctx, addr)
		if err != nil {
			return fmt.Errorf("connect to broker %d: %w", k.broker, err)
		}
		k.conn = c
	}
	return k.conn.fresh(ctx)
}

// drop closes the connection, if there is one. All requests under way have
// their answer when it returns.
func (k *link) drop(cause error) {
	if k.conn == nil {
		return
	}
	k.conn.close(cause)
	if k.conn.worked.Load() {
		k.fails = 0
	}
	k.conn = nil
}

// lose gives the connection up after an error and returns when the next one
// may be tried.
func (k *link) lose(ctx context.Context, err error) time.Time {
	k.drop(err)
	now := time.Now()
	if now.Before(k.retry) {
		return k.retry
	}
	k.fails++
	k.retry = now.Add(k.net.dialBackoff().after(k.fails))
	// Once for a run of failures: the owners of the partitions are told as
	// well when it lasts.
	level := slog.LevelDebug
	if k.fails == 1 {
		level = slog.LevelWarn
	}
	k.net.log.Log(ctx, level, "connection to broker lost",
		"cluster", k.net.cluster.Alias, "use", k.kind, "broker", k.broker, "failures", k.fails, "error", err)
	return k.retry
}
