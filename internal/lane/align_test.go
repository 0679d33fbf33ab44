package lane

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/offsetmap"
)

// alignMixes are the kinds of histories that the model test runs through.
func alignMixes() []alignMix {
	base := alignMix{offsets: 14, keys: 3, values: 2, knowTarget: 90, giveControls: 50}
	mix := func(name string, set func(*alignMix)) alignMix {
		m := base
		m.name = name
		set(&m)
		return m
	}
	return []alignMix{
		mix("still", func(m *alignMix) { m.still, m.unkeyed, m.markers, m.foreign = true, 30, 20, 10 }),
		mix("still, target compacts and expires", func(m *alignMix) {
			m.still, m.unkeyed, m.tombstones, m.targetCompacts, m.targetAged, m.expire, m.countUnknown = true, 10, 15, true, true, 30, 30
		}),
		mix("nothing lost, but not known to be still", func(m *alignMix) { m.unkeyed, m.markers = 50, 20 }),
		mix("source compacts", func(m *alignMix) { m.sourceCompacts = true }),
		mix("source compacts, contents differ", func(m *alignMix) { m.sourceCompacts, m.keys, m.values = true, 6, 1000000 }),
		mix("source compacts behind the mirror only, contents differ, transactions, blanks known", func(m *alignMix) {
			m.sourceCompacts, m.keys, m.values, m.markers, m.blanks = true, 6, 1000000, 30, 100
		}),
		mix("source compacts while read", func(m *alignMix) { m.sourceCompacts, m.early, m.tombstones, m.sourceAged = true, 30, 20, true }),
		mix("source thinned out before it is read, contents differ", func(m *alignMix) {
			m.sourceCompacts, m.early, m.keys, m.values = true, 60, 4, 1000000
		}),
		mix("source trims", func(m *alignMix) { m.unkeyed, m.trim, m.early, m.markers = 50, 60, 5, 15 }),
		mix("target compacts", func(m *alignMix) { m.targetCompacts, m.tombstones, m.targetAged = true, 20, true }),
		mix("target expires", func(m *alignMix) { m.unkeyed, m.expire, m.trim, m.countUnknown = 50, 70, 30, 50 }),
		mix("both compact", func(m *alignMix) {
			m.sourceCompacts, m.targetCompacts, m.tombstones, m.early, m.markers, m.blanks = true, true, 15, 15, 10, 50
		}),
		mix("both compact, tombstones age", func(m *alignMix) {
			m.sourceCompacts, m.targetCompacts, m.tombstones, m.early = true, true, 30, 15
			m.sourceAged, m.targetAged, m.countUnknown = true, true, 30
		}),
		mix("everything", func(m *alignMix) {
			m.sourceCompacts, m.targetCompacts, m.tombstones, m.early, m.markers, m.blanks = true, true, 20, 15, 15, 50
			m.sourceAged, m.targetAged, m.countUnknown, m.trim, m.expire, m.foreign, m.unkeyed = true, true, 30, 30, 30, 15, 10
		}),
		mix("everything, longer, one key and value", func(m *alignMix) {
			m.offsets, m.keys, m.values = 60, 1, 1
			m.sourceCompacts, m.targetCompacts, m.tombstones, m.early, m.markers, m.blanks = true, true, 10, 10, 15, 50
			m.sourceAged, m.targetAged, m.countUnknown, m.trim, m.expire, m.foreign, m.unkeyed = true, true, 30, 20, 20, 15, 30
		}),
	}
}

