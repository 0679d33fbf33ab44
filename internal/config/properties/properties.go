package properties

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/config/entry"
	"tidemark/internal/config/provider"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// Keys that need more than their field's type to be read.
const (
	propClusters  = "clusters"
	propBootstrap = "bootstrap.servers"
	propClientID  = "client.id"
	propPolicy    = "replication.policy.class"
	propEnabled   = "enabled"
	propIsolation = "isolation.level"
	propReset     = "auto.offset.reset"
	policyPackage = "org.apache.kafka.connect.mirror."
)

// reader reads one MirrorMaker 2 properties file into a report.
//
// Whose value wins follows MirrorMaker 2. For a flow's settings: "A->B.key" before the top-level key. For a cluster's
// address and security: "A.key" before the top-level key. For what a consumer's keys say see reading.
type reader struct {
	*config.Draft

	aliases   []string
	providers provider.Set
	all       map[string]entry.Entry                     // by the whole key
	top       map[string]entry.Entry                     // keys at top level
	clusters  map[string]map[string]entry.Entry          // keys after "A."
	flows     map[config.FlowName]map[string]entry.Entry // keys after "A->B."
	known     map[scope][]string                         // what honoured said
}

func newReader(name, called string) *reader {
	f := form()
	f.Called = called
	return &reader{
		Draft:    config.NewDraft(name, f),
		top:      map[string]entry.Entry{},
		clusters: map[string]map[string]entry.Entry{},
		flows:    map[config.FlowName]map[string]entry.Entry{},
	}
}

// ExamineAs is Examine of a text of another form, called so, which from reads: it gives what a properties file would say.
func ExamineAs(called, name string, data []byte, outside provider.Outside, from func(*report.Report, []byte) []entry.Entry) config.Examined {
	m := newReader(name, called)
	entries := from(&m.Report, data)
	if len(m.Problems) > 0 { // what follows from half a file is noise
		return m.Examined()
	}
	m.read(entries, outside)
	return m.Examined()
}

// Examine reads a properties file of MirrorMaker 2. Values that refer to a configuration provider are looked up in
// outside.
func Examine(name string, data []byte, outside provider.Outside) config.Examined {
	m := newReader(name, "")
	if line := yamlLine(data); line > 0 {
		m.Problem(report.At{Line: line}, "this looks like YAML", "name the file .yaml, or write key = value pairs as MirrorMaker 2 does: clusters = A, B")
		return m.Examined()
	}
	m.read(entry.Read(&m.Report, data), outside)
	return m.Examined()
}

// read fills the draft from the entries, wherever they were written.
func (m *reader) read(entries []entry.Entry, outside provider.Outside) {
	m.sort(entries, outside)
	for _, alias := range m.aliases {
		m.AddCluster(m.cluster(alias), m.top[propClusters].At())
	}
	for _, name := range m.named() {
		f, where := m.flow(name)
		m.AddFlow(f, where, m.clients(f))
	}
	m.Check()
	m.explain()
}

// form is how such a file names what it sets.
func form() config.Form {
	return config.Form{Tag: "mm2", Bootstrap: func(alias string) string { return alias + "." + propBootstrap }}
}

// yamlLine is the line on which the clusters key begins a mapping or a list, as in YAML; 0 where none does. As a
// properties file the same text would give a handful of problems about aliases such as "{A:", and none of them the cause.
func yamlLine(data []byte) int {
	line := 0
	for text := range bytes.Lines(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		line++
		rest, ok := bytes.CutPrefix(text, []byte(propClusters+":"))
		if rest = bytes.TrimSpace(rest); ok && (len(rest) == 0 || bytes.IndexByte([]byte("{[#"), rest[0]) >= 0) {
			return line
		}
	}
	return 0
}

