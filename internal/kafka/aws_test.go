package kafka

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// awsStub answers the AWS_MSK_IAM exchange as MSK does: a presigned request in JSON, whose signature it computes anew with
// the secret of the one access key that it knows. The signature is Signature Version 4 as AWS documents it. The rest of the
// broker is an embedded cluster; nothing here has met MSK itself.
type awsStub struct {
	key, secret string

	mu   sync.Mutex
	seen []map[string]string
}

func (s *awsStub) answer(payload []byte) (ok bool) {
	var got map[string]string
	if json.Unmarshal(payload, &got) != nil {
		return false
	}
	s.mu.Lock()
	s.seen = append(s.seen, got)
	s.mu.Unlock()
	query := url.Values{}
	for name, as := range map[string]string{
		"action": "Action", "x-amz-algorithm": "X-Amz-Algorithm", "x-amz-credential": "X-Amz-Credential", "x-amz-date": "X-Amz-Date",
		"x-amz-expires": "X-Amz-Expires", "x-amz-signedheaders": "X-Amz-SignedHeaders", "x-amz-security-token": "X-Amz-Security-Token",
	} {
		if v, ok := got[name]; ok {
			query.Set(as, v)
		}
	}
	scope := strings.Split(got["x-amz-credential"], "/")
	if len(scope) != 5 || scope[0] != s.key || scope[3] != "kafka-cluster" || got["action"] != "kafka-cluster:Connect" || got["version"] != "2020_10_22" {
		return false
	}
	sum := func(text string) string {
		h := sha256.Sum256([]byte(text))
		return hex.EncodeToString(h[:])
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	request := "GET\n/\n" + strings.ReplaceAll(query.Encode(), "+", "%20") + "\nhost:" + got["host"] + "\n\nhost\n" + sum("")
	toSign := "AWS4-HMAC-SHA256\n" + got["x-amz-date"] + "\n" + strings.Join(scope[1:], "/") + "\n" + sum(request)
	key := []byte("AWS4" + s.secret)
	for _, part := range scope[1:] {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, toSign)) == got["x-amz-signature"]
}

// awsCluster is an embedded cluster behind the stub, reached by a name as MSK's brokers have.
func awsCluster(t *testing.T, s *awsStub) Cluster {
	t.Helper()
	fc, c := fake(t, kfake.NumBrokers(1))
	fc.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms = []string{"AWS_MSK_IAM"}
		return resp, nil, true
	})
	fc.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if s.answer(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes) {
			resp.SASLAuthBytes = []byte(`{"version": "2020_10_22", "request-id": "1"}`)
		} else {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			resp.ErrorMessage = new("Access denied")
		}
		return resp, nil, true
	})
	addr := c.Bootstrap[0]
	c.Bootstrap = []string{"b-1.demo.x1.c2.kafka.eu-west-1.amazonaws.com:9098"}
	c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return c
}

// awsWorld is an environment in which nothing of AWS is set but what a test says, and nothing outside is asked.
func awsWorld(t *testing.T, credentials string, env map[string]string) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_DEFAULT_PROFILE",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", credentials)
	t.Setenv("AWS_CONFIG_FILE", credentials)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// stsStub gives the credentials of a role to whoever asks as expected, and counts.
type stsStub struct {
	*httptest.Server

	lifetime time.Duration

	mu    sync.Mutex
	asked []url.Values
}

