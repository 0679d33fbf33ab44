package ledger

import (
	"slices"
	"time"

	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// Start closes what the first lane writes down when a flow that begins at the end first starts: one StartTopic for each
// topic that the source has then, and this record, which says that all of them are there. Every lane takes the begins of
// its partitions from them before its first claim, whenever that is, so that all lanes have one beginning.
type Start struct {
	ProducerID int64 // of the owner that wrote them
	Epoch      int16
	Topics     int // how many StartTopics of this owner there are
	At         time.Time
}

// StartTopic is one topic of the source at the flow's first start.
type StartTopic struct {
	ProducerID int64 // those of another owner than Start's are left from an attempt that did not end
	Epoch      int16
	TopicID    [16]byte
	// Offsets are by partition the first source offset to mirror: AtEnd as in Begin, FromOldest where the partition was
	// empty.
	Offsets []offsetmap.SourceOffset
}

// FromOldest is the StartTopic offset of a partition that needs no Begin.
const FromOldest = -2

// Started gives the begins of all lanes' partitions at the flow's first start. ok is false while they are not there whole:
// the lane that writes them was never owned, its owner died while it wrote, or a record is damaged. A partition that is not
// among them was empty then, or is newer.
func (c *Contents) Started() (begins map[partition.ID]Begin, ok bool) {
	if c.Start == nil {
		return nil, false
	}
	begins, topics := map[partition.ID]Begin{}, 0
	for name, t := range c.StartTopics {
		if t.ProducerID != c.Start.ProducerID || t.Epoch != c.Start.Epoch {
			continue
		}
		topics++
		for i, at := range t.Offsets {
			if at != FromOldest {
				begins[partition.ID{Topic: name, Partition: int32(i)}] = Begin{TopicID: t.TopicID, Offset: at}
			}
		}
	}
	if topics != c.Start.Topics {
		return nil, false
	}
	return begins, true
}

// StartDamage are the records of the flow's first start that cannot be used. Where they stand nothing may be guessed: lanes
// that began by them go on, and another start, of today, would pass over what came since.
func (c *Contents) StartDamage() []Damage {
	var out []Damage
	for _, d := range c.Other {
		if k, err := ParseKey([]byte(d.Key)); err == nil && (k.Kind == KindStart || k.Kind == KindStartTopic) {
			out = append(out, d)
		}
	}
	return out
}

// SetStart makes topics the flow's first start, by the owner that s names.
func (c *Contents) SetStart(s Start, topics map[string]StartTopic) {
	for name, t := range topics {
		t.ProducerID, t.Epoch = s.ProducerID, s.Epoch
		topics[name] = t
	}
	s.Topics = len(topics)
	c.Start, c.StartTopics = &s, topics
}

// Encode gives the value of the start record.
func (s Start) Encode() []byte {
	var w writer
	w.int(s.ProducerID)
	w.int(int64(s.Epoch))
	w.int(int64(s.Topics))
	w.int(s.At.UnixMilli())
	return seal(w.b)
}

// DecodeStart reads a start value.
func DecodeStart(value []byte) (Start, error) {
	body, err := open(value)
	if err != nil {
		return Start{}, err
	}
	r := reader{b: body}
	s := Start{ProducerID: r.int(), Epoch: narrow[int16](&r), Topics: int(r.int()), At: time.UnixMilli(r.int())}
	return s, r.done()
}

// Encode gives the value of a topic's start record; the topic is in the key.
func (t StartTopic) Encode() []byte {
	var w writer
	w.int(t.ProducerID)
	w.int(int64(t.Epoch))
	w.bytes(t.TopicID[:])
	w.int(int64(len(t.Offsets)))
	for _, at := range t.Offsets {
		w.int(int64(at))
	}
	return seal(w.b)
}

// DecodeStartTopic reads a topic's start value.
func DecodeStartTopic(value []byte) (StartTopic, error) {
	body, err := open(value)
	if err != nil {
		return StartTopic{}, err
	}
	r := reader{b: body}
	t := StartTopic{ProducerID: r.int(), Epoch: narrow[int16](&r), TopicID: r.id()}
	// The count is not trusted with an allocation: it is foreign until the end fits.
	for n := r.int(); n > 0 && r.err == nil; n-- {
		t.Offsets = append(t.Offsets, offsetmap.SourceOffset(r.int()))
	}
	if slices.ContainsFunc(t.Offsets, func(at offsetmap.SourceOffset) bool { return at < FromOldest }) {
		r.fail(outOfRange)
	}
	return t, r.done()
}
