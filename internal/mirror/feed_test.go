package mirror

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/events"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

func answerAt(p *part, offset int64, records []byte) wire.Fetched {
	return wire.Fetched{TP: p.TP, Offset: offset, Records: records, Release: func() {}, HighWatermark: -1, LastStable: -1, LogStart: -1}
}

// A sink that was held up between taking an answer and posting it hands over the same offset twice: once from before
// reading began again, and once from after. Were the first one taken, all that follows the second would be thrown away
// and nobody would ask for what lies between.
func TestAnswerFromBeforeReadingBeganAgain(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.start(f, 0, -1)
	f.sink(answerAt(p, 0, dataBatch(t, 0, 10)))
	late := l.take() // not posted yet
	p.feed.stop(f)
	p.feed.start(f, 0, -1)
	for _, e := range late {
		l.handle(e)
	}
	if n := p.core.Next(); n != 0 {
		t.Errorf("the core took an answer from before: it wants %d next", n)
	}
	f.sink(answerAt(p, 0, dataBatch(t, 0, 20)))
	l.handleAll()
	if asked, _, _ := p.feed.state(); p.core.Next() != 20 || asked != 20 {
		t.Fatalf("STANDS STILL: the core wants %d next, asked for is %d", p.core.Next(), asked)
	}
}

// A lane whose ledger takes nothing gives back the bytes that it has queued, since other lanes need them, and sends nothing
// more; once the ledger takes records again it reads from where it stood.
func TestStalledLedgerGivesBytesBack(t *testing.T) {
	f, l, p := livePart(t)
	l.sent()
	l.ledger.add([]byte("k"), []byte("v"), nil)
	fl := l.ledger.Next(now())
	freed := false
	fill := func(at int64, free func()) {
		got := answerAt(p, at, dataBatch(t, at, 10))
		got.Release = free
		f.sink(got)
		l.handleAll()
	}
	fill(0, func() {})
	fill(10, func() { freed = true }) // waits behind the first one
	for range 10 {
		l.handle(journaled{journal: l.ledger, flight: fl, result: wire.Result{Code: kerr.NotEnoughReplicas.Code}})
	}
	if !freed || p.core.Next() != 10 {
		t.Fatalf("HELD: what is queued keeps its bytes (freed %v, next %d)", freed, p.core.Next())
	}
	asked, _, _ := p.feed.state()
	f.sink(answerAt(p, int64(asked), dataBatch(t, int64(asked), 10)))
	if len(l.take()) != 0 {
		t.Error("read on while the ledger is stalled")
	}
	l.handle(journaled{journal: l.ledger, flight: fl})
	if asked, _, _ := p.feed.state(); asked != 10 || l.ledger.Stalled() {
		t.Fatalf("STANDS STILL: asked for is %d, want 10", asked)
	}
}

// A source that is away is one line for all partitions of all lanes, another a minute later, and one when it is back.
func TestSourceThatIsAwayIsOneLine(t *testing.T) {
	r, f, l := bareLane(t)
	log := r.listen()
	f.events.Listen(events.ToLog(r.log))
	for i := range int32(3) {
		p := l.liven(t, "t", i, offsetmap.New(offsetmap.Origin{}))
		got := answerAt(p, 0, nil)
		got.Err = errors.New("nobody answers")
		f.sink(got)
	}
	l.handleAll()
	at := now()
	l.tellUnreadable(at)
	f.unread.note(f.say, 7, unread{partitions: 2, err: errors.New("nobody answers")}, at)
	if n := log.count("cannot be read"); n != 0 {
		t.Errorf("%d lines before all lanes can have seen it", n)
	}
	for _, later := range []int64{gatherFor, gatherFor + 50, 30_000} {
		l.tellUnreadable(at + later)
	}
	if n := log.count("cannot be read for now", "partitions=5", "nobody answers"); n != 1 {
		t.Errorf("%d lines about five partitions, want one", n)
	}
	l.tellUnreadable(at + gatherFor + tellEvery)
	if n := log.count("cannot be read for now", "partitions=5", "nobody answers"); n != 2 {
		t.Errorf("%d lines after a minute more, want two", n)
	}
	f.unread.note(f.say, 7, unread{}, at+gatherFor+tellEvery)
	for _, p := range l.parts {
		f.sink(answerAt(p, 0, nil))
	}
	l.handleAll()
	l.tick()
	l.tick()
	if n := log.count("can be read again"); n != 1 {
		t.Errorf("%d lines about its return, want one", n)
	}
}
