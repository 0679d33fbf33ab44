package properties

import (
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/provider"
)

// adviceBase is a file whose aliases are none of those in the documentation. The flow from C is there to be passed over:
// it comes first by name, and is off.
const adviceBase = "clusters = A2, B, C\nbootstrap.servers = x:1\nA2->B.enabled = true\nB->C.enabled = false\n"

// TestAdviceNamesTheFile: what to write instead of a key without effect is written with the aliases of the file, says where
// it stands already, and is a warning where what is copied depends on it.
func TestAdviceNamesTheFile(t *testing.T) {
	const whole = ": without it flow A2->B copies everything that A2 has at the first start"
	const committed = ": without it flow A2->B copies committed records only"
	const ungrouped = " has no effect: partitions are read without a consumer group, from where the ledger says; MirrorMaker 2 ignores it "
	for _, tc := range []struct {
		lines, says string
		warn        bool
	}{
		{"topics.exlude = x", "topics.exlude has no effect: unknown key, did you mean topics.exclude?", true},
		{"A2.topics.exclude = x", "A2.topics.exclude has no effect: write it at top level or as A2->B.topics.exclude", true},
		{"B.topics.exclude = x", "B.topics.exclude has no effect: write it at top level or as A2->B.topics.exclude", true},
		{"C.topics.exclude = x", "C.topics.exclude has no effect: write it at top level or as B->C.topics.exclude", true},
		{"A2.topics = x\ntopics = y", "A2.topics has no effect: write it at top level or as A2->B.topics; topics is there already, line 6", true},
		{"A2.topics = x\nA2->B.topics = y", "A2.topics has no effect: write it at top level or as A2->B.topics, which is there already, line 6", true},
		{"A2->B.topic = x\nA2->B.topics = y", "A2->B.topic has no effect: unknown key, did you mean A2->B.topics, which is there already, line 6?", true},
		{"fetch.max.bytes = 5000000", "fetch.max.bytes has no effect: write it as A2.consumer.fetch.max.bytes", true},
		{"fetch.max.bytes = 5000000\nA2.consumer.fetch.max.bytes = 1000000", "fetch.max.bytes has no effect: write it as A2.consumer.fetch.max.bytes, which is there already, line 6", true},
		{"A2.fetch.max.bytes = 5000000", "A2.fetch.max.bytes has no effect: write it as A2.consumer.fetch.max.bytes", true},
		{"B.fetch.max.bytes = 5000000", "B.fetch.max.bytes has no effect: write it as A2.consumer.fetch.max.bytes", true},
		{"A2.batch.size = 5000000", "A2.batch.size has no effect: write it as B.producer.batch.size", true},
		{"A2->B.fetch.max.bytes = 5000000", "A2->B.fetch.max.bytes has no effect: write it as A2->B.source.consumer.fetch.max.bytes", true},
		{"B->C.fetch.max.bytes = 5000000", "B->C.fetch.max.bytes has no effect: write it as B->C.source.consumer.fetch.max.bytes", true},
		{"acks = 1", "acks has no effect: write it as B.producer.acks", true},
		{"request.timeout.ms = 5000", "request.timeout.ms has no effect: write it as A2.request.timeout.ms", true},
		{"source.cluster.sasl.mechanism = PLAIN", "source.cluster.sasl.mechanism has no effect: write it as A2.sasl.mechanism", true},
		{"target.cluster.bootstrap.servers = y:1\nB.bootstrap.servers = z:1", "target.cluster.bootstrap.servers has no effect: write it as B.bootstrap.servers, which is there already, line 6", true},
		{"consumer.fetch.max.bytes = 5000000", "consumer.fetch.max.bytes has no effect: MirrorMaker 2 does not read client settings at top level either; put them after A2. or A2->B.", false},
		{"client.rack = a", "client.rack has no effect: " + leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A2.consumer.client.rack", false},
		{"A2.name = a", "A2.name has no effect: there is no Kafka Connect worker; MirrorMaker 2 ignores it after A2. too, and reads A2->B.name", false},
		{"exactly.once.source.support = enabled", "exactly.once.source.support has no effect: what a stop or a crash can cost is in docs/guarantees.md and is not a setting; MirrorMaker 2 ignores it at top level too, and reads B.exactly.once.source.support", false},
		{"A2->B.ssl.protocol = x", "A2->B.ssl.protocol has no effect: address and security belong to a cluster (A2.key) or, but for the address, to a kind of client (A2.consumer.key, A2->B.source.consumer.key); MirrorMaker 2 ignores it after A2->B. too, and reads A2.ssl.protocol", false},

		{"auto.offset.reset = latest", "auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset" + whole, true},
		{"auto.offset.reset = earliest", "auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset", true},
		{"A2.auto.offset.reset = latest", "A2.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset" + whole, true},
		{"A2->B.auto.offset.reset = latest", "A2->B.auto.offset.reset has no effect: write it as A2->B.source.consumer.auto.offset.reset" + whole, true},
		{"B->C.auto.offset.reset = latest", "B->C.auto.offset.reset has no effect: write it as B->C.source.consumer.auto.offset.reset", true},
		{"consumer.auto.offset.reset = latest", "consumer.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset" + whole, true},
		{"consumer.auto.offset.reset = Latest", "consumer.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset" + whole, true},
		{"consumer.auto.offset.reset = earliest", "consumer.auto.offset.reset has no effect: MirrorMaker 2 does not read client settings at top level either; put them after A2. or A2->B.", false},
		{"consumer.auto.offset.reset = latest\nA2.consumer.auto.offset.reset = latest", "consumer.auto.offset.reset has no effect: MirrorMaker 2 does not read client settings at top level either; put them after A2. or A2->B.", false},
		{"consumer.auto.offset.reset = earliest\nA2.consumer.auto.offset.reset = latest", "consumer.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset, which is there already, line 6: flow A2->B copies nothing that A2 has at the first start", true},
		{"target.consumer.auto.offset.reset = latest", "target.consumer.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset" + whole, true},
		{"A2->B.target.consumer.auto.offset.reset = latest", "A2->B.target.consumer.auto.offset.reset has no effect: write it as A2->B.source.consumer.auto.offset.reset" + whole, true},
		{"C.consumer.auto.offset.reset = latest", "C.consumer.auto.offset.reset has no effect: no client of C in this file has a use for it", false},
		{"C.consumer.auto.offset.reset = latest\nB->C.enabled = true", "C.consumer.auto.offset.reset has no effect: write it as B.consumer.auto.offset.reset: without it flow B->C copies everything that B has at the first start", true},
		{"C.consumer.auto.offset.reset = earliest\nB->C.enabled = true", "C.consumer.auto.offset.reset has no effect: no client of C in this file has a use for it", false},
		{"isolation.level = read_uncommitted", "isolation.level has no effect: write it as A2.consumer.isolation.level" + committed, true},
		{"consumer.isolation.level = read_uncommitted", "consumer.isolation.level has no effect: write it as A2.consumer.isolation.level" + committed, true},
		{"consumer.auto.offset.reset = ${env:X}", "consumer.auto.offset.reset has no effect: write it as A2.consumer.auto.offset.reset; what its value refers to is not looked up", true},

		{"max.poll.records = 5", "max.poll.records" + ungrouped + "at top level too, and reads A2.consumer.max.poll.records", false},
		{"A2.max.poll.records = 5", "A2.max.poll.records" + ungrouped + "after A2. too, and reads A2.consumer.max.poll.records", false},
		{"A2->B.max.poll.records = 5", "A2->B.max.poll.records" + ungrouped + "after A2->B. too, and reads A2.consumer.max.poll.records", false},
		{"linger.ms = 5", "linger.ms has no effect: nothing waits to be sent: what comes while a request is under way goes with the next; MirrorMaker 2 ignores it at top level too, and reads B.producer.linger.ms", false},
		{"partitioner.class = x", "partitioner.class has no effect: Java classes cannot be loaded; MirrorMaker 2 ignores it at top level too, and reads B.producer.partitioner.class", false},
	} {
		got := Examine("x.properties", []byte(adviceBase+tc.lines), provider.Outside{})
		found := 0
		for _, r := range got.Remarks {
			if r.Line != 5 {
				continue
			}
			if found++; r.Text != tc.says || r.Warn != tc.warn {
				t.Errorf("%s\n got %v %s\nwant %v %s", tc.lines, r.Warn, r.Text, tc.warn, tc.says)
			}
		}
		if found != 1 || len(got.Problems) > 0 {
			t.Errorf("%s: %d remarks, problems %v", tc.lines, found, got.Problems)
		}
	}
}

// TestAdviceFollowed: each place that an advice names takes effect, with the same value there.
func TestAdviceFollowed(t *testing.T) {
	for _, key := range []string{"", "A2.", "A2->B.", "consumer.", "A2->B.target.consumer."} {
		got := Examine("x.properties", []byte(adviceBase+key+"auto.offset.reset = latest"), provider.Outside{})
		_, advised, ok := strings.Cut(got.Config.Warnings[0], "write it as ")
		advised, _, found := strings.Cut(advised, ": without it")
		if !ok || !found {
			t.Fatal(got.Config.Warnings)
		}
		again := Examine("x.properties", []byte(adviceBase+advised+" = latest"), provider.Outside{})
		if f := again.Config.Flows[0]; f.Start != config.StartLatest || len(again.Config.Warnings) > 0 {
			t.Errorf("%s: %s gives %s, %v", key, advised, f.Start, again.Config.Warnings)
		}
	}
}
