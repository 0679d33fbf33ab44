package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// The keys of the file and of a cluster that hold more than one value.
const (
	keyClusters = "clusters"
	keyDefaults = "defaults"
	keyFlows    = "flows"
	keySecurity = "security"
)

// Examine reads the YAML form. It walks the nodes itself instead of decoding into structs: yaml's own strict mode
// reports unknown keys without a suggestion, and quotes the values of wrong types, passwords included.
func Examine(name string, data []byte) config.Examined {
	y := reader{config.NewDraft(name, config.Form{Tag: "yaml", Bootstrap: bootstrapKey})}
	root := y.document(data)
	if root == nil {
		return y.Examined()
	}
	parts := y.mapping(root, "", []string{keyClusters, keyDefaults, keyFlows})
	if n, ok := parts[keyClusters]; ok {
		y.clusters(n)
	} else {
		y.Problem(report.At{}, "there is no "+keyClusters+" key", "name the clusters: clusters: {A: {bootstrap: ...}, B: {bootstrap: ...}}")
	}
	if n, ok := parts[keyFlows]; ok {
		y.flows(n, parts[keyDefaults])
	} else {
		y.Problem(report.At{}, "there is no "+keyFlows+" key", "say what to mirror: flows: [{from: A, to: B}]")
	}
	y.Check()
	return y.Examined()
}

// bootstrapKey is the key of a cluster's addresses.
func bootstrapKey(alias string) string { return join(join(keyClusters, alias), "bootstrap") }

// reader reads one YAML file into a report.
type reader struct{ *config.Draft }

// document parses the text and returns the one document's root, or nil after having reported why there is none.
func (y *reader) document(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		y.Problem(report.At{}, "the file is empty", "name clusters and flows, see docs/config.md")
		return nil
	case err != nil:
		y.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		y.Problem(report.At{Line: second.Line}, "a second document begins here", "keep one document in the file (no --- line in the middle)")
		return nil
	case !errors.Is(err, io.EOF):
		y.syntax(err)
		return nil
	}
	if len(doc.Content) == 0 {
		y.Problem(report.At{}, "the file is empty", "name clusters and flows, see docs/config.md")
		return nil
	}
	return doc.Content[0]
}

func (y *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	where := report.At{}
	if _, err := fmt.Sscanf(text, "line %d:", &where.Line); err == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	if strings.Contains(text, "unknown anchor") {
		// The text of yaml's message holds the value, which may be a password that begins with a star.
		text = "a value that begins with * refers to an anchor that does not exist"
	}
	y.Problem(where, "this is no YAML: "+text, "quote values with special characters, and indent with blanks")
}

// mapping returns the values of a mapping by key, and reports keys that are unknown or there twice.
func (y *reader) mapping(n *yaml.Node, path string, known []string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		y.Problem(report.At{Line: n.Line, Key: path}, "is "+kindOf(n)+" where key: value pairs belong", "see docs/config.md")
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		where := report.At{Line: key.Line, Key: join(path, key.Value)}
		switch _, twice := out[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			y.Problem(report.At{Line: key.Line, Key: path}, "a key is "+kindOf(key), "write a plain word as the key")
		case twice:
			y.Problem(where, "is there twice", "keep one of them")
		case known != nil && !slices.Contains(known, key.Value):
			y.Problem(where, "unknown key", suggest(key.Value, known))
		default:
			out[key.Value] = value
		}
	}
	return out
}

