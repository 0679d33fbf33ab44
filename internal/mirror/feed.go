package mirror

import (
	"sync"

	"tidemark/internal/batch"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// feed is the reading side of one partition: which offset is asked for next, and how many fetched bytes the lane still
// holds. It is shared between the fetcher's goroutines and the lane's, hence the lock. The fetcher is told under the lock:
// otherwise what a sink asks for could overtake a start of the lane's, and nobody would wait for its answer.
type feed struct {
	tp   partition.ID
	lane *Lane
	cap  int64 // bytes after which reading pauses, so that one slow partition cannot use up the flow's budget

	mu     sync.Mutex
	turn   uint64                 // counts starts: an answer belongs to one, even if it reaches the lane after the next
	asked  offsetmap.SourceOffset // offset of the outstanding or next fetch; answers for another one are stale
	epoch  int32                  // leader epoch of the last batch seen, -1 unknown
	held   int64
	paused bool
	closed bool
}

// start begins (again) at an offset. Bytes fetched before are stale from now on.
func (fd *feed) start(f *Flow, offset offsetmap.SourceOffset, epoch int32) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.turn++
	fd.asked, fd.epoch, fd.paused, fd.closed = offset, epoch, false, false
	f.fetcher.Drop(fd.tp)
	fd.want(f)
}

// want asks for what follows. The lock is held.
func (fd *feed) want(f *Flow) { f.fetcher.Want(fd.tp, int64(fd.asked), fd.epoch) }

// stop ends reading; answers that are under way are thrown away.
func (fd *feed) stop(f *Flow) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.closed = true
	f.fetcher.Drop(fd.tp)
}

// current says whether an answer is one to what was asked for last.
func (fd *feed) current(turn uint64) bool {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	return !fd.closed && fd.turn == turn
}

// state is what reading was about, for the log.
func (fd *feed) state() (asked offsetmap.SourceOffset, held int64, paused bool) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	return fd.asked, fd.held, fd.paused
}

// free gives back n held bytes and reads on if that was what reading waited for.
func (fd *feed) free(f *Flow, n int64) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.held -= n
	if fd.paused && !fd.closed && fd.held <= fd.cap/2 {
		fd.paused = false
		fd.want(f)
	}
}

// fetched is an answer of the fetcher on its way to the lane.
type fetched struct {
	feed *feed
	turn uint64 // of the feed, when the answer was taken
	wire.Fetched
}

// sink runs on the fetcher's goroutine. It asks for what follows before the lane sees the bytes, so that reading never
// waits for the lane's own work.
func (f *Flow) sink(got wire.Fetched) {
	f.mu.Lock()
	fd := f.feeds[got.TP]
	f.mu.Unlock()
	if fd == nil {
		release(got)
		return
	}
	fd.mu.Lock()
	if fd.closed || offsetmap.SourceOffset(got.Offset) != fd.asked {
		fd.mu.Unlock()
		release(got)
		return
	}
	if len(got.Records) > 0 {
		fd.held += int64(len(got.Records))
		var whole bool
		fd.asked, fd.epoch, whole = after(got.Records, fd.asked, fd.epoch)
		fd.paused = whole && fd.held >= fd.cap
		if whole && !fd.paused {
			fd.want(f)
		}
	}
	turn := fd.turn
	fd.mu.Unlock()
	// Not under the lock: the lane's own lock guards what it lets go of when it ends, and that takes this one. So an
	// answer can be posted after reading began again; its turn tells.
	fd.lane.post(fetched{feed: fd, turn: turn, Fetched: got})
}

func release(got wire.Fetched) {
	if got.Release != nil {
		got.Release()
	}
}

// after is the offset that follows the last batch, and that batch's leader epoch. Sets of the old formats and damaged
// bytes end the scan (whole is false): only the lane can say where reading goes on, and starts the feed again.
func after(records []byte, offset offsetmap.SourceOffset, epoch int32) (next offsetmap.SourceOffset, last int32, whole bool) {
	for len(records) > 0 {
		v, rest, err := batch.Next(records)
		if err != nil {
			return offset, epoch, false
		}
		offset = max(offset, offsetmap.SourceOffset(v.NextOffset()))
		epoch = v.LeaderEpoch()
		records = rest
	}
	return offset, epoch, true
}
