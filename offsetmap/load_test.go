package offsetmap_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/fuzzing"
	"tidemark/offsetmap"
)

// The bytes are stored on clusters: a change here needs a new version.
func TestGolden(t *testing.T) {
	m := example(t)
	m.NoteEpoch(4, 100)
	must(t, m.Doubt(100, 3))
	must(t, m.Append(run(165, 100, 1)))
	must(t, m.Doubt(102, 1))
	must(t, m.Append(run(167, 102, 1)))
	b, ok := m.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	wantBlock := "02" + "00" + "00" + // version, incarnation, number
		"6432" + // from source 100, target 50
		"011f0a08" + // lost: 31 above 100, 10 long, 8 records
		"031402" + "0b01" + "0a01" + // markers: 20 above 50, 2 long; 11 above, 1 long; 10 above, 1 long
		"012e0403" + // doubts: 46 above 50, 4 long, 3 copies
		"05" + // runs
		"bf0302" + "19" + "ff030102" + // gaps 10, 0, count 10; 1, 0, 10; 10, 2, 10
		"c70102" + "e005" // 0, 2, 10; 4, 6, 1
	if got := hex.EncodeToString(b.Data); got != wantBlock {
		t.Errorf("block\n got %s\nwant %s", got, wantBlock)
	}
	wantTail := "02" + "0465617374" + hex.EncodeToString(make([]byte, 32)) + "00" +
		"6432" + "a80167" + // origin, end
		"00" + "6432" + // flags, floor
		"01" + "01" + "0001" + // next number, one range of blocks: 0
		"6e32" + "03" + // first run, copies in doubt in all blocks
		"01" + "0464" + // epoch 4 from 100
		"a60165" + "00" + "00" + // from source 166, target 101; nothing lost, no markers
		"01" + "000101" + // doubt right there, 1 long, 1 copy
		"01" + "c800" // open run: gaps 1, 1, count 1
	if got := hex.EncodeToString(m.AppendTail(nil)); got != wantTail {
		t.Errorf("tail\n got %s\nwant %s", got, wantTail)
	}
}

func TestLoadWithMissingBlock(t *testing.T) {
	full, blocks := chain(t, 3)
	tail := full.AppendTail(nil)
	incarnation, number := slices.Clone(blocks[1].Data), slices.Clone(blocks[1].Data)
	incarnation[1], number[2] = 1, 2
	for name, data := range map[string][]byte{
		"absent":               nil,
		"cut short":            blocks[1].Data[:len(blocks[1].Data)-1],
		"one byte more":        append(slices.Clone(blocks[1].Data), 0),
		"unknown version":      append([]byte{9}, blocks[1].Data[1:]...),
		"another block":        blocks[2].Data,
		"another incarnation":  incarnation,
		"another number":       number,
		"marker behind":        slices.Replace(slices.Clone(blocks[1].Data), 6, 7, 1, 40, 1),
		"lost behind":          slices.Replace(slices.Clone(blocks[1].Data), 5, 6, 1, 40, 1, 1),
		"does not fit the end": append(slices.Clone(blocks[1].Data[:len(blocks[1].Data)-1]), 0x18),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := offsetmap.Load(tail, []offsetmap.Block{blocks[0], {Number: 1, Data: data}, blocks[2]})
			must(t, err)
			must(t, m.Check())
			if d := cmp.Diff([]uint32{1}, m.Missing()); d != "" {
				t.Errorf("missing differ (-want +got):\n%s", d)
			}
			for c, want := range map[src]offsetmap.Position{
				32:  {Target: 30, Kind: offsetmap.Exact},
				33:  {Target: 30, Kind: offsetmap.Bounded, N: 1},
				50:  {Target: 30, Kind: offsetmap.Bounded, N: 18},
				64:  {Target: 30, Kind: offsetmap.Bounded, N: 30},
				65:  {Target: 60, Kind: offsetmap.Exact},
				66:  {Target: 60, Kind: offsetmap.Exact},
				67:  {Target: 61, Kind: offsetmap.Exact},
				109: {Target: 100, Kind: offsetmap.AtEnd},
			} {
				if got := m.Next(c); got != want {
					t.Errorf("Next(%d) = %+v, want %+v", c, got, want)
				}
			}
			if got := m.Count(0, 100); got != 100 {
				t.Errorf("Count = %d", got)
			}
		})
	}
}

