package yamlfile

import (
	"fmt"
	"maps"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
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
func (y *reader) tune(n *yaml.Node, path string, c *config.Cluster, r config.Role) {
	named := roleClient{c.ClientID}
	targets := []any{&c.Client}
	var nested []string
	if r != config.AnyRole {
		targets, nested = append(targets, &named), []string{keySecurity}
	}
	where, parts := y.into(n, path, "client", nested, targets...)
	all := setting.Of("client", &c.Client)
	for _, key := range setting.Keys(all) {
		s := all[key]
		here, ok := where[s.Field]
		switch {
		case !ok:
		case !r.Uses(s.Field) && r == config.AnyRole:
			y.Problem(here, "is for one kind of client only", fmt.Sprintf("write it under a flow's %s, such as %s", keyClients, suggestRole(s.Field)))
		case !r.Uses(s.Field):
			y.Problem(here, fmt.Sprintf("has no effect: %s has no use for it", r), "remove it, or write it under "+suggestRole(s.Field))
		default:
			// A value that cannot be read left the field as it was. One that is 0 is out of bounds like any other: the field's
			// zero value means the default, and whoever writes 0 means something else.
			if f := config.Bounds(r)[s.Field].Refuse(s.Field, s.Value.Int()); f != nil && !y.Told(here) {
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
	for _, r := range config.Roles() {
		if r.Uses(field) {
			return string(r)
		}
	}
	return ""
}

// clients reads a flow's clients; n may be nil. What they do not set is their cluster's.
func (y *reader) clients(n *yaml.Node, path string, f config.Flow) map[config.Role]config.Cluster {
	parts := map[string]*yaml.Node{}
	if n != nil {
		var known []string
		for _, r := range config.Roles() {
			known = append(known, string(r))
		}
		parts = y.mapping(n, path, known)
	}
	out := map[config.Role]config.Cluster{}
	for _, r := range config.Roles() {
		client, ok := y.Cluster(r.Alias(f.Name()))
		if !ok {
			continue
		}
		common := client.Client
		client.Client = common.Only(r)
		if _, why := config.Bounds(r)["RequestTimeout"].Within(int64(common.RequestTimeout)); common.RequestTimeout > 0 && why != "" {
			most := config.Bounds(r)["RequestTimeout"].Most
			here := client.From.Fields["RequestTimeout"]
			y.Note(here.Line, "%s is out of bounds: %s is used where records are written, since %s", here.Key, config.Amount("RequestTimeout", most), why)
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
