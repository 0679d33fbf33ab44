package config

import (
	"fmt"
	"reflect"
	"strings"

	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// Used is one value that a client works with.
type Used struct {
	Name  string // the key in YAML
	Value string // never a secret, nor what a configuration provider gives
	Key   string // as the file writes it; empty for a default
	Line  int
}

// Uses are all values that the client of a flow with that role works with, for people. What keeps its default in the security
// settings is left out, as is what the protocol has no use for.
func (c *Config) Uses(f FlowName, r Role) []Used {
	u := used{client: c.Client(f, r)}
	u.add("bootstrap", "Bootstrap", strings.Join(u.client.Bootstrap, ", "))
	u.add("client_id", "ClientID", u.client.ClientID)
	u.add("protocol", "SecurityProtocol", u.client.SecurityProtocol)
	if u.client.UsesTLS() {
		for _, inline := range []struct{ name, field, text string }{
			{"ca", "CA", u.client.TLS.CA}, {"cert", "Cert", u.client.TLS.Cert}, {"key", "Key", u.client.TLS.Key.Reveal()},
		} {
			if inline.text != "" {
				u.add(inline.name, inline.field, "[PEM text]")
			}
		}
		u.security(&u.client.TLS, &security.TLS{VerifyHostname: true})
	}
	if u.client.UsesSASL() {
		u.security(&u.client.SASL, &security.SASL{})
	}
	keys, have := setting.InOrder("client", &u.client.Client)
	for _, key := range keys {
		s := have[key]
		switch {
		case !r.Uses(s.Field):
		case s.Value.IsZero():
			u.add(key, s.Field, "the system's")
		default:
			u.add(key, s.Field, Amount(s.Field, s.Value.Int()))
		}
	}
	return u.out
}

type used struct {
	client Cluster
	out    []Used
}

// add notes one value and where it comes from.
func (u *used) add(name, field, value string) {
	place := u.client.From.Fields[field]
	if refs, ok := u.client.From.Borrowed[field]; ok {
		value = "[from " + refs + "]"
	}
	u.out = append(u.out, Used{Name: name, Value: value, Key: place.Key, Line: place.Line})
}

// security notes what differs from the defaults.
func (u *used) security(target, base any) {
	keys, have := setting.InOrder("security", target)
	_, defaults := setting.InOrder("security", base)
	for _, key := range keys {
		s := have[key]
		if reflect.DeepEqual(s.Value.Interface(), defaults[key].Value.Interface()) {
			continue
		}
		value := fmt.Sprint(s.Value.Interface())
		if _, secret := reflect.TypeAssert[kafka.Secret](s.Value); secret {
			value = "[hidden]"
		} else if list, ok := reflect.TypeAssert[[]string](s.Value); ok {
			value = strings.Join(list, ", ")
		}
		u.add(key, s.Field, value)
	}
}
