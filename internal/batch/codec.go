package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// ErrTooLarge means more bytes than a limit allows: the Builder's for what a
// payload decompresses to, a topic's for a whole batch.
var ErrTooLarge = errors.New("size is over the limit")

// xerialHeader starts the snappy stream of the Java client (snappy-java's
// SnappyOutputStream): magic, version 1, least version 1. Blocks follow, each
// with a length of 4 bytes. librdkafka and franz-go write one bare block.
const xerialHeader = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

// xerialMagic is what readers look for; the versions after it are not checked
// by snappy-java either.
const xerialMagic = "\x82SNAPPY\x00"

// xerialBlock is the block size of snappy-java, in plain bytes.
const xerialBlock = 32 << 10

// framing is what a codec leaves to the writer: it is kept from the source
// batch, so that consumers see the form their producer chose.
type framing struct {
	codec Codec
	raw   bool // snappy as one bare block
}

func (v View) framing() framing {
	c := v.Codec()
	return framing{codec: c, raw: c == Snappy && v.Count() > 0 && !hasXerialMagic(v.Payload())}
}

// decompress appends the plain form of src to dst. Damage is ErrCorrupt, too
// many bytes ErrTooLarge.
func (b *Builder) decompress(dst []byte, c Codec, src []byte) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case Gzip:
		r, put := b.gzipReader()
		defer put()
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return dst, fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
		}
		return b.drain(dst, c, r, len(src))
	case LZ4:
		r, put := b.lz4Reader()
		defer put()
		r.Reset(bytes.NewReader(src))
		return b.drain(dst, c, r, len(src))
	case Snappy:
		return b.unsnappy(dst, src)
	case Zstd:
		r, put, err := b.zstdReader()
		if err != nil {
			return dst, fmt.Errorf("zstd: %w", err)
		}
		defer put()
		out, err := r.DecodeAll(src, dst)
		switch {
		case errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return dst, fmt.Errorf("%w: zstd, %d bytes", ErrTooLarge, b.limit)
		case err != nil:
			return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
		}
		return out, nil
	}
	return dst, fmt.Errorf("%w: codec %d", ErrUnsupported, c)
}

// drain reads r to its end, or to one byte over the limit. The buffer grows
// from 4 times the source, what text commonly gives, so that a good guess
// needs no copying.
func (b *Builder) drain(dst []byte, c Codec, r io.Reader, compressed int) ([]byte, error) {
	start := len(dst)
	most := int64(start) + b.limit + 1
	dst = slices.Grow(dst, int(min(int64(compressed)*4+512, b.limit+1)))
	for {
		n, err := r.Read(dst[len(dst):min(int64(cap(dst)), most)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)) == most {
			return dst, fmt.Errorf("%w: %v, %d bytes", ErrTooLarge, c, b.limit)
		}
		switch {
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, fmt.Errorf("%w: %v: %w", ErrCorrupt, c, err)
		}
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, int(min(int64(max(len(dst), 512)), most-int64(len(dst)))))
		}
	}
}

func (b *Builder) unsnappy(dst, src []byte) ([]byte, error) {
	start := len(dst)
	if !hasXerialMagic(src) {
		return b.unsnappyBlock(dst, src, start)
	}
	if len(src) < len(xerialHeader) {
		return dst, fmt.Errorf("%w: snappy: header of %d bytes", ErrCorrupt, len(src))
	}
	src = src[len(xerialHeader):]
	for len(src) > 0 {
		if len(src) < 4 {
			return dst, fmt.Errorf("%w: snappy: %d bytes after the last block", ErrCorrupt, len(src))
		}
		n := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(n) > uint64(len(src)) {
			return dst, fmt.Errorf("%w: snappy: block of %d bytes, %d left", ErrCorrupt, n, len(src))
		}
		var err error
		if dst, err = b.unsnappyBlock(dst, src[:n], start); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func (b *Builder) unsnappyBlock(dst, block []byte, start int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return dst, fmt.Errorf("%w: snappy: %w", ErrCorrupt, err)
	}
	if int64(n) > b.limit-int64(len(dst)-start) {
		return dst, fmt.Errorf("%w: snappy, %d bytes", ErrTooLarge, b.limit)
	}
	// A copy of 64 bytes takes 3 bytes, so nothing honest grows by more
	// than 22; without the check 5 bytes could claim the whole limit.
	if int64(n) > 32*int64(len(block)) {
		return dst, fmt.Errorf("%w: snappy: %d bytes claim to be %d", ErrCorrupt, len(block), n)
	}
	dst = slices.Grow(dst, n)
	if _, err = s2.Decode(dst[len(dst):len(dst)+n], block); err != nil {
		return dst, fmt.Errorf("%w: snappy: %w", ErrCorrupt, err)
	}
	return dst[:len(dst)+n], nil
}

// appender is an io.Writer onto the end of a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// compress appends the compressed form of src to dst.
func (b *Builder) compress(dst []byte, f framing, src []byte) ([]byte, error) {
	switch f.codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		w, put := b.gzipWriter()
		defer put()
		out := appender{dst}
		w.Reset(&out)
		if err := writeAll(w, src); err != nil {
			return dst, fmt.Errorf("gzip: %w", err)
		}
		return out.b, nil
	case LZ4:
		w, put, err := b.lz4Writer()
		if err != nil {
			return dst, fmt.Errorf("lz4: %w", err)
		}
		defer put()
		out := appender{dst}
		w.Reset(&out)
		if err := writeAll(w, src); err != nil {
			return dst, fmt.Errorf("lz4: %w", err)
		}
		return out.b, nil
	case Snappy:
		if f.raw {
			return snappyBlock(dst, src), nil
		}
		dst = append(dst, xerialHeader...)
		for len(src) > 0 {
			n := min(len(src), xerialBlock)
			at := len(dst)
			dst = snappyBlock(append(dst, 0, 0, 0, 0), src[:n])
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
			src = src[n:]
		}
		return dst, nil
	case Zstd:
		w, put, err := b.zstdWriter()
		if err != nil {
			return dst, fmt.Errorf("zstd: %w", err)
		}
		defer put()
		return w.EncodeAll(src, dst), nil
	}
	return dst, fmt.Errorf("%w: codec %d", ErrUnsupported, f.codec)
}

func snappyBlock(dst, src []byte) []byte {
	dst = slices.Grow(dst, max(s2.MaxEncodedLen(len(src)), 0))
	block := s2.EncodeSnappy(dst[len(dst):cap(dst)], src)
	return dst[:len(dst)+len(block)]
}

func writeAll(w io.WriteCloser, src []byte) error {
	if _, err := w.Write(src); err != nil {
		return err
	}
	return w.Close()
}
