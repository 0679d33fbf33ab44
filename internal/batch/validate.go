package batch

import "fmt"

// Rules are what a target topic demands besides the format.
type Rules struct {
	KeysRequired bool  // compacted topic: no null keys
	MaxBytes     int32 // max.message.bytes, 0 for no limit
	// AppendTime: the topic stamps records itself, so the greatest timestamp
	// in the header need not be that of a record. True after a batch of a
	// LogAppendTime source went raw to such a topic.
	AppendTime bool
}

// Validate checks that p is one batch that a Kafka 4.3 broker appends and
// that says of itself nothing that is not so: framing, CRC, attributes, base
// offset 0, producer fields, and, decoding every record, count, deltas 0..n-1,
// the greatest timestamp, no byte left over. It is stricter than brokers in
// three things: they store uncompressed batches with wrong inner deltas, they
// correct a wrong maxTimestamp instead of refusing it, and they ignore
// attribute bits 7-15.
func (b *Builder) Validate(p []byte, rules Rules) error {
	v, rest, err := Next(p)
	if err != nil {
		return err
	}
	if len(rest) != 0 {
		return fmt.Errorf("%w: %d bytes after the batch", ErrCorrupt, len(rest))
	}
	if err := v.CheckCRC(); err != nil {
		return err
	}
	if err := v.validateHeader(rules); err != nil {
		return err
	}
	return b.validateRecords(v, rules)
}

// Validate is Builder.Validate with a fresh Builder and no further rules.
func Validate(p []byte) error { return NewBuilder().Validate(p, Rules{}) }

func (v View) validateHeader(rules Rules) error {
	if err := v.known(); err != nil {
		return err
	}
	switch {
	case v.Attributes()&^attrCodec != 0:
		return fmt.Errorf("%w: attributes %#02x, only a codec may be set", ErrCorrupt, v.Attributes())
	case v.BaseOffset() != 0:
		return fmt.Errorf("%w: base offset %d is not 0", ErrCorrupt, v.BaseOffset())
	case v.Count() == 0 || int64(v.Count()) != int64(v.LastOffsetDelta())+1:
		return fmt.Errorf("%w: %d records, last offset delta %d", ErrCorrupt, v.Count(), v.LastOffsetDelta())
	case rules.MaxBytes > 0 && len(v) > int(rules.MaxBytes):
		return fmt.Errorf("%w: batch of %d bytes, limit %d", ErrTooLarge, len(v), rules.MaxBytes)
	case v.ProducerID() < -1:
		return fmt.Errorf("%w: producer id %d", ErrCorrupt, v.ProducerID())
	case v.ProducerID() >= 0 && (v.ProducerEpoch() < 0 || v.BaseSequence() < 0):
		return fmt.Errorf("%w: producer id %d with epoch %d and sequence %d", ErrCorrupt, v.ProducerID(), v.ProducerEpoch(), v.BaseSequence())
	}
	return nil
}

func (b *Builder) validateRecords(v View, rules Rules) error {
	plain, buf, err := b.plain(v)
	if err != nil {
		return err
	}
	defer b.putBuffer(buf)
	w := v.walk(plain)
	var f fields
	greatest := int64(0)
	for i := int32(0); ; i++ {
		ok, err := w.next(&f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		// The walker has rising deltas up to the last one already, so with
		// as many records as offsets they are 0..n-1.
		if rules.KeysRequired && f.nullKey {
			return fmt.Errorf("%w: record %d has no key", ErrCorrupt, i)
		}
		timestamp := v.BaseTimestamp() + f.timestamp
		if i == 0 || timestamp > greatest {
			greatest = timestamp
		}
	}
	if !rules.AppendTime && greatest != v.MaxTimestamp() {
		return fmt.Errorf("%w: max timestamp %d, greatest record timestamp %d", ErrCorrupt, v.MaxTimestamp(), greatest)
	}
	return nil
}
