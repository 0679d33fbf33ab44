package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/config/entry"
	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
)

// Outside is what the values of a properties file reach through configuration providers. A nil function means that
// nothing of its kind can be reached; the zero Outside keeps parsing pure.
type Outside struct {
	ReadFile  func(name string) ([]byte, error)
	LookupEnv func(name string) (value string, set bool)
}

// Process is the Outside of this process: its files and its environment.
func Process() Outside { return Outside{ReadFile: os.ReadFile, LookupEnv: os.LookupEnv} }

// The providers that Kafka comes with, by the full names of their classes.
const (
	providerPackage   = "org.apache.kafka.common.config.provider."
	providerFile      = "FileConfigProvider"
	providerDirectory = "DirectoryConfigProvider"
	providerEnv       = "EnvVarConfigProvider"
)

func providerClasses() []string { return []string{providerFile, providerDirectory, providerEnv} }

// Parameters of the providers, after "config.providers.<name>.param.".
const (
	paramAllowlist = "allowlist.pattern" // of variables, for the environment
	paramPaths     = "allowed.paths"     // of files and folders, for the other two
)

// provider is one name of config.providers.
type provider struct {
	class string         // one of providerClasses; "" where it can answer nothing
	fault report.Fault   // why class is empty
	allow *regexp.Regexp // nil allows every variable
	paths []string       // absolute and clean; nil allows every path
}

// reference is one ${provider:path:key} or ${provider:key} in a value.
type reference struct {
	text, provider, path, key string
}

// references finds them as Kafka's ConfigTransformer does, with its own expression: several in one value, and a value
// that is put in place is not looked at again. ${VAR} has no colon and is text. The places are of each one in the value.
func references(value string) (found []reference, places [][2]int) {
	pattern := regexp.MustCompile(`\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}`)
	group := func(at []int, n int) string {
		if at[2*n] < 0 {
			return ""
		}
		return value[at[2*n]:at[2*n+1]]
	}
	for _, at := range pattern.FindAllStringSubmatchIndex(value, -1) {
		found = append(found, reference{group(at, 0), group(at, 1), group(at, 3), group(at, 4)})
		places = append(places, [2]int{at[0], at[1]})
	}
	return found, places
}

// readProviders finds the providers that the file declares. Their own keys are never looked up in another provider.
func (m *mm2File) readProviders(last map[string]entry.Entry) {
	m.providers = map[string]provider{}
	for _, name := range setting.SplitList(last[propProviders].Value) {
		m.providers[name] = m.provider(name, last)
	}
}

func (m *mm2File) provider(name string, last map[string]entry.Entry) provider {
	prefix := propProviders + "." + name + "."
	known := providerPackage + strings.Join(providerClasses(), ", "+providerPackage)
	e, ok := last[prefix+"class"]
	class := strings.TrimSpace(e.Value)
	short := strings.TrimPrefix(class, providerPackage)
	switch {
	case !ok:
		return provider{fault: *report.Wrong(fmt.Sprintf("the file has no %sclass, so the provider %q can answer nothing", prefix, name), "set it to one of "+known)}
	case class == short || !slices.Contains(providerClasses(), short):
		return provider{fault: *report.Wrong(fmt.Sprintf("provider %q is the Java class %q, which cannot be loaded here", name, class), "use one of "+known)}
	}
	p := provider{class: short}
	if e, ok := last[prefix+"param."+paramAllowlist]; ok && short == providerEnv {
		allow, err := regexp.Compile("^(?:" + strings.TrimSpace(e.Value) + ")$")
		if err != nil {
			m.Problem(e.At(), "is no regular expression in RE2 syntax, which says what may be read", "see https://pkg.go.dev/regexp/syntax")
			allow = regexp.MustCompile(`[^\s\S]`) // nothing
		}
		p.allow = allow
	}
	if e, ok := last[prefix+"param."+paramPaths]; ok && short != providerEnv {
		for _, path := range setting.SplitList(e.Value) {
			if !filepath.IsAbs(path) {
				m.Problem(e.At(), fmt.Sprintf("%q is no absolute path", path), "write paths that begin with /")
			}
			p.paths = append(p.paths, filepath.Clean(path))
		}
	}
	return p
}

