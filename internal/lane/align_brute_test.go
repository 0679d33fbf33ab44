package lane

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/offsetmap"
)

// alignBrute answers Align's question from the rules alone: it enumerates every number of slots, every source offset
// and every target offset of every slot. It shares no code with the fast algorithm.
type alignBrute struct {
	in     AlignInput
	ours   map[int]TailRecord // by slot
	source map[offsetmap.SourceOffset]SourceRecord
	lastOf map[uint64]offsetmap.SourceOffset // last source record of a key
	slots  int
	place  []offsetmap.SourceOffset // source offset of each slot

	places map[offsetmap.SourceOffset]bool // feasible
	kinds  map[int]map[alignKind]bool
	most   map[int]offsetmap.SourceOffset // greatest source offset of a slot
	lowest map[int]offsetmap.SourceOffset // and the least
}

// alignKind says where a slot is: at a survivor, or lost above so many survivors.
type alignKind struct {
	found bool
	row   int
}

func newAlignBrute(in AlignInput) *alignBrute {
	b := &alignBrute{
		in: in, ours: map[int]TailRecord{}, source: map[offsetmap.SourceOffset]SourceRecord{}, lastOf: map[uint64]offsetmap.SourceOffset{},
		places: map[offsetmap.SourceOffset]bool{}, kinds: map[int]map[alignKind]bool{}, most: map[int]offsetmap.SourceOffset{}, lowest: map[int]offsetmap.SourceOffset{},
	}
	least := 0
	for _, t := range in.Tail {
		if t.Ours {
			b.ours[int(t.Index)] = t
			least = int(t.Index) + 1
		}
	}
	for _, s := range in.Source {
		b.source[s.Offset] = s
		if !s.Blank && s.Key != 0 {
			b.lastOf[s.Key] = s.Offset
		}
	}
	for b.slots = least; b.slots <= int(in.TargetEnd-in.Target); b.slots++ {
		if in.Count < 0 || int(in.Count) == b.slots {
			b.fill(in.Through, in.Target)
		}
	}
	return b
}

// fill tries every pair of offsets for the next slot.
func (b *alignBrute) fill(source offsetmap.SourceOffset, target offsetmap.TargetOffset) {
	slot := len(b.place)
	if slot == b.slots {
		b.note()
		return
	}
	for s := source; s < b.in.SourceEnd; s++ {
		rec, there := b.source[s]
		if there && rec.Blank {
			continue
		}
		for t := target; t < b.in.TargetEnd; t++ {
			if b.fits(slot, s, t, rec, there) {
				b.place = append(b.place, s)
				b.fill(s+1, t+1)
				b.place = b.place[:slot]
			}
		}
		if there {
			return // a record that is there and has no slot can only be at or above the place
		}
	}
}

func (b *alignBrute) seen(target offsetmap.TargetOffset) bool {
	for _, t := range b.in.Tail {
		if t.Target == target {
			return true
		}
	}
	return false
}

// fits applies the rules to one slot.
func (b *alignBrute) fits(slot int, s offsetmap.SourceOffset, t offsetmap.TargetOffset, rec SourceRecord, there bool) bool {
	got, kept := b.ours[slot]
	if kept && got.Target != t || !kept && b.seen(t) {
		return false
	}
	if kept && there {
		return got.Hash == rec.Hash
	}
	if !there && (b.in.SourceStill || s >= b.in.SourceStart && !b.in.SourceCompacts) {
		return false
	}
	if kept { // and lost on the source
		last, later := b.lastOf[got.Key]
		return s < b.in.SourceStart || got.Key != 0 && (!b.in.SourceKeepsTombstones || later && last > s)
	}
	if t < b.in.TargetStart || !there {
		return t < b.in.TargetStart || b.in.TargetCompacts
	}
	if !b.in.TargetCompacts || rec.Key == 0 {
		return false
	}
	for _, o := range b.in.Tail {
		if o.Target > t && o.Key == rec.Key {
			return true
		}
	}
	if b.in.TargetKeepsTombstones {
		return false
	}
	for o := t + 1; o < b.in.TargetEnd; o++ {
		if !b.seen(o) {
			return true
		}
	}
	return rec.Tombstone
}

// note takes down a full assignment and every place that it makes feasible.
func (b *alignBrute) note() {
	p := b.in.Through
	for slot, s := range b.place {
		p = s + 1
		rec, there := b.source[s]
		kind := alignKind{found: there && !rec.Blank, row: b.row(s)}
		if b.kinds[slot] == nil {
			b.kinds[slot] = map[alignKind]bool{}
		}
		if len(b.kinds[slot]) == 0 {
			b.lowest[slot] = s
		}
		b.kinds[slot][kind] = true
		b.most[slot], b.lowest[slot] = max(b.most[slot], s), min(b.lowest[slot], s)
	}
	b.places[p] = true
}

