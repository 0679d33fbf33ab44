package yamlfile

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/config/security"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// Write writes the configuration in the YAML form: the keys only that differ from their defaults, those that all flows share
// under defaults. Relative file names are made absolute from base, a folder. No secret is written: where it comes from an
// environment variable or a file of its own, that is named; otherwise the name of a variable or file stands in, with a
// comment that says what belongs there.
//
// Parsing the text gives the same clusters and flows, but for those secrets.
func Write(c *config.Config, base string) ([]byte, error) {
	w := writer{Config: c, base: base}
	root := mappingOf()
	clusters := mappingOf()
	for _, alias := range slices.Sorted(maps.Keys(c.Clusters)) {
		put(clusters, alias, w.cluster(c.Clusters[alias]))
	}
	put(root, keyClusters, clusters)
	flows := make([]*yaml.Node, len(c.Flows))
	for i, f := range c.Flows {
		flows[i] = w.flow(f)
	}
	if shared := sharedKeys(flows); len(shared.Content) > 0 {
		put(root, keyDefaults, shared)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	list.Content = append(list.Content, flows...)
	put(root, keyFlows, list)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

type writer struct {
	*config.Config

	base   string
	client string // whose security is being written; empty for a cluster's
}

// unique is what a name for something of a client begins with.
func (w writer) unique(c config.Cluster) string {
	if w.client == "" {
		return c.Alias
	}
	return w.client
}

func mappingOf() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// put adds a key to a mapping.
func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, textNode(key), value)
}

func textNode(s string) *yaml.Node {
	var n yaml.Node
	n.SetString(s)
	return &n
}

