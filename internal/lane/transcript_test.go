package lane

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// TestTranscripts lives the stories in testdata: lines that begin with ">" are events, what is indented below them is what
// the partition makes of them. testdata/README.md says what events there are.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			was, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := live(t, strings.Split(strings.TrimSuffix(string(was), "\n"), "\n"))
			if got == string(was) {
				return
			}
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("go test ./internal/lane -run Transcripts -update writes it anew, to be read and judged:\n%s", got)
		})
	}
}

// live gives a story's events one after the other, and says what the partition makes of them.
func live(t *testing.T, lines []string) string {
	t.Helper()
	s := &story{aLife: &aLife{t: t, now: 1_000_000_000}}
	var out []string
	for n, line := range lines {
		event, ok := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "    "): // what was said of the event the last time
		case !ok:
			out = append(out, line)
		default:
			out = append(out, line)
			s.said = nil
			if err := s.any(strings.Fields(event)); err != nil {
				t.Fatalf("line %d, %q: %v", n+1, line, err)
			}
			for _, said := range s.said {
				out = append(out, "    "+said)
			}
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// story is a partition and what is said of it.
type story struct {
	*aLife
	facts    Facts
	takeover *Takeover // a story of a lane; of a partition otherwise
	head     Known     // epoch and sequence of the former owner's head
	said     []string
}

// any reads an event of a take-over or of a partition.
func (s *story) any(w []string) error {
	if w[0] == "take" || s.takeover != nil {
		return s.takeoverEvent(w)
	}
	return s.event(w)
}

// tell gives an event to the partition, and takes down its state and its actions.
func (s *story) tell(e Event) {
	before := s.state
	s.step(e)
	s.note(before)
}

// note takes down what came of the last step.
func (s *story) note(before State) {
	if s.state != before {
		s.said = append(s.said, "now "+s.state.String())
	}
	for _, a := range s.acts {
		if _, prepare := a.(Prepare); !prepare { // what it becomes follows at once
			s.said = append(s.said, a.String())
		}
	}
}

// inFlight are the units that wait for an answer, oldest first.
func (s *story) inFlight() *Unit {
	i := slices.IndexFunc(s.units, func(u *Unit) bool { return u.inFlight })
	if i < 0 {
		return nil
	}
	return s.units[i]
}