func newSTS(t *testing.T, lifetime time.Duration) *stsStub {
	t.Helper()
	s := &stsStub{lifetime: lifetime}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // an empty form is refused below
		s.mu.Lock()
		s.asked = append(s.asked, r.PostForm)
		n := len(s.asked)
		s.mu.Unlock()
		action := r.PostForm.Get("Action")
		signed := strings.Contains(r.Header.Get("Authorization"), "AKENV/") || r.PostForm.Get("WebIdentityToken") == "let-me"
		if !signed || r.PostForm.Get("RoleArn") != "arn:aws:iam::1:role/mirror" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>")
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>AKROLE%[2]d</AccessKeyId><SecretAccessKey>s5</SecretAccessKey>
			<SessionToken>t5</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
			action, n, time.Now().Add(s.lifetime).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestAWSRoles: a role is assumed with keys of the environment, with a web identity as EKS gives one, or as a profile says;
// its credentials are kept until shortly before they end.
func TestAWSRoles(t *testing.T) {
	dir := t.TempDir()
	const role = "arn:aws:iam::1:role/mirror"
	file, token := filepath.Join(dir, "config"), filepath.Join(dir, "token")
	noError(t, os.WriteFile(file, []byte("[profile assume]\nrole_arn = "+role+"\ncredential_source = Environment\n"), 0o600))
	noError(t, os.WriteFile(token, []byte("let-me"), 0o600))
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "s4"}
	for _, c := range []struct {
		name     string
		aws      *AWS
		env      map[string]string
		lifetime time.Duration
		calls    int // of three logins
		form     map[string]string
		problem  string
	}{
		{name: "role of the login", aws: &AWS{RoleARN: role, RoleSession: "tidemark", ExternalID: "x-1"}, env: keys, lifetime: time.Hour, calls: 1, form: map[string]string{"Action": "AssumeRole", "RoleSessionName": "tidemark", "ExternalId": "x-1"}},
		{name: "credentials about to end", aws: &AWS{RoleARN: role}, env: keys, lifetime: time.Minute, calls: 3, form: map[string]string{"Action": "AssumeRole"}},
		{name: "web identity", aws: &AWS{}, env: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": role}, lifetime: time.Hour, calls: 1, form: map[string]string{"Action": "AssumeRoleWithWebIdentity"}},
		{name: "profile with a role", aws: &AWS{Profile: "assume"}, env: keys, lifetime: time.Hour, calls: 1, form: map[string]string{"Action": "AssumeRole"}},
		{name: "another role", aws: &AWS{RoleARN: "arn:aws:iam::1:role/other"}, env: keys, problem: "not you"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sts := newSTS(t, c.lifetime)
			awsWorld(t, file, c.env)
			t.Setenv("AWS_ENDPOINT_URL_STS", sts.URL)
			for range 3 {
				got, err := c.aws.current(t.Context(), "eu-west-1") // from the broker's name: nothing else says where
				if c.problem != "" {
					if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "s4") {
						t.Errorf("the error says %v, want %q", err, c.problem)
					}
					return
				}
				noError(t, err)
				if !strings.HasPrefix(got.AccessKeyID, "AKROLE") || got.SecretAccessKey != "s5" || got.SessionToken != "t5" {
					t.Errorf("credentials of %s", got.AccessKeyID)
				}
			}
			if len(sts.asked) != c.calls {
				t.Errorf("asked %d times, want %d", len(sts.asked), c.calls)
			}
			for key, want := range c.form {
				if have := sts.asked[0].Get(key); have != want {
					t.Errorf("%s is %q, want %q", key, have, want)
				}
			}
			if text := fmt.Sprintf("%v %+v %q", c.aws, c.aws, []*AWS{c.aws}); strings.Contains(text, "s5") || strings.Contains(text, "AKROLE") {
				t.Errorf("credentials show: %s", text)
			}
		})
	}
}

// TestAWSMetadata: on EC2 the instance's role is found by the metadata service (IMDSv2).
func TestAWSMetadata(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			_, _ = fmt.Fprint(w, "session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/iam/security-credentials/"):
			_, _ = fmt.Fprint(w, "mirror")
		default:
			_, _ = fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": "AKEC2", "SecretAccessKey": "s6", "Token": "t6", "Expiration": %q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		}
	}))
	t.Cleanup(server.Close)
	awsWorld(t, filepath.Join(t.TempDir(), "none"), nil)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
	got, err := (&AWS{}).current(t.Context(), "eu-west-1")
	noError(t, err)
	if got.AccessKeyID != "AKEC2" || got.SessionToken != "t6" {
		t.Errorf("credentials of %s", got.AccessKeyID)
	}
}

