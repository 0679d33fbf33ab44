package lane

import (
	"math/rand/v2"
	"slices"

	"tidemark/offsetmap"
)

// alignMix is a kind of history for the simulator: chances are in percent per step or per record.
type alignMix struct {
	name                     string
	offsets                  int // source offsets at most
	keys, values             int
	unkeyed, tombstones      int
	markers                  int // source control records
	blanks                   int // chance that a history gives control records as Blank
	sourceCompacts           bool
	targetCompacts           bool
	early                    int // source cleaning and trimming while the mirror still reads
	trim, expire             int // chances that source or target lose their beginning after the crash
	sourceAged, targetAged   bool
	foreign                  int
	countUnknown             int
	still                    bool
	knowTarget, giveControls int
}

// alignEvent is one offset of a simulated log. In the source log every offset is one; gone offsets stay listed.
type alignEvent struct {
	key, hash uint64
	tombstone bool
	control   bool
	gone      bool
	ours      bool // target only
	source    int  // target only: the source offset it was copied from
	slot      int  // target only
}

// alignHistory is one simulated life of a partition: a mirror copied [through, truth) and stopped.
type alignHistory struct {
	mix             alignMix
	rnd             *rand.Rand
	source, target  []alignEvent
	sourceStart     int
	targetStart     int
	through, anchor int
	truth           int // the source offset from which the mirror would have gone on
	written         int
}

func newAlignHistory(mix alignMix, rnd *rand.Rand) *alignHistory {
	h := &alignHistory{mix: mix, rnd: rnd}
	h.through, h.anchor = rnd.IntN(3), rnd.IntN(3)
	h.source = make([]alignEvent, h.through)
	h.target = make([]alignEvent, h.anchor)
	for i := range h.source {
		h.source[i].gone = true
	}
	for i := range h.target {
		h.target[i].gone = true
	}
	h.truth = h.through
	reads := rnd.IntN(mix.offsets + 1)
	total := reads + rnd.IntN(mix.offsets-reads+1)
	backlog := rnd.IntN(total + 1)
	for range backlog {
		h.produce()
	}
	for range reads {
		if h.chance(mix.early) {
			h.clean(h.source, mix.sourceCompacts, mix.sourceAged)
			h.trimSource(mix.early)
		}
		if h.truth == len(h.source) {
			h.produce()
		}
		h.read()
	}
	for len(h.source) < h.through+total {
		h.produce()
	}
	for range rnd.IntN(3) {
		h.clean(h.source, mix.sourceCompacts, mix.sourceAged)
		h.clean(h.target, mix.targetCompacts, mix.targetAged)
	}
	h.trimSource(mix.trim)
	if h.chance(mix.expire) {
		h.targetStart = h.anchor + rnd.IntN(len(h.target)-h.anchor+1)
		for i := range h.targetStart {
			h.target[i].gone = true
		}
	}
	return h
}

func (h *alignHistory) chance(percent int) bool { return h.rnd.IntN(100) < percent }

// record makes up a record: few contents, so that equal ones are common.
func (h *alignHistory) record() alignEvent {
	if h.chance(h.mix.unkeyed) {
		return alignEvent{hash: 1000 + uint64(h.rnd.IntN(h.mix.values))}
	}
	key := 1 + uint64(h.rnd.IntN(h.mix.keys))
	if h.chance(h.mix.tombstones) {
		return alignEvent{key: key, hash: key * 100, tombstone: true}
	}
	return alignEvent{key: key, hash: key*100 + 1 + uint64(h.rnd.IntN(h.mix.values))}
}

func (h *alignHistory) produce() {
	if h.chance(h.mix.markers) {
		h.source = append(h.source, alignEvent{control: true})
		return
	}
	h.source = append(h.source, h.record())
}

// read mirrors the next offset, if a record is there.
func (h *alignHistory) read() {
	e := h.source[h.truth]
	h.truth++
	for h.chance(h.mix.foreign) {
		f := h.record()
		f.control = h.chance(30)
		if f.control {
			f.key = 0
		}
		h.target = append(h.target, f)
	}
	if e.gone || e.control {
		return
	}
	h.target = append(h.target, alignEvent{key: e.key, hash: e.hash, tombstone: e.tombstone, ours: true, source: h.truth - 1, slot: h.written})
	h.written++
}

// clean runs a log cleaner over a prefix, by Kafka's rules: a record with a key goes if a later one of its key is in
// the log; a tombstone with nothing of its key below it goes if tombstones have aged. Only some of what may go does.
func (h *alignHistory) clean(log []alignEvent, compacts, aged bool) {
	if !compacts {
		return
	}
	for i := range log[:h.rnd.IntN(len(log)+1)] {
		e := &log[i]
		if e.gone || e.key == 0 || !h.chance(60) {
			continue
		}
		same := func(o alignEvent) bool { return !o.gone && o.key == e.key }
		if slices.ContainsFunc(log[i+1:], same) || aged && e.tombstone && !slices.ContainsFunc(log[:i], same) {
			e.gone = true
		}
	}
	if aged { // control records of transactions that are gone go too
		for i := range log[:len(log)/2] {
			log[i].gone = log[i].gone || log[i].control && h.chance(30)
		}
	}
}

func (h *alignHistory) trimSource(percent int) {
	if !h.chance(percent) {
		return
	}
	h.sourceStart += h.rnd.IntN(len(h.source) - h.sourceStart + 1)
	for i := range h.sourceStart {
		h.source[i].gone = true
	}
	if h.truth < h.sourceStart && h.chance(50) {
		h.truth = h.sourceStart // a mirror that went on from the log start before it stopped
	}
}

// input is what a lane would see of the history.
func (h *alignHistory) input() AlignInput {
	in := AlignInput{
		Through: offsetmap.SourceOffset(h.through), Target: offsetmap.TargetOffset(h.anchor),
		SourceStart: offsetmap.SourceOffset(h.sourceStart), SourceEnd: offsetmap.SourceOffset(len(h.source)),
		SourceStill: h.mix.still, SourceCompacts: h.mix.sourceCompacts, TargetCompacts: h.mix.targetCompacts,
		SourceKeepsTombstones: !h.mix.sourceAged, TargetKeepsTombstones: !h.mix.targetAged,
		TargetStart: offsetmap.TargetOffset(h.targetStart), TargetEnd: offsetmap.TargetOffset(len(h.target)), Count: int64(h.written),
	}
	if h.chance(h.mix.countUnknown) {
		in.Count = -1
	}
	if !h.chance(h.mix.knowTarget) {
		in.Target = 0
	}
	blanks, controls := h.chance(h.mix.blanks), h.chance(h.mix.giveControls)
	for i, e := range h.source {
		if i < h.through || e.gone || e.control && !blanks {
			continue
		}
		in.Source = append(in.Source, SourceRecord{Offset: offsetmap.SourceOffset(i), Hash: e.hash, Key: e.key, Tombstone: e.tombstone, Blank: e.control})
	}
	for i, e := range h.target {
		if i < h.anchor || e.gone || e.control && !controls {
			continue
		}
		t := TailRecord{Target: offsetmap.TargetOffset(i), Hash: e.hash, Key: e.key, Ours: e.ours}
		if e.ours {
			t.Index = int64(e.slot)
		}
		in.Tail = append(in.Tail, t)
	}
	return in
}

// copied tells where the target was given each source offset, -1 where it never was.
func (h *alignHistory) copied() []int {
	at := make([]int, len(h.source))
	for i := range at {
		at[i] = -1
	}
	for t, e := range h.target {
		if e.ours {
			at[e.source] = t
		}
	}
	return at
}
