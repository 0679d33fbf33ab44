package resource

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
)

// Is says whether a text is of one of these forms. YAML holds JSON.
func Is(data []byte) bool {
	docs, _ := documents(data)
	return slices.ContainsFunc(docs, func(n *yaml.Node) bool { return kindOf(n) != "" })
}

// Read gives what a text says as entries of a properties file, in an order of its own.
func Read(r *report.Report, data []byte) []entry.Entry {
	w := &writer{Report: r, flows: map[string]*flow{}}
	docs, err := documents(data)
	if err != nil {
		r.Problem(report.At{}, "this is no YAML or JSON: "+err.Error(), "correct it")
		return nil
	}
	for _, n := range docs {
		switch kindOf(n) {
		case kindMirror:
			w.mirror(n)
		case kindConnector:
			w.connector(field(field(n, "spec"), "class"), field(field(n, "spec"), "config"), n.Line)
		case kindConfig:
			config := n
			if c := field(n, "config"); c != nil {
				config = c
			}
			w.connector(field(config, "connector.class"), config, n.Line)
		case kindConfigs:
			for _, c := range n.Content {
				w.connector(field(field(c, "config"), "connector.class"), field(c, "config"), c.Line)
			}
		default:
			r.Problem(report.At{Line: n.Line}, "this document is neither a KafkaMirrorMaker2 nor one of its connectors", "keep those only, in a file of their own")
		}
	}
	return w.entries()
}

// The forms of one document.
const (
	kindMirror    = "KafkaMirrorMaker2"
	kindConnector = "KafkaConnector"
	kindConfig    = "connector"  // {"name": ..., "config": {...}}, or the config alone
	kindConfigs   = "connectors" // a list of the former
)

func kindOf(n *yaml.Node) string {
	switch k := text(field(n, "kind")); {
	case k == kindMirror:
		return kindMirror
	case k == kindConnector && mirrors(field(field(n, "spec"), "class")):
		return kindConnector
	case mirrors(field(n, "connector.class")), mirrors(field(field(n, "config"), "connector.class")):
		return kindConfig
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return kindOf(c) != kindConfig || field(c, "config") == nil }):
		return kindConfigs
	}
	return ""
}

// mirrors says whether a class is one of MirrorMaker 2's connectors. Connect takes short names as well.
func mirrors(class *yaml.Node) bool { return shortClass(class) != "" }

func shortClass(class *yaml.Node) string {
	name := text(class)
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "Connector")
	if slices.Contains([]string{"MirrorSource", "MirrorCheckpoint", "MirrorHeartbeat"}, name) {
		return name
	}
	return ""
}

// documents parses all documents of a text.
func documents(data []byte) ([]*yaml.Node, error) {
	var out []*yaml.Node
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(doc.Content) > 0 && doc.Content[0].Tag != "!!null" {
			out = append(out, doc.Content[0])
		}
	}
}

// field is the value of a key of a mapping; nil where there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			v := n.Content[i+1]
			if v.Kind == yaml.AliasNode {
				return v.Alias
			}
			return v
		}
	}
	return nil
}

// text is a scalar as written; empty where it is none.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// flow is what is known of one pair of clusters.
type flow struct {
	source, target string
	line           int
	has            map[string]bool // which connectors there are
}

// writer collects entries.
type writer struct {
	*report.Report
	out       []entry.Entry
	aliases   []string
	line      int // of the first cluster
	variables bool
	flows     map[string]*flow
	order     []string
}

// put adds an entry. Connectors repeat what they have in common.
func (w *writer) put(line int, key, value string) {
	if slices.ContainsFunc(w.out, func(e entry.Entry) bool { return e.Key == key && e.Value == value }) {
		return
	}
	w.out = append(w.out, entry.Entry{Line: line, Key: key, Value: value})
}

// cluster notes an alias.
func (w *writer) cluster(alias string, line int) {
	if !slices.Contains(w.aliases, alias) {
		w.aliases = append(w.aliases, alias)
	}
	if w.line == 0 {
		w.line = line
	}
}

// flow is that of a pair.
func (w *writer) flow(source, target string, line int) *flow {
	name := source + "->" + target
	if w.flows[name] == nil {
		w.flows[name] = &flow{source: source, target: target, line: line, has: map[string]bool{}}
		w.order = append(w.order, name)
	}
	return w.flows[name]
}

// entries closes what was collected with what follows from it: a connector that is not there does nothing.
func (w *writer) entries() []entry.Entry {
	w.put(w.line, "clusters", strings.Join(w.aliases, ", "))
	for _, name := range w.order {
		f := w.flows[name]
		w.put(f.line, name+".enabled", "true")
		for _, c := range []struct{ class, key, does string }{
			{"MirrorCheckpoint", "emit.checkpoints.enabled", "no checkpoints are written and no group positions committed"},
			{"MirrorHeartbeat", "emit.heartbeats.enabled", "no heartbeats are written"},
		} {
			if !f.has[c.class] {
				w.put(f.line, name+"."+c.key, "false")
				w.Note(f.line, "flow %s: there is no %sConnector, so %s", name, c.class, c.does)
			}
		}
		if !f.has["MirrorSource"] {
			w.Problem(report.At{Line: f.line}, fmt.Sprintf("flow %s: there is no MirrorSourceConnector, so nothing would be mirrored", name), "put the configurations of all connectors of the flow into one file (several documents, or a JSON list)")
		}
	}
	if w.variables {
		w.put(w.line, "config.providers", "env")
		w.put(w.line, "config.providers.env.class", "org.apache.kafka.common.config.provider.EnvVarConfigProvider")
	}
	return w.out
}

// variable refers to an environment variable for what stands in a Secret, and says so.
func (w *writer) variable(line int, what, secret, key, name string) string {
	w.variables = true
	w.Note(line, "%s: from Secret %s, key %s; give it as environment variable %s (valueFrom.secretKeyRef)", what, secret, key, name)
	return "${env:" + name + "}"
}

// variableOf is the name of a variable about a cluster.
func variableOf(alias, what string) string {
	return "TIDEMARK_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, alias) + "_" + what
}

// scalars puts a mapping of plain values under a prefix.
func (w *writer) scalars(n *yaml.Node, prefix string, skip ...string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case slices.Contains(skip, key.Value):
		case value.Kind != yaml.ScalarNode:
			w.Problem(report.At{Line: key.Line, Key: prefix + key.Value}, "is no plain value", "write a string, a number, true or false")
		default:
			w.put(key.Line, prefix+key.Value, text(value))
		}
	}
}