// row is the number of survivors below an offset.
func (b *alignBrute) row(offset offsetmap.SourceOffset) int {
	n := 0
	for _, s := range b.in.Source {
		if s.Offset < offset && !s.Blank {
			n++
		}
	}
	return n
}

// compare checks the fast answer against the enumerated one.
func (b *alignBrute) compare(out Alignment) error {
	least, most := offsetmap.SourceOffset(-1), offsetmap.SourceOffset(-1)
	for p := range b.places {
		if least < 0 || p < least {
			least = p
		}
		most = max(most, p)
	}
	if (out.Mismatch != nil) != (least < 0) {
		return fmt.Errorf("mismatch %v, enumerated places %v", out.Mismatch, b.places)
	}
	if least < 0 {
		return nil
	}
	if n := b.row(most) - b.row(least); out.Place != least || out.Duplicates != int64(n) {
		return fmt.Errorf("enumerated place %d with %d duplicates at most", least, n)
	}
	mapped := map[offsetmap.TargetOffset]offsetmap.SourceOffset{}
	for _, r := range out.Runs {
		for i := range r.Count {
			mapped[r.Target+offsetmap.TargetOffset(i)] = r.Source + offsetmap.SourceOffset(i)
		}
	}
	for slot, t := range b.ours {
		at, in := mapped[t.Target]
		var kind alignKind
		for kind = range b.kinds[slot] {
		}
		switch {
		case len(b.kinds[slot]) > 1:
			if in {
				return fmt.Errorf("slot %d has a run, but several readings: %v", slot, b.kinds[slot])
			}
		case kind.found:
			if !in || at != b.most[slot] {
				return fmt.Errorf("slot %d can only be source offset %d", slot, b.most[slot])
			}
		case in && (at != b.most[slot] || at != b.lowest[slot]):
			return fmt.Errorf("slot %d is at source offset %d to %d, but has a run", slot, b.lowest[slot], b.most[slot])
		case !in && b.most[slot] == b.lowest[slot] && b.most[slot] >= b.in.SourceStart && kind.row < b.row(least):
			// Below the log start and above the last survivor Align is content with less.
			return fmt.Errorf("slot %d can only be source offset %d, but has no run", slot, b.most[slot])
		}
	}
	return nil
}

// alignDamage makes an input that need not have any explanation.
func alignDamage(in *AlignInput, rnd *rand.Rand) {
	switch rnd.IntN(5) {
	case 0:
		if n := len(in.Tail); n > 0 {
			in.Tail[rnd.IntN(n)].Hash ^= 1
		}
	case 1:
		if n := len(in.Source); n > 0 {
			in.Source[rnd.IntN(n)].Hash ^= 1
		}
	case 2:
		if in.Count >= 0 {
			in.Count = max(0, in.Count+int64(rnd.IntN(3))-1)
		}
	case 3:
		if n := len(in.Source); n > 0 {
			i := rnd.IntN(n)
			in.Source = append(in.Source[:i:i], in.Source[i+1:]...)
		}
	case 4:
		if n := len(in.Tail); n > 0 {
			i := rnd.IntN(n)
			in.Tail = append(in.Tail[:i:i], in.Tail[i+1:]...)
		}
	}
}

// TestAlignBrute compares Align with the enumeration on tiny logs of every mix, sound and damaged.
func TestAlignBrute(t *testing.T) {
	for n, mix := range alignMixes() {
		mix.offsets, mix.knowTarget = 6, 100
		t.Run(mix.name, func(t *testing.T) {
			refused, choices := 0, 0
			for i := range 6_000 {
				rnd := rand.New(rand.NewPCG(uint64(1000+n), uint64(i)))
				h := newAlignHistory(mix, rnd)
				in := h.input()
				damaged := i%3 == 0
				if damaged {
					alignDamage(&in, rnd)
				}
				b, out := newAlignBrute(in), Align(in)
				if err := b.compare(out); err != nil {
					t.Fatalf("seed %d: %v\ninput %+v\nanswer %+v", i, err, in, out)
				}
				if out.Mismatch != nil {
					refused++
				}
				if len(b.places) > 1 {
					choices++
				}
			}
			if refused == 0 {
				t.Error("no damaged history was refused")
			}
			t.Logf("%d refused, %d with a choice", refused, choices)
		})
	}
}