// block seals the runs, but for the last, as block number of a map that begins at base.
func block(t testing.TB, number byte, base tgt, runs ...offsetmap.Run) offsetmap.Block {
	m := offsetmap.New(offsetmap.Origin{Base: base})
	for _, r := range runs {
		must(t, m.Append(r))
	}
	b, ok := m.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	b.Data[2] = number
	return offsetmap.Block{Number: uint32(number), Data: b.Data}
}

// Blocks that are fine by themselves and contradict what else is known.
func TestLoadBlockOfAnotherMap(t *testing.T) {
	tests := []struct {
		name   string
		trim   tgt
		block  offsetmap.Block
		others []int
		want   []uint32
	}{
		{"begins above the floor", 0, block(t, 0, 1, run(1, 1, 28), run(31, 29, 1), run(33, 30, 1)), []int{1, 2}, []uint32{0}},
		{"ends above the next one known", 0, block(t, 0, 0, run(0, 0, 66), run(70, 66, 1)), []int{2}, []uint32{0, 1}},
		{"begins below the floor", 30, block(t, 2, 0, run(1, 1, 88), run(97, 89, 1), run(99, 90, 1)), []int{1}, []uint32{2}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			full, blocks := chain(t, 3)
			full.TrimTarget(tc.trim)
			stored := []offsetmap.Block{tc.block}
			for _, i := range tc.others {
				stored = append(stored, blocks[i])
			}
			m, err := offsetmap.Load(full.AppendTail(nil), stored)
			must(t, err)
			must(t, m.Check())
			if d := cmp.Diff(tc.want, m.Missing()); d != "" {
				t.Errorf("missing differ (-want +got):\n%s", d)
			}
		})
	}
}

// The start of the first run is in the tail too: without the first block
// positions below it stay what they are.
func TestLoadWithoutFirstBlock(t *testing.T) {
	full := example(t)
	if _, ok := full.Seal(); !ok {
		t.Fatal("nothing to seal")
	}
	m, err := offsetmap.Load(full.AppendTail(nil), nil)
	must(t, err)
	for _, c := range []src{90, 105, 110} {
		if got, want := m.Next(c), full.Next(c); got != want {
			t.Errorf("Next(%d) = %+v, want %+v", c, got, want)
		}
	}
	if got, want := m.Next(135), (offsetmap.Position{Target: 50, Kind: offsetmap.Bounded, N: 25}); got != want {
		t.Errorf("Next(135) = %+v, want %+v", got, want)
	}
}

