package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestSettingsReachTheClient: franz-go works with what the settings say, and with ours where they say nothing.
func TestSettingsReachTheClient(t *testing.T) {
	_, c := fake(t)
	for _, tc := range []struct {
		set                             Settings
		request, idle, metadata, pause9 time.Duration
	}{
		{Settings{}, 10 * time.Second, 30 * time.Second, 5 * time.Minute, 2 * time.Second},
		{
			Settings{RequestTimeout: time.Second, IdleTimeout: time.Minute, MetadataMaxAge: time.Hour, RetryBackoff: time.Second, RetryBackoffMax: 3 * time.Second, APITimeout: time.Second},
			time.Second, time.Minute, time.Hour, 3 * time.Second,
		},
		{Settings{RetryBackoff: 5 * time.Second}, 10 * time.Second, 30 * time.Second, 5 * time.Minute, 5 * time.Second},
		{Settings{RetryBackoff: 5 * time.Second, RetryBackoffMax: time.Second}, 10 * time.Second, 30 * time.Second, 5 * time.Minute, time.Second},
	} {
		c.Settings = tc.set
		cl := open(t, c)
		for _, o := range []struct {
			name string
			opt  any
			want time.Duration
		}{
			{"request", kgo.RequestTimeoutOverhead, tc.request},
			{"idle", kgo.ConnIdleTimeout, tc.idle},
			{"metadata", kgo.MetadataMaxAge, tc.metadata},
		} {
			if have := cl.Kgo().OptValue(o.opt); have != o.want {
				t.Errorf("%s of %+v is %v, want %v", o.name, tc.set, have, o.want)
			}
		}
		pause, ok := cl.Kgo().OptValue(kgo.RetryBackoffFn).(func(int) time.Duration)
		if !ok || pause(9) != tc.pause9 {
			t.Errorf("pause of %+v: %v", tc.set, pause(9))
		}
		if _, err := cl.ClusterID(deadline(t)); err != nil {
			t.Errorf("%+v: %v", tc.set, err)
		}
	}
}

// TestConnectTimeout: an attempt to connect ends after the time that is set.
func TestConnectTimeout(t *testing.T) {
	c := Cluster{Alias: "A", Bootstrap: []string{"x:1"}, Settings: Settings{ConnectTimeout: 50 * time.Millisecond}}
	c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err := c.DialTLS(deadline(t), "x:1")
	as[*ErrUnreachable](t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestRenew: each login and each handshake uses what Renew gives then; while it fails, what it gave before, and the refusal
// of a login says why.
func TestRenew(t *testing.T) {
	password, broken := "first", error(nil)
	c := Cluster{Alias: "A", SASL: &SASL{Mechanism: "PLAIN", User: "u", Password: "first"}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
	renewed := &tls.Config{MinVersion: tls.VersionTLS13}
	c.Renew = func() (*tls.Config, *SASL, error) {
		return renewed, &SASL{Mechanism: "PLAIN", User: "u", Password: Secret(password)}, broken
	}
	mech, ok := c.Mechanism()
	if !ok || mech.Name() != "PLAIN" {
		t.Fatalf("mechanism %v", mech)
	}
	for _, pw := range []string{"first", "second"} {
		password = pw
		if _, out, err := mech.Authenticate(t.Context(), "x:1"); err != nil || !strings.HasSuffix(string(out), "\x00"+pw) {
			t.Errorf("the broker is told %q, %v, want password %s", out, err, pw)
		}
	}
	if conf, _ := c.current(); conf != renewed {
		t.Error("a handshake would use the old certificates")
	}
	refusal := errors.New("refused")
	if err := c.Stale(refusal); !errors.Is(err, refusal) || err.Error() != "refused" {
		t.Errorf("%v", err)
	}
	broken = errors.New("no such file")
	if err := c.Stale(refusal); !errors.Is(err, refusal) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	if _, out, err := mech.Authenticate(t.Context(), "x:1"); err != nil || !strings.HasSuffix(string(out), "\x00second") {
		t.Errorf("with a file that cannot be read the broker is told %q, %v", out, err)
	}
}

// TestRenewalIsSaid: that newer credentials cannot be read is a warning, once for each reason, and so is its end.
func TestRenewalIsSaid(t *testing.T) {
	var out bytes.Buffer
	var broken error
	c := Cluster{Alias: "A", Bootstrap: []string{"127.0.0.1:1"}, SASL: &SASL{Mechanism: "PLAIN", User: "u", Password: "first"}}
	c.Renew = func() (*tls.Config, *SASL, error) {
		return nil, &SASL{Mechanism: "PLAIN", User: "u", Password: "first"}, broken
	}
	log := slog.New(slog.NewTextHandler(&out, nil))
	cl, err := Open(c, log)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	again, err := Open(cl.Cluster(), log) // as the member of a lane group is, with other time-outs
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i, step := range []struct{ problem, says string }{
		{"", ""},
		{"file pw is blank", `level=WARN msg="newer credentials cannot be read: those of before stay in use" cluster=A error="file pw is blank"`},
		{"file pw is blank", ""},
		{"no such file", `error="no such file"`},
		{"file pw is blank", ""},
		{"no such file", ""},
		{"", `level=INFO msg="newer credentials can be read again" cluster=A`},
		{"", ""},
		{"no such file", `error="no such file"`},
	} {
		broken = nil
		if step.problem != "" {
			broken = errors.New(step.problem)
		}
		out.Reset()
		for _, one := range []*Client{again, cl} {
			mech, _ := one.Cluster().Mechanism()
			if _, _, err := mech.Authenticate(t.Context(), "x:1"); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); !strings.Contains(got, step.says) || (step.says == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("step %d: logged %q, want %q", i, got, step.says)
		}
	}
}
