package properties

import (
	"strings"
	"testing"

	"tidemark/internal/config/provider"
)

// TestKeysOfASide: what MirrorMaker 2 does with source.cluster.* and target.cluster.* in each place, and what is said about
// it here. Only address and security are read from them there, after A->B., and before them comes what A. and the top
// level say.
func TestKeysOfASide(t *testing.T) {
	for _, tc := range []struct {
		name, lines, says string
		warn, refused     bool
	}{
		{
			name: "A.key is missing", lines: "A->B.source.cluster.security.protocol = PLAINTEXT", warn: true,
			says: "A->B.source.cluster.security.protocol has no effect: address and security of the source are read from A.security.protocol, which is missing: write it there",
		},
		{
			name: "B.key is missing", lines: "A->B.target.cluster.ssl.truststore.location = /x", warn: true,
			says: "A->B.target.cluster.ssl.truststore.location has no effect: address and security of the target are read from B.ssl.truststore.location, which is missing: write it there",
		},
		{
			name: "A.key is there", lines: "A->B.source.cluster.security.protocol = PLAINTEXT\nA.security.protocol = PLAINTEXT",
			says: "A->B.source.cluster.security.protocol has no effect: address and security of the source are read from A.security.protocol, which wins in MirrorMaker 2 too",
		},
		{
			name: "at top level", lines: "A->B.source.cluster.bootstrap.servers = y:1",
			says: "A->B.source.cluster.bootstrap.servers has no effect: address and security of the source are read from A.bootstrap.servers, or the top level, which wins in MirrorMaker 2 too",
		},
		{
			name: "no connection", lines: "A->B.source.cluster.request.timeout.ms = 5",
			says: "A->B.source.cluster.request.timeout.ms has no effect: settings of clients are read after A. and A->B.source.consumer. and the like; MirrorMaker 2 ignores it after A->B. too",
		},
		{name: "top level", lines: "source.cluster.bootstrap.servers = y:1", warn: true, says: "source.cluster.bootstrap.servers has no effect: write it as A.bootstrap.servers"},
		{name: "target at top level", lines: "target.cluster.sasl.mechanism = PLAIN", warn: true, says: "target.cluster.sasl.mechanism has no effect: write it as B.sasl.mechanism"},
		{name: "after a cluster", lines: "A.source.cluster.sasl.mechanism = PLAIN", warn: true, says: "A.source.cluster.sasl.mechanism has no effect: write it as A.sasl.mechanism"},
		{name: "the name of a client", lines: "source.cluster.client.id = x", warn: true, says: "source.cluster.client.id has no effect: write it as A.client.id"},
		{name: "the name of a client after a cluster", lines: "A.target.cluster.client.id = x", warn: true, says: "A.target.cluster.client.id has no effect: write it as B.client.id"},
		{name: "a setting of clients", lines: "target.cluster.request.timeout.ms = 5", warn: true, says: "target.cluster.request.timeout.ms has no effect: write it as B.request.timeout.ms"},
		{name: "misspelt", lines: "source.cluster.botstrap.servers = y:1", warn: true, says: "source.cluster.botstrap.servers has no effect: unknown key, did you mean A.bootstrap.servers?"},
		{name: "a misspelt alias", lines: "source.cluster.alais = A", warn: true, says: "source.cluster.alais has no effect: unknown key, did you mean source.cluster.alias?"},
		{name: "nothing that is known", lines: "source.cluster.foo = x", warn: true, says: "source.cluster.foo has no effect: unknown key"},
		{name: "a side only", lines: "source.cluster = x", warn: true, says: "source.cluster has no effect: unknown key"},
		{name: "a side and a dot", lines: "source.cluster. = x", warn: true, says: "source.cluster. has no effect: unknown key"},
		{name: "a side of a flow", lines: "A->B.target.cluster = x", warn: true, says: "A->B.target.cluster has no effect: unknown key"},

		{name: "an alias after a cluster", lines: "A.source.cluster.alias = X", warn: true, says: "A.source.cluster.alias has no effect: write it at top level or as A->B.source.cluster.alias"},

		{name: "own admin", lines: "forwarding.admin.class = com.example.Admin", refused: true, says: `forwarding.admin.class: forwarding admin "com.example.Admin" is a Java class that cannot be loaded here, and it decides how topics and access rules are made; remove it, or use org.apache.kafka.clients.admin.ForwardingAdmin`},
		{name: "own admin of a flow", lines: "A->B.forwarding.admin.class = com.example.Admin", refused: true, says: `A->B.forwarding.admin.class: forwarding admin "com.example.Admin" is a Java class`},
		{name: "own admin of a flow that is off", lines: "B->A.forwarding.admin.class = com.example.Admin", says: "B->A.forwarding.admin.class has no effect: topics and access rules are made by requests to the brokers, as the default class does"},
		{name: "own admin of a flow that is on", lines: "B->A.enabled = true\nB->A.forwarding.admin.class = com.example.Admin", refused: true, says: `B->A.forwarding.admin.class: forwarding admin "com.example.Admin" is a Java class`},
		{name: "transforms of a flow that is off", lines: "B->A.transforms = x", says: "B->A.transforms has no effect: records are copied as they are, without converters and transforms"},
		{name: "transforms of a flow that is on", lines: "A->B.transforms = x", refused: true, says: "A->B.transforms: single message transforms are Java classes"},
		{name: "Kafka's admin", lines: "forwarding.admin.class = org.apache.kafka.clients.admin.ForwardingAdmin", says: "forwarding.admin.class has no effect: topics and access rules are made by requests to the brokers, as the default class does"},
		{name: "where MirrorMaker 2 ignores it", lines: "A.forwarding.admin.class = com.example.Admin", says: "A.forwarding.admin.class has no effect: topics and access rules are made by requests to the brokers, as the default class does; MirrorMaker 2 ignores it after A. too, and reads A->B.forwarding.admin.class"},

		{name: "rack", lines: "A.consumer.client.rack = a", says: "A.consumer.client.rack has no effect: " + leadersOnly},
		{name: "rack of a cluster", lines: "A.client.rack = a", says: "A.client.rack has no effect: " + leadersOnly},
		{name: "rack at top level", lines: "client.rack = a", says: "client.rack has no effect: " + leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A.consumer.client.rack"},
		{name: "rack of a flow", lines: "A->B.client.rack = a", says: "A->B.client.rack has no effect: " + leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A.consumer.client.rack"},
		{name: "rack of a kind of client at top level", lines: "source.consumer.client.rack = a", says: "source.consumer.client.rack has no effect: " + leadersOnly + "; MirrorMaker 2 ignores it there too, and reads A.consumer.client.rack"},
		{name: "rack of a side", lines: "source.cluster.client.rack = a", says: "source.cluster.client.rack has no effect: " + leadersOnly},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Examine("x.properties", []byte("clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"+tc.lines), provider.Outside{})
			if tc.refused {
				if len(got.Problems) != 1 || !strings.Contains(got.Problems.Error(), tc.says) {
					t.Errorf("problems %v, want one with %q", got.Problems, tc.says)
				}
				return
			}
			n := 0
			for _, r := range got.Remarks {
				if r.Text == tc.says && r.Warn == tc.warn && r.Key == strings.SplitN(tc.says, " ", 2)[0] {
					n++
				}
			}
			if n != 1 || len(got.Problems) > 0 {
				t.Errorf("%d times %q in %+v, problems %v", n, tc.says, got.Remarks, got.Problems)
			}
		})
	}
}
