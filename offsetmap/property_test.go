package offsetmap_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/offsetmap"
)

// history drives a map and the model through the same random operations.
type history struct {
	t      *rapid.T
	m      *offsetmap.Map
	model  *model
	stored map[uint32][]byte // the ledger's blocks
	// damaged: blocks may be missing; lost keeps them, as they may come back.
	damaged bool
	lost    map[uint32][]byte
	// hidden: doubts may have been in missing blocks, of which some may be trimmed.
	hidden bool
}

func newHistory(t *rapid.T) *history {
	o := offsetmap.Origin{
		SourceCluster: "east",
		SourceTopicID: [16]byte{1}, TargetTopicID: [16]byte{2},
		SourceStart: src(rapid.Int64Range(0, 300).Draw(t, "start")),
		Base:        tgt(rapid.Int64Range(0, 300).Draw(t, "base")),
		Incarnation: rapid.Uint32Range(0, 3).Draw(t, "incarnation"),
	}
	return &history{t: t, m: offsetmap.New(o), model: newModel(o), stored: map[uint32][]byte{}, lost: map[uint32][]byte{}}
}

func (h *history) gap(name string) int64 {
	return rapid.SampledFrom([]int64{0, 0, 0, 1, 1, 2, 6, 7, 8, 9, 200}).Draw(h.t, name)
}

// append adds one run; a gap on the target is partly markers, partly unexplained.
func (h *history) append() {
	if rapid.IntRange(0, 4).Draw(h.t, "holes") == 0 {
		h.marker()
	}
	r := offsetmap.Run{
		Source: h.m.Through() + src(h.gap("source gap")),
		Target: h.m.TargetEnd() + tgt(rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 3}).Draw(h.t, "target gap")),
		Count:  rapid.SampledFrom([]int64{1, 1, 1, 2, 7, 8, 9, 15, 16, 17, 40, 150}).Draw(h.t, "count"),
	}
	h.must(h.m.Append(r))
	h.model.append(r)
}

// burst appends many one-record transactions, so that blocks have several
// kept states.
func (h *history) burst() {
	for range rapid.IntRange(1, 220).Draw(h.t, "burst") {
		r := offsetmap.Run{Source: h.m.Through() + 1, Target: h.m.TargetEnd(), Count: 1}
		h.must(h.m.Append(r))
		h.model.append(r)
	}
}

func (h *history) marker() {
	to := h.m.TargetEnd() + tgt(rapid.Int64Range(0, 3).Draw(h.t, "markers"))
	h.must(h.m.Marker(to))
	h.model.mark(to)
}

func (h *history) foreign() {
	to := h.m.TargetEnd() + tgt(rapid.Int64Range(0, 3).Draw(h.t, "foreign"))
	h.must(h.m.Foreign(to))
	h.model.targetEnd = to
}

func (h *history) doubt() {
	n := rapid.Int64Range(0, 9).Draw(h.t, "doubtful offsets")
	records := rapid.Int64Range(0, n).Draw(h.t, "copies")
	to := h.m.TargetEnd() + tgt(n)
	h.must(h.m.Doubt(to, records))
	h.model.doubt(to, records)
}

func (h *history) lose() {
	n := rapid.Int64Range(0, 30).Draw(h.t, "lost offsets")
	records := rapid.Int64Range(0, n).Draw(h.t, "lost records")
	to := h.m.Through() + src(n)
	h.must(h.m.Lose(to, records))
	h.model.lose(to, records)
}

func (h *history) advance() {
	to := h.m.Through() + src(h.gap("advance"))
	h.must(h.m.Advance(to))
	h.model.through = to
}

func (h *history) epoch() {
	e := max(h.m.LastEpoch()+rapid.Int32Range(-1, 3).Draw(h.t, "epoch"), 0)
	h.m.NoteEpoch(e, h.m.Through())
	h.model.noteEpoch(e, h.m.Through())
}

func (h *history) seal() {
	size := h.m.OpenSize()
	b, ok := h.m.Seal()
	if len(b.Data) > size+64 {
		h.t.Fatalf("block of %d bytes, OpenSize was %d", len(b.Data), size)
	}
	if h.damaged {
		h.adoptSeal(b, ok)
		return
	}
	want, wantOK := h.model.seal()
	if ok != wantOK || b.Number != want.number {
		h.t.Fatalf("Seal() = block %d, %v, want %d, %v", b.Number, ok, want.number, wantOK)
	}
	if !ok {
		return
	}
	if _, dup := h.stored[b.Number]; dup {
		h.t.Fatalf("block number %d given out twice", b.Number)
	}
	h.stored[b.Number] = slices.Clone(b.Data)
}

// reload stores and loads the map; sometimes with a block that was written
// while its head was not.
func (h *history) reload() {
	tail := h.m.AppendTail([]byte("head"))[4:]
	blocks := h.m.Blocks()
	if rapid.Bool().Draw(h.t, "orphan") {
		if b, ok := h.m.Seal(); ok {
			h.stored[b.Number] = slices.Clone(b.Data)
			h.model.next = b.Number + 1
		}
	}
	m, err := offsetmap.Load(tail, h.ledger())
	h.must(err)
	if !slices.Equal(m.Blocks(), blocks) {
		h.t.Fatalf("Blocks() = %v, want %v", m.Blocks(), blocks)
	}
	if !h.damaged && (len(m.Missing()) > 0 || !sameButNext(m, h.m)) {
		h.t.Fatalf("loaded map differs: missing %v", m.Missing())
	}
	h.m = m
}

func sameButNext(a, b *offsetmap.Map) bool {
	return a.Origin() == b.Origin() && a.Through() == b.Through() && a.TargetEnd() == b.TargetEnd() &&
		a.Doubts() == b.Doubts() &&
		slices.Equal(a.Epochs(), b.Epochs()) && slices.Equal(slices.Collect(a.Runs()), slices.Collect(b.Runs()))
}

