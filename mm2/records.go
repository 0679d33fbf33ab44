package mm2

import "fmt"

// A Record is one of the three kinds, as a producer needs it.
type Record interface {
	AppendKey(dst []byte) ([]byte, error)
	AppendValue(dst []byte) ([]byte, error)
	fmt.Stringer
}

const (
	recordSync       = "offset sync"
	recordCheckpoint = "checkpoint"
	recordHeartbeat  = "heartbeat"
)

// An OffsetSync says that one record of a source partition, at offset Upstream,
// got offset Downstream in the same partition of the remote topic.
type OffsetSync struct {
	Topic      string // the *source* topic's name, not the remote name
	Partition  int32
	Upstream   int64 // offset in the source partition
	Downstream int64 // offset in the target partition
}

func (s OffsetSync) checkKey() error {
	return first(checkString(recordSync, "topic", s.Topic),
		checkNumber(recordSync, "partition", int64(s.Partition)))
}

func (s OffsetSync) checkValue() error {
	return first(checkNumber(recordSync, "upstreamOffset", s.Upstream),
		checkNumber(recordSync, "offset", s.Downstream))
}

// AppendKey appends the record's key to dst. It fails with a FormatError when the
// topic is longer than 32767 bytes or the partition is negative.
func (s OffsetSync) AppendKey(dst []byte) ([]byte, error) {
	if err := s.checkKey(); err != nil {
		return dst, err
	}
	return appendInt32(appendString(dst, s.Topic), s.Partition), nil
}

// AppendValue appends the record's value to dst. It fails with a FormatError when
// an offset is negative.
func (s OffsetSync) AppendValue(dst []byte) ([]byte, error) {
	if err := s.checkValue(); err != nil {
		return dst, err
	}
	return appendInt64(appendInt64(dst, s.Upstream), s.Downstream), nil
}

// String prints the sync as Kafka's OffsetSyncFormatter does.
func (s OffsetSync) String() string {
	return fmt.Sprintf("OffsetSync{topicPartition=%s-%d, upstreamOffset=%d, downstreamOffset=%d}",
		s.Topic, s.Partition, s.Upstream, s.Downstream)
}

// ParseOffsetSync reads a sync. Errors are a FormatError, or ErrTombstone with
// Topic and Partition set. Bytes after the last field are ignored, as in Java.
func ParseOffsetSync(key, value []byte) (OffsetSync, error) {
	k := keyReader(recordSync, key)
	s := OffsetSync{Topic: k.string("topic"), Partition: k.int32("partition")}
	if err := first(k.err, s.checkKey()); err != nil {
		return OffsetSync{}, err
	}
	v := valueReader(recordSync, value)
	if v.err != nil {
		return s, v.err
	}
	s.Upstream, s.Downstream = v.int64("upstreamOffset"), v.int64("offset")
	if err := first(v.err, s.checkValue()); err != nil {
		return OffsetSync{}, err
	}
	return s, nil
}

// A Checkpoint says that a group's committed position Upstream on the source is
// position Downstream on the target. Both are *next* offsets to read.
type Checkpoint struct {
	Group      string
	Topic      string // the *target* topic's name, for example A.orders
	Partition  int32
	Upstream   int64
	Downstream int64
	Metadata   string // of the source's commit, "" when it had none
}

func (c Checkpoint) checkKey() error {
	return first(checkString(recordCheckpoint, "group", c.Group),
		checkString(recordCheckpoint, "topic", c.Topic),
		checkNumber(recordCheckpoint, "partition", int64(c.Partition)))
}

func (c Checkpoint) checkValue() error {
	return first(checkNumber(recordCheckpoint, "upstreamOffset", c.Upstream),
		checkNumber(recordCheckpoint, "offset", c.Downstream),
		checkString(recordCheckpoint, "metadata", c.Metadata))
}

