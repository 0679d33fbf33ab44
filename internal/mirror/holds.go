package mirror

// Holds says whether lane n is taken over and at work here.
func (f *Flow) Holds(n int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lanes[n] != nil
}