func TestAWSCredentials(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "credentials")
	noError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key = s/1+=\n\n# other\n[ team ]\naws_access_key_id=AKTEAM\naws_secret_access_key=s2\naws_session_token = tok+en/=\n[half]\naws_access_key_id=x\n"), 0o600))
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "let-me" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprint(w, `{"AccessKeyId": "AKBOX", "SecretAccessKey": "s3", "Token": "t3", "Expiration": "2030-01-01T00:00:00Z"}`)
	}))
	t.Cleanup(agent.Close)
	for _, c := range []struct {
		name, profile string
		env           map[string]string
		key, secret   string
		problem       string
	}{
		{name: "environment", env: map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "s4", "AWS_SESSION_TOKEN": "t 4"}, key: "AKENV", secret: "s4"},
		{name: "named profile wins", profile: "team", env: map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "s4"}, key: "AKTEAM", secret: "s2"},
		{name: "default profile", key: "AKDEFAULT", secret: "s/1+="},
		{name: "profile of the environment", env: map[string]string{"AWS_PROFILE": "team"}, key: "AKTEAM", secret: "s2"},
		{name: "container", env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let-me"}, key: "AKBOX", secret: "s3"},
		{name: "container refuses", env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL}, problem: "403"},
		{name: "no such profile", profile: "none", problem: `failed to get shared config profile, none`},
		{name: "half a profile", profile: "half", problem: `partial credentials found`},
		{name: "wrong secret", env: map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "hunter2"}, key: "AKENV", secret: "s4", problem: "Access denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := file
			if strings.HasPrefix(c.name, "container") {
				from = filepath.Join(dir, "none") // AWS's tools look for a default profile first
			}
			awsWorld(t, from, c.env)
			t.Setenv("AWS_REGION", "eu-north-1") // for brokers whose name tells no region
			stub := &awsStub{key: c.key, secret: c.secret}
			cluster := awsCluster(t, stub)
			cluster.SASL = &SASL{Mechanism: "AWS_MSK_IAM", AWS: &AWS{Profile: c.profile}}
			_, err := open(t, cluster).ClusterID(deadline(t))
			if c.problem != "" {
				as[*ErrAuthentication](t, err)
				if !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("the error says %q, want %q", err, c.problem)
				}
				return
			}
			noError(t, err)
			seed := stub.seen[0]
			if seed["host"] != "b-1.demo.x1.c2.kafka.eu-west-1.amazonaws.com" || !strings.Contains(seed["x-amz-credential"], "/eu-west-1/") || seed["user-agent"] != "tidemark" {
				t.Errorf("the first broker was told %v", seed)
			}
		})
	}
}

// TestAWSRegion: a broker by address has no region in its name; the environment's is used.
func TestAWSRegion(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s4")
	stub := &awsStub{key: "AKENV", secret: "s4"}
	for region, want := range map[string]string{"eu-north-1": "/eu-north-1/", "": "cannot determine the region"} {
		t.Setenv("AWS_REGION", region)
		t.Setenv("AWS_DEFAULT_REGION", "")
		_, payload, err := (&AWS{}).mechanism().Authenticate(t.Context(), "10.0.0.1:9098")
		if region == "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("without a region: %v", err)
			}
			continue
		}
		noError(t, err)
		if !stub.answer(payload) || !strings.Contains(string(payload), want) {
			t.Errorf("the broker was told %s", payload)
		}
	}
}

// TestOAuthTokens: connections share a token until most of its life is over; a token endpoint that is away costs nothing
// while the token is good; many connections do not wait for it one after the other.
func TestOAuthTokens(t *testing.T) {
	var mu sync.Mutex
	asked, away := 0, false
	lifetime := 2 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if away {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprint(w, "hunter2 is what you sent")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "bearer", "expires_in": %d}`, asked, int(lifetime.Seconds()))
	}))
	t.Cleanup(server.Close)
	o := &OAuth{TokenURL: server.URL, ClientID: "me", ClientSecret: "hunter2"}
	want := func(token string, requests int) {
		t.Helper()
		got, err := o.current(t.Context())
		if err != nil || got != token || asked != requests {
			t.Errorf("token %q, %v after %d requests, want %q after %d", got, err, asked, token, requests)
		}
	}
	want("token-1", 1)
	want("token-1", 1)
	if left := time.Until(o.refresh); left < 95*time.Minute || left > 97*time.Minute {
		t.Errorf("another token in %v, want it after 80 %% of two hours", left)
	}
	o.refresh = time.Now()
	want("token-2", 2)
	away, o.refresh = true, time.Now()
	want("token-2", 3) // still good
	o.expiry = time.Now()
	_, err := o.current(t.Context())
	if err == nil || !strings.Contains(err.Error(), "502") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("with the endpoint away and the token over: %v", err)
	}
	away = false
	want("token-5", 5)
}