// text is the entry's value, with what its references stand for, without the blanks around it. Java leaves a reference
// that cannot be looked up as it is; here it is a problem, since no value that has an effect can mean the text itself.
func (m *mm2File) text(e entry.Entry) (string, bool) {
	found, places := references(e.Value)
	if len(found) == 0 {
		return strings.TrimSpace(e.Value), true
	}
	var b strings.Builder
	from, good := 0, true
	for i, ref := range found {
		value, f := m.lookup(ref)
		if f != nil {
			m.Add(report.Problem{File: m.File, Line: e.Line, Key: e.Key, What: f.What, Do: f.Do})
			good = false
			continue
		}
		if strings.TrimRight(value, "\r\n") != value && places[i] != [2]int{0, len(e.Value)} {
			m.Note(e.Line, "%s: what %s stands for ends in a line end, which stays inside the value", e.Key, ref.text)
		}
		b.WriteString(e.Value[from:places[i][0]])
		b.WriteString(value)
		from = places[i][1]
	}
	b.WriteString(e.Value[from:])
	if !good {
		return "", false
	}
	m.borrow(e, found)
	return strings.TrimSpace(b.String()), true
}

// borrow notes that the entry's value is not written in the file, so that no problem may quote it.
func (m *mm2File) borrow(e entry.Entry, found []reference) {
	texts := make([]string, len(found))
	for i, ref := range found {
		texts[i] = ref.text
	}
	m.Report.Borrow(e.At(), strings.Join(texts, " and "), !discreet(e.Key))
}

// lookup asks the provider that a reference names. Where that is no provider of the file, the fault does not show the
// reference: it may be a password that was never meant as one.
func (m *mm2File) lookup(ref reference) (string, *report.Fault) {
	p, ok := m.providers[ref.provider]
	if !ok {
		do := "declare the provider with config.providers and config.providers.<name>.class; if the text itself is meant, use the YAML form, where a dollar sign is a dollar sign"
		if len(m.providers) > 0 {
			do = "config.providers lists " + strings.Join(sortedKeys(m.providers), ", ") + "; " + do
		}
		return "", report.Wrong("takes its value from a configuration provider, ${provider:key}, that the file does not declare", do)
	}
	switch p.class {
	case providerFile:
		return m.lookupFile(p, ref)
	case providerDirectory:
		return m.lookupDirectory(p, ref)
	case providerEnv:
		return m.lookupEnv(p, ref)
	}
	f := p.fault
	return "", &f
}

