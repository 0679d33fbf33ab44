package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// dialTimeout bounds one connection attempt, TLS handshake included. Java's
// socket.connection.setup.timeout.ms is 10 s as well.
const dialTimeout = 10 * time.Second

// handshake begins the text of errors from the TLS handshake.
const handshake = "tls handshake: "

// SASL is how a client proves who it is.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM
	// or GSSAPI.
	Mechanism string
	// User is who errors name. PLAIN and SCRAM log in by it.
	User     string
	Password Secret    // of PLAIN and SCRAM
	OAuth    *OAuth    // of OAUTHBEARER
	AWS      *AWS      // of AWS_MSK_IAM
	Kerberos *Kerberos // of GSSAPI
}

// Format shows who logs in and how, and nothing else: fmt prints the fields of
// a struct behind a pointer, secrets included, where the verb does not suit a
// pointer.
func (s *SASL) Format(f fmt.State, _ rune) {
	// fmt.State has nowhere to report an error to.
	_, _ = io.WriteString(f, "sasl "+s.Mechanism+" "+s.User)
}

// Cluster describes one Kafka cluster and how to connect to it. The zero value
// of every field but Alias and Bootstrap is usable.
type Cluster struct {
	// Alias is the cluster's name in the configuration; every error and log
	// line carries it.
	Alias string
	// Bootstrap lists host:port addresses, tried in random order.
	Bootstrap []string
	// ClientID is what brokers see in quotas and request logs; "tidemark" if
	// empty.
	ClientID string
	// TLS is nil for plaintext. An empty ServerName means: the host dialed.
	TLS *tls.Config
	// SASL is nil for no authentication.
	SASL *SASL
	// Renew, if not nil, is asked for TLS and SASL at each connection and each
	// login, so that certificates and passwords can change under a running
	// mirror. Beside an error it gives the last ones that could be had. It is
	// safe for concurrent use; TLS and SASL above are its first answer.
	Renew func() (*tls.Config, *SASL, error)
	// watched: Renew says itself when it fails, see Watched.
	watched bool
	// Waits, if not nil, is where the clients of this cluster note what they wait
	// for; otherwise each client says it for itself.
	Waits *Waits
	// Settings tune connections and requests; the zero value is the defaults.
	Settings Settings
	// Dial opens the TCP connection below TLS. Nil is a net.Dialer with a
	// time-out of Settings.ConnectTimeout.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// validate reports every problem that makes the cluster unusable, not only the
// first.
func (c Cluster) validate() error {
	var problems []error
	if c.Alias == "" {
		problems = append(problems, errors.New("the cluster has no alias"))
	}
	if len(c.Bootstrap) == 0 {
		problems = append(problems, fmt.Errorf("cluster %s has no bootstrap servers", c.Alias))
	}
	for _, addr := range c.Bootstrap {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			problems = append(problems, fmt.Errorf("cluster %s: bootstrap server %q is not host:port: %w", c.Alias, addr, err))
		}
	}
	if c.SASL != nil {
		if _, ok := c.Mechanism(); !ok {
			problems = append(problems, fmt.Errorf(
				"cluster %s: sasl mechanism %q is not known or not complete, use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM or GSSAPI", c.Alias, c.SASL.Mechanism))
		}
	}
	return errors.Join(problems...)
}

// Mechanism is the cluster's SASL mechanism; false if the cluster uses none.
// It is also false for a mechanism that is not known, or whose settings are
// missing; Open refuses such a
// cluster, so nobody goes on without authentication by mistake.
func (c Cluster) Mechanism() (sasl.Mechanism, bool) {
	mech, ok := mechanism(c.SASL)
	if ok && c.Renew != nil {
		return renewed{mech, c}, true
	}
	return mech, ok
}

func mechanism(s *SASL) (sasl.Mechanism, bool) {
	if s == nil {
		return nil, false
	}
	user, pass := s.User, s.Password.Reveal()
	switch s.Mechanism {
	case "PLAIN":
		return plain.Auth{User: user, Pass: pass}.AsMechanism(), true
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: pass}.AsSha256Mechanism(), true
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: pass}.AsSha512Mechanism(), true
	case "OAUTHBEARER":
		if s.OAuth != nil {
			return ours{s.OAuth.mechanism()}, true
		}
	case "AWS_MSK_IAM":
		if s.AWS != nil {
			return ours{s.AWS.mechanism()}, true
		}
	case "GSSAPI":
		if s.Kerberos != nil {
			return ours{s.Kerberos.mechanism()}, true
		}
	}
	return nil, false
}

// ours marks what a mechanism cannot do before it speaks with a broker.
type ours struct{ sasl.Mechanism }

// Authenticate is sasl.Mechanism's.
func (m ours) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	session, out, err := m.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, &loginError{err}
	}
	return session, out, nil
}

// DialTLS connects to addr (host:port): plain, or with a completed TLS
// handshake whose server name is the host of addr unless the configuration
// names another. It gives up after Settings.ConnectTimeout or when ctx ends.
// SASL is the caller's: it is spoken in Kafka requests.
//
// Errors are *ErrUnreachable. Both the franz-go client and the mirror's own
// transport dial here, so a cluster has one way to be reached.
func (c Cluster) DialTLS(ctx context.Context, addr string) (net.Conn, error) {
	within := cmp.Or(c.Settings.ConnectTimeout, dialTimeout)
	dialCtx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: within}).DialContext
	}
	conn, err := dial(dialCtx, "tcp", addr)
	if err != nil {
		return nil, &ErrUnreachable{Cluster: c.Alias, Addr: addr, Err: err}
	}
	if err := c.Settings.buffer(conn); err != nil {
		return nil, errors.Join(&ErrUnreachable{Cluster: c.Alias, Addr: addr, Err: fmt.Errorf("set the socket's buffers: %w", err)}, conn.Close())
	}
	if c.TLS == nil {
		return conn, nil
	}
	conf, _ := c.current()
	if conf.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, errors.Join(&ErrUnreachable{Cluster: c.Alias, Addr: addr, Err: err}, conn.Close())
		}
		conf = conf.Clone()
		conf.ServerName = host
	}
	tlsConn := tls.Client(conn, conf)
	if err := tlsConn.HandshakeContext(dialCtx); err != nil {
		// The connection never carried data, and the handshake's error is the
		// one to act on: a Close error would only hide it.
		_ = conn.Close()
		return nil, &ErrUnreachable{Cluster: c.Alias, Addr: addr, Err: fmt.Errorf(handshake+"%w", err)}
	}
	return tlsConn, nil
}
