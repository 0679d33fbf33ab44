package config

import (
	"fmt"
	"maps"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
)

// The keys of client settings: of a cluster, and of a flow by role.
const (
	keyClient  = "client"
	keyClients = "clients"
)

// roleClient are the keys of one role that are no client settings.
type roleClient struct {
	ClientID string `client:"client_id"`
}

// tune reads client settings into c.
func (y *yamlFile) tune(n *yaml.Node, path string, c *Cluster, r Role) {
	named := roleClient{c.ClientID}
	targets := []any{&c.Client}
	var nested []string
	if r != anyRole {
		targets, nested = append(targets, &named), []string{keySecurity}
	}
	where, parts := y.into(n, path, "client", nested, targets...)
	all := setting.Of("client", &c.Client)
	for _, key := range setting.Keys(all) {
		s := all[key]
		here, ok := where[s.Field]
		switch {
		case !ok:
		case !r.uses(s.Field) && r == anyRole:
			y.Problem(here, "is for one kind of client only", fmt.Sprintf("write it under a flow's %s, such as %s", keyClients, suggestRole(s.Field)))
		case !r.uses(s.Field):
			y.Problem(here, fmt.Sprintf("has no effect: %s has no use for it", r), "remove it, or write it under "+suggestRole(s.Field))
		default:
			// A value that cannot be read left the field as it was. One that is 0 is out of bounds like any other: the field's
			// zero value means the default, and whoever writes 0 means something else.
			if f := bounds(r)[s.Field].refuse(s.Field, s.Value.Int()); f != nil && !y.Told(here) {
				y.Problem(here, f.What, f.Do)
			}
		}
	}
	c.ClientID = named.ClientID
	c.From.Fields = merged(c.From.Fields, where)
	if s, ok := parts[keySecurity]; ok {
		keep := c.From.Fields
		c.TLS, c.SASL = security.TLS{VerifyHostname: true}, security.SASL{}
		y.security(s, join(path, keySecurity), c)
		c.From.Fields = merged(keep, c.From.Fields)
	}
}

// merged are the places of both; b's win.
func merged(a, b map[string]report.At) map[string]report.At {
	out := map[string]report.At{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// suggestRole is a role that has a use for a setting.
func suggestRole(field string) string {
	for _, r := range Roles() {
		if r.uses(field) {
			return string(r)
		}
	}
	return ""
}

// clients reads a flow's clients; n may be nil. What they do not set is their cluster's.
func (y *yamlFile) clients(n *yaml.Node, path string, f Flow) map[Role]Cluster {
	parts := map[string]*yaml.Node{}
	if n != nil {
		var known []string
		for _, r := range Roles() {
			known = append(known, string(r))
		}
		parts = y.mapping(n, path, known)
	}
	out := map[Role]Cluster{}
	for _, r := range Roles() {
		client, ok := y.Cluster(r.alias(f.Name()))
		if !ok {
			continue
		}
		common := client.Client
		client.Client = common.only(r)
		if _, why := bounds(r)["RequestTimeout"].within(int64(common.RequestTimeout)); common.RequestTimeout > 0 && why != "" {
			most := bounds(r)["RequestTimeout"].most
			here := client.From.Fields["RequestTimeout"]
			y.Note(here.Line, "%s is out of bounds: %s is used where records are written, since %s", here.Key, amount("RequestTimeout", most), why)
			client.Client.RequestTimeout = time.Duration(most)
		}
		if part, ok := parts[string(r)]; ok {
			y.tune(part, join(path, string(r)), &client, r)
		}
		y.Fit(f, r, &client)
		out[r] = client
	}
	return out
}

// tunedNode are the client settings that differ from base.
func tunedNode(s, base ClientSettings) *yaml.Node {
	out := mappingOf()
	keys, have := setting.InOrder("client", &s)
	_, from := setting.InOrder("client", &base)
	for _, key := range keys {
		if n := have[key].Value.Int(); n != 0 && n != from[key].Value.Int() {
			put(out, key, &yaml.Node{Kind: yaml.ScalarNode, Value: amount(have[key].Field, n)})
		}
	}
	return out
}

// flowClients are the clients of a flow, with what differs from their clusters.
func (w yamlWriter) flowClients(f Flow) *yaml.Node {
	out := mappingOf()
	own := w.Clients(f.Name())
	for _, r := range Roles() {
		c, ok := own[r]
		base := w.Clusters[r.alias(f.Name())]
		if !ok {
			continue
		}
		part := tunedNode(c.Client, base.Client)
		if c.ClientID != base.ClientID {
			put(part, "client_id", textNode(c.ClientID))
		}
		if c.SecurityProtocol != base.SecurityProtocol || c.TLS != base.TLS || !reflect.DeepEqual(c.SASL, base.SASL) {
			here := w
			here.client = f.Source + "-" + f.Target + "-" + string(r)
			put(part, keySecurity, here.security(c))
		}
		if len(part.Content) > 0 {
			put(out, string(r), part)
		}
	}
	return out
}