// valueNode is a setting's value as the reader of YAML takes it.
func valueNode(s setting.Setting) *yaml.Node {
	switch value := s.Value.Interface().(type) {
	case []string:
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, e := range value {
			list.Content = append(list.Content, textNode(e))
		}
		return list
	case time.Duration:
		return textNode(setting.Duration(value))
	case int64:
		if value%(1<<20) == 0 {
			return textNode(fmt.Sprintf("%dMiB", value>>20))
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	case string:
		return textNode(value)
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
}

// flow is one element of the list of flows.
func (w writer) flow(f config.Flow) *yaml.Node {
	out := mappingOf()
	base := config.DefaultFlow(f.Source, f.Target)
	// What follows from other values is no setting of its own.
	base.PositionsInterval = min(base.PositionsInterval, f.EmitCheckpointsInterval, f.SyncGroupOffsetsInterval)
	r := f.ReplicationFactor
	one := [3]int16{f.OffsetSyncsReplicationFactor, f.CheckpointsReplicationFactor, f.HeartbeatsReplicationFactor} == [3]int16{r, r, r}
	if one || r != base.ReplicationFactor {
		// replication_factor stands for all four where it is written.
		base.ReplicationFactor = 0
		base.OffsetSyncsReplicationFactor, base.CheckpointsReplicationFactor, base.HeartbeatsReplicationFactor = r, r, r
	}
	keys, have := setting.InOrder("yaml", &f)
	_, defaults := setting.InOrder("yaml", &base)
	for _, key := range keys {
		named := key == "from" || key == "to"
		if named || !reflect.DeepEqual(have[key].Value.Interface(), defaults[key].Value.Interface()) {
			put(out, key, valueNode(have[key]))
		}
	}
	if clients := w.flowClients(f); len(clients.Content) > 0 {
		put(out, keyClients, clients)
	}
	return out
}

// sharedKeys takes the keys out of all flows that have the same value in each of them, and returns them. With one flow
// there is nothing to share.
func sharedKeys(flows []*yaml.Node) *yaml.Node {
	shared := mappingOf()
	if len(flows) < 2 {
		return shared
	}
	for i := 0; i < len(flows[0].Content); {
		key, value := flows[0].Content[i].Value, flows[0].Content[i+1]
		everywhere := key != "from" && key != "to" && key != "enabled" && key != keyClients // defaults hold no clients
		for _, f := range flows[1:] {
			other := child(f, key)
			everywhere = everywhere && other != nil && reflect.DeepEqual(value, other)
		}
		if !everywhere {
			i += 2
			continue
		}
		put(shared, key, value)
		for _, f := range flows {
			drop(f, key)
		}
	}
	return shared
}

func child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func drop(m *yaml.Node, key string) {
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// cluster is the value of one alias.
func (w writer) cluster(c config.Cluster) *yaml.Node {
	out := mappingOf()
	base := config.DefaultCluster(c.Alias)
	keys, have := setting.InOrder("yaml", &c)
	_, defaults := setting.InOrder("yaml", &base)
	for _, key := range keys {
		if !reflect.DeepEqual(have[key].Value.Interface(), defaults[key].Value.Interface()) {
			put(out, key, valueNode(have[key]))
		}
	}
	if tuned := tunedNode(c.Client, config.ClientSettings{}); len(tuned.Content) > 0 {
		put(out, keyClient, tuned)
	}
	if c.SecurityProtocol != security.ProtocolPlaintext {
		put(out, keySecurity, w.security(c))
	}
	return out
}

// security is how a client proves who it is.
func (w writer) security(c config.Cluster) *yaml.Node {
	out := mappingOf()
	put(out, "protocol", textNode(c.SecurityProtocol))
	if c.UsesTLS() {
		w.inline(out, c)
		w.fields(out, c, &c.TLS, &security.TLS{VerifyHostname: true})
	}
	if c.UsesSASL() {
		w.fields(out, c, &c.SASL, &security.SASL{})
	}
	return out
}

// fields writes the settings of TLS or SASL that are not at their defaults.
func (w writer) fields(out *yaml.Node, c config.Cluster, target, base any) {
	keys, have := setting.InOrder("security", target)
	_, defaults := setting.InOrder("security", base)
	for _, key := range keys {
		s := have[key]
		if reflect.DeepEqual(s.Value.Interface(), defaults[key].Value.Interface()) {
			continue
		}
		if _, secret := reflect.TypeAssert[kafka.Secret](s.Value); secret {
			w.secret(out, c, key, s.Field)
			continue
		}
		value := valueNode(s)
		if s.Kind == "path" {
			value = textNode(w.absolute(s.Value.String()))
		}
		put(out, key, value)
	}
}

// secret writes where a secret is, or a variable to put it into.
func (w writer) secret(out *yaml.Node, c config.Cluster, key, field string) {
	place := c.From.Kept[field]
	switch {
	case place.File != "":
		put(out, key+"_file", textNode(w.absolute(place.File)))
		return
	case place.Env != "":
		put(out, key+"_env", textNode(place.Env))
		return
	}
	variable := textNode(variableName(w.unique(c) + "_" + key))
	variable.LineComment = "set this variable to the value that is in " + filepath.Base(w.File)
	put(out, key+"_env", variable)
}

// variableName makes an environment variable's name of an alias and a key.
func variableName(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, text)
}

// inline names files for PEM text that a properties file holds itself; YAML has no place for it.
func (w writer) inline(out *yaml.Node, c config.Cluster) {
	for _, part := range []struct {
		key, text, file string
	}{
		{"ca", c.TLS.CA, c.TLS.CAFile}, {"cert", c.TLS.Cert, c.TLS.CertFile}, {"key", c.TLS.Key.Reveal(), c.TLS.KeyFile},
	} {
		if part.text == "" || part.file != "" {
			continue
		}
		name := textNode(filepath.Join(w.base, w.unique(c)+"-"+part.key+".pem"))
		name.LineComment = "write the PEM text that is in " + filepath.Base(w.File) + " into this file"
		put(out, part.key, name)
	}
}

func (w writer) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.base, path)
}

// tunedNode are the client settings that differ from base.
func tunedNode(s, base config.ClientSettings) *yaml.Node {
	out := mappingOf()
	keys, have := setting.InOrder("client", &s)
	_, from := setting.InOrder("client", &base)
	for _, key := range keys {
		if n := have[key].Value.Int(); n != 0 && n != from[key].Value.Int() {
			put(out, key, &yaml.Node{Kind: yaml.ScalarNode, Value: config.Amount(have[key].Field, n)})
		}
	}
	return out
}

// flowClients are the clients of a flow, with what differs from their clusters.
func (w writer) flowClients(f config.Flow) *yaml.Node {
	out := mappingOf()
	own := w.Clients(f.Name())
	for _, r := range config.Roles() {
		c, ok := own[r]
		base := w.Clusters[r.Alias(f.Name())]
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
