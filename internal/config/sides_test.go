package config

import (
	"strings"
	"testing"
)

// TestKeysOfASide: what MirrorMaker 2 does with source.cluster.* and target.cluster.* in each place, and what is said about
// it here. Only address and security are read from them there, after A->B., and before them comes what A. and the top
// level say.
func TestKeysOfASide(t *testing.T) {
	const names = "and names remote and internal topics by that"
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

		{name: "the same alias", lines: "A->B.source.cluster.alias = A\nA->B.target.cluster.alias = B", says: "A->B.source.cluster.alias has no effect: the aliases are those of the flow's name"},
		{name: "the same alias at top level", lines: "source.cluster.alias = A", says: "source.cluster.alias has no effect: the aliases are those of the flow's name"},
		{name: "another alias", lines: "A->B.source.cluster.alias = X", refused: true, says: `MirrorMaker 2 calls the source of A->B "X" here, ` + names},
		{name: "another alias at top level", lines: "source.cluster.alias = X", refused: true, says: `MirrorMaker 2 calls the source of A->B "X" here, ` + names},
		{name: "another target", lines: "A->B.target.cluster.alias = X", refused: true, says: `MirrorMaker 2 calls the target of A->B "X" here, ` + names},
		{name: "wrong for one flow", lines: "source.cluster.alias = A\nB->A.enabled = true", refused: true, says: `MirrorMaker 2 calls the source of B->A "A" here, ` + names},
		{name: "of a flow that is off", lines: "B->A.source.cluster.alias = X", says: "B->A.source.cluster.alias has no effect: the aliases are those of the flow's name"},
		{name: "after a cluster", lines: "A.source.cluster.alias = X", says: "A.source.cluster.alias has no effect: the aliases are those of the flow's name; MirrorMaker 2 ignores it after A. too, and reads A->B.source.cluster.alias"},

		{name: "own admin", lines: "forwarding.admin.class = com.example.Admin", refused: true, says: `forwarding.admin.class: forwarding admin "com.example.Admin" is a Java class that cannot be loaded here, and it decides how topics and access rules are made; remove it, or use org.apache.kafka.clients.admin.ForwardingAdmin`},
		{name: "own admin of a flow", lines: "A->B.forwarding.admin.class = com.example.Admin", refused: true, says: `A->B.forwarding.admin.class: forwarding admin "com.example.Admin" is a Java class`},
		{name: "Kafka's admin", lines: "forwarding.admin.class = org.apache.kafka.clients.admin.ForwardingAdmin", says: "forwarding.admin.class has no effect: topics and access rules are made by requests to the brokers, as the default class does"},
		{name: "where MirrorMaker 2 ignores it", lines: "A.forwarding.admin.class = com.example.Admin", says: "A.forwarding.admin.class has no effect: topics and access rules are made by requests to the brokers, as the default class does; MirrorMaker 2 ignores it after A. too, and reads A->B.forwarding.admin.class"},

		{name: "rack", lines: "A.consumer.client.rack = a", says: "A.consumer.client.rack has no effect: records are read from the leaders of partitions, never from the nearest replica (KIP-392)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Examine("x.properties", []byte("clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\n"+tc.lines), Outside{})
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
