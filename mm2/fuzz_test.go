package mm2

import (
	"strings"
	"testing"

	"tidemark/internal/fuzzing"
)

// FuzzPolicy: any topic of a cluster has a name that ends, is put together again from its parts, and is mirrored under a
// name that is told to have come from where it came.
func FuzzPolicy(f *testing.F) {
	for _, topic := range []string{
		"orders", "A.orders", "B.A.orders", "heartbeats", "A.heartbeats", "app.heartbeats", "A.checkpoints.internal", "mm2-offset-syncs.A.internal",
		"..", ".hidden", "orders.", "a..b", "__consumer_offsets", "tidemark-ledger.A.internal", "",
	} {
		f.Add(topic, "A", "")
		f.Add(topic, "A", "_")
		f.Add(topic, "B", "..")
	}
	f.Fuzz(func(t *testing.T, topic, alias, separator string) {
		if separator != "" && strings.Contains(HeartbeatsTopic, separator) {
			return // no name of a heartbeats topic could be told from its hops
		}
		aliases := []string{"A", alias}
		checkPolicy(t, DefaultPolicy{Separator: separator, Aliases: aliases}, topic, alias)
		checkPolicy(t, IdentityPolicy{Source: alias, Separator: separator, Aliases: aliases}, topic, alias)
	})
}

func checkPolicy(t *testing.T, p Policy, topic, alias string) {
	original := p.OriginalTopic(topic)
	if again := p.OriginalTopic(original); again != original || !strings.HasSuffix(topic, original) {
		t.Fatalf("%T: %q is %q, and that is %q", p, topic, original, again)
	}
	chain := Chain(p, topic)
	if len(chain) > len(topic) {
		t.Fatalf("%T: %q came through %q", p, topic, chain)
	}
	for _, through := range chain {
		if !p.IsCycle(topic, through) {
			t.Fatalf("%T: %q came through %q, which is no cycle", p, topic, through)
		}
	}
	if n, ok := Hops(p, topic, alias); ok && (n < 1 || n > len(topic)+1) {
		t.Fatalf("%T: %q is %d hops away", p, topic, n)
	}
	from, up := source(p, topic), upstream(p, topic)
	if from.ok && up.ok && up.name != topic && p.RemoteTopic(from.name, up.name) != topic {
		t.Fatalf("%T: %q comes from %+v of %+v, which is mirrored as %q", p, topic, up, from, p.RemoteTopic(from.name, up.name))
	}
	if d, ok := p.(DefaultPolicy); ok {
		remote, sep := p.RemoteTopic(alias, topic), d.separator()
		// Java's split gives no source where nothing but separators follows, nor another one than the first part.
		if strings.Index(remote, sep) == len(alias) && strings.ReplaceAll(topic, sep, "") != "" &&
			(source(p, remote) != (named{alias, true}) || upstream(p, remote) != (named{topic, true})) {
			t.Fatalf("%q of %q is mirrored as %q, which does not come apart again", topic, alias, remote)
		}
	}
}

// FuzzSyncs: whatever stands in an offset syncs topic, no answer is later than what the records of it say: a position goes
// to a sync at or below it, or one past it, and later positions never go to earlier places.
func FuzzSyncs(f *testing.F) {
	var log []byte
	for _, s := range []OffsetSync{
		{"orders", 3, 100, 90},
		{"orders", 3, 200, 190},
		{"orders", 3, 200, 195},
		{"orders", 3, 260, 300},
		{"orders", 3, 150, 310},
		{"orders", 3, 400, 500},
		{"orders", 3, 1 << 62, 1 << 61},
		{"orders", 3, 1<<63 - 2, 1<<63 - 1},
		{"orders", 3, 5, 7},
	} {
		_, value := encode(f, s)
		log = append(log, value...)
		f.Add(log, int64(300))
	}
	for _, cut := range fuzzing.Cuts(log) {
		f.Add(cut, int64(150))
	}
	key, _ := encode(f, OffsetSync{Topic: "orders", Partition: 3})
	f.Fuzz(func(t *testing.T, log []byte, ask int64) {
		var table SyncTable
		largest := int64(-1) // what any sync says of the target
		asks := []int64{ask}
		for ; len(log) > 0; log = log[min(16, len(log)):] {
			s, err := ParseOffsetSync(key, log[:min(16, len(log))])
			if err != nil {
				continue
			}
			table.Add(s)
			largest = max(largest, s.Downstream)
			asks = append(asks, s.Upstream, s.Upstream+1, s.Upstream-1)
		}
		for _, up := range asks {
			checkSync(t, &table, up, ask, largest)
		}
	})
}

func checkSync(t *testing.T, table *SyncTable, up, other, largest int64) {
	down, used, ok := table.Translate(up)
	if !ok {
		if s, has := table.Oldest(); has && s.Upstream <= up {
			t.Fatalf("%d has no place, and the oldest sync is %v", up, s)
		}
		return
	}
	if used.Upstream > up || down < used.Downstream || down-used.Downstream > 1 || down != used.Downstream && used.Upstream == up || down-1 > largest {
		t.Fatalf("%d goes to %d by %v; no sync is above %d", up, down, used, largest)
	}
	if n := table.Replays(up, down, NoEnd); n < 0 {
		t.Fatalf("%d replays %d", up, n)
	}
	if d, _, ok := table.Translate(other); ok && (other < up && d > down || other > up && d < down) {
		t.Fatalf("%d goes to %d, and %d to %d", up, down, other, d)
	}
	back, replays, by, ok := table.Back(down)
	if !ok || by.Downstream > down || back < by.Upstream || back > by.Upstream+1 || back == by.Upstream+1 && by.Downstream == down || replays < 0 {
		t.Fatalf("%d goes to %d, and that back to %d by %v, %v, with %d replays", up, down, back, by, ok, replays)
	}
}
