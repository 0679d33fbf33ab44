package mirror

import (
	"tidemark/internal/control"
	"tidemark/internal/ledger"
)

// heard takes what people have decided for the flow as a whole: how fast it may copy. Lanes that are taken over read decisions too,
// and can be ahead of what the flow follows.
func (f *Flow) heard(s *control.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Topic() != f.decided.Topic() || s.End() >= f.decided.End() {
		f.decided = s
	}
	f.pace()
}

// pace has the fetcher obey the bound. The lock is held.
func (f *Flow) pace() { f.rate.Set(f.allowed()) }

// allowed is how many bytes a second this worker may read; 0: as many as it can. Its share of the bound is that of its partitions. The
// sum over all workers is then never more than the bound, and no worker need know what the others read; where one worker's
// partitions are busy and another's are not it is less. A bound for each worker was rejected: it would change with the number of
// workers, and what is to be protected is a link or a cluster. The lock is held.
func (f *Flow) allowed() int64 {
	d, is := f.decided.Throttle()
	if !is {
		return 0
	}
	own := 0
	for tp := range f.partitions {
		if f.lanes[ledger.LaneOf(tp.Topic, tp.Partition, f.Lanes)] != nil {
			own++
		}
	}
	return max(1, int64(float64(d.Bytes)*float64(own)/float64(max(len(f.partitions), 1)))) // nothing would be no bound
}
