package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/offsetmap"
)

const page = "../../docs/ledger.md"

// documented are the records whose bytes docs/ledger.md shows, one of each kind, by key.
func documented(t *testing.T) map[string][]byte {
	t.Helper()
	at := time.UnixMilli(1_800_000_000_000)
	id := func(first byte) (id [16]byte) {
		for i := range id {
			id[i] = first + byte(i)
		}
		return id
	}
	owner := "host-1 pid 42"
	m := offsetmap.New(offsetmap.Origin{SourceCluster: "c1", SourceTopicID: id(0x10), TargetTopicID: id(0x20), SourceStart: 40, Base: 0})
	m.NoteEpoch(2, 40)
	err := m.Append(offsetmap.Run{Source: 40, Target: 0, Count: 100})
	if err == nil {
		err = m.Append(offsetmap.Run{Source: 141, Target: 100, Count: 5})
	}
	block, ok := m.Seal()
	if err == nil {
		err = m.Marker(106)
	}
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	records := map[Key][]byte{
		{Kind: KindMeta}:      Meta{Lanes: 32, Hash: HashName, SourceCluster: "c1", TargetCluster: "c2"}.Encode(),
		{Kind: KindClaim}:     Claim{ProducerID: 1000, Epoch: 3, TransactionalID: "tidemark.A->B.lane.7", Owner: owner, Released: true, At: at}.Encode(),
		{Kind: KindIsolation}: Reads{Isolation: ReadCommitted, Owner: owner}.Encode(),
		{Kind: KindObeys}:     Obeys{Topic: id(0x30), Below: 12, Owner: owner}.Encode(),
		{Kind: KindHead, Topic: "orders"}: Head{
			RemoteTopic: "A.orders", State: Stopped, Reason: "denied", ProducerID: 1000, Epoch: 3, Sequence: 105, Map: m.AppendTail(nil), SourceEnd: 150, At: at,
		}.Encode(),
		{Kind: KindBlock, Topic: "orders"}:      EncodeBlock(block.Data),
		{Kind: KindBegin, Topic: "orders"}:      Begin{TopicID: id(0x10), Offset: 40}.Encode(),
		{Kind: KindConfigs, Topic: "orders"}:    Configs{SourceID: id(0x10), TargetID: id(0x20), Values: map[string]string{"retention.ms": "5000"}}.Encode(),
		{Kind: KindStart}:                       Start{ProducerID: 1000, Epoch: 0, Topics: 1, At: at}.Encode(),
		{Kind: KindStartTopic, Topic: "orders"}: StartTopic{ProducerID: 1000, Epoch: 0, TopicID: id(0x10), Offsets: []offsetmap.SourceOffset{40, AtEnd, FromOldest}}.Encode(),
	}
	out := map[string][]byte{}
	for k, value := range records {
		out[k.String()] = value
	}
	return out
}

// TestPageShowsTheBytes: docs/ledger.md shows a record of each kind byte by byte. These bytes are on clusters: where they
// change the format has another version, and the page says so.
func TestPageShowsTheBytes(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for i, block := range strings.Split(string(text), "```") {
		key, layout, ok := strings.Cut(strings.TrimPrefix(block, "\n"), "\n")
		if key, found := strings.CutPrefix(key, "key "); ok && found && i%2 == 1 {
			shown[key] = layout
		}
	}
	want := documented(t)
	for key, value := range want {
		got, err := spelt(shown[key])
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s shows for key %q %x (%v), this build writes\n%x", page, key, got, err, value)
		}
		delete(shown, key)
	}
	for key := range shown {
		t.Errorf("%s shows key %q, which this test does not write", page, key)
	}
}

// spelt are the bytes of a layout: per line hexadecimal digits and quoted text, up to a # and its remark.
func spelt(layout string) (out []byte, err error) {
	for line := range strings.Lines(layout) {
		line, _, _ = strings.Cut(line, "#")
		for i, part := range strings.Split(line, `"`) {
			if i%2 == 1 {
				out = append(out, part...)
				continue
			}
			b, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
			if err != nil {
				return nil, fmt.Errorf("line %q: %w", line, err)
			}
			out = append(out, b...)
		}
	}
	return out, nil
}
