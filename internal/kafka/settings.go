package kafka

import (
	"cmp"
	"net"
	"time"
)

// Settings tune the connections and requests of one client. A zero field means
// the default, which differs between franz-go clients (ClientDefaults) and the
// mirror's own connections of internal/wire (TransportDefaults).
type Settings struct {
	// RequestTimeout is how long an answer may take. What the broker is told to
	// wait itself (a fetch, a rebalance) comes on top.
	RequestTimeout time.Duration
	// APITimeout bounds the repeats of one request. Own connections repeat
	// nothing, so they have no use for it.
	APITimeout time.Duration
	// ConnectTimeout bounds one attempt to connect, TLS handshake included.
	ConnectTimeout time.Duration
	// IdleTimeout closes a connection without requests. Own connections are not
	// used any more after it.
	IdleTimeout time.Duration
	// MetadataMaxAge is how old knowledge about brokers and leaders may get.
	// Own connections ask when a broker sends them away.
	MetadataMaxAge time.Duration
	// ReconnectBackoff doubles up to its maximum while a broker cannot be
	// reached; own connections only, franz-go has one back-off for both.
	ReconnectBackoff, ReconnectBackoffMax time.Duration
	// RetryBackoff doubles up to its maximum while requests fail, or while a
	// partition has no leader.
	RetryBackoff, RetryBackoffMax time.Duration
	// SendBuffer and ReceiveBuffer are the socket's buffers in bytes; 0 leaves
	// them to the system, which grows them with the round trip.
	SendBuffer, ReceiveBuffer int
}

// ClientDefaults are what a franz-go client uses where Settings say nothing.
func ClientDefaults() Settings {
	return Settings{
		RequestTimeout: 10 * time.Second,
		// Longer than a broker restart takes to elect a new leader, and shorter
		// than an operator waits for an answer.
		APITimeout:     30 * time.Second,
		ConnectTimeout: dialTimeout,
		IdleTimeout:    30 * time.Second,
		MetadataMaxAge: 5 * time.Minute,
		RetryBackoff:   50 * time.Millisecond, RetryBackoffMax: 2 * time.Second,
	}
}

// TransportDefaults are what internal/wire uses where Settings say nothing.
func TransportDefaults() Settings {
	return Settings{
		RequestTimeout:   30 * time.Second, // as Java's request.timeout.ms
		ConnectTimeout:   dialTimeout,
		IdleTimeout:      30 * time.Second,
		ReconnectBackoff: 50 * time.Millisecond, ReconnectBackoffMax: 2 * time.Second,
		RetryBackoff: 50 * time.Millisecond, RetryBackoffMax: time.Second,
	}
}

// Or takes from d what s does not set. A back-off whose maximum is not set is
// its own maximum where it is above the default's; one above a maximum that is
// set is that maximum, as in Java.
func (s Settings) Or(d Settings) Settings {
	s.RequestTimeout = cmp.Or(s.RequestTimeout, d.RequestTimeout)
	s.APITimeout = cmp.Or(s.APITimeout, d.APITimeout)
	s.ConnectTimeout = cmp.Or(s.ConnectTimeout, d.ConnectTimeout)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, d.IdleTimeout)
	s.MetadataMaxAge = cmp.Or(s.MetadataMaxAge, d.MetadataMaxAge)
	s.ReconnectBackoff, s.ReconnectBackoffMax = backoffs(s.ReconnectBackoff, s.ReconnectBackoffMax, d.ReconnectBackoff, d.ReconnectBackoffMax)
	s.RetryBackoff, s.RetryBackoffMax = backoffs(s.RetryBackoff, s.RetryBackoffMax, d.RetryBackoff, d.RetryBackoffMax)
	s.SendBuffer = cmp.Or(s.SendBuffer, d.SendBuffer)
	s.ReceiveBuffer = cmp.Or(s.ReceiveBuffer, d.ReceiveBuffer)
	return s
}

func backoffs(least, most, defaultLeast, defaultMost time.Duration) (from, to time.Duration) {
	least = cmp.Or(least, defaultLeast)
	if most == 0 {
		return least, max(least, defaultMost)
	}
	return min(least, most), most
}

// retryBackoff doubles from RetryBackoff to its maximum. It has no jitter: a
// mirror is a few clients, not a herd.
func (s Settings) retryBackoff(fails int) time.Duration {
	return min(s.RetryBackoff<<min(max(fails-1, 0), 10), s.RetryBackoffMax)
}

// buffer sets the socket's buffers. After the connect is early enough: Linux
// takes the largest buffer that the system allows into account when it offers
// the scale of the window.
func (s Settings) buffer(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil // a test's pipe
	}
	if s.SendBuffer > 0 {
		if err := tcp.SetWriteBuffer(s.SendBuffer); err != nil {
			return err
		}
	}
	if s.ReceiveBuffer > 0 {
		return tcp.SetReadBuffer(s.ReceiveBuffer)
	}
	return nil
}
