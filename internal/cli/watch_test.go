package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWatch: pictures follow each other until a signal; one that cannot be made is said, and the next one comes all the same.
// Wrong usage ends it.
func TestWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	e := &env{ctx: ctx, stdout: &out, stderr: &errs}
	n := 0
	err := e.watched(readOptions{watch: leastWatch}, func(view *env) error {
		n++
		switch n {
		case 2:
			return errors.New("the target does not answer")
		case 3:
			view.say("a remark")
		case 4:
			stop()
		}
		_, err := fmt.Fprintf(view.stdout, "picture %d\n", n)
		return err
	})
	if err != nil || n != 4 {
		t.Errorf("%d rounds, %v", n, err)
	}
	if got := out.String(); !strings.Contains(got, "picture 1") || !strings.Contains(got, "picture 3") || strings.Contains(got, "picture 4") || strings.Contains(got, clearScreen) || strings.Count(got, "every 500ms, at ") != 3 {
		t.Errorf("pictures:\n%s", got)
	}
	if got := errs.String(); !strings.Contains(got, "the target does not answer") || !strings.Contains(got, "a remark") {
		t.Errorf("remarks:\n%s", got)
	}
	for _, o := range []readOptions{{watch: 1}, {watch: leastWatch, check: true}} {
		if err := e.watched(o, func(*env) error { t.Error("asked"); return nil }); exitCode(err) != ExitUsage {
			t.Errorf("%+v: %v", o, err)
		}
	}
	e.ctx = t.Context()
	if err := e.watched(readOptions{watch: leastWatch}, func(*env) error { return usagef("no such flow") }); exitCode(err) != ExitUsage {
		t.Errorf("wrong usage goes on: %v", err)
	}
}
