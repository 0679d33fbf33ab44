package config

import (
	"cmp"
	"slices"

	"tidemark/internal/config/report"
)

// Form is how a kind of file names what it sets.
type Form struct {
	Tag       string                    // the tag of Flow that holds its keys: yaml or mm2
	Called    string                    // for people; empty: what the tag says
	Bootstrap func(alias string) string // the key that holds a cluster's addresses
}

// Places are where a file sets the fields of a flow, by name of the field; "" is the flow itself.
type Places map[string]report.At

// of is the field's place, or the flow's where the file does not set the field.
func (p Places) of(field string) report.At {
	if where, ok := p[field]; ok {
		return where
	}
	return p[""]
}

// Draft is a Config that is put together from one file, with all that there is to say about the file. Whoever reads a form
// adds the clusters, then the flows and their clients, then has it checked, and takes what came of it.
type Draft struct {
	report.Report

	config   *Config
	clients  map[FlowName]map[Role]Cluster
	clusters map[string]report.At
	flows    map[FlowName]Places
}

// NewDraft has no cluster and no flow. file is its name in problems.
func NewDraft(file string, form Form) *Draft {
	d := &Draft{
		Report: report.Report{File: file}, config: &Config{File: file, Clusters: map[string]Cluster{}, form: form},
		clients: map[FlowName]map[Role]Cluster{}, clusters: map[string]report.At{}, flows: map[FlowName]Places{},
	}
	d.config.clients = func(f FlowName) map[Role]Cluster { return d.clients[f] }
	return d
}

// AddCluster adds a cluster that is named at a place.
func (d *Draft) AddCluster(c Cluster, here report.At) {
	d.config.Clusters[c.Alias], d.clusters[c.Alias] = c, here
}

// Cluster is one that was added.
func (d *Draft) Cluster(alias string) (c Cluster, ok bool) {
	c, ok = d.config.Clusters[alias]
	return c, ok
}

// AddFlow adds a flow with its clients, those that do not use what their clusters say.
func (d *Draft) AddFlow(f Flow, where Places, clients map[Role]Cluster) {
	d.config.Flows = append(d.config.Flows, f)
	d.flows[f.Name()], d.clients[f.Name()] = where, clients
}

// Flow is where a flow that was added sets its fields.
func (d *Draft) Flow(name FlowName) (where Places, ok bool) {
	where, ok = d.flows[name]
	return where, ok
}

// EnabledFlows are those that were added and are to run.
func (d *Draft) EnabledFlows() []Flow { return d.config.EnabledFlows() }

// Examined is all that was found, in the order of the file, with the config where there is no problem.
func (d *Draft) Examined() Examined {
	problems, remarks := d.Sorted()
	out := Examined{Problems: problems, Remarks: remarks}
	if len(problems) > 0 {
		return out
	}
	c := d.config
	for _, n := range remarks {
		if n.Warn {
			c.Warnings = append(c.Warnings, n.String())
		} else {
			c.Notes = append(c.Notes, n.String())
		}
	}
	slices.SortFunc(c.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	out.Config, out.flows = c, d.flows
	return out
}

// Result is the config, or the problems as an error.
func (e Examined) Result() (*Config, error) {
	if len(e.Problems) > 0 {
		return nil, e.Problems
	}
	return e.Config, nil
}
