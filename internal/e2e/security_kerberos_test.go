package e2e

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/testcluster"
)

// TestKerberos: a broker that wants tickets is read and written with ones of a KDC. Both are the real ones.
func TestKerberos(t *testing.T) {
	t.Parallel()
	kdc, err := testcluster.StartKDC(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kdc.Stop(); err != nil {
			t.Error(err)
		}
	})
	principal := func(name string) (string, string) {
		full, keytab, err := kdc.Principal(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return full, keytab
	}
	broker, brokerKeys := principal("broker/127.0.0.1")
	mirror, mirrorKeys := principal("admin/mirror.test") // its first part is the user's name to Kafka
	other, otherKeys := principal("somebody")
	jaas := func(principal, keytab string) string {
		return fmt.Sprintf(`com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=%q principal=%q;`, keytab, principal)
	}
	const listener = "listener.name.clients."
	r, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{
		Name: "kerberos", Security: testcluster.SASLPlaintext, Authorizer: true, HeapMB: 384,
		Env: []string{"JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf=" + kdc.Conf},
		Props: map[string]string{
			listener + "sasl.enabled.mechanisms":           "GSSAPI,SCRAM-SHA-512",
			listener + "sasl.kerberos.service.name":        "broker",
			listener + "gssapi.sasl.jaas.config":           jaas(broker, brokerKeys),
			listener + "gssapi.sasl.kerberos.service.name": "broker",
			listener + "connections.max.reauth.ms":         "4000",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	sec := security{
		"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI", "username": mirror, "keytab": mirrorKeys, "service_name": "broker", "krb5_conf": kdc.Conf,
	}
	t.Run("from and to", func(t *testing.T) {
		for _, flow := range []struct{ alias, from string }{{"kbr", "source"}, {"kbw", "target"}} {
			topic := flow.alias + "-t"
			f := newFlow(t, flow.alias, topic, "none", "")
			end, reads, writes := suite.source, r, suite.target
			if flow.from == "target" {
				end, reads, writes = suite.target, suite.source, r
			}
			fill(t, reads, topic, 50)
			f.rewrite(fmt.Sprintf("{bootstrap: %q}", end.BootstrapString()), cluster(r.BootstrapString(), sec))
			stop := f.start()
			f.holds(writes, flow.alias+"."+topic, 50)
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("another's keytab", func(t *testing.T) {
		out := refused(t, flowFile(cluster(r.BootstrapString(), sec.with("keytab", otherKeys))), 1)
		says(t, out, `authenticate to cluster SEC as user "`+mirror+`" with GSSAPI`, "keytab")
	})
	t.Run("no such service", func(t *testing.T) {
		out := refused(t, flowFile(cluster(r.BootstrapString(), sec.with("service_name", "kafka"))), 1)
		says(t, out, `authenticate to cluster SEC as user "`+mirror+`" with GSSAPI`, "KDC_ERR_S_PRINCIPAL_UNKNOWN")
	})
	t.Run("a user without rights", func(t *testing.T) {
		file := flowFile(cluster(r.BootstrapString(), sec.with("username", other).with("keytab", otherKeys)))
		out := refused(t, strings.Replace(file, "{from: SEC, to: OTHER}", "{from: OTHER, to: SEC}", 1), 1)
		says(t, out, "cluster SEC", "is missing")
	})
}
