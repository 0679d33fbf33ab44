package proxy

import (
	"encoding/binary"
	"slices"
)

// frames follows the Kafka frames in one direction of a connection.
type frames struct {
	head []byte // what is known of the frame's first bytes
	left int    // bytes of the frame that are still to come behind its head
}

// feed takes bytes and calls see with the first size bytes of each frame (fewer where the frame is shorter), and with
// where the frame begins in b: below 0 where in an earlier call.
func (f *frames) feed(b []byte, size int, see func(head []byte, begins int) (more bool)) {
	for at := 0; at < len(b); {
		if f.left > 0 {
			n := min(f.left, len(b)-at)
			f.left -= n
			at += n
			continue
		}
		n := min(size-len(f.head), len(b)-at)
		begins := at - len(f.head)
		f.head = append(f.head, b[at:at+n]...)
		at += n
		if len(f.head) < size {
			return
		}
		f.left = max(int(int32(binary.BigEndian.Uint32(f.head)))+4-size, 0)
		head := f.head
		f.head = nil
		if !see(head, begins) {
			return
		}
	}
}

const (
	requestHead  = 12 // length, API key, version, correlation id
	responseHead = 8  // length, correlation id
)

// watch follows the frames of a direction. lost says that the answer behind the returned bytes is to be lost.
func (c *Conn) watch(d Direction, b []byte) (pass []byte, lost bool) {
	c.fmu.Lock()
	defer c.fmu.Unlock()
	if d == Up {
		c.asked.feed(b, requestHead, func(head []byte, _ int) bool {
			key := int16(binary.BigEndian.Uint16(head[4:]))
			c.p.mu.Lock()
			defer c.p.mu.Unlock()
			if c.p.lose[key] > 0 {
				c.p.lose[key]--
				c.p.lost[key]++
				c.doomed = append(c.doomed, int32(binary.BigEndian.Uint32(head[8:])))
			}
			return true
		})
		return b, false
	}
	pass = b
	c.answer.feed(b, responseHead, func(head []byte, begins int) bool {
		if slices.Contains(c.doomed, int32(binary.BigEndian.Uint32(head[4:]))) {
			pass, lost = b[:max(begins, 0)], true
		}
		return !lost
	})
	return pass, lost
}
