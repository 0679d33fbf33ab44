package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/offsetmap"
)

// Meta is the layout of the ledger. Each lane's first owner writes it into the lane's partition; an owner whose lanes or
// hash differ must not take the lane, because the same source partition would then belong to two lanes.
type Meta struct {
	Lanes         int32  // partitions of the ledger topic
	Hash          string // how partitions are spread over lanes; HashName for this build
	SourceCluster string // cluster id of the source when the ledger was created
	TargetCluster string
}

// HashName is the spread that LaneOf computes.
const HashName = "murmur2(topic-partition)"

// Claim is a lane's durable statement that from its position in the ledger on, the producer writes the lane's
// partitions.
type Claim struct {
	ProducerID      int64
	Epoch           int16  // as returned by InitProducerID, or by the last own fence when Released
	TransactionalID string // the identity the producer id belongs to
	Owner           string // host, process and start time, for people
	Released        bool   // written last by an owner that had nothing unacknowledged; true only if the next InitProducerID returns Epoch+1
	At              time.Time
}

// Isolation is what a lane's owners read of the source, from the record's place in the ledger on: what a tail beyond a head
// holds can be counted only over the records that its owner saw. It stands apart from the claim, which builds that do not
// know it could not read with one field more.
type Isolation uint8

// The isolation levels, by Kafka's numbers. Not known is a ledger of a build that did not write it.
const (
	ReadUncommitted Isolation = iota
	ReadCommitted
	IsolationUnknown Isolation = 255
)

// String is the level as it stands in a file.
func (i Isolation) String() string {
	switch i {
	case ReadUncommitted:
		return "read_uncommitted"
	case ReadCommitted:
		return "read_committed"
	case IsolationUnknown:
	}
	return "not known"
}

// Reads is the isolation record, which an owner writes in front of its claim.
type Reads struct {
	Isolation Isolation
	Owner     string // as in the claim
}

// Encode gives the value of the isolation record.
func (r Reads) Encode() []byte {
	var w writer
	w.int(int64(r.Isolation))
	w.str(r.Owner)
	return seal(w.b)
}

// DecodeReads reads an isolation value.
func DecodeReads(value []byte) (Reads, error) {
	body, err := open(value)
	if err != nil {
		return Reads{}, err
	}
	r := reader{b: body}
	got := Reads{Isolation: narrow[Isolation](&r), Owner: r.str()}
	if r.err == nil && got.Isolation > ReadCommitted {
		r.fail(outOfRange)
	}
	return got, r.done()
}

// State of a partition as its owner last wrote it.
type State uint8

// The states of a head.
const (
	Running State = iota
	Stopped
)

// Head is where one partition stands. Everything below the anchor is on the target and in the offset map.
type Head struct {
	Topic       string // source topic
	Partition   int32
	RemoteTopic string
	State       State
	Reason      string // why it is stopped, in words for people; empty while running
	ProducerID  int64
	Epoch       int16                  // epoch in which the next batch would have been written
	Sequence    int32                  // sequence that the next batch would have had
	Map         []byte                 // offsetmap tail: origin, through, target end, epochs, open runs
	SourceEnd   offsetmap.SourceOffset // source's high watermark when last seen, so that lag is known with the source gone; -1 unknown
	At          time.Time
}

// Mirrored says whether anything can have been written for the partition. A head without a map only says why it never
// came to that.
func (h Head) Mirrored() bool { return len(h.Map) > 0 }

// waiting is how the reason of a head begins whose partition is not mirrored yet, for as long as it takes. It stands in a
// stopped head: a state of its own could not be read by builds that do not know it.
const waiting = "not mirrored yet: "

// Waits is the reason of such a head.
func Waits(what string) string { return waiting + what }

// Waits says what the partition waits for where its owner has written that it is not mirrored yet; ok is false where it is
// mirrored, or stopped.
func (h Head) Waits() (what string, ok bool) {
	if h.State != Stopped {
		return "", false
	}
	return strings.CutPrefix(h.Reason, waiting)
}