// named are the flows that the file speaks of: those with a key of their own and, with a top-level "enabled = true",
// every ordered pair of clusters, as in MirrorMaker 2.
func (m *reader) named() []config.FlowName {
	all := map[config.FlowName]bool{}
	for name := range m.flows {
		all[name] = true
	}
	if e, ok := m.top[propEnabled]; ok && m.is(e, "true") {
		m.Note(e.Line, "%s at top level enables a flow between every two clusters, in both directions", propEnabled)
		for _, a := range m.aliases {
			for _, b := range m.aliases {
				if a != b {
					all[config.FlowName{Source: a, Target: b}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b config.FlowName) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
}

// flow gives one flow its values: defaults, then the top level, then its own keys.
func (m *reader) flow(name config.FlowName) (config.Flow, config.Places) {
	f := config.DefaultFlow(name.Source, name.Target)
	f.Enabled, f.SyncGroupOffsets = false, false // MirrorMaker 2's defaults in a dedicated file
	where := config.Places{}
	own := m.flows[name]
	fields := setting.Of("mm2", &f)
	for _, layer := range []map[string]entry.Entry{m.top, own} {
		for _, old := range slices.Sorted(maps.Keys(renamedKeys())) {
			if e, ok := layer[old]; ok {
				m.renamed(e, old, layer, fields, where)
			}
		}
		for _, key := range setting.Keys(fields) {
			if e, ok := layer[key]; ok {
				m.set(fields[key], key, e, where)
			}
		}
		if e, ok := layer[propPolicy]; ok {
			m.policy(&f, e)
		}
	}
	m.reading(&f, name, where)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		m.judge(own[key], key, flowScope)
	}
	first := report.At{}
	for _, e := range own {
		if first.Line == 0 || e.Line < first.Line {
			first = e.At()
		}
	}
	if e, ok := own[propEnabled]; ok {
		first = e.At()
	}
	if first.Line == 0 {
		first = m.top[propEnabled].At()
	}
	where[""] = first
	return f, where
}

// renamed reads a key of MirrorMaker 2 before 4.0 (topics.blacklist). Version 4 ignores it and so mirrors what was
// excluded before; the one who wrote it meant it.
func (m *reader) renamed(e entry.Entry, old string, layer map[string]entry.Entry, fields map[string]setting.Setting, where config.Places) {
	now := renamedKeys()[old]
	if _, both := layer[now]; both {
		m.Note(e.Line, "%s has no effect beside %s", e.Key, now)
		return
	}
	m.Note(e.Line, "%s is read as %s, its name since Kafka 4.0", e.Key, now)
	m.set(fields[now], now, e, where)
}

// set reads one value by the type of its field; key is the entry's key without the prefix, whose ending names the unit
// of an interval.
func (m *reader) set(s setting.Setting, key string, e entry.Entry, where config.Places) {
	value, ok := m.text(e)
	if !ok {
		return
	}
	where[s.Field] = e.At()
	var f *report.Fault
	switch s.Value.Interface().(type) {
	case []string:
		faults := s.SetList(setting.SplitList(value))
		if _, borrowed := m.Lent(e.At()); borrowed {
			for i := range faults {
				faults[i].Do = "correct it there" // the hint may quote a part of the pattern
			}
		}
		m.Faults(e.At(), faults)
		return
	case time.Duration:
		f = setSeconds(s, key, value)
	default:
		f = s.Set(value)
	}
	if f != nil {
		m.Problem(e.At(), f.What, f.Do)
	}
}

// setSeconds reads a whole number in the unit that the key ends in.
func setSeconds(s setting.Setting, key, value string) *report.Fault {
	unit, name := time.Second, "seconds"
	if strings.HasSuffix(key, ".ms") {
		unit, name = time.Millisecond, "milliseconds"
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > int64(1<<62)/int64(unit) || n < -int64(1<<62)/int64(unit) {
		return report.Wrong(fmt.Sprintf("%q is no number of %s", value, name), "write a whole number")
	}
	return s.SetDuration(time.Duration(n) * unit)
}

// is compares the entry's value with a word, whatever the case.
func (m *reader) is(e entry.Entry, word string) bool {
	value, ok := m.text(e)
	return ok && strings.EqualFold(value, word)
}

// policy reads replication.policy.class. A Java class cannot be loaded, and one that is not known may name topics in
// any way, so going on with another policy would mirror into the wrong topics.
func (m *reader) policy(f *config.Flow, e entry.Entry) {
	value, ok := m.text(e)
	if !ok {
		return
	}
	switch strings.TrimPrefix(value, policyPackage) {
	case "DefaultReplicationPolicy":
		f.Policy = config.PolicyDefault
	case "IdentityReplicationPolicy":
		f.Policy = config.PolicyIdentity
	default:
		m.Problem(e.At(), fmt.Sprintf("replication policy %q is a Java class that cannot be loaded here", value),
			"use "+policyPackage+"DefaultReplicationPolicy (A.topic), with replication.policy.separator for another separator, or "+policyPackage+"IdentityReplicationPolicy (names are kept)")
	}
}

// reading finds the settings of the flow's reads that MirrorMaker 2 takes from its consumer: the isolation level, and where
// a partition begins. It builds that consumer in layers; from the weakest: "A->B.consumer.", "A.consumer.",
// "A->B.source.consumer.". A top-level "source.consumer." has no effect there; here it is the weakest layer, since it can
// only mean this.
func (m *reader) reading(f *config.Flow, name config.FlowName, where config.Places) {
	for _, key := range readingKeys() {
		v := reflect.ValueOf(f).Elem().FieldByName(key.field)
		for _, layer := range []struct {
			entries map[string]entry.Entry
			key     string
		}{
			{m.top, "source.consumer." + key.name},
			{m.flows[name], "consumer." + key.name},
			{m.clusters[name.Source], "consumer." + key.name},
			{m.flows[name], "source.consumer." + key.name},
		} {
			if e, ok := layer.entries[layer.key]; ok {
				m.set(setting.Setting{Field: key.field, Value: v, Choice: key.choice}, layer.key, e, where)
			}
		}
	}
}

// readingKey is a key of the source's consumer that sets a field of Flow.
type readingKey struct {
	name, field string
	choice      []string
}

func readingKeys() []readingKey {
	return []readingKey{
		{propIsolation, "Isolation", []string{config.ReadCommitted, config.ReadUncommitted}},
		{propReset, "Start", []string{config.StartEarliest, config.StartLatest}},
	}
}

// explain notes where a default differs from what the file's reader may expect, and every key that has no effect.
func (m *reader) explain() {
	for _, key := range slices.Sorted(maps.Keys(m.top)) {
		m.judge(m.top[key], key, topScope)
	}
	for _, alias := range m.aliases {
		for _, key := range slices.Sorted(maps.Keys(m.clusters[alias])) {
			e := m.clusters[alias][key]
			if _, both := m.top[e.Key]; both && !m.ofCluster(key) {
				continue // it was judged at top level
			}
			m.judge(e, key, clusterScope)
		}
	}
	for _, f := range m.EnabledFlows() {
		where, _ := m.Flow(f.Name())
		if _, given := where["SyncGroupOffsets"]; !given {
			m.NoteOn(0, "SyncGroupOffsets", "flow %s: group positions are translated but not committed on %s, as is MirrorMaker 2's default; sync.group.offsets.enabled = true commits them", f.Name(), f.Target)
		}
		if _, given := where["Isolation"]; !given {
			m.NoteOn(0, "Isolation", "flow %s: only committed records are copied, where MirrorMaker 2's default also copies aborted ones; %s.consumer.isolation.level = read_uncommitted gives that", f.Name(), f.Source)
		}
	}
}
