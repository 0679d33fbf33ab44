package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzFlowName: a flow's name on a command line is that of two aliases, or refused by an error that repeats it.
func FuzzFlowName(f *testing.F) {
	for _, s := range []string{"A:B", "A->B", " us-east -> eu.west ", "A-", "A", "A:B:C", "A->B->C", ":", "->", "a->b:c", "a-->b", "a>:b", "\u00fc:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		n, err := ParseFlow(arg)
		if err != nil {
			if n != (FlowName{}) || !strings.Contains(err.Error(), fmt.Sprintf("%q", strings.TrimSpace(arg))) || errors.Is(err, ErrNoFlow) {
				t.Fatalf("%q is %+v, %v", arg, n, err)
			}
			return
		}
		if n.Source == "" || n.Target == "" {
			t.Fatalf("%q is %+v", arg, n)
		}
		if again, err := ParseFlow(n.String()); err != nil || again != n {
			t.Fatalf("%q is %+v, and that is %+v, %v", arg, n, again, err)
		}
	})
}
