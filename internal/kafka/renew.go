package kafka

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/twmb/franz-go/pkg/sasl"
)

// current is TLS and SASL for a connection that is made now.
func (c Cluster) current() (*tls.Config, *SASL) {
	if c.Renew == nil {
		return c.TLS, c.SASL
	}
	conf, login, _ := c.Renew() // the error stands in refusals, see Stale
	return conf, login
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