// Begin says that mirroring of a partition does not begin with its oldest record: the flow was told to begin at the end,
// and the partition was there when the flow first started. It is written before the lane's first claim, so that a
// partition without one, found under a claim, is known to be newer than the flow.
type Begin struct {
	TopicID [16]byte               // of the source topic; one created again under the name is newer than the flow
	Offset  offsetmap.SourceOffset // the first source offset to mirror; AtEnd where it was not known, or the topic not selected, then
}

// Configs are the settings of a remote topic that are there because its source topic has or had them, in the lane of the
// topic's first partition.
type Configs struct {
	SourceID, TargetID [16]byte // of the two topics; one created anew begins anew
	Values             map[string]string
}

// AtEnd is the Begin.Offset that stands for the end of the source's log when the partition is first looked at.
const AtEnd = -1

// Kind of a ledger record, from its key.
type Kind uint8

// The kinds of keys.
const (
	KindMeta Kind = iota + 1
	KindClaim
	KindHead
	KindBlock
	KindBegin
	KindConfigs
	KindStart
	KindStartTopic
	KindIsolation
	KindObeys
)

// Key names one ledger record.
type Key struct {
	Kind        Kind
	Topic       string
	Partition   int32
	Incarnation uint32
	Block       uint32
}

// String is the key as stored.
func (k Key) String() string {
	switch k.Kind {
	case KindMeta:
		return "meta"
	case KindClaim:
		return "claim"
	case KindHead:
		return fmt.Sprintf("head/%d/%s", k.Partition, k.Topic)
	case KindBlock:
		return fmt.Sprintf("block/%d/%d/%d/%s", k.Partition, k.Incarnation, k.Block, k.Topic)
	case KindBegin:
		return fmt.Sprintf("begin/%d/%s", k.Partition, k.Topic)
	case KindConfigs:
		return "configs/" + k.Topic
	case KindStart:
		return "start"
	case KindStartTopic:
		return "start/" + k.Topic
	case KindIsolation:
		return "isolation"
	case KindObeys:
		return "obeys"
	}
	return fmt.Sprintf("unknown kind %d", k.Kind)
}

// longestTopic is Kafka's own limit for the name of a topic.
const longestTopic = 249

// ParseKey is the inverse of String.
func ParseKey(key []byte) (Key, error) {
	s := string(key)
	switch s {
	case "meta":
		return Key{Kind: KindMeta}, nil
	case "claim":
		return Key{Kind: KindClaim}, nil
	case "start":
		return Key{Kind: KindStart}, nil
	case "isolation":
		return Key{Kind: KindIsolation}, nil
	case "obeys":
		return Key{Kind: KindObeys}, nil
	}
	part := strings.Split(s, "/")
	bad := false
	num := func(i, bits int) uint64 {
		v, err := strconv.ParseUint(part[i], 10, bits)
		bad = bad || err != nil
		return v
	}
	var k Key
	switch {
	case len(part) == 3 && part[0] == "head":
		k = Key{Kind: KindHead, Topic: part[2], Partition: int32(num(1, 31))}
	case len(part) == 3 && part[0] == "begin":
		k = Key{Kind: KindBegin, Topic: part[2], Partition: int32(num(1, 31))}
	case len(part) == 2 && part[0] == "configs":
		k = Key{Kind: KindConfigs, Topic: part[1]}
	case len(part) == 2 && part[0] == "start":
		k = Key{Kind: KindStartTopic, Topic: part[1]}
	case len(part) == 5 && part[0] == "block":
		k = Key{Kind: KindBlock, Topic: part[4], Partition: int32(num(1, 31)), Incarnation: uint32(num(2, 32)), Block: uint32(num(3, 32))}
	}
	if bad || k.Topic == "" || len(k.Topic) > longestTopic {
		return Key{}, fmt.Errorf("%w: key %.80q is none of the ledger's", ErrDamaged, s)
	}
	return k, nil
}

// Encode gives the value of the meta record.
func (m Meta) Encode() []byte {
	var w writer
	w.int(int64(m.Lanes))
	w.str(m.Hash)
	w.str(m.SourceCluster)
	w.str(m.TargetCluster)
	return seal(w.b)
}

