package offsetmap

// TrimTarget drops the sealed blocks that lie wholly below the target's log
// start and returns their numbers (missing ones too), to be deleted once a
// head written afterwards is acknowledged. Positions in them become [Trimmed].
func (m *Map) TrimTarget(logStart TargetOffset) (dropped []uint32) {
	return m.trim(func(g *segment) bool { return g.to.target <= logStart })
}

func (m *Map) trim(below func(*segment) bool) (dropped []uint32) {
	n := 0
	for n < len(m.segs) && below(&m.segs[n]) {
		dropped = append(dropped, m.segs[n].numbers...)
		m.floor = m.segs[n].to
		n++
	}
	if n == 0 {
		return nil
	}
	m.trimmed = true
	clear(m.segs[:n]) // let go of the blocks' bytes
	m.segs = m.segs[n:]
	m.lost = m.lost[m.lostAbove(m.floor.source):]
	m.markers = m.markers[m.markerAbove(m.floor.target):]
	m.doubts = m.doubts[m.doubtAbove(m.floor.target):]
	m.hide(m.hidden)
	return dropped
}
