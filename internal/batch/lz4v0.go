package batch

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

func hasXerialMagic(p []byte) bool { return bytes.HasPrefix(p, []byte(xerialMagic)) }

// repairLZ4 returns a v0 lz4 payload with the frame header's checksum byte
// put right. Java clients before 0.10 hashed the frame magic too (KAFKA-3160),
// and v0 messages keep that form for ever. What is no frame comes back as it
// is, for the decoder to refuse.
func repairLZ4(frame []byte) []byte {
	const (
		descriptor  = 4 // after the magic
		contentSize = 1 << 3
		dictionary  = 1 << 0
	)
	if len(frame) < 7 || binary.LittleEndian.Uint32(frame) != 0x184D2204 {
		return frame
	}
	end := descriptor + 2
	if frame[descriptor]&contentSize != 0 {
		end += 8
	}
	if frame[descriptor]&dictionary != 0 {
		end += 4
	}
	if len(frame) <= end {
		return frame
	}
	fixed := slices.Clone(frame)
	fixed[end] = byte(xxh32Short(frame[descriptor:end]) >> 8)
	return fixed
}

// xxh32Short is XXH32 with seed 0 of fewer than 16 bytes, which a frame
// descriptor always is; the lz4 package keeps its own to itself.
func xxh32Short(p []byte) uint32 {
	const (
		prime1 = 2654435761
		prime2 = 2246822519
		prime3 = 3266489917
		prime4 = 668265263
		prime5 = 374761393
	)
	h := uint32(prime5) + uint32(len(p))
	for ; len(p) >= 4; p = p[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(p)*prime3, 17) * prime4
	}
	for _, c := range p {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}
