package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/testcluster"
)

// Client id and secret of the token endpoint; the secret has characters that URL encoding would change.
const (
	clientID     = "mirror-client"
	clientSecret = "s3cr+t/=%&"
)

// tokenEndpoint is a stand-in for an identity provider: it knows one client, and its tokens have no signature, which is
// what a broker takes that is configured with Kafka's unsecured validator. The exchange with the broker is the real one.
type tokenEndpoint struct {
	*httptest.Server
	subject  string
	lifetime time.Duration

	mu     sync.Mutex
	issued int
	scopes map[string]bool
}

func newTokenEndpoint(t *testing.T, subject string, lifetime time.Duration) *tokenEndpoint {
	t.Helper()
	e := &tokenEndpoint{subject: subject, lifetime: lifetime, scopes: map[string]bool{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP answers the client credentials grant of RFC 6749, 4.4.
func (e *tokenEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	w.Header().Set("Content-Type", "application/json")
	if !ok || id != clientID || secret != clientSecret || r.Method != http.MethodPost || r.FormValue("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error": "invalid_client", "error_description": "who are you"}`)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.issued++
	e.scopes[r.FormValue("scope")] = true
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	seconds := func(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
	token := part(map[string]string{"alg": "none"}) + "." + part(map[string]any{
		"sub": e.subject, "iat": seconds(now), "exp": seconds(now.Add(e.lifetime)), "scope": r.FormValue("scope"), "jti": e.issued,
	}) + "."
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": e.lifetime.Seconds()})
}

func (e *tokenEndpoint) count() (issued int, scopes map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.issued, e.scopes
}

// TestOAuth: a broker that wants tokens is read and written with ones of a token endpoint, for longer than a token lives
// and than the broker lets a login live.
func TestOAuth(t *testing.T) {
	t.Parallel()
	const listener = "listener.name.clients."
	r, err := testcluster.StartReal(t.Context(), testcluster.RealOptions{
		Name: "oauth", Security: testcluster.SASLPlaintext, Authorizer: true, HeapMB: 384,
		Props: map[string]string{
			listener + "sasl.enabled.mechanisms":      "OAUTHBEARER,SCRAM-SHA-512",
			listener + "oauthbearer.sasl.jaas.config": `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin";`,
			listener + "connections.max.reauth.ms":    "4000",
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
	jaas := func(secret string) string {
		return fmt.Sprintf(`org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=%q clientSecret=%q scope="kafka mirror" extension_traceId="42";`, clientID, secret)
	}
	mm2 := func(e *tokenEndpoint, handler string) string {
		return fmt.Sprintf("security.protocol = SASL_PLAINTEXT\nsasl.mechanism = OAUTHBEARER\nsasl.login.callback.handler.class = %s\nsasl.oauthbearer.token.endpoint.url = %s\nsasl.jaas.config = %s\n",
			handler, e.URL, jaas(clientSecret))
	}
	const handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
	t.Run("to", func(t *testing.T) {
		carries(t, suite.source, r, "oaw", "oaw-out", mm2(newTokenEndpoint(t, "admin", time.Hour), strings.ReplaceAll(handler, "oauthbearer.O", "oauthbearer.secured.O")))
	})
	t.Run("for longer than a token lives", func(t *testing.T) { outlives(t, r, newTokenEndpoint(t, "admin", 6*time.Second)) })
	t.Run("wrong secret", func(t *testing.T) {
		e := newTokenEndpoint(t, "admin", time.Hour)
		sec := security{"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token_url": e.URL, "username": clientID, "password": "letmein"}
		out := refused(t, flowFile(cluster(r.BootstrapString(), sec)), 1)
		says(t, out, `authenticate to cluster SEC as user "mirror-client" with OAUTHBEARER`, "get a token from "+e.URL, "invalid_client")
		if strings.Contains(out, "letmein") {
			t.Errorf("the secret is in the output:\n%s", out)
		}
	})
	t.Run("token that the broker refuses", func(t *testing.T) {
		e := newTokenEndpoint(t, "admin", -time.Minute)
		sec := security{"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token_url": e.URL, "username": clientID, "password": clientSecret}
		out := refused(t, flowFile(cluster(r.BootstrapString(), sec)), 1)
		says(t, out, `authenticate to cluster SEC as user "mirror-client" with OAUTHBEARER`, "SASL_AUTHENTICATION_FAILED")
	})
	t.Run("another user's token", func(t *testing.T) {
		e := newTokenEndpoint(t, "somebody", time.Hour)
		sec := security{"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token_url": e.URL, "username": clientID, "password": clientSecret}
		out := refused(t, strings.Replace(flowFile(cluster(r.BootstrapString(), sec)), "{from: SEC, to: OTHER}", "{from: OTHER, to: SEC}", 1), 1)
		says(t, out, "cluster SEC", "is missing")
	})
}

// outlives mirrors records for 15 seconds, and counts tokens.
func outlives(t *testing.T, r *testcluster.Real, e *tokenEndpoint) {
	t.Helper()
	const topic, batch, batches = "oa-long", 20, 6
	fill(t, r, topic, batch)
	sec := security{
		"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token_url": e.URL + "/token",
		"username": clientID, "password": clientSecret, "scope": "kafka mirror",
	}
	f := newFlow(t, "oa", topic, "none", "")
	f.rewrite(fmt.Sprintf("{bootstrap: %q}", suite.source.BootstrapString()), cluster(r.BootstrapString(), sec))
	f.src = kadm.NewClient(r.Client(t))
	log := f.listen()
	stop := f.start()
	pause := time.NewTicker(3 * time.Second)
	defer pause.Stop()
	for n := int64(1); n < batches; n++ {
		f.holds(suite.target, "oa."+topic, int(n*batch))
		<-pause.C
		if err := testcluster.Produce(t.Context(), r.ClientOpts(), testcluster.Load{Topic: topic, First: n * batch, Count: batch}); err != nil {
			t.Fatal(err)
		}
	}
	f.holds(suite.target, "oa."+topic, batches*batch)
	if err := stop(); err != nil {
		t.Error(err)
	}
	issued, scopes := e.count()
	if issued < 3 || len(scopes) != 1 || !scopes["kafka mirror"] {
		t.Errorf("%d tokens with scopes %v in 15 s, want one for at most 5 s each", issued, scopes)
	}
	if log.line("level=ERROR") || log.line("authenticat", "level=WARN") {
		t.Error("the log tells of trouble")
	}
	t.Logf("%d tokens", issued)
}
