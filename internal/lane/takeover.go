package lane

// Identity is what InitProducerID answered for the lane's transactional id.
type Identity struct {
	ProducerID int64
	Epoch      int16
}

// Former is the claim that the ledger held before.
type Former struct {
	Identity
	Released bool
}

// Handover is how a lane is taken over.
type Handover uint8

// The ways to take a lane over.
const (
	// First: nobody ever claimed the lane, so no partition of it was ever written by one. The lane's own topics are
	// still fenced: another owner may be between its InitProducerID and its claim.
	First Handover = iota
	// Clean: the former owner released the lane with nothing unacknowledged, and nobody took it since. Heads are exact
	// and nothing needs fencing: the former owner sends no more.
	Clean
	// Crashed: the former owner may still write and its tail beyond the heads is unknown. Fence, look, align.
	Crashed
	// Expired: the transactional id was forgotten by the coordinator, so the former owner holds another producer id and
	// no fence of ours reaches it. Wait out its lease first, then as Crashed.
	Expired
)

// String names the handover for logs and status.
func (h Handover) String() string {
	return [...]string{"first owner", "clean hand-over", "former owner ended without release", "former owner's identity expired"}[h]
}

// Judge says how the lane is taken over, given the former claim (nil when there is none) and our new identity. A claim
// that says "released" counts only if nobody called InitProducerID in between: exactly one epoch lies between them, or the
// identity expired and ours is the first epoch of its successor.
func Judge(former *Former, now Identity) Handover {
	switch {
	case former == nil:
		return First
	case former.ProducerID != now.ProducerID:
		switch {
		case !former.Released:
			return Expired
		case now.Epoch == 0:
			return Clean // released with nothing in doubt: whoever holds the old id sends no more, and nobody had the new one
		}
		return Crashed // somebody had the new id before us, and may write
	case former.Released && now.Epoch == former.Epoch+1:
		return Clean
	}
	return Crashed
}
