package provider

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
	Package   = "org.apache.kafka.common.config.provider."
	File      = "FileConfigProvider"
	Directory = "DirectoryConfigProvider"
	Env       = "EnvVarConfigProvider"
)

func providerClasses() []string { return []string{File, Directory, Env} }

// Key is the key that lists the providers of a file; their own keys begin with it and a dot.
const Key = "config.providers"

// Parameters of the providers, after "config.providers.<name>.param.".
const (
	ParamAllowlist = "allowlist.pattern" // of variables, for the environment
	ParamPaths     = "allowed.paths"     // of files and folders, for the other two
)

// provider is one name of config.providers.
type provider struct {
	class string         // one of providerClasses; "" where it can answer nothing
	fault *report.Fault  // why class is empty
	allow *regexp.Regexp // nil allows every variable
	paths []string       // absolute and clean; nil allows every path
}

// Reference is one ${provider:path:key} or ${provider:key} in a value.
type Reference struct {
	text, provider, path, key string
}

// References finds those of a value as Kafka's ConfigTransformer does, with its own expression: several in one value, and a value
// that is put in place is not looked at again. ${VAR} has no colon and is text. The places are of each one in the value.
func References(value string) (found []Reference, places [][2]int) {
	pattern := regexp.MustCompile(`\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}`)
	group := func(at []int, n int) string {
		if at[2*n] < 0 {
			return ""
		}
		return value[at[2*n]:at[2*n+1]]
	}
	for _, at := range pattern.FindAllStringSubmatchIndex(value, -1) {
		found = append(found, Reference{group(at, 0), group(at, 1), group(at, 3), group(at, 4)})
		places = append(places, [2]int{at[0], at[1]})
	}
	return found, places
}

// Set are the providers that a file declares, by name, and what they reach.
type Set struct {
	named   map[string]provider
	outside Outside
}

// Declared finds the providers that a file's entries, by their keys, declare. Their own keys are never looked up in another
// provider.
func Declared(r *report.Report, entries map[string]entry.Entry, outside Outside) Set {
	out := Set{named: map[string]provider{}, outside: outside}
	for _, name := range setting.SplitList(entries[Key].Value) {
		out.named[name] = declaredAs(r, name, entries)
	}
	return out
}

// declaredAs is one of them.
func declaredAs(r *report.Report, name string, last map[string]entry.Entry) provider {
	prefix := Key + "." + name + "."
	known := Package + strings.Join(providerClasses(), ", "+Package)
	e, ok := last[prefix+"class"]
	class := strings.TrimSpace(e.Value)
	short := strings.TrimPrefix(class, Package)
	switch {
	case !ok:
		return provider{fault: report.Wrong(fmt.Sprintf("the file has no %sclass, so the provider %q can answer nothing", prefix, name), "set it to one of "+known)}
	case class == short || !slices.Contains(providerClasses(), short):
		return provider{fault: report.Wrong(fmt.Sprintf("provider %q is the Java class %q, which cannot be loaded here", name, class), "use one of "+known)}
	}
	p := provider{class: short}
	if e, ok := last[prefix+"param."+ParamAllowlist]; ok && short == Env {
		allow, err := regexp.Compile("^(?:" + strings.TrimSpace(e.Value) + ")$")
		if err != nil {
			r.Problem(e.At(), "is no regular expression in RE2 syntax, which says what may be read", "see https://pkg.go.dev/regexp/syntax")
			allow = regexp.MustCompile(`[^\s\S]`) // nothing
		}
		p.allow = allow
	}
	if e, ok := last[prefix+"param."+ParamPaths]; ok && short != Env {
		for _, path := range setting.SplitList(e.Value) {
			if !filepath.IsAbs(path) {
				r.Problem(e.At(), fmt.Sprintf("%q is no absolute path", path), "write paths that begin with /")
			}
			p.paths = append(p.paths, filepath.Clean(path))
		}
	}
	return p
}