// TestAlignModel runs random histories and compares every answer with what really happened.
func TestAlignModel(t *testing.T) {
	for n, mix := range alignMixes() {
		t.Run(mix.name, func(t *testing.T) {
			t.Parallel()
			const histories = 40_000
			var exact, place, fresh int
			for i := range histories {
				seed := uint64(i)
				h := newAlignHistory(mix, rand.New(rand.NewPCG(uint64(n), seed)))
				in := h.input()
				a := &aligner{in: in, pieces: alignPieces}
				out := a.align()
				if err := alignCheck(h, in, out); err != nil {
					t.Fatalf("seed %d: %v\ninput %+v\nanswer %+v\nhistory %+v", seed, err, in, out, *h)
				}
				if !mix.still {
					if err := alignTruthFeasible(h, a); err != nil {
						t.Fatalf("seed %d: %v\ninput %+v", seed, err, in)
					}
				}
				if out.Exact {
					exact++
				}
				if out.Duplicates == 0 {
					place++
				}
				if slices.ContainsFunc(h.target, func(e alignEvent) bool { return e.ours }) {
					fresh++
				}
			}
			percent := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(histories)) }
			t.Logf("%d histories, %s with a tail; exact %s, no duplicates %s", histories, percent(fresh), percent(exact), percent(place))
		})
	}
}

// TestAlignWidened runs the mixes with choices with a single piece a row, where every set of alternatives is widened
// to an interval: answers get more careful, never wrong.
func TestAlignWidened(t *testing.T) {
	coarser := 0
	for n, mix := range alignMixes() {
		if !mix.sourceCompacts {
			continue
		}
		for i := range 10_000 {
			h := newAlignHistory(mix, rand.New(rand.NewPCG(uint64(500+n), uint64(i))))
			in := h.input()
			fine, out := Align(in), (&aligner{in: in, pieces: 1}).align()
			if err := alignCheck(h, in, out); err != nil {
				t.Fatalf("%s, seed %d: %v\ninput %+v\nanswer %+v", mix.name, i, err, in, out)
			}
			if out.Place > fine.Place || out.Duplicates < fine.Duplicates {
				t.Fatalf("%s, seed %d: fine %+v, widened %+v", mix.name, i, fine, out)
			}
			if out.Place != fine.Place || out.Duplicates != fine.Duplicates || len(out.Runs) != len(fine.Runs) {
				coarser++
			}
		}
	}
	if coarser == 0 {
		t.Error("no answer became coarser: widening was not tested")
	}
	t.Logf("%d answers became coarser", coarser)
}

// alignTruthFeasible looks into the fast algorithm: the place where the mirror really stood must be one of its places.
func alignTruthFeasible(h *alignHistory, a *aligner) error {
	row := 0
	for row < len(a.survivors) && a.survivor(row+1).Offset < offsetmap.SourceOffset(h.truth) {
		row++
	}
	if row >= len(a.entries.ends) || !a.complete(a.widen(nil, row, a.entries.row(row))) {
		return fmt.Errorf("the true place %d is not feasible", h.truth)
	}
	return nil
}

// alignCheck is the oracle: what an answer must hold to, given the truth.
func alignCheck(h *alignHistory, in AlignInput, out Alignment) error {
	if out.Mismatch != nil {
		return fmt.Errorf("mismatch in a possible history: %v", out.Mismatch)
	}
	if out.Place > offsetmap.SourceOffset(h.truth) {
		return fmt.Errorf("place %d lies beyond the true place %d", out.Place, h.truth)
	}
	at := h.copied()
	again := int64(0)
	for i := h.through; i < len(h.source); i++ {
		if e := h.source[i]; e.gone || e.control {
			continue
		}
		was := at[i] >= 0
		if offsetmap.SourceOffset(i) < out.Place && !was {
			return fmt.Errorf("source record %d is lost", i)
		}
		if offsetmap.SourceOffset(i) >= out.Place && was {
			again++
		}
	}
	if again > out.Duplicates {
		return fmt.Errorf("%d records are written twice, said were %d", again, out.Duplicates)
	}
	if out.Exact && again != out.Duplicates {
		return fmt.Errorf("not exact: %d records are written twice", again)
	}
	if in.Count >= 0 && out.Mirrored != in.Count || out.Mirrored > int64(h.written) {
		return fmt.Errorf("mirrored %d, truly %d", out.Mirrored, h.written)
	}
	return alignCheckRuns(h, in, out)
}

