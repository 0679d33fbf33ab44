package mirror

import (
	"errors"
	"testing"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
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
	for _, e := range l.take() {
		l.handle(e)
	}
	if asked, _, _ := p.feed.state(); p.core.Next() != 20 || asked != 20 {
		t.Fatalf("STANDS STILL: the core wants %d next, asked for is %d", p.core.Next(), asked)
	}
}

// What waited while the ledger could not be written goes out once it can, even if nothing else happens to the partition.
func TestQueueGoesOnWithTheLedger(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.start(f, 0, -1)
	l.ledger.add([]byte("k"), []byte("v"), nil)
	l.kick()
	l.ledger.fails = stalled
	f.sink(answerAt(p, 0, dataBatch(t, 0, 10)))
	for _, e := range l.take() {
		l.handle(e)
	}
	if len(p.outs) != 0 {
		t.Fatal("data went out while the ledger was stalled")
	}
	l.handle(journaled{journal: l.ledger, flight: l.ledger.flight})
	if l.ledger.fails != 0 {
		t.Fatal("the ledger did not recover")
	}
	l.tick()
	if len(p.outs) != 1 {
		t.Fatalf("STANDS STILL: %d batches on their way, queue idle: %v", len(p.outs), p.core.Idle())
	}
	for _, o := range p.outs {
		if v, _, err := batch.Next(o.bytes); err != nil || v.Count() != 10 {
			t.Errorf("batch of %d records, %v", v.Count(), err)
		}
	}
}

// A source that is away is one line for all partitions of all lanes, another a minute later, and one when it is back.
func TestSourceThatIsAwayIsOneLine(t *testing.T) {
	r, f, l := bareLane(t)
	log := r.listen()
	f.log = r.log
	for i := range int32(3) {
		tp := kafka.TP{Topic: "t", Partition: i}
		p := newPart(Partition{TP: tp, Remote: "A.t"})
		l.parts[tp] = p
		p.core = lane.NewPart(l.limits, offsetmap.New(offsetmap.Origin{}), 9)
		p.feed = &feed{tp: tp, lane: l, cap: 1 << 20}
		f.feeds[tp] = p.feed
		p.step = live
		p.feed.start(f, 0, -1)
		got := answerAt(p, 0, nil)
		got.Err = errors.New("nobody answers")
		f.sink(got)
	}
	for _, e := range l.take() {
		l.handle(e)
	}
	at := now()
	l.tellUnreadable(at)
	f.unread.note(f.log, 7, unread{partitions: 2, err: errors.New("nobody answers")}, at)
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
	f.unread.note(f.log, 7, unread{}, at+gatherFor+tellEvery)
	for _, p := range l.parts {
		f.sink(answerAt(p, 0, nil))
	}
	for _, e := range l.take() {
		l.handle(e)
	}
	l.tick()
	l.tick()
	if n := log.count("can be read again"); n != 1 {
		t.Errorf("%d lines about its return, want one", n)
	}
}

// A source that is away with a backlog is trouble that the fetcher reports after 5 s and every 10 s. Starting reading again
// in between would be a warning for each partition, and would put off the report for ever.
func TestReadingIsLeftAloneWhileTheSourceIsAway(t *testing.T) {
	f, l, p := livePart(t)
	p.feed.start(f, 50, -1) // elsewhere, to see whether it starts again
	p.sourceLSO, p.heardAt = 80, now()-11_000
	l.tick()
	if asked, _, _ := p.feed.state(); asked != 50 {
		t.Errorf("reading started again, at %d", asked)
	}
}
