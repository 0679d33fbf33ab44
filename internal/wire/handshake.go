package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"tidemark/internal/kafka"
	"tidemark/internal/pause"
)

// helloTimeout bounds each request of the handshake, where the time-out of
// requests is not less.
const helloTimeout = 10 * time.Second

func (n *Net) helloTimeout() time.Duration { return min(helloTimeout, n.set.RequestTimeout) }

// dial opens a connection that is ready for requests: versions known, and
// authenticated where the cluster asks for it.
func (n *Net) dial(ctx context.Context, addr string) (*conn, error) {
	nc, err := n.cluster.DialTLS(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := newConn(n, nc, addr)
	err = n.remember(c)
	if err == nil {
		err = c.hello(ctx)
	}
	if err == nil {
		err = c.authenticate(ctx)
	}
	if err != nil {
		c.close(err)
		return nil, err
	}
	return c, nil
}

// hello asks which versions the broker speaks. A broker that does not know
// ours of ApiVersions answers in version 0 and, since KIP-511 (2.4), names the
// versions it knows of it.
func (c *conn) hello(ctx context.Context) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName = "tidemark"
	req.ClientSoftwareVersion = "1"
	req.Version = spoken(req.Key()).highest
	for {
		buf, err := c.roundTrip(ctx, req, c.home.helloTimeout())
		if err != nil {
			return fmt.Errorf("ask %s for its versions: %w", c.addr, err)
		}
		resp, err := readVersions(buf.b, req.Version)
		buf.release()
		if err != nil {
			return fmt.Errorf("ask %s for its versions: %w", c.addr, err)
		}
		if resp.ErrorCode == 0 {
			c.versions = make(map[int16]versionRange, len(resp.ApiKeys))
			for _, k := range resp.ApiKeys {
				c.versions[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
			}
			return nil
		}
		if resp.ErrorCode != kerr.UnsupportedVersion.Code || req.Version == 0 {
			return fmt.Errorf("ask %s for its versions: %w", c.addr, kerr.ErrorForCode(resp.ErrorCode))
		}
		lower := int16(0)
		for _, k := range resp.ApiKeys {
			if k.ApiKey == req.Key() {
				lower = k.MaxVersion
			}
		}
		// Only ever downwards, or a broken broker keeps us here for ever.
		req.Version = max(0, min(lower, req.Version-1))
	}
}

// readVersions parses an ApiVersions response, which is in version 0 if it
// refuses the version that was asked in.
func readVersions(body []byte, version int16) (*kmsg.ApiVersionsResponse, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	if len(body) >= 2 && int16(body[0])<<8|int16(body[1]) == kerr.UnsupportedVersion.Code {
		resp.Version = 0
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	return resp, nil
}

// fresh renews the SASL session if it is about to end (KIP-368), and waits out
// the broker's throttling (KIP-219). It is called before each request, by the
// goroutine that sends it: a broker takes nothing else on the connection while
// a session is being renewed. Answers under way still come, before it.
func (c *conn) fresh(ctx context.Context) error {
	c.qmu.Lock()
	resume := c.resume
	c.qmu.Unlock()
	if !pause.For(ctx, time.Until(resume)) {
		return ctx.Err()
	}
	if c.renew.IsZero() || time.Now().Before(c.renew) {
		return nil
	}
	return c.authenticate(ctx)
}

// throttle notes that the broker asked for silence on this connection.
func (c *conn) throttle(millis int32) {
	if millis <= 0 {
		return
	}
	c.qmu.Lock()
	defer c.qmu.Unlock()
	c.resume = time.Now().Add(time.Duration(millis) * time.Millisecond)
}

// authenticate speaks SaslHandshake and SaslAuthenticate (KIP-43, KIP-152).
// Refusals are *kafka.ErrAuthentication.
func (c *conn) authenticate(ctx context.Context) error {
	mech, ok := c.home.cluster.Mechanism()
	if !ok {
		return nil
	}
	if err := c.handshake(ctx, mech); err != nil {
		return err
	}
	session, out, err := mech.Authenticate(ctx, c.addr)
	if err != nil {
		return c.refused(err)
	}
	began := time.Now()
	lifetime, err := c.converse(ctx, session, out)
	if err != nil {
		return err
	}
	c.renew = time.Time{}
	if lifetime > 0 {
		// Java renews after 85 to 95 % of the lifetime; the spread keeps the
		// connections of many workers apart.
		share := 0.85 + 0.1*rand.Float64()
		c.renew = began.Add(time.Duration(float64(lifetime) * share))
	}
	return nil
}

func (c *conn) handshake(ctx context.Context, mech sasl.Mechanism) error {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = mech.Name()
	var err error
	if req.Version, err = c.pick(req.Key()); err != nil {
		return err
	}
	buf, err := c.roundTrip(ctx, req, c.home.helloTimeout())
	if err != nil {
		return fmt.Errorf("sasl handshake: %w", err)
	}
	defer buf.release()
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(buf.b); err != nil {
		return fmt.Errorf("sasl handshake with %s: %w", c.addr, err)
	}
	if resp.ErrorCode != 0 {
		return c.refused(fmt.Errorf("%w (the broker offers %v)", kerr.ErrorForCode(resp.ErrorCode), resp.SupportedMechanisms))
	}
	return nil
}

// converse exchanges tokens until both sides are done and returns how long the
// session lives, or 0 if it does not end.
func (c *conn) converse(ctx context.Context, session sasl.Session, out []byte) (time.Duration, error) {
	var lifetime time.Duration
	for done := false; !done || len(out) > 0; {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.SASLAuthBytes = out
		var err error
		if req.Version, err = c.pick(req.Key()); err != nil {
			return 0, err
		}
		buf, err := c.roundTrip(ctx, req, c.home.helloTimeout())
		if err != nil {
			return 0, fmt.Errorf("sasl authenticate: %w", err)
		}
		resp, err := readAuthenticate(buf, req)
		buf.release()
		if err != nil {
			return 0, fmt.Errorf("sasl authenticate with %s: %w", c.addr, err)
		}
		if resp.ErrorCode != 0 {
			err := kerr.ErrorForCode(resp.ErrorCode)
			if resp.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *resp.ErrorMessage)
			}
			return 0, c.refused(err)
		}
		// A year is for ever here; the bound keeps the product from
		// overflowing.
		millis := min(resp.SessionLifetimeMillis, (365 * 24 * time.Hour).Milliseconds())
		lifetime = time.Duration(millis) * time.Millisecond
		out = nil
		if !done {
			if done, out, err = session.Challenge(resp.SASLAuthBytes); err != nil {
				return 0, c.refused(err)
			}
		}
	}
	return lifetime, nil
}

func readAuthenticate(buf *buffer, req *kmsg.SASLAuthenticateRequest) (*kmsg.SASLAuthenticateResponse, error) {
	body, err := responseBody(buf, req.IsFlexible())
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	// The session keeps the token, the buffer is reused.
	resp.SASLAuthBytes = append([]byte(nil), resp.SASLAuthBytes...)
	return resp, nil
}

func (c *conn) refused(err error) error {
	e := &kafka.ErrAuthentication{Cluster: c.home.cluster.Alias, Err: c.home.cluster.Stale(err)}
	if s := c.home.cluster.SASL; s != nil {
		e.Mechanism, e.User = s.Mechanism, s.User
	}
	return e
}
