package report

// Kept is where a secret is kept outside the file: in an environment variable, or alone in a file.
type Kept struct{ Env, File string }

// Origins are the places in the configuration file of the settings of a cluster or client, for what is found out only
// when the files that they name are read.
type Origins struct {
	File   string
	Fields map[string]At // by name of the field that is set

	// Borrowed are the references of values that configuration providers give, by field.
	Borrowed map[string]string
	// Kept is where secrets that a configuration provider gives are kept, by field.
	Kept map[string]Kept
}

// Named is the file that a field names, for people: what a configuration provider gives is not shown.
func (o Origins) Named(file, field string) string {
	if refs, ok := o.Borrowed[field]; ok && file != "" {
		return "[from " + refs + "]"
	}
	return file
}

// Problem is what is wrong with what a field names. Without a known place it is about the whole file.
func (o Origins) Problem(what, do string, fields ...string) Problem {
	p := Problem{File: o.File, What: what, Do: do}
	for _, f := range fields {
		if here, ok := o.Fields[f]; ok {
			p.Line, p.Key = here.Line, here.Key
			break
		}
	}
	return p
}
