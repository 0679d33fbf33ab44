package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// The vectors are those of Kafka's own test of its hash (UtilsTest.testMurmur2).
func TestMurmur2IsKafkas(t *testing.T) {
	for text, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(text))); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for lanes := int32(1); lanes < 50; lanes++ {
		if n := LaneOf("orders", 7, lanes); n < 0 || n >= lanes {
			t.Errorf("lane %d of %d", n, lanes)
		}
	}
}

func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Key{
			Kind:  rapid.SampledFrom([]Kind{KindHead, KindBlock, KindBegin, KindConfigs, KindStartTopic}).Draw(t, "kind"),
			Topic: rapid.StringMatching(`[a-zA-Z0-9._-]{1,40}`).Draw(t, "topic"), Partition: rapid.Int32Range(0, 1<<30).Draw(t, "partition"),
		}
		if k.Kind == KindBlock {
			k.Incarnation, k.Block = rapid.Uint32().Draw(t, "incarnation"), rapid.Uint32().Draw(t, "block")
		}
		if k.Kind == KindConfigs || k.Kind == KindStartTopic {
			k.Partition = 0
		}
		got, err := ParseKey([]byte(k.String()))
		if err != nil || got != k {
			t.Fatalf("%v became %v, %v", k, got, err)
		}
	})
	for _, bad := range []string{"", "head", "head/x/t", "head/-1/t", "head/1/", "block/1/2/t", "block/1/2/3/", "begin/1/", "configs/", "configs/1/t", "start/", "start/1/t", "starts", "begin/x/t", "claims", "head/99999999999/t"} {
		if k, err := ParseKey([]byte(bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q is %v, %v", bad, k, err)
		}
	}
}

func heads() Head {
	return Head{
		Topic: "orders", Partition: 3, RemoteTopic: "A.orders", State: Stopped, Reason: "why", ProducerID: 77, Epoch: 4, Sequence: 9,
		Map: []byte{1, 2, 3}, SourceEnd: 1234, At: time.UnixMilli(1_700_000_000_123),
	}
}

func TestValuesRoundTrip(t *testing.T) {
	h := heads()
	got, err := DecodeHead(Key{Kind: KindHead, Topic: "orders", Partition: 3}, h.Encode())
	if diff := cmp.Diff(h, got); diff != "" || err != nil {
		t.Errorf("head %v\n%s", err, diff)
	}
	c := Claim{ProducerID: 1 << 40, Epoch: 32767, TransactionalID: "tidemark.A->B.lane.3", Owner: "host", Released: true, At: time.UnixMilli(5)}
	gotClaim, err := DecodeClaim(c.Encode())
	if diff := cmp.Diff(c, gotClaim); diff != "" || err != nil {
		t.Errorf("claim %v\n%s", err, diff)
	}
	b := Begin{TopicID: [16]byte{1, 2, 15: 9}, Offset: AtEnd}
	gotBegin, err := DecodeBegin(b.Encode())
	if diff := cmp.Diff(b, gotBegin); diff != "" || err != nil {
		t.Errorf("begin %v\n%s", err, diff)
	}
	st := Start{ProducerID: 1 << 40, Epoch: 9, Topics: 300, At: time.UnixMilli(7)}
	gotStart, err := DecodeStart(st.Encode())
	if diff := cmp.Diff(st, gotStart); diff != "" || err != nil {
		t.Errorf("start %v\n%s", err, diff)
	}
	tp := StartTopic{ProducerID: 1 << 40, Epoch: 9, TopicID: [16]byte{3}, Offsets: []offsetmap.SourceOffset{FromOldest, AtEnd, 0, 1 << 50}}
	gotTopic, err := DecodeStartTopic(tp.Encode())
	if diff := cmp.Diff(tp, gotTopic); diff != "" || err != nil {
		t.Errorf("start of a topic %v\n%s", err, diff)
	}
	tp.Offsets[0] = FromOldest - 1
	if _, err := DecodeStartTopic(tp.Encode()); !errors.Is(err, ErrDamaged) {
		t.Errorf("an offset that cannot be: %v", err)
	}
	cs := Configs{SourceID: [16]byte{1}, TargetID: [16]byte{2}, Values: map[string]string{"retention.ms": "5", "a": ""}}
	gotConfigs, err := DecodeConfigs(cs.Encode())
	if diff := cmp.Diff(cs, gotConfigs); diff != "" || err != nil {
		t.Errorf("configs %v\n%s", err, diff)
	}
	m := Meta{Lanes: 32, Hash: HashName, SourceCluster: "s", TargetCluster: "t"}
	gotMeta, err := DecodeMeta(m.Encode())
	if diff := cmp.Diff(m, gotMeta); diff != "" || err != nil {
		t.Errorf("meta %v\n%s", err, diff)
	}
}

// Every flipped bit and every cut is noticed; another version is told from damage.
func TestDamageIsNoticed(t *testing.T) {
	value := heads().Encode()
	key := Key{Kind: KindHead, Topic: "orders", Partition: 3}
	for i := range value {
		for bit := range 8 {
			bad := append([]byte(nil), value...)
			bad[i] ^= 1 << bit
			_, err := DecodeHead(key, bad)
			if want := map[bool]error{true: ErrVersion, false: ErrDamaged}[i == 0]; !errors.Is(err, want) {
				t.Fatalf("byte %d bit %d: %v", i, bit, err)
			}
		}
		if _, err := DecodeHead(key, value[:i]); err == nil {
			t.Fatalf("cut at %d is accepted", i)
		}
	}
}

func TestContents(t *testing.T) {
	p := partition.ID{Topic: "orders", Partition: 3}
	key := []byte(Key{Kind: KindHead, Topic: "orders", Partition: 3}.String())
	m := offsetmap.New(offsetmap.Origin{})
	for i := range 50 {
		if err := m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(2 * i), Target: offsetmap.TargetOffset(i), Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	b, ok := m.Seal()
	if !ok {
		t.Fatal("nothing to seal")
	}
	h := heads()
	h.Map = m.AppendTail(nil)
	block := []byte(Key{Kind: KindBlock, Topic: "orders", Partition: 3, Block: b.Number}.String())

	c := NewContents()
	apply := func(key, value []byte) {
		t.Helper()
		if err := c.Apply(9, key, value); err != nil {
			t.Fatal(err)
		}
	}
	apply(block, EncodeBlock(b.Data))
	apply(key, h.Encode())
	if got, err := c.Map(p); err != nil || got.Next(60).Target != 30 || len(got.Missing()) != 0 {
		t.Errorf("map: %v", err)
	}
	apply(block, []byte("\x01garbage that is no block"))
	if len(c.Damaged[p]) != 1 {
		t.Errorf("damage: %v", c.Damaged)
	}
	apply(block, nil)
	if got, err := c.Map(p); err != nil || got.Next(60).Kind != offsetmap.Bounded {
		t.Errorf("without the block: %v", err)
	}
	apply(key, []byte{Version, 1, 2, 3, 4, 5})
	if _, damaged := c.HeadDamaged(p); !damaged || len(c.Heads) != 0 {
		t.Error("a damaged head does not hide the older one")
	}
	apply(key, h.Encode())
	if _, damaged := c.HeadDamaged(p); damaged || len(c.Heads) != 1 {
		t.Error("a good head after it does not heal")
	}
	apply(key, nil)
	if len(c.Heads) != 0 {
		t.Error("a deletion does not delete")
	}
	newer := append([]byte{Version + 1}, h.Encode()[1:]...)
	if err := c.Apply(10, key, newer); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer format: %v", err)
	}
}
