package lane

import (
	"strings"
	"testing"

	"tidemark/offsetmap"
)

// TestOpenRefuses: what a look at the ends finds that must not be mirrored, or not gone on with.
func TestOpenRefuses(t *testing.T) {
	facts := Facts{SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2}, SourceCluster: "A"}
	mirrored := func() *offsetmap.Map {
		m := offsetmap.New(offsetmap.Origin{SourceCluster: "A", SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2}})
		if err := m.Append(offsetmap.Run{Count: 10}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	whole := Ends{0, 20, 0, 10}
	for _, c := range []struct {
		name string
		set  func(*Known)
		ends Ends
		want string // in the reason; empty: it is gone on with
	}{
		{"all is well", func(*Known) {}, whole, ""},
		{"never mirrored", func(k *Known) { k.Map = nil }, Ends{5, 20, 3, 3}, ""},
		{"never mirrored, and the target holds records", func(k *Known) { k.Map = nil }, Ends{5, 20, 3, 7}, "holds 4 offsets that Tidemark did not write"},
		{"the ledger is damaged", func(k *Known) { k.Damaged = "checksum" }, whole, "damaged: checksum"},
		{"the ledger is damaged, no map", func(k *Known) { k.Damaged, k.Map = "checksum", nil }, Ends{}, "damaged: checksum"},
		{"another source topic", func(k *Known) { k.SourceTopicID = [16]byte{9} }, whole, recreatedSource},
		{"another remote topic", func(k *Known) { k.TargetTopicID = [16]byte{9} }, whole, recreatedRemote},
		{"another source cluster", func(k *Known) { k.SourceCluster = "B" }, whole, "came from cluster A"},
		{"the target lost records", func(*Known) {}, Ends{0, 20, 0, 9}, "the target's log ends at 9"},
		{"only the source is looked at again", func(k *Known) { k.Again = true }, Ends{0, 20, 0, 9}, ""},
		{"the source lost records", func(*Known) {}, Ends{0, 9, 0, 10}, "truncated to offset 9"},
		{"an open transaction holds the stable end back", func(k *Known) { k.Committed = true }, Ends{0, 9, 0, 10}, ""},
		{"an epoch ended before", func(k *Known) { k.Map.NoteEpoch(7, 0) }, whole, "truncated to offset 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := Known{Facts: facts, Map: mirrored()}
			c.set(&k)
			o := Open(k, c.ends)
			if err := o.Settle(epochLogs{}); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && o.Out.Reason != "", !strings.Contains(o.Out.Reason, c.want):
				t.Errorf("%q, want %q", o.Out.Reason, c.want)
			case c.want == "" && k.Map == nil && (o.Out.Map.Through() != 5 || o.Out.Map.TargetEnd() != 3):
				t.Errorf("begins at %d, %d", o.Out.Map.Through(), o.Out.Map.TargetEnd())
			}
		})
	}
}

// epochLogs are of a source whose leader epoch 7 ends at 8. Nobody reads them.
type epochLogs struct{ Logs }

func (epochLogs) EpochEnd(epoch int32) (int32, offsetmap.SourceOffset, error) { return epoch, 8, nil }

// A partition that begins at the end of its source says where that was.
func TestOpenBeginsAtTheEnd(t *testing.T) {
	topic := [16]byte{1}
	k := Known{Facts: Facts{SourceTopicID: topic}, Begin: &Begin{TopicID: topic, AtEnd: true}}
	o := Open(k, Ends{5, 20, 0, 0})
	if o.Begins == nil || *o.Begins != 20 || o.Out.Map.Through() != 20 {
		t.Errorf("%v, %d", o.Begins, o.Out.Map.Through())
	}
	k.SourceTopicID = [16]byte{9} // another topic by that name begins with its oldest record
	if o := Open(k, Ends{5, 20, 0, 0}); o.Begins != nil || o.Out.Map.Through() != 5 {
		t.Errorf("%v, %d", o.Begins, o.Out.Map.Through())
	}
}

// A begin above the source's end means that the source lost records: what comes there is new.
func TestBeginsAt(t *testing.T) {
	topic := [16]byte{1}
	k := Known{Facts: Facts{SourceTopicID: topic}, Begin: &Begin{TopicID: topic, Offset: 105}}
	for want, e := range map[offsetmap.SourceOffset]Ends{105: {SourceEnd: 200}, 100: {SourceEnd: 100}} {
		if got := Open(k, e).Out.Map.Origin().SourceStart; got != want {
			t.Errorf("%+v: %d, want %d", e, got, want)
		}
	}
}

// tailLogs are of a source that holds all different records from offset 0 on, those from 10 on in leader epoch 5, and of a target
// whose last record is our copy of source offset 10. Leader epoch 3 ended where it says.
type tailLogs struct{ ended offsetmap.SourceOffset }

func (l tailLogs) EpochEnd(epoch int32) (int32, offsetmap.SourceOffset, error) {
	if epoch == 3 {
		return 3, l.ended, nil
	}
	return epoch, 20, nil
}

func (tailLogs) Tail(_, _ offsetmap.TargetOffset, batch func(Landed) (bool, error), record func(TailRecord)) error {
	_, err := batch(Landed{Base: 10, Count: 1, Ours: true, Epoch: 4})
	record(TailRecord{Target: 10, Hash: 11})
	return err
}

func (tailLogs) Survivors(s *Survivors, to offsetmap.SourceOffset) error {
	for o := s.From(); o < to && !s.Enough(); o++ {
		if s.Batch(SourceBatch{Base: o, Next: o + 1, Count: 1, LeaderEpoch: 5}) {
			s.Record(SourceRecord{Offset: o, Hash: uint64(o) + 1})
		}
	}
	return nil
}

// A tail, also of one record, is settled before the partition goes on, and the leader epochs of what it is a copy of are noted
// for the next look. A source that was truncated below the tail is refused by the epochs in front of it.
func TestTailOfOneRecord(t *testing.T) {
	for ended, want := range map[offsetmap.SourceOffset]string{10: "", 8: "truncated to offset 8"} {
		m := offsetmap.New(offsetmap.Origin{})
		if err := m.Append(offsetmap.Run{Count: 10}); err != nil {
			t.Fatal(err)
		}
		m.NoteEpoch(3, 0)
		o := Open(Known{Map: m, Epoch: 4}, Ends{0, 20, 0, 11})
		if err := o.Settle(tailLogs{ended}); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			if !strings.Contains(o.Out.Reason, want) {
				t.Errorf("%q, want %q", o.Out.Reason, want)
			}
			continue
		}
		if o.Out.Reason != "" || m.Through() != 11 || m.TargetEnd() != 11 || m.LastEpoch() != 5 || m.Others() != 0 {
			t.Errorf("%q, through %d, target end %d, last leader epoch %d, %d of others", o.Out.Reason, m.Through(), m.TargetEnd(), m.LastEpoch(), m.Others())
		}
	}
}
