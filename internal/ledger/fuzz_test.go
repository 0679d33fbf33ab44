package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/internal/fuzzing"
	"tidemark/internal/partition"
	"tidemark/offsetmap"
)

// pairs are records as a lane writes them, keys and values by turns.
func pairs(f *testing.F) [][]byte {
	m := offsetmap.New(offsetmap.Origin{SourceCluster: "s", SourceStart: 10})
	for i := range 50 {
		if err := m.Append(offsetmap.Run{Source: offsetmap.SourceOffset(10 + 3*i), Target: offsetmap.TargetOffset(2 * i), Count: 2}); err != nil {
			f.Fatal(err)
		}
	}
	b, ok := m.Seal()
	if !ok {
		f.Fatal("nothing to seal")
	}
	h := heads()
	h.Map = m.AppendTail(nil)
	id := [16]byte{1, 2, 15: 9}
	var out [][]byte
	for _, r := range []struct {
		key   Key
		value []byte
	}{
		{Key{Kind: KindMeta}, Meta{Lanes: 32, Hash: HashName, SourceCluster: "s", TargetCluster: "t"}.Encode()},
		{Key{Kind: KindClaim}, Claim{ProducerID: 1 << 40, Epoch: 7, TransactionalID: "tidemark.A->B.lane.3", Owner: "host", Released: true, At: time.UnixMilli(5)}.Encode()},
		{Key{Kind: KindIsolation}, Reads{Isolation: ReadCommitted, Owner: "host"}.Encode()},
		{Key{Kind: KindObeys}, Obeys{Topic: id, Below: 12, Owner: "host"}.Encode()},
		{Key{Kind: KindHead, Topic: "orders", Partition: 3}, h.Encode()},
		{Key{Kind: KindBlock, Topic: "orders", Partition: 3, Block: b.Number}, EncodeBlock(b.Data)},
		{Key{Kind: KindBegin, Topic: "orders", Partition: 3}, Begin{TopicID: id, Offset: AtEnd}.Encode()},
		{Key{Kind: KindConfigs, Topic: "orders"}, Configs{SourceID: id, TargetID: id, Values: map[string]string{"retention.ms": "5", "a": ""}}.Encode()},
		{Key{Kind: KindStart}, Start{ProducerID: 1 << 40, Epoch: 7, Topics: 1, At: time.UnixMilli(7)}.Encode()},
		{Key{Kind: KindStartTopic, Topic: "orders"}, StartTopic{ProducerID: 1 << 40, Epoch: 7, TopicID: id, Offsets: []offsetmap.SourceOffset{FromOldest, AtEnd, 1 << 50}}.Encode()},
	} {
		out = append(out, []byte(r.key.String()), r.value)
	}
	return out
}

// FuzzDecode: a record is taken as it says or is damage that Contents lists under its key; and whatever is taken is
// written as a record that says the same. Each input is tried as it is and sealed, for else the checksum stops it.
func FuzzDecode(f *testing.F) {
	good := pairs(f)
	for at := 0; at < len(good); at += 2 {
		for _, cut := range fuzzing.Cuts(good[at+1]) {
			f.Add(good[at], cut)
		}
		f.Add(good[at], good[at+1][1:len(good[at+1])-4]) // what is inside the seal
	}
	wide := Claim{}.Encode()
	wide = append([]byte{0, 0x80, 0x80, 0x08}, wide[3:len(wide)-4]...) // epoch 1<<16
	f.Add([]byte("claim"), wide)
	f.Add([]byte("head/03/t"), heads().Encode())
	f.Fuzz(func(t *testing.T, key, value []byte) {
		fuzzing.Within(t, 1<<20+200*(len(key)+len(value)), func() {
			for _, v := range [][]byte{value, seal(value)} {
				c := NewContents()
				err := c.Apply(1, key, v)
				checkApplied(t, c, key, v, err)
				c.Started()
				c.ClaimLost()
			}
		})
	})
}

