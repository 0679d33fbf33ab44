package yamlfile

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
)

// clusters reads the mapping alias: {bootstrap, client_id, security}.
func (y *reader) clusters(n *yaml.Node) {
	nodes := y.mapping(n, keyClusters, nil)
	for _, alias := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[alias]
		path := join(keyClusters, alias)
		cluster := config.DefaultCluster(alias)
		where, parts := y.into(node, path, "yaml", []string{keySecurity, keyClient}, &cluster)
		cluster.From = report.Origins{File: y.File, Fields: where}
		if _, ok := where["Bootstrap"]; !ok && resolve(node).Kind == yaml.MappingNode {
			y.Problem(report.At{Line: node.Line, Key: path}, "has no bootstrap", "give the address of one or more brokers: bootstrap: host:9092")
		}
		if s, ok := parts[keySecurity]; ok {
			y.security(s, join(path, keySecurity), &cluster)
		}
		if s, ok := parts[keyClient]; ok {
			y.tune(s, join(path, keyClient), &cluster, config.AnyRole)
		}
		y.AddCluster(cluster, report.At{Line: node.Line, Key: path})
	}
}

// flows reads the list of flows; each starts from the built-in defaults, then the file's defaults mapping.
func (y *reader) flows(n, defaults *yaml.Node) {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		y.Problem(report.At{Line: n.Line, Key: keyFlows}, "is "+kindOf(n)+" where a list belongs", "write flows: [{from: A, to: B}]")
		return
	}
	if defaults != nil {
		y.defaults(defaults, &config.Flow{})
	}
	for i, node := range n.Content {
		path := fmt.Sprintf("%s[%d]", keyFlows, i)
		f := config.DefaultFlow("", "")
		where := config.Places{}
		if defaults != nil {
			where = y.defaults(defaults, &f)
		}
		own, parts := y.into(node, path, "yaml", []string{keyClients}, &f)
		maps.Copy(where, own)
		where[""] = report.At{Line: node.Line, Key: path}
		if _, ok := own["Source"]; !ok && resolve(node).Kind == yaml.MappingNode {
			y.Problem(where[""], "has no from", "add from: the alias of the source cluster")
		}
		if _, ok := own["Target"]; !ok && resolve(node).Kind == yaml.MappingNode {
			y.Problem(where[""], "has no to", "add to: the alias of the target cluster")
		}
		if f.Source == "" || f.Target == "" {
			continue
		}
		if _, given := where["SourceAlias"]; !given {
			f.SourceAlias = f.Source
		}
		if _, given := where["TargetAlias"]; !given {
			f.TargetAlias = f.Target
		}
		factors(&f, where)
		if first, twice := y.Flow(f.Name()); twice {
			y.Problem(where[""], fmt.Sprintf("flow %s is there twice, see line %d", f.Name(), first[""].Line), "keep one of them")
			continue
		}
		y.AddFlow(f, where, y.clients(parts[keyClients], join(path, keyClients), f))
	}
}

// defaults sets the flow's fields from the defaults mapping, which knows every key of a flow but from and to.
func (y *reader) defaults(n *yaml.Node, f *config.Flow) config.Places {
	where, _ := y.into(n, keyDefaults, "yaml", nil, f)
	for _, field := range []string{"Source", "Target"} {
		if here, ok := where[field]; ok {
			y.Problem(here, "has no default", "write it in each flow")
		}
		delete(where, field)
	}
	return where
}

// factors lets replication_factor stand for all four factors where the others are not given: whoever writes 1 for a
// one-broker cluster, or 3 for all, means every topic that is created.
func factors(f *config.Flow, where config.Places) {
	general, ok := where["ReplicationFactor"]
	if !ok {
		return
	}
	for field, factor := range map[string]*int16{
		"OffsetSyncsReplicationFactor": &f.OffsetSyncsReplicationFactor,
		"CheckpointsReplicationFactor": &f.CheckpointsReplicationFactor,
		"HeartbeatsReplicationFactor":  &f.HeartbeatsReplicationFactor,
	} {
		if _, given := where[field]; !given {
			*factor, where[field] = f.ReplicationFactor, general
		}
	}
}
