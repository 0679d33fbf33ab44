package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// laneEndTxn is the highest EndTxn version a lane may send. v5 (KIP-890)
// raises the producer epoch at every end of a transaction, and with it every
// per-partition sequence starts again at 0; v4 leaves the epoch alone and
// fences just as well.
const laneEndTxn = 4

// baseVersions caps what every client sends. Each cap names the version that
// is refused and why.
func baseVersions() *kversion.Versions {
	v := kversion.Stable()
	// v10 names topics by id: a position of a deleted topic could not be read
	// and one of a new incarnation would be read under the old name.
	v.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9)
	v.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	// v6 names topics by id as well.
	v.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5)
	// v4 is for brokers only and needs CLUSTER_ACTION (KIP-890).
	v.SetMaxKeyVersion(int16(kmsg.AddPartitionsToTxn), 3)
	return v
}

// LaneVersions is the option that a lane's client is opened with: EndTxn is
// capped at v4, so that a fence leaves the lane's epoch as it is. Fence and
// Keepalive refuse a client without it. Group transactions use a client
// without it.
func LaneVersions() kgo.Opt {
	v := baseVersions()
	v.SetMaxKeyVersion(int16(kmsg.EndTxn), laneEndTxn)
	return kgo.MaxVersions(v)
}

// lane says whether the client was opened with LaneVersions.
func (c *Client) lane() bool {
	v, ok := c.kgo.OptValue(kgo.MaxVersions).(*kversion.Versions)
	if !ok || v == nil {
		return false
	}
	top, ok := v.LookupMaxKeyVersion(int16(kmsg.EndTxn))
	return ok && top <= laneEndTxn
}
