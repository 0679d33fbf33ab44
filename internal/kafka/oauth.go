package kafka

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// tokenTimeout bounds one request of a token, so that a token endpoint that
	// says nothing is not waited for longer than for a broker.
	tokenTimeout = 10 * time.Second

	// refreshFactor of a token's lifetime is how long it is used, as Java's
	// sasl.login.refresh.window.factor. Brokers ask for a new authentication
	// before the token ends (KIP-368), at 85 % and more of its lifetime: a factor
	// above that would answer with the token that is about to end.
	refreshFactor = 0.8
)

// OAuth is where the tokens of an OAUTHBEARER login come from (KIP-255,
// KIP-768): the client credentials grant of a token endpoint, or a file that
// someone else renews. Connections share a token until 80 % of its lifetime are
// over. It is used by pointer and is safe for concurrent use; the fields are not
// changed after the first use.
type OAuth struct {
	// TokenURL is http:, https: or file: and an absolute path.
	TokenURL     string
	ClientID     string
	ClientSecret Secret
	Scope        string // names separated by blanks; may be empty
	// Encoded writes id and secret URL-encoded into the request's Authorization
	// header, as RFC 6749 2.3.1 wants. Java does so only with
	// sasl.oauthbearer.header.urlencode=true, and so do the servers that know Java.
	Encoded bool
	// Extensions are sent to the broker beside the token (RFC 7628 3.1).
	Extensions map[string]string
	// TLS is for an https token endpoint; nil trusts the system's authorities.
	TLS *tls.Config `json:"-"` // holds functions, which no encoder takes

	mu       sync.Mutex // held while a token is fetched: others would fetch the same
	token    Secret
	refresh  time.Time // when to fetch another one
	expiry   time.Time // zero: the token does not say
	failure  error     // of the last attempt; nil after one that went well
	failedAt time.Time
}

// Same says whether o gets the tokens that other gets.
func (o *OAuth) Same(other *OAuth) bool {
	if other == nil || o.TokenURL != other.TokenURL || o.ClientID != other.ClientID || o.ClientSecret != other.ClientSecret ||
		o.Scope != other.Scope || o.Encoded != other.Encoded || !maps.Equal(o.Extensions, other.Extensions) {
		return false
	}
	if o.TLS == nil || other.TLS == nil {
		return o.TLS == other.TLS
	}
	return o.TLS.RootCAs.Equal(other.TLS.RootCAs)
}

// Format shows the address and nothing else. fmt prints the fields of a struct
// behind a pointer without asking them how, where the verb does not suit a
// pointer, secrets included.
func (o *OAuth) Format(f fmt.State, _ rune) {
	// fmt.State has nowhere to report an error to.
	_, _ = io.WriteString(f, "oauth "+o.endpoint())
}

// mechanism is the SASL side.
func (o *OAuth) mechanism() sasl.Mechanism {
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := o.current(ctx)
		if err != nil {
			return oauth.Auth{}, err
		}
		return oauth.Auth{Token: token, Extensions: o.Extensions}, nil
	})
}

// current is a token that is good for a while. While the token endpoint is away,
// or the file holds none, a token in use is good until it ends.
func (o *OAuth) current(ctx context.Context) (string, error) {
	asked := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.token != "" && now.Before(o.refresh) {
		return o.token.Reveal(), nil
	}
	if o.failure != nil && asked.Before(o.failedAt) {
		return "", o.failure // it came while we waited: another ten seconds each would be of no use
	}
	token, expiry, err := o.fetch(ctx)
	if err != nil {
		if o.token != "" && now.Before(o.expiry) {
			return o.token.Reveal(), nil
		}
		o.failure, o.failedAt = fmt.Errorf("get a token from %s: %w", o.endpoint(), err), time.Now()
		return "", o.failure
	}
	o.failure = nil
	o.token, o.expiry, o.refresh = Secret(token), expiry, now
	if !expiry.IsZero() && o.file() == "" { // a file is read at each login: whoever renews it does so when they like
		o.refresh = now.Add(time.Duration(refreshFactor * float64(expiry.Sub(now))))
	}
	return token, nil
}

// endpoint is the address without what a careless user may have put into it.
func (o *OAuth) endpoint() string {
	u, err := url.Parse(o.TokenURL)
	if err != nil {
		return "the token endpoint"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// file is the file that holds the token; empty where a token endpoint is asked.
func (o *OAuth) file() string {
	path, ok := strings.CutPrefix(o.TokenURL, "file:")
	if !ok {
		return ""
	}
	return "/" + strings.TrimLeft(path, "/")
}

func (o *OAuth) fetch(ctx context.Context) (token string, expiry time.Time, err error) {
	if path := o.file(); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", time.Time{}, err
		}
		if token = strings.TrimSpace(string(data)); token == "" {
			return "", time.Time{}, fmt.Errorf("file %s is empty, or holds nothing but white space", path)
		}
		expiry, _ = jwtExpiry(token) // other tokens do not say how long they are good
		return token, expiry, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DisableKeepAlives: true}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: credentials{o, transport}})
	conf := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), TokenURL: o.TokenURL, AuthStyle: oauth2.AuthStyleInHeader,
	}
	if o.Scope != "" {
		conf.Scopes = []string{o.Scope}
	}
	got, err := conf.Token(ctx)
	if err != nil {
		return "", time.Time{}, tokenError(err)
	}
	// Java goes by the token's own claim; the answer's expires_in is for tokens that are no JWT.
	if expiry, ok := jwtExpiry(got.AccessToken); ok {
		return got.AccessToken, expiry, nil
	}
	return got.AccessToken, got.Expiry, nil
}

// tokenError words a refusal. The library prints the answer's whole body, which
// may repeat the request.
func tokenError(err error) error {
	r, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return err
	case r.ErrorCode != "":
		return fmt.Errorf("%s: %s %s", r.Response.Status, r.ErrorCode, r.ErrorDescription)
	}
	return errors.New(r.Response.Status)
}

// credentials writes id and secret into the request's header as Java does.
type credentials struct {
	o    *OAuth
	next http.RoundTripper
}

func (c credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	if !c.o.Encoded { // the library encodes
		req = req.Clone(req.Context())
		req.SetBasicAuth(c.o.ClientID, c.o.ClientSecret.Reveal())
	}
	return c.next.RoundTrip(req)
}

// jwtExpiry reads the claim exp of a JSON web token, without checking its
// signature: that is the broker's business.
func jwtExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}, false
	}
	// A number that no int64 holds would become a time long ago, and each login ask for a new token.
	return time.UnixMilli(int64(min(claims.Exp*1000, 1<<62))), true
}
