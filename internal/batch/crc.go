package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync"
)

// checksum is CRC-32C. MakeTable returns the one table that the hash package
// holds, which is also how it recognises that the CPU's instruction applies.
func checksum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// CheckCRC compares the stored CRC with the bytes; the error is ErrCorrupt.
func (v View) CheckCRC() error {
	if got := checksum(v[offAttributes:]); got != v.CRC() {
		return fmt.Errorf("%w: crc %#08x, stored %#08x, at offset %d", ErrCorrupt, got, v.CRC(), v.BaseOffset())
	}
	return nil
}

// seal computes and stores the CRC of a batch that we have just made.
func (v View) seal() { binary.BigEndian.PutUint32(v[offCRC:], checksum(v[offAttributes:])) }

// operator multiplies a CRC register by a fixed power of x modulo the
// Castagnoli polynomial: one row per 4 bits of the register, so that a
// product is 8 loads that do not wait for each other.
type operator [8][16]uint32

func (o *operator) apply(r uint32) uint32 {
	return o[0][r&15] ^ o[1][r>>4&15] ^ o[2][r>>8&15] ^ o[3][r>>12&15] ^
		o[4][r>>16&15] ^ o[5][r>>20&15] ^ o[6][r>>24&15] ^ o[7][r>>28]
}

// newOperator tabulates a linear map given what it makes of single bits.
func newOperator(column func(bit int) uint32) *operator {
	var o operator
	for row := range o {
		for v := 1; v < 16; v++ {
			low := bits.TrailingZeros(uint(v))
			o[row][v] = o[row][v&(v-1)] ^ column(row*4+low)
		}
	}
	return &o
}

// zeroShift holds, for each bit k of a length, the operator that feeds 2^k
// zero bytes to a CRC register: 31 tables, 16 KiB, made at the first use and
// never changed. Applying them bit-serially instead needs no memory and is 10
// times slower.
var zeroShift = sync.OnceValue(func() *[31]*operator { //nolint:gochecknoglobals // a constant that Go cannot write as one
	var ops [31]*operator
	op := newOperator(func(bit int) uint32 { // one zero byte
		r := uint32(1) << bit
		for range 8 {
			r = r>>1 ^ crc32.Castagnoli&-(r&1)
		}
		return r
	})
	for k := range ops {
		ops[k] = op
		prev := op
		op = newOperator(func(bit int) uint32 { return prev.apply(prev.apply(1 << bit)) })
	}
	return &ops
})

// shift returns what the difference d of two CRCs becomes after n more bytes
// that are equal in both messages. CRC-32C is affine over GF(2), so that
// crc(H'||T) = crc(H||T) ^ shift(crc(H)^crc(H'), len(T)).
func shift(d uint32, n int) uint32 {
	ops := zeroShift()
	for u := uint32(n) & (1<<31 - 1); u != 0; u &= u - 1 {
		d = ops[bits.TrailingZeros32(u)].apply(d)
	}
	return d
}
