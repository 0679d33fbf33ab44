package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/sasl"
)

// current is TLS and SASL for a connection that is made now.
func (c Cluster) current() (*tls.Config, *SASL) {
	if c.Renew == nil {
		return c.TLS, c.SASL
	}
	conf, login, _ := c.Renew() // Watched and Stale say the error
	return conf, login
}

// Watched is the cluster with a Renew that warns in log when newer credentials
// cannot be read, once for each reason until they can again, and says that too.
// Without that a password that nobody can read any more would be noticed when
// brokers refuse the old one. One that is watched already stays as it is: a
// client that is opened with the cluster of another one says nothing again.
func (c Cluster) Watched(log *slog.Logger) Cluster {
	if c.Renew == nil || log == nil || c.watched {
		return c
	}
	var mu sync.Mutex
	renew, said := c.Renew, map[string]bool{}
	c.watched = true
	c.Renew = func() (*tls.Config, *SASL, error) {
		mu.Lock()
		defer mu.Unlock()
		conf, login, err := renew()
		switch {
		case err != nil && !said[err.Error()]:
			said[err.Error()] = true
			log.Warn("newer credentials cannot be read: those of before stay in use", "cluster", c.Alias, "error", err)
		case err == nil && len(said) > 0:
			clear(said)
			log.Info("newer credentials can be read again", "cluster", c.Alias)
		}
		return conf, login, err
	}
	return c
}

// Stale completes the refusal of a login by the reason why the newest
// credentials could not be read, if that is so: what was refused are then the
// ones before.
func (c Cluster) Stale(refusal error) error {
	if c.Renew == nil {
		return refusal
	}
	if _, _, err := c.Renew(); err != nil {
		return fmt.Errorf("%w (the credentials of before were used, since newer ones cannot be read: %w)", refusal, err)
	}
	return refusal
}

// renewed is a mechanism that looks its credentials up at each login. Which
// mechanism it is never changes.
type renewed struct {
	sasl.Mechanism

	cluster Cluster
}

// Authenticate is sasl.Mechanism's.
func (m renewed) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	_, login := m.cluster.current()
	if mech, ok := mechanism(login); ok && mech.Name() == m.Name() {
		return mech.Authenticate(ctx, host)
	}
	return m.Mechanism.Authenticate(ctx, host)
}
