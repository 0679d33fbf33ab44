package demo

// lagMax is MirrorMaker 2's default of offset.lag.max.
const lagMax = 100

// offsetSync is a pair that MirrorMaker 2 writes to its offset-syncs topic: the record at offset up of the source got
// offset down on the target.
type offsetSync struct{ up, down int64 }

// syncWriter decides which mirrored records of a partition become an offset sync, as MirrorMaker 2 does since 3.5
// (KAFKA-12468, KAFKA-14797). The extra sync of the newest record that 3.7 and later write once a minute (KAFKA-15906) is
// left out: the demo's failover comes within seconds.
type syncWriter struct {
	max                        int64 // offset.lag.max
	prevUp, prevDown, lastSync int64
}

func newSyncWriter(limit int64) *syncWriter {
	return &syncWriter{max: limit, prevUp: -1, prevDown: -1, lastSync: -1}
}

// emits says whether the next mirrored record is synced.
func (w *syncWriter) emits(s offsetSync) bool {
	emit := w.lastSync == -1 || // the first record of this task
		s.down-(w.lastSync+1) >= w.max || // a group here would be translated too far back
		s.up-w.prevUp != 1 || // a gap or a rewind on the source
		s.down < w.prevDown // the target was truncated
	if emit {
		w.lastSync = s.down
	}
	w.prevUp, w.prevDown = s.up, s.down
	return emit
}

// slots is how many syncs MirrorMaker 2 remembers of a partition.
const slots = 64

// syncStore is what MirrorMaker 2 translates by (OffsetSyncStore, KAFKA-14666 and KAFKA-15202): the newest sync in slot 0,
// the oldest usable one in slot 63, and between them syncs at distances that about double from slot to slot. Slots that
// hold the same sync hold the same pointer, for "the same" means identity there, not equal numbers.
type syncStore struct {
	slot [slots]*offsetSync
	// latestOnly: it reads old syncs after a restart without checkpoints, when MirrorMaker 2 keeps none but the latest.
	latestOnly bool
}

// add takes the next sync of the topic.
func (s *syncStore) add(sync offsetSync) {
	n := &sync
	if s.slot[0] == nil || s.latestOnly || n.up < s.slot[0].up {
		// The first one, or the source went back: nothing that was known before is trusted.
		for i := range s.slot {
			s.slot[i] = n
		}
		return
	}
	old, now := s.slot, s.slot
	now[0] = n
	carry, from := n, 0
	for i := 1; i < slots; i++ {
		// A sync that has to leave its slot moves to a higher one where it fits, rather than being forgotten.
		for again := true; again; again = from < i && again {
			k := old[from]
			far := farEnough(now[i-1], i-1, k)
			useless := !far || from < slots-1 && old[from] == old[from+1]
			if far && nearEnough(now[i-1], i-1, k, i) && (i == slots-1 || farEnough(k, i, now[i+1])) {
				carry = k
				from++
			} else if useless {
				from++
			}
			again = useless
		}
		if nearEnough(now[i-1], i-1, now[i], i) {
			break // this slot and all above it are still right
		}
		now[i] = carry
	}
	s.slot = now
}

// nearEnough is the store's invariant B: the sync in slot j is not too old beside the one in slot i. The sum wraps as in
// Java; wrapped to below 0 it stands for more than any offset.
func nearEnough(a *offsetSync, i int, b *offsetSync, j int) bool {
	limit := b.up + int64(1)<<j - int64(1)<<i
	return a == b || limit < 0 || a.up <= limit
}

// farEnough is invariant C: the sync in slot i is not too close to an older one.
func farEnough(a *offsetSync, i int, b *offsetSync) bool {
	limit := b.up + int64(1)<<max(i-2, 0)
	return a == b || limit >= 0 && a.up >= limit
}

// translate gives the target's offset for a committed offset of the source. ok is false where MirrorMaker 2 has none:
// no sync, or none as old as the position.
func (s *syncStore) translate(committed int64) (target int64, ok bool) {
	if s.slot[0] == nil {
		return 0, false
	}
	for _, sync := range s.slot {
		switch {
		case sync.up == committed:
			return sync.down, true
		case sync.up < committed:
			return sync.down + 1, true // all that is known of what comes after it is that it comes after it
		}
	}
	return 0, false
}

// mm2Partition is a partition as a MirrorMaker 2 with its defaults, reading committed records only, would know it after
// mirroring all of it.
type mm2Partition struct {
	log   *log // of the source; its record i is at offset i of the target
	store syncStore
}

func newMM2Partition(l *log) *mm2Partition {
	p, w := &mm2Partition{log: l}, newSyncWriter(lagMax)
	for down, up := range l.offsets {
		if s := (offsetSync{up: up, down: int64(down)}); w.emits(s) {
			p.store.add(s)
		}
	}
	return p
}

// readAgain is how many records below the committed offset a group would get again. A position that MirrorMaker 2 cannot
// translate is not written, and the consumer starts at the first record.
func (p *mm2Partition) readAgain(committed int64) int64 {
	exact := int64(p.log.below(committed))
	target, ok := p.store.translate(committed)
	if !ok {
		return exact
	}
	return max(exact-target, 0)
}