// suggest is what to do about an unknown key.
func suggest(key string, known []string) string {
	if key == "<<" {
		return "merge keys are not read: put what flows share under defaults"
	}
	if n := report.Nearest(key, known); n != "" {
		return fmt.Sprintf("did you mean %s?", n)
	}
	return "the keys here are " + strings.Join(known, ", ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// into sets the fields of the targets from a mapping, and returns where each field was set. The keys in nested are
// left to the caller, who gets their nodes.
func (y *reader) into(n *yaml.Node, path, tag string, nested []string, targets ...any) (map[string]report.At, map[string]*yaml.Node) {
	all := setting.Of(tag, targets...)
	parts := y.mapping(n, path, append(setting.Keys(all), nested...))
	where := map[string]report.At{}
	for _, key := range setting.Keys(all) { // in a fixed order, so that problems of one line are
		s := all[key]
		value, ok := parts[key]
		if !ok {
			continue
		}
		here := report.At{Line: value.Line, Key: join(path, key)}
		where[s.Field] = here
		y.value(resolve(value), here, s)
	}
	return where, parts
}

// value sets one field from a node of the right type.
func (y *reader) value(n *yaml.Node, here report.At, s setting.Setting) {
	wrong := func(want string) {
		y.Problem(here, "is "+kindOf(n)+" where "+want+" belongs", "see docs/config.md")
	}
	var f *report.Fault
	switch s.Value.Interface().(type) {
	case []string:
		y.list(n, here, s)
		return
	case bool:
		if n.Tag != "!!bool" {
			wrong("true or false")
			return
		}
		f = s.Set(n.Value)
	case int, int16:
		if n.Tag != "!!int" {
			wrong("a whole number")
			return
		}
		f = s.Set(n.Value)
	case time.Duration:
		f = duration(n, s)
	default: // text, secrets and sizes: a number or word is what it looks like in the file
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			wrong("a text")
			return
		}
		f = s.Set(n.Value)
		if f == nil && s.Kind == "path" && !filepath.IsAbs(n.Value) {
			// From the file's folder, so that the pair can be moved together and the working directory never matters.
			s.Value.SetString(filepath.Join(filepath.Dir(y.File), n.Value))
		}
	}
	if f != nil {
		y.Problem(here, f.What, f.Do)
	}
}

// duration reads 500ms, 10s, 5m, 1h.
func duration(n *yaml.Node, s setting.Setting) *report.Fault {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return report.Wrong("is "+kindOf(n)+" where a duration belongs", "write a number with its unit, such as 500ms, 10s or 5m")
	}
	return s.SetDuration(d)
}

// list reads a sequence, or one text. Addresses in one text are cut at commas; patterns are not, since a comma may
// belong to the expression (a{1,3}) and MirrorMaker 2's cut would change it silently.
func (y *reader) list(n *yaml.Node, here report.At, s setting.Setting) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		elements := []string{n.Value}
		if s.Kind == "addresses" {
			elements = setting.SplitList(n.Value)
		} else if strings.Contains(n.Value, ",") {
			y.Problem(here, "is one text with a comma in it", "write a list: ["+strings.Join(setting.SplitList(n.Value), ", ")+"]")
			return
		}
		y.Faults(here, withoutCommas(s.SetList(elements)))
		return
	}
	if n.Kind != yaml.SequenceNode {
		y.Problem(here, "is "+kindOf(n)+" where a list belongs", "write [one, two], or [] for an empty list")
		return
	}
	elements := make([]string, 0, len(n.Content))
	for _, e := range n.Content {
		e = resolve(e)
		if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
			y.Problem(report.At{Line: e.Line, Key: here.Key}, "an element is "+kindOf(e)+" where a text belongs", "write one text for each element")
			continue
		}
		elements = append(elements, e.Value)
	}
	y.Faults(here, withoutCommas(s.SetList(elements)))
}

// withoutCommas takes out of what to do about a pattern that a comma ends it: that is so in a properties file only.
func withoutCommas(faults []report.Fault) []report.Fault {
	const comma = "a comma ends a pattern of a list"
	for i := range faults {
		faults[i].Do = strings.NewReplacer(" ("+comma+")", "", " (aa|aaa for a{2,3}: "+comma+")", ", such as a{2,3}").Replace(faults[i].Do)
	}
	return faults
}

// resolve follows a reference to an anchor. yaml never parses a chain of them, so one step is enough.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// kindOf names what a node is, never its value: it may be a password.
func kindOf(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		return "a mapping"
	}
	if n.Kind == yaml.SequenceNode {
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "empty"
	case "!!bool":
		return "true or false"
	case "!!int":
		return "a number"
	case "!!float":
		return "a number with a fraction"
	}
	return "a text"
}