// alignPair is a source offset and the target offset of its copy, as runs say it.
type alignPair struct {
	source offsetmap.SourceOffset
	target offsetmap.TargetOffset
}

// alignCheckRuns translates every position both ways by the runs alone and looks for what a reader would miss.
func alignCheckRuns(h *alignHistory, in AlignInput, out Alignment) error {
	var mapped []alignPair
	source, target := offsetmap.SourceOffset(-1), offsetmap.TargetOffset(-1)
	for _, r := range out.Runs {
		if r.Count <= 0 || r.Source <= source || r.Target <= target {
			return fmt.Errorf("runs do not increase: %v", out.Runs)
		}
		for i := range r.Count {
			source, target = r.Source+offsetmap.SourceOffset(i), r.Target+offsetmap.TargetOffset(i)
			mapped = append(mapped, alignPair{source, target})
			e := h.target[target]
			if !e.ours || e.gone || offsetmap.SourceOffset(e.source) != source || source >= out.Place {
				return fmt.Errorf("target %d is mapped to source %d, truly %d", target, source, e.source)
			}
		}
	}
	for _, rec := range in.Tail {
		if out.Exact && rec.Ours && !slices.ContainsFunc(mapped, func(m alignPair) bool { return m.target == rec.Target }) {
			return fmt.Errorf("target %d is in no run of an exact answer", rec.Target)
		}
	}
	for c := offsetmap.SourceOffset(h.through); c <= out.Place; c++ { // a reader on the source at c goes on the target at next
		next := offsetmap.TargetOffset(h.anchor)
		for _, m := range mapped {
			if m.source < c {
				next = max(next, m.target+1)
			}
		}
		for t := offsetmap.TargetOffset(h.anchor); t < next; t++ {
			if e := h.target[t]; e.ours && offsetmap.SourceOffset(e.source) >= c {
				return fmt.Errorf("position %d is late: goes on at target %d, source record %d lies at target %d", c, next, e.source, t)
			}
		}
	}
	return alignCheckBack(h, in, mapped)
}

// alignCheckBack is the other direction: a reader on the target at p goes on at the source one past the last mapped.
func alignCheckBack(h *alignHistory, in AlignInput, mapped []alignPair) error {
	at := h.copied()
	for p := in.Target; p <= in.TargetEnd; p++ {
		next := offsetmap.SourceOffset(h.through)
		for _, m := range mapped {
			if m.target < p {
				next = max(next, m.source+1)
			}
		}
		for s := offsetmap.SourceOffset(h.through); s < next; s++ {
			if e := h.source[s]; e.gone || e.control {
				continue
			}
			if at[s] < 0 || offsetmap.TargetOffset(at[s]) >= p {
				return fmt.Errorf("target position %d is late: goes on at source %d beyond the unread survivor %d", p, next, s)
			}
		}
	}
	return nil
}

// TestAlignLargestPlaceLoses shows that the oracle sees losses: the largest feasible place, which is what the most
// generous content match takes, does lose records in these histories.
func TestAlignLargestPlaceLoses(t *testing.T) {
	mix := alignMixes()[3]
	lost := 0
	for i := range 5_000 {
		h := newAlignHistory(mix, rand.New(rand.NewPCG(77, uint64(i))))
		in := h.input()
		out := Align(in)
		for beyond := out.Duplicates; beyond > 0; out.Place++ {
			if at := int(out.Place); !h.source[at].gone && !h.source[at].control {
				beyond--
			}
		}
		at := h.copied()
		for s := h.through; offsetmap.SourceOffset(s) < out.Place; s++ {
			if at[s] < 0 && !h.source[s].gone && !h.source[s].control {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("the largest place lost nothing: the histories do not test the choice")
	}
	t.Logf("the largest feasible place loses %d records in 5,000 histories", lost)
}
