package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestSecurity(t *testing.T) {
	server, pool := certificate(t)
	for _, mech := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s tls=%v", mech, secure), func(t *testing.T) {
				opts := []kfake.Opt{kfake.NumBrokers(2), kfake.EnableSASL(), kfake.Superuser(mech, "me", "right"), kfake.ClusterID("its-id")}
				if secure {
					opts = append(opts, kfake.TLS(server))
				}
				_, c := fake(t, opts...)
				if secure {
					c.TLS = &tls.Config{RootCAs: pool}
				}
				c.SASL = &SASL{Mechanism: mech, User: "me", Password: "right"}
				id, err := open(t, c).ClusterID(deadline(t))
				noError(t, err)
				if id != "its-id" {
					t.Errorf("cluster id %q", id)
				}

				c.SASL = &SASL{Mechanism: mech, User: "me", Password: "wrong"}
				refusing, ctx := endsAtRedial(t, c)
				_, err = open(t, refusing).ClusterID(ctx)
				auth := as[*ErrAuthentication](t, err)
				if auth.Cluster != "A" || auth.User != "me" || auth.Mechanism != mech {
					t.Errorf("the error names %+v", auth)
				}
				if strings.Contains(err.Error(), "wrong") {
					t.Errorf("the password shows in %q", err)
				}
				if ClassifyErr(err) != Denied {
					t.Errorf("class %v", ClassifyErr(err))
				}
			})
		}
	}
}

// expiring is a context whose deadline passes when done is closed.
type expiring struct {
	context.Context //nolint:containedctx // it is one itself
	done            chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// endsAtRedial returns a context whose deadline passes when the cluster is
// dialed a second time. The embedded cluster hangs up on wrong credentials,
// which franz-go retries for half a minute.
func endsAtRedial(t *testing.T, c Cluster) (Cluster, context.Context) {
	ctx := expiring{t.Context(), make(chan struct{})}
	var dials atomic.Int32
	c.Dial = func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 2 {
			close(ctx.done)
		}
		return new(net.Dialer).DialContext(dialCtx, network, addr)
	}
	return c, ctx
}

func TestSASLIsMissing(t *testing.T) {
	_, c := fake(t, kfake.NumBrokers(1), kfake.EnableSASL())
	_, err := open(t, c).ClusterID(deadline(t))
	auth := as[*ErrAuthentication](t, err)
	if auth.Mechanism != "" || !strings.Contains(err.Error(), "no sasl is configured") {
		t.Errorf("the error says %q", err)
	}
}

func TestMechanismIsNotOffered(t *testing.T) {
	_, c := fake(t, kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right"))
	c.SASL = &SASL{Mechanism: "SCRAM-SHA-512", User: "me", Password: "right"}
	c, ctx := endsAtRedial(t, c)
	_, err := open(t, c).ClusterID(ctx)
	as[*ErrAuthentication](t, err)
}

// Kafka itself answers wrong credentials by a code, which ends the call at
// once.
func TestCredentialsRefusedByCode(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "right"))
	fc.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		resp.ErrorMessage = new("Authentication failed: Invalid username or password")
		return resp, nil, true
	})
	c.SASL = &SASL{Mechanism: "PLAIN", User: "me", Password: "wrong"}
	start := time.Now()
	_, err := open(t, c).ClusterID(deadline(t))
	as[*ErrAuthentication](t, err)
	if !strings.Contains(err.Error(), "Invalid username or password") || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %q", time.Since(start), err)
	}
}

func TestTLSMistakes(t *testing.T) {
	server, pool := certificate(t)
	t.Run("common name only", func(t *testing.T) { // Java takes it
		server, pool := certificateOf(t, "localhost")
		_, c := fake(t, kfake.NumBrokers(1), kfake.TLS(server))
		c.TLS = &tls.Config{RootCAs: pool, ServerName: "localhost"}
		_, dialed := c.DialTLS(deadline(t), c.Bootstrap[0]) // as lint --connect does
		_, asked := open(t, c).ClusterID(deadline(t))       // as run does
		for _, err := range []error{dialed, asked} {
			as[*ErrUnreachable](t, err)
			for _, part := range []string{
				`names its host only in its common name (CN=localhost), which counts no more`, "with a subjectAltName",
				"ssl.endpoint.identification.algorithm=", "verify_hostname: false", "can pass for this broker",
			} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want in it %q", err, part)
				}
			}
			if ClassifyErr(err) != Stop {
				t.Errorf("%v is tried again", err)
			}
		}
	})
	t.Run("authority not trusted", func(t *testing.T) {
		_, c := fake(t, kfake.NumBrokers(1), kfake.TLS(server))
		c.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
		_, err := open(t, c).ClusterID(deadline(t))
		as[*ErrUnreachable](t, err)
		if !strings.Contains(err.Error(), "set the trust store") || ClassifyErr(err) != Stop {
			t.Errorf("class %v, text %q", ClassifyErr(err), err)
		}
	})
	t.Run("wrong host", func(t *testing.T) {
		_, c := fake(t, kfake.NumBrokers(1), kfake.TLS(server))
		c.TLS = &tls.Config{RootCAs: pool, ServerName: "elsewhere.example"}
		_, err := open(t, c).ClusterID(deadline(t))
		as[*ErrUnreachable](t, err)
		if !strings.Contains(err.Error(), "does not name this host") || ClassifyErr(err) != Stop {
			t.Errorf("class %v, text %q", ClassifyErr(err), err)
		}
	})
	t.Run("listener speaks no tls", func(t *testing.T) {
		// Kafka's own plaintext listener hangs up, others answer.
		addr := answering(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
		c := Cluster{Alias: "A", Bootstrap: []string{addr}, TLS: &tls.Config{RootCAs: pool}}
		_, err := c.DialTLS(deadline(t), addr)
		as[*ErrUnreachable](t, err)
		if !strings.Contains(err.Error(), "speaks no TLS") || ClassifyErr(err) != Stop {
			t.Errorf("class %v, text %q", ClassifyErr(err), err)
		}
	})
	t.Run("client speaks no tls", func(t *testing.T) {
		_, c := fake(t, kfake.NumBrokers(1), kfake.TLS(server))
		_, err := open(t, c).ClusterID(deadline(t))
		as[*ErrUnreachable](t, err)
		if !strings.Contains(err.Error(), "is TLS missing?") {
			t.Errorf("the error says %q", err)
		}
	})
	for name, bytes := range map[string]string{
		// What a real 4.3 broker's TLS listener answers to plain text.
		"client gets a tls alert": "\x15\x03\x03\x00\x02\x02\x50",
		"client gets http":        "HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, Cluster{Alias: "A", Bootstrap: []string{answering(t, bytes)}}).ClusterID(deadline(t))
			as[*ErrUnreachable](t, err)
			if !strings.Contains(err.Error(), "turn TLS on or check the port") || ClassifyErr(err) != Stop {
				t.Errorf("class %v, text %q", ClassifyErr(err), err)
			}
		})
	}
}

// answering listens and sends the same bytes to whoever sends anything. It
// does not hang up first, so that nothing is lost to a connection reset.
func answering(t *testing.T, bytes string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // closed by the test
			}
			if _, err := conn.Write([]byte(bytes)); err != nil {
				t.Errorf("answer: %v", err)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("wait for the client to hang up: %v", err)
			}
			if err := conn.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}()
	t.Cleanup(func() {
		noError(t, ln.Close())
		<-done
	})
	return ln.Addr().String()
}