// Text is the entry's value, with what its references stand for, without the blanks around it; refs are the references.
// Java leaves a reference that cannot be looked up as it is; here it is a problem, since no value that has an effect can mean
// the text itself.
func (p Set) Text(r *report.Report, e entry.Entry) (value, refs string, ok bool) {
	found, places := References(e.Value)
	if text := unfilled(e.Value); text != "" {
		r.Suspect(e.At(), "%s", text)
	}
	if len(found) == 0 {
		return strings.TrimSpace(e.Value), "", true
	}
	var b strings.Builder
	from, good := 0, true
	for i, ref := range found {
		value, f := p.Lookup(ref)
		if f != nil {
			r.Add(report.Problem{File: r.File, Line: e.Line, Key: e.Key, What: f.What, Do: f.Do})
			good = false
			continue
		}
		if strings.TrimRight(value, "\r\n") != value && places[i] != [2]int{0, len(e.Value)} {
			r.Note(e.Line, "%s: what %s stands for ends in a line end, which stays inside the value", e.Key, ref.text)
		}
		b.WriteString(e.Value[from:places[i][0]])
		b.WriteString(value)
		from = places[i][1]
	}
	b.WriteString(e.Value[from:])
	if !good {
		return "", "", false
	}
	texts := make([]string, len(found))
	for i, ref := range found {
		texts[i] = ref.text
	}
	return strings.TrimSpace(b.String()), strings.Join(texts, " and "), true
}

// Lookup asks the provider that a reference names. Where that is no provider of the file, the fault does not show the
// reference: it may be a password that was never meant as one.
func (p Set) Lookup(ref Reference) (string, *report.Fault) {
	one, ok := p.named[ref.provider]
	if !ok {
		return "", report.Wrong("takes its value from a configuration provider, ${provider:key}, that the file does not declare", p.declare(ref))
	}
	switch one.class {
	case File:
		return p.lookupFile(one, ref)
	case Directory:
		return p.lookupDirectory(one, ref)
	case Env:
		return p.lookupEnv(one, ref)
	}
	return "", one.fault
}

// declare says what to write for a reference to a provider that is not declared. Its name is shown where it is one of those that
// everybody uses: any other may be a part of a password.
func (p Set) declare(ref Reference) string {
	const text = "if the text itself is meant, use the YAML form, where a dollar sign is a dollar sign"
	names := slices.Sorted(maps.Keys(p.named))
	class, usual := map[string]string{"file": File, "directory": Directory, "dir": Directory, "env": Env}[ref.provider]
	switch {
	case usual:
		names = append(names, ref.provider)
		return fmt.Sprintf("write %s = %s and %s.%s.class = %s; %s", Key, strings.Join(names, ", "), Key, ref.provider, Package+class, text)
	case len(names) > 0:
		return Key + " lists " + strings.Join(names, ", ") + "; declare the provider with " + Key + " and " + Key + ".<name>.class; " + text
	}
	return "declare the provider with " + Key + " and " + Key + ".<name>.class; " + text
}

