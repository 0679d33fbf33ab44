package lintfile

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/config"
)

// ClientsReport is what the clients of the enabled flows of a file work with.
type ClientsReport struct {
	File  string        `json:"file"`
	Flows []FlowClients `json:"flows"`
}

// FlowClients are the clients of one flow.
type FlowClients struct {
	Name    string   `json:"flow"` // "A->B"
	Clients []Client `json:"clients"`
}

// Client is one client of a flow.
type Client struct {
	Role     config.Role `json:"role"`
	Cluster  string      `json:"cluster"` // alias
	Does     string      `json:"does"`
	Settings []Setting   `json:"settings"`
}

// Setting is one value and where the file sets it.
type Setting struct {
	Name  string `json:"name"` // the key in YAML
	Value string `json:"value"`
	Key   string `json:"key,omitempty"` // as the file writes it; empty for a default
	Line  int    `json:"line,omitempty"`
	Fixed bool   `json:"fixed,omitempty"` // no key changes it
}

// Clients says what each client of each enabled flow works with. The file must be one that can be used.
func Clients(file string, e config.Examined) ClientsReport {
	out := ClientsReport{File: file, Flows: []FlowClients{}}
	for _, f := range e.Config.EnabledFlows() {
		fc := FlowClients{Name: f.Name().String()}
		for _, r := range config.Roles() {
			c := Client{Role: r, Cluster: e.Config.Client(f.Name(), r).Alias, Does: does(f, r), Settings: []Setting{}}
			for _, u := range e.Config.Uses(f.Name(), r) {
				c.Settings = append(c.Settings, Setting{Name: u.Name, Value: u.Value, Key: u.Key, Line: u.Line})
			}
			c.Settings = append(c.Settings, racks(e, f, r)...)
			switch r {
			case config.SourceConsumer:
				c.Settings = append(c.Settings, given(e, f, "isolation", "Isolation", f.Isolation), given(e, f, "start", "Start", f.Start))
			case config.RecordProducer:
				c.Settings = append(c.Settings, Setting{Name: "acks", Value: "all", Fixed: true}, Setting{Name: "idempotence", Value: "true", Fixed: true})
			default:
			}
			fc.Clients = append(fc.Clients, c)
		}
		out.Flows = append(out.Flows, fc)
	}
	return out
}

// given is a setting of the flow.
func given(e config.Examined, f config.Flow, name, field, value string) Setting {
	key, line, _ := e.Given(f.Name(), field)
	return Setting{Name: name, Value: value, Key: key, Line: line}
}

// racks are what the file sets for a consumer to read from the nearest replica, which is not done. It is the one setting
// without effect that has a place here: who set it looks for it among those of the client.
func racks(e config.Examined, f config.Flow, r config.Role) (out []Setting) {
	side, kind, _ := strings.Cut(string(r), "_")
	if kind != "consumer" {
		return nil
	}
	alias, flow := map[string]string{"source": f.Source, "target": f.Target}[side], f.Name().String()
	for _, n := range e.Remarks {
		place, rack := strings.CutSuffix(n.Key, ".client.rack")
		if rack && slices.Contains([]string{alias, alias + ".consumer", flow + ".consumer", flow + "." + side + ".consumer"}, place) {
			_, why, _ := strings.Cut(n.Text, " has no effect: ")
			out = append(out, Setting{Name: "client_rack", Value: "not used: " + why, Key: n.Key, Line: n.Line})
		}
	}
	return out
}

// does says what a client is there for.
func does(f config.Flow, r config.Role) string {
	syncs := f.EmitOffsetSyncs && f.OffsetSyncsLocation == config.LocationTarget
	switch r {
	case config.SourceConsumer:
		return "reads records"
	case config.SourceAdmin:
		return "reads topics, their settings, access rules and group positions"
	case config.SourceProducer:
		if !f.EmitOffsetSyncs || syncs {
			return "writes nothing, since no offset syncs are kept on the source"
		}
		return "writes offset syncs"
	case config.RecordProducer:
		return "writes records"
	case config.TargetProducer:
		if syncs {
			return "writes checkpoints, heartbeats and offset syncs"
		}
		return "writes checkpoints and heartbeats"
	case config.TargetConsumer:
		return "reads verdicts, for group sync"
	case config.TargetAdmin:
		return "owns lanes, makes topics and commits group positions"
	case config.AnyRole: // no client of a flow has it
	}
	return ""
}

// Text is the report for people.
func (r ClientsReport) Text() string {
	var b strings.Builder
	for i, f := range r.Flows {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Flow %s\n", f.Name)
		for _, c := range f.Clients {
			fmt.Fprintf(&b, "\n  %s, on cluster %s: %s\n", c.Role, c.Cluster, c.Does)
			wide := 0
			for _, s := range c.Settings {
				wide = max(wide, len(s.Value))
			}
			for _, s := range c.Settings {
				fmt.Fprintf(&b, "    %-22s %-*s  %s\n", s.Name, min(wide, 44), s.Value, s.from())
			}
		}
	}
	return b.String()
}

// from says where a value comes from.
func (s Setting) from() string {
	switch {
	case s.Fixed:
		return "always"
	case s.Key == "":
		return "default"
	}
	return fmt.Sprintf("%s (line %d)", s.Key, s.Line)
}
