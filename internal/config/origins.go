package config

// secretPlace is where a secret is kept outside the file: in an environment variable, or alone in a file.
type secretPlace struct{ env, file string }

// origins are the places in the configuration file of a cluster's security settings, for what is found out only when
// their files are read.
type origins struct {
	file   string
	fields map[string]at // by field of Cluster, TLS, SASL or ClientSettings
	// borrowed are the references of values that configuration providers give, by field.
	borrowed map[string]string
}

// named is the file that a field names, for people: what a configuration provider gives is not shown.
func (o origins) named(file, field string) string {
	if refs, ok := o.borrowed[field]; ok && file != "" {
		return "[from " + refs + "]"
	}
	return file
}

// problem is what is wrong with what a field names. Without a known place it is about the whole file.
func (o origins) problem(what, do string, fields ...string) Problem {
	p := Problem{File: o.file, What: what, Do: do}
	for _, f := range fields {
		if here, ok := o.fields[f]; ok {
			p.Line, p.Key = here.line, here.key
			break
		}
	}
	return p
}
