package mirror

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
)

// batches writes one batch for each of the sizes, of five records that do not compress.
func (r *rig) batches(topic string, sizes ...int) {
	r.t.Helper()
	rnd := rand.NewChaCha8([32]byte{1})
	for _, size := range sizes {
		recs := make([]*kgo.Record, 5)
		for i := range recs {
			v := make([]byte, size/5)
			_, _ = rnd.Read(v)
			recs[i] = &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: v}
		}
		if err := r.src.Kgo().ProduceSync(r.t.Context(), recs...).FirstErr(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// reseal makes the checksum of the batch at b right again.
func reseal(b []byte) {
	end := 12 + int(binary.BigEndian.Uint32(b[8:]))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:end], crc32.MakeTable(crc32.Castagnoli)))
}

// TestDamagedBatch: a damaged batch on the source stops its partition at that batch, says which offset it has, and
// nothing of it reaches the target, whatever way the batch would have taken. Neighbours go on, and the partition does
// when the damage is gone.
func TestDamagedBatch(t *testing.T) {
	const small, large = 500, 100_000 // merged with its neighbours; forwarded as it is
	flip := func(at int) func([]byte) []byte { return func(b []byte) []byte { return flipped(b, at) } }
	edit := func(do func(b []byte)) func([]byte) []byte { return func(b []byte) []byte { do(b); return b } }
	for _, c := range []struct {
		name   string
		size   int // of each batch of five records; the second one is damaged
		damage func([]byte) []byte
		says   []string
	}{
		{"payload of a raw batch", large, flip(5000), nil},
		{"payload of a small batch", small, flip(200), []string{"crc"}},
		{"checksum", large, flip(18), nil},
		{"record count", large, flip(60), nil},
		{"record count of a small batch", small, flip(60), nil},
		{"magic", large, flip(16), []string{"magic 18"}},
		{"codec bits", large, edit(func(b []byte) { b[22] |= 7 }), []string{"codec"}},
		{"unknown attribute", large, edit(func(b []byte) {
			b[21] |= 2 // of a newer Kafka perhaps: the checksum is right
			reseal(b)
		}), []string{"unknown"}},
		{"control bit", large, flip(22 /* 0x10 is the transactional bit */), nil},
		{"base offset further", large, flip(4), []string{"268435461"}},
		{"base offset back", large, edit(func(b []byte) { b[7] = 0 }), nil},
		{"base offset a little back", small, edit(func(b []byte) { b[7] = 3 }), nil},
		{"length longer", large, flip(8), nil},
		{"length a little longer", large, edit(func(b []byte) { b[10]++ }), nil},
		{"length shorter", large, edit(func(b []byte) { b[10]-- }), nil},
		{"zeroed", large, edit(func(b []byte) { clear(b) }), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(refuses{t}, 1)
			r.both("orders", 1)
			r.both("payments", 1)
			r.batches("orders", c.size, c.size)
			if c.size == small || strings.HasPrefix(c.name, "base") {
				r.batches("orders", c.size) // a large one would be in flight with the damaged one, see below
			}
			want := r.read(r.src, "orders")[0]
			l := r.lie("orders", "payments")
			stored := split(r.stored("orders"))
			// What precedes the damage is acknowledged first: kfake lets a partition's own fence, which settles batches in
			// flight, refuse all partitions.
			l.tell(stored[:1])
			run := r.start(r.partitions("orders", "payments"))
			r.until("the first batch", func() (bool, string) { return len(r.read(r.dst, "A.orders")[0]) == 5, "" })
			stored[1].bytes = c.damage(stored[1].bytes)
			l.tell(stored)
			r.stopped(run, partition.ID{Topic: "orders"}, append(c.says, "offset 5")...)
			for i := range 4 { // over several tries of the stopped partition
				r.produce("payments", 10*i, 10)
				r.same("payments")
				tries := l.tries()
				r.until("another try", func() (bool, string) { return l.tries() > tries, "" })
			}
			if got := r.read(r.dst, "A.orders")[0]; len(got) > 5 || !slices.Equal(got, want[:len(got)]) {
				t.Errorf("%d records reached the target, 5 of which stand before the damage", len(got))
			}
			l.tell(nil)
			r.same("orders")
		})
	}
}

