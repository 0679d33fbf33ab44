package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/configfile"
	"tidemark/internal/testcluster"
)

// scramUser makes a user on a running cluster, or gives it another password.
func scramUser(t *testing.T, r *testcluster.Real, name, password string) {
	t.Helper()
	done, err := kadm.NewClient(r.Client(t)).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: name, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password}})
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// scramLogin is a login as a properties file has it.
func scramLogin(user, password string) string {
	return fmt.Sprintf(`org.apache.kafka.common.security.scram.ScramLoginModule required username=%q password=%q;`, user, strings.ReplaceAll(password, `\`, `\\`))
}

// mm2Flow loads a MirrorMaker 2 file from disk, references and all, as a run does.
func mm2Flow(t *testing.T, alias, target, topic string, from, to *testcluster.Real, lines ...string) *flow {
	t.Helper()
	text := fmt.Sprintf(`clusters = %[1]s, %[2]s
%[1]s.bootstrap.servers = %[3]s
%[2]s.bootstrap.servers = %[4]s
%[1]s->%[2]s.enabled = true
%[1]s->%[2]s.topics = %[5]s
%[1]s->%[2]s.groups = none
replication.factor = 1
offset-syncs.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
tidemark.lanes = 2
`, alias, target, from.BootstrapString(), to.BootstrapString(), topic) + strings.Join(lines, "\n") + "\n"
	path := filepath.Join(t.TempDir(), "mm2.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings %q", cfg.Warnings)
	}
	return &flow{tb: t, alias: alias, cfg: cfg, src: kadm.NewClient(from.Client(t)), dst: kadm.NewClient(to.Client(t))}
}

// TestCase81EveryClientHasItsLogin: a source with TLS, SCRAM and an authorizer, where each kind of client has a user of its
// own with the rights of that kind and no others, and the cluster's own login is one that the brokers refuse. Any client
// that took the settings of another level, or of the other cluster, could do nothing. The target is plaintext, then one
// that demands certificates of another authority.
func TestCase81EveryClientHasItsLogin(t *testing.T) {
	t.Parallel()
	s := secured(t)
	for _, user := range []string{"c81-reader", "c81-looker", "c81-syncer"} {
		scramUser(t, s, user, user+`-secret\`)
	}
	fill(t, s, "c81-in", 50)
	admin := kadm.NewClient(s.Client(t))
	user := func(name string) rights { return rights{t: t, user: name, admin: admin} }
	user("c81-reader").on(topicACL, "c81-in", read)
	user("c81-looker").on(topicACL, "c81-in", describe, configs)
	user("c81-looker").on(clusterACL, "kafka-cluster", describe)
	user("c81-syncer").under(topicACL, "mm2-offset-syncs.", kmsg.ACLOperationAll)
	logins := func(alias, flow string) []string {
		return []string{
			"security.protocol = SASL_SSL", // of the source; the target says otherwise
			"ssl.truststore.location = " + s.Certificates().CA,
			"sasl.mechanism = SCRAM-SHA-512",
			"sasl.jaas.config = " + scramLogin("nobody", "top"),
			alias + ".sasl.jaas.config = " + scramLogin("nobody", "cluster"),
			alias + ".consumer.sasl.jaas.config = " + scramLogin("c81-reader", `c81-reader-secret\`),
			flow + ".consumer.sasl.jaas.config = " + scramLogin("nobody", "weaker than the cluster's"),
			alias + ".admin.sasl.jaas.config = " + scramLogin("nobody", "weaker than the flow's"),
			flow + ".source.admin.sasl.jaas.config = " + scramLogin("c81-looker", `c81-looker-secret\`),
			flow + ".source.producer.sasl.jaas.config = " + scramLogin("c81-syncer", `c81-syncer-secret\`),
			flow + ".producer.override.max.request.size = 1048576",
			alias + ".consumer.fetch.max.bytes = 1048576",
			alias + ".request.timeout.ms = 15000",
		}
	}
	t.Run("to plaintext", func(t *testing.T) {
		f := mm2Flow(t, "c81p", "T", "c81-in", s, suite.target, append(logins("c81p", "c81p->T"), "T.security.protocol = PLAINTEXT")...)
		f.carried(suite.target, "c81p.c81-in", 50)
	})
	t.Run("to certificates of another authority", func(t *testing.T) {
		to := sslCluster(t, "c81", "")
		trust, key := stores(t, to.Certificates(), "PKCS12")
		f := mm2Flow(t, "c81c", "T", "c81-in", s, to, append(logins("c81c", "c81c->T"),
			"T.security.protocol = SSL", "T.ssl.truststore.location = "+trust, "T.ssl.truststore.password = "+storePassword,
			// The cluster's own certificate, which any client may show, but for the one that writes records: it has it from the flow.
			"T.ssl.keystore.location = "+key, "T.ssl.keystore.password = "+storePassword,
			"T.producer.ssl.keystore.location = /nowhere",
			"c81c->T.target.producer.ssl.keystore.location = "+key,
			"c81c->T.producer.override.ssl.keystore.location = "+key)...)
		f.carried(to, "c81c.c81-in", 50)
	})
}

// carried runs the flow until its topic holds n records.
func (f *flow) carried(to *testcluster.Real, topic string, n int) {
	f.tb.Helper()
	f.listen()
	stop := f.start()
	f.holds(to, topic, n)
	if err := stop(); err != nil {
		f.tb.Error(err)
	}
}

// TestCase83PasswordRotates: the password of a running flow's user is changed on the brokers and in the file that its
// configuration refers to. Brokers ask for a new login every three seconds, so a flow that kept the old password would
// stop. Later the file is taken away: the last password stays in use, and the log says so. Neither password is in any log line or topic.
func TestCase83PasswordRotates(t *testing.T) {
	t.Parallel()
	const topic, batch = "c83-in", 20
	r, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{
		Name: "rotation", Security: testcluster.SASLPlaintext, HeapMB: 384,
		Props: map[string]string{"listener.name.clients.connections.max.reauth.ms": "3000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	passwords := []string{"first=#$ \\\u00fc{x}", "second=#$ \\\u20ac${y:z}"}
	secrets := filepath.Join(t.TempDir(), "secrets.properties")
	store := func(password string) { // twice: the file's own syntax, and the login's
		escaped := strings.ReplaceAll(password, `\`, `\\\\`)
		if err := os.WriteFile(secrets, []byte("pw = "+escaped+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store(passwords[0])
	scramUser(t, r, "c83", passwords[0])
	fill(t, r, topic, batch)
	f := mm2Flow(t, "c83", "T", topic, r, suite.target,
		"config.providers = file", "config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider",
		"T.security.protocol = PLAINTEXT", "security.protocol = SASL_PLAINTEXT", "sasl.mechanism = SCRAM-SHA-512",
		`c83.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required username="c83" password="${file:`+secrets+`:pw}";`)
	log := f.listen()
	stop := f.start()
	f.holds(suite.target, "c83."+topic, batch)
	store(passwords[1])
	scramUser(t, r, "c83", passwords[1])
	more := func(n int64) {
		t.Helper()
		pause := time.NewTimer(5 * time.Second) // every connection has been asked for a login in between
		defer pause.Stop()
		<-pause.C
		if err := testcluster.Produce(t.Context(), r.ClientOpts(), testcluster.Load{Topic: topic, First: (n - 1) * batch, Count: batch}); err != nil {
			t.Fatal(err)
		}
		f.holds(suite.target, "c83."+topic, int(n*batch))
	}
	more(2)
	if err := os.Remove(secrets); err != nil {
		t.Fatal(err)
	}
	more(3)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !log.line("newer credentials cannot be read: those of before stay in use") {
		t.Error("nothing is said about the file that was taken away")
	}
	for _, pw := range passwords {
		if log.line(pw) || log.line(strings.ReplaceAll(pw, `\`, `\\`)) {
			t.Errorf("the log holds %q", pw)
		}
		f.nowhere(suite.target, pw, "tidemark-ledger.c83.internal", "tidemark-verdicts.c83.internal", "heartbeats", "c83.checkpoints.internal")
		f.nowhere(r, pw, "mm2-offset-syncs.T.internal")
	}
}

// nowhere checks that no record of the topics holds a text.
func (f *flow) nowhere(r *testcluster.Real, text string, topics ...string) {
	f.tb.Helper()
	ctx, cancel := context.WithTimeout(f.tb.Context(), 150*time.Second)
	defer cancel()
	for _, topic := range topics {
		recs, err := testcluster.Read(ctx, r.Client(f.tb), topic, testcluster.ReadUncommitted)
		if err != nil {
			f.tb.Fatal(err)
		}
		for _, rec := range recs {
			if strings.Contains(string(rec.Key)+string(rec.Value), text) {
				f.tb.Errorf("%s holds %q at offset %d", topic, text, rec.Offset)
			}
		}
	}
}
