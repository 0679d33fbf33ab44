package batch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Marker reads a control batch: whether the transaction was committed, and the
// coordinator's epoch. Errors: ErrCorrupt if v is no control batch, has been
// emptied by compaction or cannot be read; ErrUnsupported for control records
// other than commit and abort. The CRC is not checked.
func Marker(v View) (commit bool, coordinatorEpoch int32, err error) {
	if !v.Control() || v.Count() == 0 || v.Codec() != None {
		return false, 0, fmt.Errorf("%w: no marker at offset %d", ErrCorrupt, v.BaseOffset())
	}
	w := v.walk(v.Payload())
	var f fields
	ok, err := w.next(&f)
	if err != nil || !ok {
		return false, 0, fmt.Errorf("marker at offset %d: %w", v.BaseOffset(), err)
	}
	var r Record
	f.decode(&r)
	// Key: version, type; value: version, coordinator epoch (KIP-98). Later
	// versions may only append fields.
	if len(r.Key) < 4 {
		return false, 0, fmt.Errorf("%w: marker key of %d bytes at offset %d", ErrCorrupt, len(r.Key), v.BaseOffset())
	}
	kind := int16(binary.BigEndian.Uint16(r.Key[2:]))
	if kind != 0 && kind != 1 {
		return false, 0, fmt.Errorf("%w: control record of type %d at offset %d", ErrUnsupported, kind, v.BaseOffset())
	}
	if len(r.Value) < 6 {
		return false, 0, fmt.Errorf("%w: marker value of %d bytes at offset %d", ErrCorrupt, len(r.Value), v.BaseOffset())
	}
	return kind == 1, int32(binary.BigEndian.Uint32(r.Value[2:])), nil
}

// Aborted is one entry of a fetch response's aborted transactions.
type Aborted struct {
	ProducerID  int64
	FirstOffset int64
}

// AbortFilter finds the batches of aborted transactions in one partition's
// part of one read_committed fetch response. It is stateful: give it every
// batch of the response in order, markers and empty batches too, and make a
// new one for the next response.
type AbortFilter struct {
	ahead []Aborted // ordered by first offset, not yet reached
	open  map[int64]struct{}
}

// NewAbortFilter takes the response's list in any order: Redpanda does not
// sort it.
func NewAbortFilter(list []Aborted) *AbortFilter {
	ahead := slices.Clone(list)
	slices.SortFunc(ahead, func(a, b Aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return &AbortFilter{ahead: ahead}
}

// Drop tells whether v holds data of an aborted transaction. False for
// markers, which Decide recognises itself.
func (f *AbortFilter) Drop(v View) bool {
	pid := v.ProducerID()
	if pid < 0 || len(f.ahead) == 0 && len(f.open) == 0 {
		return false
	}
	for len(f.ahead) > 0 && f.ahead[0].FirstOffset <= v.LastOffset() {
		if f.open == nil {
			f.open = make(map[int64]struct{})
		}
		f.open[f.ahead[0].ProducerID] = struct{}{}
		f.ahead = f.ahead[1:]
	}
	if v.Control() {
		if commit, _, err := Marker(v); err == nil && !commit {
			delete(f.open, pid)
		}
		return false
	}
	_, aborted := f.open[pid]
	return aborted && v.Transactional()
}