// AppendKey appends the record's key to dst. It fails with a FormatError when
// group or topic are longer than 32767 bytes or the partition is negative.
func (c Checkpoint) AppendKey(dst []byte) ([]byte, error) {
	if err := c.checkKey(); err != nil {
		return dst, err
	}
	return appendInt32(appendString(appendString(dst, c.Group), c.Topic), c.Partition), nil
}

// AppendValue appends the record's value, version 0, to dst. It fails with a
// FormatError when an offset is negative or the metadata longer than 32767 bytes.
func (c Checkpoint) AppendValue(dst []byte) ([]byte, error) {
	if err := c.checkValue(); err != nil {
		return dst, err
	}
	dst = appendInt64(appendInt64(appendInt16(dst, version0), c.Upstream), c.Downstream)
	return appendString(dst, c.Metadata), nil
}

// String prints the checkpoint as Kafka's CheckpointFormatter does.
func (c Checkpoint) String() string {
	return fmt.Sprintf("Checkpoint{consumerGroupId=%s, topicPartition=%s-%d, upstreamOffset=%d, downstreamOffset=%d, metadata=%s}",
		c.Group, c.Topic, c.Partition, c.Upstream, c.Downstream, c.Metadata)
}

// ParseCheckpoint reads a checkpoint. Errors are a FormatError, a VersionError, or
// ErrTombstone with Group, Topic and Partition set.
func ParseCheckpoint(key, value []byte) (Checkpoint, error) {
	k := keyReader(recordCheckpoint, key)
	c := Checkpoint{Group: k.string("group"), Topic: k.string("topic"), Partition: k.int32("partition")}
	if err := first(k.err, c.checkKey()); err != nil {
		return Checkpoint{}, err
	}
	v := valueReader(recordCheckpoint, value)
	if v.err != nil {
		return c, v.err
	}
	v.version()
	c.Upstream, c.Downstream = v.int64("upstreamOffset"), v.int64("offset")
	c.Metadata = v.string("metadata")
	if err := first(v.err, c.checkValue()); err != nil {
		return Checkpoint{}, err
	}
	return c, nil
}

// A Heartbeat shows that the flow Source->Target was alive at Timestamp.
type Heartbeat struct {
	Source, Target string // cluster aliases of the flow that emitted it
	Timestamp      int64  // milliseconds since 1970, also the record's timestamp
}

func (h Heartbeat) checkKey() error {
	return first(checkString(recordHeartbeat, "sourceClusterAlias", h.Source),
		checkString(recordHeartbeat, "targetClusterAlias", h.Target))
}

// AppendKey appends the record's key to dst. It fails with a FormatError when an
// alias is longer than 32767 bytes.
func (h Heartbeat) AppendKey(dst []byte) ([]byte, error) {
	if err := h.checkKey(); err != nil {
		return dst, err
	}
	return appendString(appendString(dst, h.Source), h.Target), nil
}

// AppendValue appends the record's value, version 0, to dst. The error is
// always nil; it is there because Record has it.
func (h Heartbeat) AppendValue(dst []byte) ([]byte, error) {
	return appendInt64(appendInt16(dst, version0), h.Timestamp), nil
}

// String prints the heartbeat as Kafka's HeartbeatFormatter does.
func (h Heartbeat) String() string {
	return fmt.Sprintf("Heartbeat{sourceClusterAlias=%s, targetClusterAlias=%s, timestamp=%d}",
		h.Source, h.Target, h.Timestamp)
}

// ParseHeartbeat reads a heartbeat. Errors are a FormatError, a VersionError, or
// ErrTombstone with both aliases set.
func ParseHeartbeat(key, value []byte) (Heartbeat, error) {
	k := keyReader(recordHeartbeat, key)
	h := Heartbeat{Source: k.string("sourceClusterAlias"), Target: k.string("targetClusterAlias")}
	if k.err != nil {
		return Heartbeat{}, k.err
	}
	v := valueReader(recordHeartbeat, value)
	if v.err != nil {
		return h, v.err
	}
	v.version()
	h.Timestamp = v.int64("timestamp")
	if v.err != nil {
		return Heartbeat{}, v.err
	}
	return h, nil
}
