package wire

import (
	"encoding/binary"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceFlexible is the first Produce version with compact lengths and tags.
const produceFlexible = 9

// encode is the request as pieces: everything but the batches in b.enc, and
// the batches where they are. By hand, because kmsg would copy them.
func (b *produceBroker) encode(f *flight) net.Buffers {
	flexible := f.version >= produceFlexible
	e := encoder{buf: b.enc[:0], flexible: flexible}
	e.int32(0) // length, see conn.send
	e.int16(int16(kmsg.Produce))
	e.int16(f.version)
	e.int32(0) // correlation id, see conn.send
	id := b.p.net.clientID()
	e.int16(int16(len(id))) // never compact, see KIP-482
	e.buf = append(e.buf, id...)
	e.tags()
	e.nullString()
	e.int16(-1) // acks=all
	e.int32(int32(b.p.opt.Timeout.Milliseconds()))
	cuts := b.cuts[:0]
	topics := 0
	for i := range f.picks {
		if i == 0 || !f.picks[i].beside(f.picks[i-1]) {
			topics++
		}
	}
	e.length(topics)
	for i := 0; i < len(f.picks); {
		n := 1
		for i+n < len(f.picks) && f.picks[i+n].beside(f.picks[i]) {
			n++
		}
		if f.version > produceByName {
			e.buf = append(e.buf, f.picks[i].id[:]...)
		} else {
			e.string(f.picks[i].line.tp.Topic)
		}
		e.length(n)
		for _, k := range f.picks[i : i+n] {
			e.int32(k.line.tp.Partition)
			e.length32(len(k.bytes))
			cuts = append(cuts, len(e.buf))
			e.tags()
		}
		e.tags()
		i += n
	}
	e.tags()
	b.enc, b.cuts = e.buf, cuts
	parts, from := b.parts[:0], 0
	for i, cut := range cuts {
		parts = append(parts, e.buf[from:cut], f.picks[i].bytes)
		from = cut
	}
	if from < len(e.buf) {
		parts = append(parts, e.buf[from:])
	}
	b.parts = parts
	return net.Buffers(parts)
}

// beside says whether two picks may stand under one topic of a request.
func (k pick) beside(other pick) bool {
	return k.line.tp.Topic == other.line.tp.Topic && k.id == other.id
}

// encoder appends protocol primitives, in the flexible encoding of KIP-482 or
// the older one.
type encoder struct {
	buf      []byte
	flexible bool
}

func (e *encoder) int16(v int16) { e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(v)) }
func (e *encoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }

// length appends an array's length.
func (e *encoder) length(n int) { e.length32(n) }

// length32 appends the length of bytes.
func (e *encoder) length32(n int) {
	if e.flexible {
		e.buf = binary.AppendUvarint(e.buf, uint64(n)+1)
		return
	}
	e.int32(int32(n))
}

func (e *encoder) string(s string) {
	if e.flexible {
		e.buf = binary.AppendUvarint(e.buf, uint64(len(s))+1)
	} else {
		e.int16(int16(len(s)))
	}
	e.buf = append(e.buf, s...)
}

// nullString appends the transactional id that plain batches have not.
func (e *encoder) nullString() {
	if e.flexible {
		e.buf = append(e.buf, 0)
		return
	}
	e.int16(-1)
}

// tags appends an empty tag section.
func (e *encoder) tags() {
	if e.flexible {
		e.buf = append(e.buf, 0)
	}
}
