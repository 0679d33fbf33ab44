package batch

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// DefaultMaxDecompressed bounds what one batch may decompress to: 256 MiB.
// The largest batch a broker stores by default is 1 MiB; lz4 makes at most
// 255 times that, so honest data stays far below, and garbage that claims
// gigabytes is refused before it takes the memory.
const DefaultMaxDecompressed = 256 << 20

// maxPooled is the largest buffer that is kept for the next batch, so that one
// huge batch does not pin its size for ever.
const maxPooled = 8 << 20

// Builder decodes and encodes batches. It owns the codecs' state and the
// buffers, which is why decoding is a method here: a fresh zstd decoder for
// every batch would cost more than the batch. Safe for concurrent use.
type Builder struct {
	limit int64 // bytes one batch may decompress to

	buffers     sync.Pool // *[]byte
	gzipReaders sync.Pool // *gzip.Reader
	gzipWriters sync.Pool // *gzip.Writer
	lz4Readers  sync.Pool // *lz4.Reader
	lz4Writers  sync.Pool // *lz4.Writer
	zstdReaders sync.Pool // *zstd.Decoder
	zstdWriters sync.Pool // *zstd.Encoder
}

// NewBuilder returns a Builder with the limit DefaultMaxDecompressed.
func NewBuilder() *Builder { return NewBuilderLimit(DefaultMaxDecompressed) }

// NewBuilderLimit returns a Builder that refuses batches which decompress to
// more than maxDecompressed bytes.
func NewBuilderLimit(maxDecompressed int64) *Builder {
	return &Builder{limit: max(maxDecompressed, 1)}
}

// Release gives an output's memory back. Optional; call it once at most, when
// nobody reads o.Bytes any more.
func (b *Builder) Release(o Output) { b.putBuffer(&o.Bytes) }

func (b *Builder) buffer() *[]byte {
	if p, ok := b.buffers.Get().(*[]byte); ok {
		*p = (*p)[:0]
		return p
	}
	return new([]byte)
}

// putBuffer takes nil too: what was not decompressed borrowed no buffer.
func (b *Builder) putBuffer(p *[]byte) {
	if p != nil && cap(*p) > 0 && cap(*p) <= maxPooled {
		b.buffers.Put(p)
	}
}

// plain returns the decompressed records of v. The buffer, nil if the records
// are v's own, goes back with putBuffer when they are no longer read.
func (b *Builder) plain(v View) ([]byte, *[]byte, error) {
	if v.Codec() == None {
		return v.Payload(), nil, nil
	}
	if v.Count() == 0 {
		// The cleaner writes empty batches without codec; a codec bit on
		// an empty payload is no frame that a decoder would take.
		return nil, nil, nil
	}
	buf := b.buffer()
	out, err := b.decompress((*buf)[:0], v.Codec(), v.Payload())
	*buf = out
	if err != nil {
		b.putBuffer(buf)
		return nil, nil, fmt.Errorf("decompress batch at offset %d: %w", v.BaseOffset(), err)
	}
	return out, buf, nil
}

func (b *Builder) gzipReader() (*gzip.Reader, func()) {
	r, ok := b.gzipReaders.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	return r, func() { b.gzipReaders.Put(r) }
}

func (b *Builder) gzipWriter() (*gzip.Writer, func()) {
	w, ok := b.gzipWriters.Get().(*gzip.Writer)
	if !ok {
		w = gzip.NewWriter(nil)
	}
	return w, func() { b.gzipWriters.Put(w) }
}

func (b *Builder) lz4Reader() (*lz4.Reader, func()) {
	r, ok := b.lz4Readers.Get().(*lz4.Reader)
	if !ok {
		r = lz4.NewReader(nil)
	}
	return r, func() { b.lz4Readers.Put(r) }
}

// lz4Writer writes what the Java producer writes: independent blocks of
// 64 KiB, which is all that Kafka's reader takes, no content checksum (the
// batch has one).
func (b *Builder) lz4Writer() (*lz4.Writer, func(), error) {
	w, ok := b.lz4Writers.Get().(*lz4.Writer)
	if !ok {
		w = lz4.NewWriter(nil)
		err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1))
		if err != nil {
			return nil, nil, err
		}
	}
	return w, func() { b.lz4Writers.Put(w) }, nil
}

// zstdReader decodes whole payloads, which needs neither goroutine nor Close.
// The window is bounded by the limit already: 1 GiB is more than any level of
// the reference encoder uses.
func (b *Builder) zstdReader() (*zstd.Decoder, func(), error) {
	r, ok := b.zstdReaders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		r, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(1<<30),
			zstd.WithDecoderMaxMemory(uint64(b.limit)))
		if err != nil {
			return nil, nil, err
		}
	}
	return r, func() { b.zstdReaders.Put(r) }, nil
}

// zstdWriter is level 3, Kafka's default, without frame checksum.
func (b *Builder) zstdWriter() (*zstd.Encoder, func(), error) {
	w, ok := b.zstdWriters.Get().(*zstd.Encoder)
	if !ok {
		var err error
		w, err = zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false),
			zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			return nil, nil, err
		}
	}
	return w, func() { b.zstdWriters.Put(w) }, nil
}