func checkApplied(t *testing.T, c *Contents, key, value []byte, err error) {
	k, bad := ParseKey(key)
	if bad == nil {
		if again, err := ParseKey([]byte(k.String())); err != nil || again != k {
			t.Fatalf("%q is %+v and written as %s: %+v, %v", key, k, k, again, err)
		}
	}
	p := partition.ID{Topic: k.Topic, Partition: k.Partition}
	if err == nil && bad == nil && len(c.Other)+len(c.Damaged[p]) == 0 {
		checkTaken(t, c, k, p, value)
		return
	}
	if err != nil {
		if !errors.Is(err, ErrVersion) || value[0] == Version {
			t.Fatalf("%q: %v", key, err)
		}
		return
	}
	listed := slices.Concat(c.Other, c.Damaged[p])
	name := fmt.Sprintf("%.80s", key)
	if bad == nil {
		name = k.String()
	}
	if len(listed) != 1 || listed[0].Key != name || listed[0].Offset != 1 || !errors.Is(listed[0].Err, ErrDamaged) {
		t.Fatalf("%q: damage %+v", key, listed)
	}
	if c.Reads() != IsolationUnknown || c.Meta != nil || c.Claim != nil || c.Start != nil || len(c.Heads)+len(c.Begins)+len(c.Configs)+len(c.StartTopics)+len(c.blocks) != 0 {
		t.Fatalf("%q: damaged, and taken: %+v", key, c)
	}
}

// checkTaken writes what was read, and wants each number and text of the bytes in it.
func checkTaken(t *testing.T, c *Contents, k Key, p partition.ID, value []byte) {
	layout, again := "", []byte(nil)
	switch k.Kind {
	case KindMeta:
		layout, again = "ittt", c.Meta.Encode()
	case KindClaim:
		layout, again = "iittbi", c.Claim.Encode()
	case KindHead:
		layout, again = "titiiitii", c.Heads[p].Encode()
		if m, err := c.Map(p); err == nil {
			if err := m.Check(); err != nil {
				t.Fatalf("map of %+v: %v", k, err)
			}
		}
	case KindIsolation:
		layout, again = "it", c.reads.Encode()
	case KindObeys:
		layout, again = "tit", c.Obeys.Encode()
	case KindBegin:
		layout, again = "ti", c.Begins[p].Encode()
	case KindStart:
		layout, again = "iiii", c.Start.Encode()
	case KindStartTopic:
		layout, again = "iitn", c.StartTopics[k.Topic].Encode()
	case KindBlock:
		again = EncodeBlock(c.blocks[p][blockID{k.Incarnation, k.Block}])
		if !bytes.Equal(again, value) {
			t.Fatalf("block %q became %q", value, again)
		}
		return
	case KindConfigs: // may come in another order, and twice
		cs, err := DecodeConfigs(c.Configs[k.Topic].Encode())
		if err != nil || len(cs.Values) != len(c.Configs[k.Topic].Values) {
			t.Fatalf("%+v became %+v, %v", c.Configs[k.Topic], cs, err)
		}
		return
	}
	body, err := open(value)
	if err != nil {
		t.Fatal(err)
	}
	if want := rewritten(layout, body); !bytes.Equal(again, want) {
		t.Fatalf("%s: read from %x, which is written %x, and became %x", k, value, want, again)
	}
}

// rewritten reads fields by their layout, the numbers all as wide as they can be, and writes them again, each number in
// as few bytes as it takes: i a number, b yes or no, t a text or bytes, n as many numbers as the first one says.
func rewritten(layout string, body []byte) []byte {
	r, w := reader{b: body}, writer{}
	for _, field := range layout {
		switch field {
		case 'i':
			w.int(r.int())
		case 'b':
			w.bool(r.bool())
		case 't':
			w.bytes(r.bytes())
		case 'n':
			n := max(r.int(), 0)
			for w.int(n); n > 0; n-- {
				w.int(r.int())
			}
		}
	}
	return seal(w.b)
}