// ledger returns the stored blocks.
func (h *history) ledger() []offsetmap.Block {
	var out []offsetmap.Block
	for n, d := range h.stored {
		out = append(out, offsetmap.Block{Number: n, Data: d})
	}
	slices.SortFunc(out, func(a, b offsetmap.Block) int { return int(a.Number) - int(b.Number) })
	return out
}

func (h *history) trim() {
	t := h.m.TargetEnd() - tgt(rapid.Int64Range(0, int64(h.m.TargetEnd())).Draw(h.t, "below end"))
	got := h.m.TrimTarget(t)
	below := func(to pair) bool { return to.t <= t }
	if h.damaged {
		h.adoptTrim(got, below)
	} else if want := h.model.trim(below); !slices.Equal(got, want) {
		h.t.Fatalf("trim dropped %v, want %v", got, want)
	}
	for _, n := range got {
		delete(h.stored, n)
	}
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// step does one random operation.
func (h *history) step() {
	ops := []struct {
		name string
		do   func()
	}{
		{"append", h.append},
		{"append", h.append},
		{"append", h.append},
		{"append", h.append},
		{"append", h.append},
		{"append", h.append},
		{"burst", h.burst},
		{"marker", h.marker},
		{"foreign", h.foreign},
		{"doubt", h.doubt},
		{"lose", h.lose},
		{"advance", h.advance},
		{"seal", h.seal},
		{"seal", h.seal},
		{"seal", h.seal},
		{"reload", h.reload},
		{"trim", h.trim},
		{"epoch", h.epoch},
	}
	op := ops[rapid.IntRange(0, len(ops)-1).Draw(h.t, "op")]
	op.do()
}

// queries returns source offsets worth asking: random ones, the ends, and the
// neighbourhood of some records.
func (h *history) queries(n int) []src {
	out := []src{
		h.model.start - 1, h.model.start, h.model.floor.s - 1, h.model.floor.s, h.model.floor.s + 1,
		h.model.through - 1, h.model.through, h.model.through + 1, h.model.through + 7,
	}
	for _, l := range h.model.lost {
		out = append(out, l.from, l.to-1, l.to)
	}
	for _, d := range h.model.doubts {
		if i := h.model.belowTarget(d.to); i > 0 {
			out = append(out, h.model.pairs[i-1].s+1)
		}
	}
	for _, b := range h.model.blocks {
		out = append(out, b.from.s, b.to.s-1, b.to.s, b.to.s+1)
	}
	for range n {
		c := src(rapid.Int64Range(0, int64(h.model.through)+3).Draw(h.t, "c"))
		if i := h.model.below(c); i < len(h.model.pairs) {
			c = h.model.pairs[i].s
		}
		out = append(out, c-1, c, c+1)
	}
	slices.Sort(out)
	return out
}

func (h *history) verify(n int) {
	if err := h.m.Check(); err != nil {
		h.t.Fatal(err)
	}
	if h.m.Through() != h.model.through || h.m.TargetEnd() != h.model.targetEnd {
		h.t.Fatalf("ends (%d, %d), want (%d, %d)", h.m.Through(), h.m.TargetEnd(), h.model.through, h.model.targetEnd)
	}
	doubts := int64(0)
	for _, d := range h.model.doubts {
		doubts += d.n
	}
	if got := h.m.Doubts(); got != doubts {
		h.t.Fatalf("Doubts() = %d, want %d", got, doubts)
	}
	// Once before the queries and once behind them: none of them may change it, and the model counts every offset there is.
	others := h.model.others()
	sameOthers := func() {
		h.t.Helper()
		if got := h.m.Others(); got != others {
			h.t.Fatalf("Others() = %d, want %d", got, others)
		}
	}
	sameOthers()
	var last offsetmap.Position
	for _, c := range h.queries(n) {
		got, want := h.m.Next(c), h.model.nextPosition(c)
		if got != want {
			h.t.Fatalf("Next(%d) = %+v, want %+v", c, got, want)
		}
		if last.Kind != offsetmap.Trimmed && got.Target < last.Target {
			h.t.Fatalf("OM10: Next(%d) = %+v after %+v", c, got, last)
		}
		last = got
		t := got.Target
		for _, t := range []tgt{t - 1, t, t + 1, t + 2, t + tgt(n)} {
			s, k := h.m.Source(t)
			if ws, wk := h.model.source(t); s != ws || k != wk {
				h.t.Fatalf("Source(%d) = %d, %v, want %d, %v", t, s, k, ws, wk)
			}
		}
		a := tgt(rapid.Int64Range(0, int64(h.m.TargetEnd())+1).Draw(h.t, "a"))
		if got, want := h.m.Count(a, t), h.model.count(a, t); got != want {
			h.t.Fatalf("Count(%d, %d) = %d, want %d", a, t, got, want)
		}
	}
	sameOthers()
}

// verifyRuns compares the runs: maximal, none left out (OM2 and OM4 in a
// history without missing blocks).
func (h *history) verifyRuns() {
	got, want := slices.Collect(h.m.Runs()), h.model.runs()
	if d := cmp.Diff(want, got); d != "" {
		h.t.Fatalf("runs differ (-want +got):\n%s", d)
	}
}

func TestMapAgainstModel(t *testing.T) {
	steps := 0
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(150, 600).Draw(t, "steps") {
			h.step()
			h.verify(1)
			steps++
		}
		h.verify(30)
		h.verifyRuns()
		if d := cmp.Diff(h.model.epochs, h.m.Epochs(), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("epochs differ (-want +got):\n%s", d)
		}
	})
	t.Logf("%d steps", steps)
}
