package notes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// story drives a Board through seconds, as a worker does: what is due is written at once.
type story struct {
	t   *testing.T
	b   *Board
	now time.Time
}

func newStory(t *testing.T) *story { return &story{t: t, b: NewBoard("host pid 1"), now: start} }

// at goes on second by second until seconds after the start, and gives what was written, each as "lane: what why since".
func (s *story) at(seconds int) (wrote []string) {
	s.t.Helper()
	for end := start.Add(time.Duration(seconds) * time.Second); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		for n, text := range s.b.Due("m1", s.now) {
			s.b.Wrote(n, text, s.now)
			note, ok, err := Parse(text)
			if err != nil {
				s.t.Fatal(err)
			}
			line := fmt.Sprintf("%d:", n)
			if ok {
				line += fmt.Sprintf(" %s, %s, %s", note.What, note.Why, note.Since.Sub(start))
			}
			for _, tr := range note.Troubles {
				line += " [" + tr.What + ": " + tr.Why + "]"
			}
			wrote = append(wrote, line)
		}
	}
	return wrote
}

func (s *story) expect(seconds int, want ...string) {
	s.t.Helper()
	if got := s.at(seconds); strings.Join(got, "; ") != strings.Join(want, "; ") {
		s.t.Fatalf("until %d s: wrote %q, want %q", seconds, got, want)
	}
}

// TestHealthyWritesNothing: a lane that is taken over in time, runs for long, and fails for a moment is no news.
func TestHealthyWritesNothing(t *testing.T) {
	s := newStory(t)
	s.b.Assigned(3, start)
	s.expect(4)
	s.b.Report(3, Running, "", s.now)
	s.expect(100)
	s.b.Report(3, "trying again", "lane is lost", s.now)
	s.expect(105)
	s.b.Report(3, Running, "", s.now)
	s.expect(200)
	s.b.Revoked(3)
	s.expect(300)
}

// TestNotRunning: ten seconds after it was assigned a lane is noted, again when the cause changes, and no more once it has
// run for a while.
func TestNotRunning(t *testing.T) {
	s := newStory(t)
	s.b.Assigned(3, start)
	s.expect(9)
	s.expect(10, "3: starting, it is being taken over, 0s")
	s.expect(60)
	s.b.Report(3, "trying again", "no coordinator", s.now)
	s.expect(61, "3: trying again, no coordinator, 0s")
	s.b.Report(3, "trying again", "fenced", s.now)
	s.b.Report(3, "trying again", "denied", s.now)
	s.expect(65)
	s.expect(66, "3: trying again, denied, 0s") // not more often than every five seconds
	s.b.Report(3, Running, "", s.now)
	s.expect(70)
	s.expect(71, "3:")
	s.expect(200)
}

// TestFlapping: a lane that runs for moments only has not run, and what keeps it from that stays said.
func TestFlapping(t *testing.T) {
	s := newStory(t)
	s.b.Assigned(3, start)
	s.b.Report(3, Running, "", s.now)
	s.at(20)
	var wrote []string
	for i := range 10 {
		s.b.Report(3, "trying again", "fenced", s.now)
		wrote = append(wrote, s.at(23+5*i)...)
		s.b.Report(3, Running, "", s.now)
		wrote = append(wrote, s.at(25+5*i)...)
	}
	if len(wrote) != 1 || wrote[0] != "3: trying again, fenced, 20s" {
		t.Fatalf("wrote %q", wrote)
	}
	s.expect(100, "3:")
}

// TestALaneThatComesBack: a note that was left with a lane that went away is ended when the lane comes back and runs, since
// the same member wrote it.
func TestALaneThatComesBack(t *testing.T) {
	s := newStory(t)
	s.b.Assigned(3, start)
	s.expect(10, "3: starting, it is being taken over, 0s")
	s.b.Revoked(3)
	s.expect(50)
	s.b.Assigned(3, s.now)
	s.b.Report(3, Running, "", s.now)
	s.expect(54)
	s.expect(55, "3:")
}

// TestTroubles: what a worker says about itself stands with its lowest lane, and moves with it.
func TestTroubles(t *testing.T) {
	s := newStory(t)
	for _, n := range []int32{5, 2} {
		s.b.Assigned(n, start)
		s.b.Report(n, Running, "", start)
	}
	s.expect(20)
	s.b.Troubles([]Trouble{{Since: s.now, What: "settings of orders", Why: "denied"}})
	s.expect(21, "2: , , "+time.Time{}.Sub(start).String()+" [settings of orders: denied]")
	s.b.Revoked(2)
	s.expect(22, "5: , , "+time.Time{}.Sub(start).String()+" [settings of orders: denied]")
	s.b.Troubles(nil)
	s.expect(23, "5:")
	// Another member id is another word, though nothing else changed.
	s.b.Troubles([]Trouble{{Since: s.now, What: "x", Why: "y"}})
	s.at(30)
	if due := s.b.Due("m2", s.now); len(due) != 1 {
		t.Fatalf("due for a new member: %v", due)
	}
}

// TestNotesFit: however long the reasons are, a note is as long as brokers take, and can be read.
func TestNotesFit(t *testing.T) {
	n := Note{Since: start, What: "waiting", Why: strings.Repeat("\u00e9\"", 5000), Worker: "w", Member: "m"}
	for range 100 {
		n.Troubles = append(n.Troubles, Trouble{Since: start, What: strings.Repeat("t", 300), Why: strings.Repeat("\x01", 3000)})
	}
	text := n.Encode()
	if len(text) > MaxBytes || !utf8.ValidString(text) || !json.Valid([]byte(text)) {
		t.Fatalf("%d bytes: %.200s", len(text), text)
	}
	got, ok, err := Parse(text)
	if err != nil || !ok || got.What != "waiting" || !got.Since.Equal(start) || !strings.HasPrefix(got.Why, "\u00e9\"\u00e9") || len(got.Troubles) == 0 {
		t.Fatalf("read %v, %v: %+v", ok, err, got)
	}
	if _, ok, err := Parse(""); ok || err != nil {
		t.Fatal("an empty note")
	}
	if _, _, err := Parse("{"); err == nil {
		t.Fatal("garbage was read")
	}
}