// TestDamagedFirstBatch: a batch that is alone in its answer takes the shortest way.
func TestDamagedFirstBatch(t *testing.T) {
	r := newRig(refuses{t}, 1)
	r.both("orders", 1)
	r.batches("orders", 500)
	l := r.lie("orders")
	stored := split(r.stored("orders"))
	stored[0].bytes[200] ^= 1
	l.tell(stored)
	run := r.start(r.partitions("orders"))
	r.stopped(run, partition.ID{Topic: "orders"}, "damaged", "offset 0")
	if end := r.end(r.dst, partition.ID{Topic: "A.orders"}); end != 0 {
		t.Errorf("%d records reached the target", end)
	}
	l.tell(nil)
	r.same("orders")
}

// v1 appends one message of the format before v2.
func v1(dst []byte, magic byte, offset, time int64, key, value string) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(offset))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, magic, 0)
	if magic == 1 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(time))
	}
	for _, s := range []string{key, value} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	binary.BigEndian.PutUint32(dst[at+8:], uint32(len(dst)-at-12))
	binary.BigEndian.PutUint32(dst[at+12:], crc32.ChecksumIEEE(dst[at+16:]))
	return dst
}

// TestOldMessageFormats: segments that were written before Kafka 0.11 come as sets of v0 and v1 messages, also followed
// by v2 batches in one answer. All of it is mirrored, in order; a damaged message stops the partition.
func TestOldMessageFormats(t *testing.T) {
	set := func() []byte {
		var b []byte
		for i := range int64(10) {
			b = v1(b, byte(i/5), i, 1_600_000_000_000+i, fmt.Sprint("k", i), fmt.Sprintf("old=%d", i))
		}
		return b
	}
	for _, c := range []struct {
		name string
		lie  func(stored []stretch) []stretch
		want func([]string) []string
		says []string
	}{
		{"old only", func([]stretch) []stretch { return []stretch{{10, set()}} }, func([]string) []string { return olds(10) }, nil},
		{"old, then v2", func(s []stretch) []stretch { return []stretch{{10, set()}, s[2]} }, func(v []string) []string { return append(olds(10), v[10:]...) }, nil},
		{"damaged old", func([]stretch) []stretch { return []stretch{{10, flipped(set(), 96)}} }, func([]string) []string { return nil }, []string{"offset 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.both("orders", 1)
			r.both("payments", 1)
			r.batches("orders", 500, 500, 500)
			v2 := r.read(r.src, "orders")[0]
			l := r.lie("orders", "payments")
			l.tell(c.lie(split(r.stored("orders"))))
			run := r.start(r.partitions("orders", "payments"))
			want := c.want(v2)
			if c.says != nil {
				r.stopped(run, partition.ID{Topic: "orders"}, c.says...)
			}
			r.until("the records", func() (bool, string) {
				got := r.read(r.dst, "A.orders")[0]
				return slices.Equal(got, want), fmt.Sprintf("%d records, want %d", len(got), len(want))
			})
			r.produce("payments", 0, 10)
			r.same("payments")
		})
	}
}

// TestOldFormatsAfterKill: what was mirrored of a segment in an old format is found on the target after an unclean stop.
func TestOldFormatsAfterKill(t *testing.T) {
	r := newRig(t, 1)
	r.both("orders", 1)
	var sizes []int
	for range 200 {
		sizes = append(sizes, 500)
	}
	r.batches("orders", sizes...)
	v2, stored := r.read(r.src, "orders")[0], split(r.stored("orders"))
	n := int64(len(v2) - 5) // all but the last batch
	var told []stretch
	for i := int64(0); i < n; i += 50 {
		var set []byte
		for o := i; o < min(i+50, n); o++ {
			set = v1(set, byte(o/(n/2+1)), o, 1_600_000_000_000+o, fmt.Sprint("k", o), fmt.Sprintf("old=%d", o))
		}
		told = append(told, stretch{min(i+50, n), set})
	}
	want := append(olds(int(n)), v2[n:]...)
	l := r.lie("orders")
	for i := range 3 {
		l.tell(told[:(i+1)*len(told)/4])
		run := r.start(r.partitions("orders"))
		r.until("records on the target", func() (bool, string) {
			n := run.flow.Totals().Records.Load()
			return n > 0, fmt.Sprint(n)
		})
		run.kill()
		run.wg.Wait()
	}
	l.tell(append(told, stored[len(stored)-1]))
	r.start(r.partitions("orders"))
	r.until("the records", func() (bool, string) {
		got := r.read(r.dst, "A.orders")[0]
		return slices.Equal(got, want), fmt.Sprintf("%d records, want %d", len(got), len(want))
	})
}

func olds(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("old=%d", i))
	}
	return out
}
