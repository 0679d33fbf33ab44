package lane

import (
	"testing"

	"tidemark/offsetmap"
)

// Survivors are enough when one more was taken than can have been mirrored: the one behind the last says what room is between.
func TestSurvivorsEnough(t *testing.T) {
	for _, in := range []AlignInput{{Count: 3}, {Count: -1, Target: 10, TargetEnd: 13}} {
		s := NewSurvivors(in)
		for o := range offsetmap.SourceOffset(4) {
			if s.Enough() {
				t.Errorf("%d records are enough, though 3 can have been mirrored", o)
			}
			s.Record(SourceRecord{Offset: o})
		}
		if !s.Enough() {
			t.Error("never enough")
		}
	}
}

// Offsets that nothing stands on are a log cleaner's work, also where the topic is not compacted any more. Then the offsets of
// markers and aborted records count, which never held a record to mirror; those of a batch that was emptied do not.
func TestSurvivorsOfACleaner(t *testing.T) {
	whole := SourceBatch{Base: 0, Next: 5, Count: 5}
	for _, c := range []struct {
		name    string
		batches []SourceBatch
		again   bool
		blanks  int
	}{
		{"all there", []SourceBatch{whole, {Base: 5, Next: 6, Count: 1, Blank: true}, {Base: 6, Next: 10, Count: 4}}, false, 1},
		{"a batch is gone", []SourceBatch{whole, {Base: 8, Next: 10, Count: 2}}, true, 0},
		{"a record of a batch is gone", []SourceBatch{whole, {Base: 5, Next: 10, Count: 4}}, true, 0},
		{"a batch was emptied", []SourceBatch{whole, {Base: 5, Next: 10}}, true, 0},
		{"the end is gone", []SourceBatch{whole}, true, 0},
	} {
		in := AlignInput{Count: 20, SourceEnd: 10, SourceStill: true}
		s := NewSurvivors(in)
		for _, b := range c.batches {
			if wanted := s.Batch(b); wanted != (!b.Blank && b.Count > 0) {
				t.Errorf("%s: records of %+v are wanted %t", c.name, b, wanted)
			}
		}
		if got, again := s.Revise(in); again != c.again || got.SourceCompacts != c.again || got.SourceStill == c.again {
			t.Errorf("%s: %+v, again %t", c.name, got, again)
		}
		in.SourceStill, in.SourceCompacts = false, true
		s = NewSurvivors(in)
		for _, b := range c.batches {
			s.Batch(b)
		}
		if got := s.Records(); len(got) != c.blanks {
			t.Errorf("%s: %+v, want %d blanks", c.name, got, c.blanks)
		}
	}
}

// Offsets that nothing stands on in a tail are a log cleaner's work too, and so are records that are gone from a batch of ours.
func TestTailOfACleaner(t *testing.T) {
	m := offsetmap.New(offsetmap.Origin{})
	for _, c := range []struct {
		name    string
		bases   []offsetmap.TargetOffset // of batches of ours of two records
		records int
		end     offsetmap.TargetOffset
		want    bool
	}{
		{"all there", []offsetmap.TargetOffset{10, 12}, 4, 14, false},
		{"a batch is gone", []offsetmap.TargetOffset{10, 14}, 4, 16, true},
		{"the first is gone", []offsetmap.TargetOffset{12}, 2, 14, true},
		{"the last is gone", []offsetmap.TargetOffset{10}, 2, 14, true},
		{"a record is gone", []offsetmap.TargetOffset{10, 12}, 3, 14, true},
	} {
		tail := NewTail(10, c.end, 3, 0)
		for _, base := range c.bases {
			if _, err := tail.Add(Landed{Base: base, Count: 2, Ours: true, Epoch: 3, Sequence: int32(base - 10)}); err != nil {
				t.Fatal(err)
			}
		}
		for range c.records {
			tail.Record(TailRecord{Ours: true})
		}
		if got := tail.Input(m, Ends{}, false, false).TargetCompacts; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
