package resource

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config/report"
)

// connector takes the configuration of one of MirrorMaker 2's connectors on a Connect cluster. What it calls source.cluster.x is
// x of the source there, and everything else is a setting of the flow.
func (w *writer) connector(class, config *yaml.Node, line int) {
	source, target := text(field(config, "source.cluster.alias")), text(field(config, "target.cluster.alias"))
	if source == "" || target == "" {
		w.Problem(report.At{Line: line}, "source.cluster.alias and target.cluster.alias do not name two clusters", "name both: the clusters have no other names here")
		return
	}
	w.cluster(source, line)
	w.cluster(target, line)
	f := w.flow(source, target, line)
	f.has[shortClass(class)] = true
	for i := 0; i+1 < len(config.Content); i += 2 {
		key, value := config.Content[i], config.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			w.Problem(report.At{Line: key.Line, Key: key.Value}, "is no plain value", "write a string, a number, true or false")
			continue
		}
		switch of, rest, ok := side(key.Value); {
		case key.Value == "name", key.Value == "connector.class", key.Value == "source.cluster.alias", key.Value == "target.cluster.alias":
		case ok && of == "source":
			w.put(key.Line, source+"."+rest, text(value))
		case ok:
			w.put(key.Line, target+"."+rest, text(value))
		default:
			w.put(key.Line, source+"->"+target+"."+key.Value, text(value))
		}
	}
}

// side takes "source.cluster.x" apart.
func side(key string) (of, rest string, ok bool) {
	for _, of := range []string{"source", "target"} {
		if rest, ok := strings.CutPrefix(key, of+".cluster."); ok {
			return of, rest, true
		}
	}
	return "", "", false
}
