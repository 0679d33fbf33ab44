package config_test

import (
	"errors"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
)

func TestParseFlow(t *testing.T) {
	for _, tc := range []struct{ arg, source, target, problem string }{
		{arg: "A:B", source: "A", target: "B"},
		{arg: "A->B", source: "A", target: "B"},
		{arg: " us-east -> eu.west ", source: "us-east", target: "eu.west"},
		{arg: "A-->B", source: "A-", target: "B"},
		{arg: "A-", problem: "redirection"},
		{arg: "us-east-", problem: "write us-east:B, or 'us-east->B' in quotes"},
		{arg: "-", problem: "two aliases"},
		{arg: "", problem: "two aliases"},
		{arg: "A", problem: "two aliases"},
		{arg: "A:", problem: "missing"},
		{arg: "->B", problem: "missing"},
		{arg: "A->b~:/?#", source: "A", target: "b~:/?#"},
		{arg: "A:B:C", problem: "more than two"},
		{arg: "A->B->C", problem: "more than two"},
		{arg: "A:B->C", problem: "more than two"},
	} {
		got, err := config.ParseFlow(tc.arg)
		switch {
		case tc.problem == "" && (err != nil || got != config.FlowName{Source: tc.source, Target: tc.target}):
			t.Errorf("%q: got %v, %v", tc.arg, got, err)
		case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
			t.Errorf("%q: error %v, want one with %q", tc.arg, err, tc.problem)
		}
	}
	if s := (config.FlowName{Source: "A", Target: "B"}).String(); s != "A->B" {
		t.Errorf("String is %q", s)
	}
}

func TestFindFlow(t *testing.T) {
	c, err := configfile.Parse("x.yaml", []byte(`
clusters: {A: {bootstrap: "a:1"}, B: {bootstrap: "b:1"}, C: {bootstrap: "c:1"}}
flows: [{from: B, to: A, enabled: false}, {from: A, to: B}]`))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := c.Flow(""); err != nil || f.Name().String() != "A->B" {
		t.Errorf("the only enabled flow: %v, %v", f.Name(), err)
	}
	if f, err := c.Flow("B:A"); err != nil || f.Enabled {
		t.Errorf("a disabled flow: %v, %v", f, err)
	}
	_, err = c.Flow("A:C")
	if !errors.Is(err, config.ErrNoFlow) || !strings.Contains(err.Error(), "A:B, B:A") {
		t.Errorf("an unknown flow: %v", err)
	}
	if _, err := c.Flow("A-"); err == nil || errors.Is(err, config.ErrNoFlow) {
		t.Errorf("an unquoted arrow: %v", err)
	}
	c.Flows[0].Target = "b~:/?#"
	if f, err := c.Flow("A:b~:/?#"); err != nil || f.Target != "b~:/?#" {
		t.Errorf("a target with a colon: %v, %v", f, err)
	}
	c.Flows[0].Target = "B"
	c.Flows[1].Enabled = true
	if _, err := c.Flow(""); err == nil || !strings.Contains(err.Error(), "2 enabled flows") {
		t.Errorf("two enabled flows: %v", err)
	}
}
