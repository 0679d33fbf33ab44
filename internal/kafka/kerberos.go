package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

// Kerberos is a GSSAPI login by keytab.
type Kerberos struct {
	// Principal is user or user/instance, with @REALM unless it is the default
	// realm of the configuration.
	Principal string
	Keytab    string // path
	// ServiceName is the first part of the brokers' principals; the second is
	// the host that is dialed. Empty is "kafka".
	ServiceName string
	Config      string // path of krb5.conf
}

// mechanism logs in anew for each connection, which costs two requests to the
// KDC. A login that is shared would have to be ended by someone: the library
// renews its tickets in a goroutine until then.
func (k *Kerberos) mechanism() sasl.Mechanism {
	return kerberos.Kerberos(func(context.Context) (kerberos.Auth, error) {
		cl, err := k.client()
		if err != nil {
			return kerberos.Auth{}, err
		}
		service := k.ServiceName
		if service == "" {
			service = "kafka"
		}
		return kerberos.Auth{Client: cl, Service: service}, nil
	})
}

// client reads keytab and configuration, both of which may have been renewed.
func (k *Kerberos) client() (*client.Client, error) {
	conf, err := config.Load(k.Config)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.Config, err)
	}
	data, err := os.ReadFile(k.Keytab)
	if err != nil {
		return nil, fmt.Errorf("read keytab: %w", err)
	}
	keys, err := keysIn(data)
	if err != nil {
		return nil, fmt.Errorf("read keytab %s: %w", k.Keytab, err)
	}
	user, realm, ok := strings.Cut(k.Principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	// Active Directory refuses the negotiation of FAST, and nobody needs it with a keytab.
	return client.NewWithKeytab(user, realm, keys, conf, client.DisablePAFXFAST(true)), nil
}

// keysIn reads a keytab. Of what is wrong with one it only says that: the library's errors repeat its bytes, and with them
// its keys.
func keysIn(data []byte) (*keytab.Keytab, error) {
	keys := keytab.New()
	if keys.Unmarshal(data) != nil {
		return nil, errors.New("it is damaged, or no keytab")
	}
	return keys, nil
}
