package mirror

import (
	"testing"

	"tidemark/internal/lane"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// A source whose log was truncated below what was read is not read on.
func TestDiverging(t *testing.T) {
	f, l, p := livePart(t)
	got := answerAt(p, 0, nil)
	got.Diverging = &wire.EpochEnd{Epoch: 4, End: 3}
	f.sink(got)
	l.handleAll()
	if !p.core.Is(lane.Stopped) || p.core.Reason() == "" {
		t.Fatal("it is read on")
	}
	l.act(p, p.core.Step(lane.Tick{}, now()+1000*l.limits.StopRetry))
	if !p.core.Is(lane.Stopped) {
		t.Error("it is tried again, though nobody has decided which side is right")
	}
}

// An answer to another question than the last one is given back, and does not move what is asked for.
func TestNotAskedFor(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.start(f, 50, -1)
	freed := false
	got := answerAt(p, 0, dataBatch(t, 0, 10))
	got.Release = func() { freed = true }
	f.sink(got)
	if asked, held, _ := p.feed.state(); asked != 50 || held != 0 || !freed || len(l.take()) != 0 {
		t.Errorf("asked for is %d, %d bytes held, given back %t", asked, held, freed)
	}
}

// A partition that holds its part of the flow's memory is read on once half of it is free.
func TestPaused(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.cap = 150
	b := dataBatch(t, 0, 20)
	f.sink(answerAt(p, 0, b))
	if _, held, paused := p.feed.state(); !paused || held != int64(len(b)) {
		t.Fatalf("%d bytes held, paused %t", held, paused)
	}
	l.giveBack(l.take()[0].(fetched))
	if _, held, paused := p.feed.state(); paused || held != 0 {
		t.Errorf("%d bytes held, paused %t", held, paused)
	}
}

// A position can be inside of a batch where reading begins: that batch is taken from there on.
func TestInsideABatch(t *testing.T) {
	_, f, l := bareLane(t)
	p := l.liven(t, "t", 0, offsetmap.New(offsetmap.Origin{SourceStart: 5}))
	f.sink(answerAt(p, 5, append(dataBatch(t, 0, 10), dataBatch(t, 10, 10)...)))
	l.handleAll()
	if n := p.core.Next(); n != 20 || !p.core.Is(lane.Live) {
		t.Errorf("next %d, %s", n, p.core.Reason())
	}
}

// A batch cannot begin inside of the one before it, end where it should begin, or stand behind the high watermark: its base
// offset is damaged, and nothing is passed over for it.
func TestMisplaced(t *testing.T) {
	for _, base := range []int64{15, 5, 500} {
		f, l, p := livePart(t)
		f.sink(answerAt(p, 0, dataBatch(t, 0, 20)))
		l.handleAll()
		got := answerAt(p, 20, dataBatch(t, base, 10))
		got.HighWatermark = 40
		f.sink(got)
		l.handleAll()
		if n := p.core.Next(); n != 20 {
			t.Errorf("base offset %d: next %d", base, n)
		}
	}
}