func sortedKeys(all map[string]provider) []string {
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// lookupFile reads one key of a properties file. That file is UTF-8, as for Kafka, where this one is ISO-8859-1.
func (m *mm2File) lookupFile(p provider, ref reference) (string, *report.Fault) {
	if ref.path == "" {
		return "", report.Wrong(ref.text+" names no file", "write ${"+ref.provider+":/path/of/file:key}")
	}
	data, f := m.read(p, ref, ref.path, ref.path)
	if f != nil {
		return "", f
	}
	value, ok, err := entry.Find(data, ref.key)
	switch {
	case err != nil:
		return "", report.Wrong(fmt.Sprintf("%s: %s cannot be read as a properties file: %v", ref.text, ref.path, err), "correct it there")
	case !ok:
		return "", report.Wrong(fmt.Sprintf("%s: there is no key %s in %s", ref.text, ref.key, ref.path), "add it there, or correct the name here")
	}
	return value, nil
}

// lookupDirectory reads one file of a folder, whole: a line end at its end belongs to the value, as for Kafka.
func (m *mm2File) lookupDirectory(p provider, ref reference) (string, *report.Fault) {
	if ref.path == "" {
		return "", report.Wrong(ref.text+" names no folder", "write ${"+ref.provider+":/path/of/folder:file}")
	}
	if ref.key == "" || ref.key == "." || ref.key == ".." || strings.ContainsAny(ref.key, `/\`) {
		return "", report.Wrong(ref.text+": the key is no name of a file in the folder", "write ${"+ref.provider+":/path/of/folder:file}")
	}
	data, f := m.read(p, ref, ref.path, filepath.Join(ref.path, ref.key))
	return string(data), f
}

// read reads a file whose path, or whose folder's path, a reference gives.
func (m *mm2File) read(p provider, ref reference, path, name string) ([]byte, *report.Fault) {
	clean := filepath.Clean(path)
	inside := func(allowed string) bool {
		return clean == allowed || strings.HasPrefix(clean, strings.TrimSuffix(allowed, "/")+"/")
	}
	if p.paths != nil && !slices.ContainsFunc(p.paths, inside) {
		return nil, report.Wrong(
			fmt.Sprintf("%s: %s is not below a path of config.providers.%s.param.%s", ref.text, path, ref.provider, paramPaths),
			"add its folder there, or move the file",
		)
	}
	if m.outside.ReadFile == nil {
		return nil, report.Wrong(ref.text+": no other file is read here", "write the value itself")
	}
	data, err := m.outside.ReadFile(name)
	if err != nil {
		return nil, report.Wrong(fmt.Sprintf("%s: %v", ref.text, err), "correct the path, or make the file readable for this user")
	}
	return data, nil
}

func (m *mm2File) lookupEnv(p provider, ref reference) (string, *report.Fault) {
	switch {
	case ref.path != "":
		return "", report.Wrong(ref.text+": an environment variable has no path", "write ${"+ref.provider+":VARIABLE}")
	case p.allow != nil && !p.allow.MatchString(ref.key):
		return "", report.Wrong(
			fmt.Sprintf("%s: variable %s does not match config.providers.%s.param.%s", ref.text, ref.key, ref.provider, paramAllowlist),
			"let the pattern match its whole name",
		)
	case m.outside.LookupEnv == nil:
		return "", report.Wrong(ref.text+": the environment is not read here", "write the value itself")
	}
	value, ok := m.outside.LookupEnv(ref.key)
	if !ok {
		return "", report.Wrong(fmt.Sprintf("%s: environment variable %s is not set", ref.text, ref.key), "set it for this process, or correct the name")
	}
	return value, nil
}

// judgeProvider judges a key that begins with "config.providers.".
func (m *mm2File) judgeProvider(e entry.Entry, key string) {
	name, rest, ok := "", "", false
	for n := range m.providers {
		if after, found := strings.CutPrefix(key, propProviders+"."+n+"."); found && len(n) >= len(name) {
			name, rest, ok = n, after, true
		}
	}
	known := []string{"class"}
	switch p := m.providers[name]; {
	case !ok:
		m.Warn(e.At(), "%s does not list that provider", propProviders)
		return
	case p.class == providerEnv:
		known = append(known, "param."+paramAllowlist)
	case p.class != "":
		known = append(known, "param."+paramPaths)
	default: // what a class that cannot be loaded takes is not known
		known = append(known, rest)
	}
	if slices.Contains(known, rest) {
		return
	}
	if near := report.Nearest(rest, known); near != "" {
		m.Warn(e.At(), "unknown key, did you mean %s?", m.there(propProviders+"."+name+"."+near))
		return
	}
	m.Warn(e.At(), "unknown key")
}

// secretsOf are the secrets of a cluster that are what one reference stands for and nothing but it, by field. A secret that
// is written in the file, or put together from several parts, is not among them.
func (m *mm2File) secretsOf(c Cluster) map[string]report.Kept {
	out := map[string]report.Kept{}
	for _, target := range []any{&c.TLS, &c.SASL} {
		for _, s := range setting.Of("security", target) {
			value, secret := reflect.TypeAssert[Secret](s.Value)
			where, told := c.from.Fields[s.Field]
			if !secret || !told || value == "" {
				continue
			}
			if _, lent := m.Lent(where); !lent {
				continue
			}
			text := m.entryAt(where).Value
			if place, ok := m.comesFrom(text, value); ok {
				out[s.Field] = place
			}
			if l, err := parseJAAS(text); err == nil {
				for _, option := range l.options {
					if place, ok := m.comesFrom(option.Reveal(), value); ok {
						out[s.Field] = place
					}
				}
			}
		}
	}
	return out
}

// entryAt is the entry of a place.
func (m *mm2File) entryAt(where report.At) entry.Entry {
	groups := []map[string]entry.Entry{m.top}
	for _, entries := range m.clusters {
		groups = append(groups, entries)
	}
	for _, entries := range m.flows {
		groups = append(groups, entries)
	}
	for _, entries := range groups {
		for _, e := range entries {
			if e.At() == where {
				return e
			}
		}
	}
	return entry.Entry{}
}

// comesFrom says whether a text is one reference that stands for the value, and where that is kept. It compares, since a
// login's own syntax can change what is put in place: a backslash in it is an escape.
func (m *mm2File) comesFrom(text string, value Secret) (report.Kept, bool) {
	found, places := references(text)
	if len(found) != 1 || places[0] != [2]int{0, len(text)} {
		return report.Kept{}, false
	}
	looked, f := m.lookup(found[0])
	// A line end at the end of a file is no part of what password_file gives.
	if f != nil || looked != value.Reveal() || strings.TrimRight(looked, "\r\n") != looked {
		return report.Kept{}, false
	}
	return m.leads(found[0]), true
}

// leads says where a reference leads: a variable, or a file that holds nothing but the value. Both are empty for a key in
// a properties file.
func (m *mm2File) leads(ref reference) report.Kept {
	switch m.providers[ref.provider].class {
	case providerEnv:
		return report.Kept{Env: ref.key}
	case providerDirectory:
		return report.Kept{File: filepath.Join(ref.path, ref.key)}
	}
	return report.Kept{}
}

// unread ends what is said about a key without effect whose value refers to something.
func unread(e entry.Entry) string {
	if found, _ := references(e.Value); len(found) == 0 {
		return ""
	}
	return "; what its value refers to is not looked up"
}
