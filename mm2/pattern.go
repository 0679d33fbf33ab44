package mm2

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/internal/javapattern"
)

// A PatternError says that a filter pattern cannot be used.
type PatternError struct {
	Key     string // the list, for example topics.exclude
	Pattern string // as it was given, without blanks around it
	Reason  string // what is wrong with it, and at which character
	Nearest string // what to write instead
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("%s: pattern %q: %s; %s", e.Key, e.Pattern, e.Reason, e.Nearest)
}

// patternError puts the list into what is wrong with a pattern. (?!x).* is what
// people write who do not know the other list, so that is named too.
func patternError(key string, err error, inExclude bool) error {
	var j *javapattern.Error
	if !errors.As(err, &j) {
		return err
	}
	e := &PatternError{Key: key, Pattern: j.Pattern, Reason: j.Reason, Nearest: j.Nearest}
	if inExclude {
		e.Key += ".exclude"
	}
	switch {
	case len(j.Exclude) == 0:
	case inExclude:
		e.Nearest = fmt.Sprintf("include only what is wanted: %q", strings.Join(j.Exclude, "|"))
	case key != "":
		e.Nearest = fmt.Sprintf("write %s = %s and %s.exclude = %s", key, j.Include, key, strings.Join(j.Exclude, ", "))
	}
	return e
}