// unfilled is said of what looks like a variable of a template or of a shell, ${NAME}: Kafka's files know none, so nobody has filled
// it in. Inside of a longer value, which may be a password, it is not shown. Kafka takes the text as it is, and so it is taken here.
func unfilled(value string) string {
	m := regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`).FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	what, name := "holds a variable, ${...}, that nobody has filled in", "NAME"
	if m[0] == strings.TrimSpace(value) {
		what, name = "is the variable "+m[0]+", which nobody has filled in", m[1]
	}
	return fmt.Sprintf("%s, so the text itself is the value: fill it in before (envsubst, a template), or write ${env:%s} with %s = env and %s.env.class = %s",
		what, name, Key, Key, Package+Env)
}

// lookupFile reads one key of a properties file. That file is UTF-8, as for Kafka, where this one is ISO-8859-1.
func (p Set) lookupFile(one provider, ref Reference) (string, *report.Fault) {
	if ref.path == "" {
		return "", report.Wrong(ref.text+" names no file", "write ${"+ref.provider+":/path/of/file:key}")
	}
	data, f := p.read(one, ref, ref.path, ref.path)
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
func (p Set) lookupDirectory(one provider, ref Reference) (string, *report.Fault) {
	if ref.path == "" {
		return "", report.Wrong(ref.text+" names no folder", "write ${"+ref.provider+":/path/of/folder:file}")
	}
	if ref.key == "" || ref.key == "." || ref.key == ".." || strings.ContainsAny(ref.key, `/\`) {
		return "", report.Wrong(ref.text+": the key is no name of a file in the folder", "write ${"+ref.provider+":/path/of/folder:file}")
	}
	data, f := p.read(one, ref, ref.path, filepath.Join(ref.path, ref.key))
	return string(data), f
}

// read reads a file whose path, or whose folder's path, a reference gives.
func (p Set) read(one provider, ref Reference, path, name string) ([]byte, *report.Fault) {
	clean := filepath.Clean(path)
	inside := func(allowed string) bool {
		return clean == allowed || strings.HasPrefix(clean, strings.TrimSuffix(allowed, "/")+"/")
	}
	if one.paths != nil && !slices.ContainsFunc(one.paths, inside) {
		return nil, report.Wrong(
			fmt.Sprintf("%s: %s is not below a path of config.providers.%s.param.%s", ref.text, path, ref.provider, ParamPaths),
			"add its folder there, or move the file",
		)
	}
	if p.outside.ReadFile == nil {
		return nil, report.Wrong(ref.text+": no other file is read here", "write the value itself")
	}
	data, err := p.outside.ReadFile(name)
	if err != nil {
		return nil, report.Wrong(fmt.Sprintf("%s: %v", ref.text, err), "correct the path, or make the file readable for this user")
	}
	return data, nil
}

func (p Set) lookupEnv(one provider, ref Reference) (string, *report.Fault) {
	switch {
	case ref.path != "":
		return "", report.Wrong(ref.text+": an environment variable has no path", "write ${"+ref.provider+":VARIABLE}")
	case one.allow != nil && !one.allow.MatchString(ref.key):
		return "", report.Wrong(
			fmt.Sprintf("%s: variable %s does not match config.providers.%s.param.%s", ref.text, ref.key, ref.provider, ParamAllowlist),
			"let the pattern match its whole name",
		)
	case p.outside.LookupEnv == nil:
		return "", report.Wrong(ref.text+": the environment is not read here", "write the value itself")
	}
	value, ok := p.outside.LookupEnv(ref.key)
	if !ok {
		return "", report.Wrong(fmt.Sprintf("%s: environment variable %s is not set", ref.text, ref.key), "set it for this process, or correct the name")
	}
	return value, nil
}

// Leads says where a reference leads: a variable, or a file that holds nothing but the value. Both are empty for a key in
// a properties file.
func (p Set) Leads(ref Reference) report.Kept {
	switch p.named[ref.provider].class {
	case Env:
		return report.Kept{Env: ref.key}
	case Directory:
		return report.Kept{File: filepath.Join(ref.path, ref.key)}
	}
	return report.Kept{}
}

// About says which provider a key after "config.providers." is about, what stands after its name, and what may stand
// there. ok is false where the file declares no such provider.
func (p Set) About(key string) (name, rest string, known []string, ok bool) {
	for n := range p.named {
		if after, found := strings.CutPrefix(key, Key+"."+n+"."); found && len(n) >= len(name) {
			name, rest, ok = n, after, true
		}
	}
	known = []string{"class"}
	switch one := p.named[name]; {
	case one.class == Env:
		known = append(known, "param."+ParamAllowlist)
	case one.class != "":
		known = append(known, "param."+ParamPaths)
	default: // what a class that cannot be loaded takes is not known
		known = append(known, rest)
	}
	return name, rest, known, ok
}