func TestLoadCorruptTail(t *testing.T) {
	full := example(t)
	full.NoteEpoch(1, 100)
	b, _ := full.Seal()
	tail := full.AppendTail(nil)
	for n := range tail {
		if _, err := offsetmap.Load(tail[:n], []offsetmap.Block{b}); !errors.Is(err, offsetmap.ErrCorrupt) {
			t.Errorf("cut to %d bytes: error %v", n, err)
		}
	}
	if _, err := offsetmap.Load(append(slices.Clone(tail), 0), nil); !errors.Is(err, offsetmap.ErrCorrupt) {
		t.Errorf("one byte more: error %v", err)
	}
	for _, v := range []byte{1, 3} {
		if _, err := offsetmap.Load(append([]byte{v}, tail[1:]...), nil); !errors.Is(err, offsetmap.ErrVersion) {
			t.Errorf("version %d: error %v", v, err)
		}
	}
	u := binary.AppendUvarint
	head := append([]byte{2, 0}, make([]byte, 33)...)                                   // no cluster, ids, incarnation 0
	plain := append(slices.Clone(head), 5, 5, 9, 9, 0, 5, 5, 0, 0, 0, 5, 5, 0, 0, 0, 0) // a map without runs
	if _, err := offsetmap.Load(plain, nil); err != nil {
		t.Fatalf("the map that the cases below spoil: %v", err)
	}
	spoil := func(at int, v ...byte) []byte {
		return slices.Replace(slices.Clone(plain), len(head)+at, len(head)+at+1, v...)
	}
	// rest replaces the holes and the runs.
	rest := func(v ...byte) []byte { return append(slices.Clone(plain[:len(head)+12]), v...) }
	for name, good := range map[string][]byte{
		"doubts that touch": rest(0, 0, 2, 0, 1, 1, 0, 1, 1, 0),
		"doubt, no copies":  rest(0, 0, 1, 1, 1, 0, 0),
		"doubt and marker":  rest(0, 1, 1, 1, 2, 0, 1, 1, 1, 2, 1, 0),
	} {
		if _, err := offsetmap.Load(good, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string][]byte{
		"end below the floor":     spoil(2, 4),
		"target end below":        spoil(3, 4),
		"unknown flag":            spoil(4, 2),
		"floor without a trim":    spoil(5, 6),
		"negative number":         spoil(2, u(nil, 1<<63)...),
		"varint without end":      spoil(2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"too many block ranges":   spoil(8, u(nil, math.MaxInt64)...),
		"block above the next":    spoil(8, 1, 0, 1, 5, 5, 0),
		"too many blocks":         slices.Replace(slices.Clone(plain), len(head)+7, len(head)+9, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0, 0x81, 0x80, 0x40, 5, 5, 0),
		"too many epochs":         spoil(9, u(nil, math.MaxUint64)...),
		"epochs go back":          spoil(9, 2, 3, 6, 3, 7),
		"tail not at the floor":   spoil(10, 6),
		"lost beyond the end":     spoil(12, 1, 3, 2, 1),
		"lost more than fits":     spoil(12, 1, 0, 1, 2),
		"lost nothing":            spoil(12, 1, 0, 1, 0),
		"marker beyond the end":   spoil(13, 1, 3, 2),
		"empty marker":            spoil(13, 1, 1, 0),
		"touching markers":        spoil(13, 2, 0, 1, 0, 1),
		"doubt beyond the end":    spoil(14, 1, 3, 2, 1),
		"more copies than fit":    spoil(14, 1, 1, 1, 2),
		"empty doubt":             spoil(14, 1, 1, 0, 0),
		"number of doubts":        spoil(14, u(nil, math.MaxInt64)...),
		"doubt in a marker":       rest(0, 1, 1, 2, 1, 2, 1, 1, 0),
		"doubt around a marker":   rest(0, 1, 1, 1, 1, 0, 3, 1, 0),
		"run beyond the end":      spoil(15, 1, 0x04),
		"run in a lost stretch":   rest(1, 1, 1, 1, 0, 0, 1, 0x02),
		"run in a marker":         rest(0, 1, 1, 1, 0, 1, 0x02),
		"run in a doubt":          rest(0, 0, 1, 1, 1, 1, 1, 0x02),
		"touching runs":           spoil(15, 2, 0, 0),
		"fewer runs than said":    spoil(15, 2, 0),
		"source gap overflow":     spoil(15, append([]byte{1, 0xb8}, u(nil, math.MaxInt64-7)...)...),
		"target gap overflow":     spoil(15, append([]byte{1, 0xc0}, u(nil, math.MaxInt64-1)...)...),
		"count overflow":          spoil(15, append([]byte{1, 0x87}, u(nil, math.MaxInt64-8)...)...),
		"number of runs too high": spoil(15, u(nil, math.MaxInt64)...),
	} {
		if m, err := offsetmap.Load(bad, nil); !errors.Is(err, offsetmap.ErrCorrupt) {
			t.Errorf("%s: map %v, error %v", name, m, err)
		}
	}
}

func TestLoadSkipsOrphanNumbers(t *testing.T) {
	m, blocks := chain(t, 1)
	head := m.AppendTail(nil)
	for range 2 {
		must(t, m.Append(run(m.Through()+1, m.TargetEnd(), 1)))
	}
	orphan, ok := m.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	got, err := offsetmap.Load(head, append(blocks, orphan, offsetmap.Block{Number: math.MaxUint32}))
	must(t, err)
	must(t, got.Append(run(got.Through()+1, got.TargetEnd(), 1)))
	if b, ok := got.Seal(); !ok || b.Number != orphan.Number+1 {
		t.Errorf("sealed block %d, %v; number %d is taken", b.Number, ok, orphan.Number)
	}
}

// manyBlocks is a tail without runs that names n blocks.
func manyBlocks(n uint64) []byte {
	point := func(tail []byte, at uint64) []byte { return binary.AppendUvarint(binary.AppendUvarint(tail, at), at) }
	tail := append([]byte{2, 0}, make([]byte, 32)...)     // version, no cluster, no topic ids
	tail = point(append(tail, 0, 0, 0), n)                // incarnation, origin; end
	tail = binary.AppendUvarint(append(tail, 0, 0, 0), n) // flags, floor; next number
	tail = binary.AppendUvarint(append(tail, 1, 0), n)
	tail = point(append(tail, 0, 0, 0, 0), n) // first run, doubts, epochs; start of the tail
	return append(tail, 0, 0, 0, 0)
}

func TestLoadOfManyAbsentBlocks(t *testing.T) {
	fuzzing.Within(t, 32<<20, func() {
		m, err := offsetmap.Load(manyBlocks(1<<20), nil)
		must(t, err)
		if n := len(m.Missing()); n != 1<<20 {
			t.Errorf("%d blocks are missing", n)
		}
	})
}

func FuzzLoad(f *testing.F) {
	full, blocks := chain(f, 2)
	f.Add(full.AppendTail(nil), blocks[0].Data, blocks[1].Data, uint32(0), uint32(1))
	d := doubtful(f)
	f.Add(d.AppendTail(nil), []byte{}, []byte{}, uint32(0), uint32(1))
	db, _ := d.Seal()
	f.Add(d.AppendTail(nil), db.Data, []byte{}, uint32(0), uint32(1))
	f.Add(d.AppendTail(nil), []byte{}, []byte{}, uint32(0), uint32(1))
	ex := example(f)
	ex.NoteEpoch(7, 120)
	f.Add(ex.AppendTail(nil), []byte{}, []byte{1}, uint32(0), uint32(math.MaxUint32))
	b, _ := ex.Seal()
	f.Add(ex.AppendTail(nil), b.Data, []byte{}, uint32(0), uint32(7))
	full.TrimTarget(40)
	f.Add(full.AppendTail(nil), blocks[0].Data, blocks[1].Data, uint32(0), uint32(1))
	f.Add(manyBlocks(1<<10), []byte{}, []byte{}, uint32(0), uint32(1))
	for _, cut := range fuzzing.Cuts(blocks[1].Data) {
		f.Add(full.AppendTail(nil), blocks[0].Data, cut, uint32(0), uint32(1))
	}

	f.Fuzz(func(t *testing.T, tail, b0, b1 []byte, n0, n1 uint32) {
		stored := []offsetmap.Block{{Number: n0, Data: b0}, {Number: n1, Data: b1}}
		var m *offsetmap.Map
		var err error
		// A tail may name a million blocks in a few bytes, at four bytes each here.
		fuzzing.Within(t, 32<<20+100*(len(tail)+len(b0)+len(b1)), func() { m, err = offsetmap.Load(tail, stored) })
		if err != nil {
			if !errors.Is(err, offsetmap.ErrCorrupt) && !errors.Is(err, offsetmap.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		must(t, m.Check())
		again, err := offsetmap.Load(m.AppendTail(nil), stored)
		must(t, err)
		must(t, again.Check())
		if m.Doubts() != again.Doubts() || m.Doubts() < 0 || m.Doubts() > int64(m.TargetEnd()) {
			t.Fatalf("Doubts() = %d, %d after another load", m.Doubts(), again.Doubts())
		}
		queries := []src{math.MinInt64, -1, 0, m.Origin().SourceStart, m.Through(), m.Through() / 2, math.MaxInt64}
		for r := range m.Runs() {
			queries = append(queries, r.Source-1, r.Source, r.Source+src(r.Count))
		}
		slices.Sort(queries)
		last := tgt(-1)
		for _, c := range queries {
			p := m.Next(c)
			if q := again.Next(c); p != q || p.N < 0 || p.Lost < 0 || p.Target > m.TargetEnd() {
				t.Fatalf("Next(%d) = %+v, %+v after another load", c, p, q)
			}
			if p.Kind != offsetmap.Trimmed && p.Target < last {
				t.Fatalf("OM10: Next(%d) = %+v after %d", c, p, last)
			} else if p.Kind != offsetmap.Trimmed {
				last = p.Target
			}
			m.Source(p.Target)
			if n := m.Count(0, p.Target); n < 0 {
				t.Fatalf("Count(0, %d) = %d", p.Target, n)
			}
		}
		m.Seal()
		m.TrimTarget(m.TargetEnd() / 2)
		must(t, m.Check())
	})
}
