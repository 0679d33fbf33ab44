package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// versionRange is a range of request versions, both ends included.
type versionRange struct{ lowest, highest int16 }

// fetchByName is the last Fetch version that names topics; from the next one
// on they have ids only (KIP-516).
const fetchByName = 12

// produceByName is the last Produce version that names topics (KIP-516).
const produceByName = 12

// spoken is the one place where request versions are chosen.
//
// Produce 13 names topics by id, so that a broker refuses a batch for a topic
// that was deleted and created again; by name it would find a new home there.
// Plain batches without a transactional id mean the same under 12 as under 11.
// Fetch ends at 17 because 18 only adds a tag for followers (KIP-1166).
// SaslHandshake starts at 1: version 0 means raw tokens without
// SaslAuthenticate, of brokers before 1.0.
func spoken(key int16) versionRange {
	switch kmsg.Key(key) {
	case kmsg.Produce:
		return versionRange{3, 13}
	case kmsg.Fetch:
		return versionRange{4, 17}
	case kmsg.ListOffsets:
		return versionRange{1, 7}
	case kmsg.SASLHandshake:
		return versionRange{1, 1}
	case kmsg.SASLAuthenticate:
		return versionRange{0, 2}
	case kmsg.ApiVersions:
		return versionRange{0, 3}
	}
	return versionRange{0, -1}
}

// pick is the highest version of a request that both sides know.
func (c *conn) pick(key int16) (int16, error) {
	we := spoken(key)
	they, ok := c.versions[key]
	if !ok {
		they = versionRange{0, -1}
	}
	v := min(we.highest, they.highest)
	if v < we.lowest || v < they.lowest {
		return 0, fmt.Errorf("broker at %s speaks %s versions %d to %d, we speak %d to %d",
			c.addr, kmsg.NameForKey(key), they.lowest, they.highest, we.lowest, we.highest)
	}
	return v, nil
}
