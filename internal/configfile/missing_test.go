package configfile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/config"
	"tidemark/internal/config/report"
	"tidemark/internal/configfile"
)

// TestMissing: what Kafka would refuse at a start for its files and variables is found beforehand, once for all clients that
// share it, with its place in the file; what only clusters of no enabled flow name is apart. Nothing is read that the
// protocol has no use for.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "blank", []byte(" \n"))
	write(t, dir, "pw", []byte("hunter2\n"))
	write(t, dir, "ca.pem", newAuthority(t).pem)
	t.Setenv("TIDEMARK_TEST_BLANK", " ")
	const plain = "protocol: SASL_PLAINTEXT, mechanism: PLAIN, username: u, "
	for _, tc := range []struct {
		name, file, text string
		used, idle       []string // without the file's path
	}{
		{"all there", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1', security: {" + plain + "password_file: pw}}\n  B: {bootstrap: 'b:1', security: {protocol: SSL, ca: ca.pem}}\nflows: [{from: A, to: B}]", nil, nil},
		{
			"no file", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1', security: {" + plain + "password_file: gone}}\n  B: {bootstrap: 'b:1'}\nflows: [{from: A, to: B}, {from: B, to: A}]",
			[]string{"x.yaml:2: clusters.A.security.password_file: DIR/gone: no such file or directory; name a file that can be read, with the password in it"},
			nil,
		},
		{
			"blank file", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1', security: {" + plain + "password_file: blank}}\n  B: {bootstrap: 'b:1'}\nflows: [{from: A, to: B}]",
			[]string{"x.yaml:2: clusters.A.security.password_file: file DIR/blank is empty, or holds nothing but white space; write the password into it"},
			nil,
		},
		{
			"unset and blank variables", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1', security: {" + plain + "password_env: TIDEMARK_TEST_NONE}}\n  B: {bootstrap: 'b:1', security: {" + plain + "password_env: TIDEMARK_TEST_BLANK}}\nflows: [{from: A, to: B}]",
			[]string{
				"x.yaml:2: clusters.A.security.password_env: environment variable TIDEMARK_TEST_NONE is not set; set it to the password",
				"x.yaml:3: clusters.B.security.password_env: environment variable TIDEMARK_TEST_BLANK holds nothing but white space; set it to the password",
			},
			nil,
		},
		{
			"of one client", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1'}\n  B: {bootstrap: 'b:1'}\nflows:\n- from: A\n  to: B\n  clients: {source_admin: {security: {" + plain + "password_file: gone}}}",
			[]string{"x.yaml:7: flows[0].clients.source_admin.security.password_file: DIR/gone: no such file or directory; name a file that can be read, with the password in it"},
			nil,
		},
		{
			"two of one cluster", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1'}\n  B:\n    bootstrap: 'b:1'\n    security:\n      protocol: SASL_SSL\n      mechanism: PLAIN\n      username: u\n      password_env: TIDEMARK_TEST_NONE\n      ca: gone.pem\nflows: [{from: A, to: B}]",
			[]string{
				"x.yaml:9: clusters.B.security.password_env: environment variable TIDEMARK_TEST_NONE is not set; set it to the password",
				"x.yaml:10: clusters.B.security.ca: DIR/gone.pem: no such file or directory; name a file that can be read",
			},
			nil,
		},
		{
			"of a flow that is off", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1'}\n  B: {bootstrap: 'b:1'}\n  C: {bootstrap: 'c:1', security: {" + plain + "password_env: TIDEMARK_TEST_NONE}}\nflows:\n- {from: A, to: B}\n- {from: A, to: C, enabled: false}",
			nil,
			[]string{"x.yaml:4: clusters.C.security.password_env: environment variable TIDEMARK_TEST_NONE is not set; set it to the password"},
		},
		{
			"of no flow", "x.yaml", "clusters:\n  A: {bootstrap: 'a:1'}\n  B: {bootstrap: 'b:1'}\n  C: {bootstrap: 'c:1', security: {" + plain + "password_file: blank}}\nflows: [{from: A, to: B}]",
			nil,
			[]string{"x.yaml:4: clusters.C.security.password_file: file DIR/blank is empty, or holds nothing but white space; write the password into it"},
		},
		{
			"a store of a properties file", "x.properties", "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nA.security.protocol = SSL\nA.ssl.truststore.location = DIR/gone.jks\nB.ssl.truststore.location = DIR/gone.jks",
			[]string{"x.properties:5: A.ssl.truststore.location: DIR/gone.jks: no such file or directory; name a file that can be read"},
			nil,
		},
		{
			"a store that a provider names", "x.properties", "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nconfig.providers = env\nconfig.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\nA.security.protocol = SSL\nA.ssl.truststore.location = ${env:STORE}",
			[]string{"x.properties:7: A.ssl.truststore.location: [from ${env:STORE}]: no such file or directory; name a file that can be read"},
			nil,
		},
		{
			"no store that a provider names", "x.properties", "clusters = A, B\nbootstrap.servers = x:1\nA->B.enabled = true\nconfig.providers = env\nconfig.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider\nA.security.protocol = SSL\nA.ssl.truststore.location = ${env:NOSTORE}",
			[]string{"x.properties:7: A.ssl.truststore.location: trust store [from ${env:NOSTORE}]: neither a PEM file nor a PKCS12 nor a JKS store; name a PEM file, or a PKCS12 or JKS store as keytool makes it"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.text, "DIR", dir)
			world := outside(nil, map[string]string{"STORE": dir + "/secretname", "NOSTORE": dir + "/blank"})
			got := configfile.Examine(filepath.Join(dir, tc.file), []byte(text), world)
			if got.Config == nil {
				t.Fatal(got.Problems)
			}
			used, idle := got.Config.Missing()
			for _, part := range []struct {
				have report.Problems
				want []string
			}{{used, tc.used}, {idle, tc.idle}} {
				var have []string
				for _, p := range part.have {
					have = append(have, strings.ReplaceAll(strings.TrimPrefix(p.Error(), dir+"/"), dir, "DIR"))
				}
				if !slices.Equal(have, part.want) {
					t.Errorf("got %q\nwant %q", have, part.want)
				}
			}
			// A start refuses exactly what is in use.
			refused := false
			for _, r := range config.Roles() {
				_, err := got.Config.Client(config.FlowName{Source: "A", Target: "B"}, r).Kafka()
				refused = refused || err != nil
			}
			if refused != (len(tc.used) > 0) {
				t.Errorf("a start is refused: %v", refused)
			}
		})
	}
}