// DecodeMeta reads a meta value.
func DecodeMeta(value []byte) (Meta, error) {
	body, err := open(value)
	if err != nil {
		return Meta{}, err
	}
	r := reader{b: body}
	m := Meta{Lanes: narrow[int32](&r), Hash: r.str(), SourceCluster: r.str(), TargetCluster: r.str()}
	return m, r.done()
}

// Encode gives the value of the claim record.
func (c Claim) Encode() []byte {
	var w writer
	w.int(c.ProducerID)
	w.int(int64(c.Epoch))
	w.str(c.TransactionalID)
	w.str(c.Owner)
	w.bool(c.Released)
	w.int(c.At.UnixMilli())
	return seal(w.b)
}

// DecodeClaim reads a claim value.
func DecodeClaim(value []byte) (Claim, error) {
	body, err := open(value)
	if err != nil {
		return Claim{}, err
	}
	r := reader{b: body}
	c := Claim{ProducerID: r.int(), Epoch: narrow[int16](&r), TransactionalID: r.str(), Owner: r.str(), Released: r.bool(), At: time.UnixMilli(r.int())}
	return c, r.done()
}

// Encode gives the value of a head record; its topic and partition are in the key.
func (h Head) Encode() []byte {
	var w writer
	w.str(h.RemoteTopic)
	w.int(int64(h.State))
	w.str(h.Reason)
	w.int(h.ProducerID)
	w.int(int64(h.Epoch))
	w.int(int64(h.Sequence))
	w.bytes(h.Map)
	w.int(int64(h.SourceEnd))
	w.int(h.At.UnixMilli())
	return seal(w.b)
}

// DecodeHead reads a head value for the partition that its key names.
func DecodeHead(k Key, value []byte) (Head, error) {
	body, err := open(value)
	if err != nil {
		return Head{}, err
	}
	r := reader{b: body}
	h := Head{
		Topic: k.Topic, Partition: k.Partition, RemoteTopic: r.str(), State: narrow[State](&r), Reason: r.str(),
		ProducerID: r.int(), Epoch: narrow[int16](&r), Sequence: narrow[int32](&r), Map: append([]byte(nil), r.bytes()...),
		SourceEnd: offsetmap.SourceOffset(r.int()), At: time.UnixMilli(r.int()),
	}
	return h, r.done()
}

// Encode gives the value of a begin record; its topic and partition are in the key.
func (b Begin) Encode() []byte {
	var w writer
	w.bytes(b.TopicID[:])
	w.int(int64(b.Offset))
	return seal(w.b)
}

// DecodeBegin reads a begin value.
func DecodeBegin(value []byte) (Begin, error) {
	body, err := open(value)
	if err != nil {
		return Begin{}, err
	}
	r := reader{b: body}
	b := Begin{TopicID: r.id(), Offset: offsetmap.SourceOffset(r.int())}
	if b.Offset < AtEnd {
		r.fail(outOfRange)
	}
	return b, r.done()
}

// Encode gives the value of a configs record; its topic is in the key.
func (c Configs) Encode() []byte {
	var w writer
	w.bytes(c.SourceID[:])
	w.bytes(c.TargetID[:])
	w.int(int64(len(c.Values)))
	for _, k := range slices.Sorted(maps.Keys(c.Values)) {
		w.str(k)
		w.str(c.Values[k])
	}
	return seal(w.b)
}

// DecodeConfigs reads a configs value.
func DecodeConfigs(value []byte) (Configs, error) {
	body, err := open(value)
	if err != nil {
		return Configs{}, err
	}
	r := reader{b: body}
	c := Configs{SourceID: r.id(), TargetID: r.id(), Values: map[string]string{}}
	for n := r.int(); n > 0 && r.err == nil; n-- {
		k := r.str()
		c.Values[k] = r.str()
	}
	return c, r.done()
}

// EncodeBlock gives the value of a sealed block.
func EncodeBlock(data []byte) []byte { return seal(data) }

// DecodeBlock reads a block value.
func DecodeBlock(value []byte) ([]byte, error) { return open(value) }
