package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

func TestSecretNeverShows(t *testing.T) {
	const word = "hunter2"
	c := struct {
		SASL SASL
		P    *SASL
	}{
		SASL{Mechanism: "PLAIN", User: "u", Password: word, OAuth: &OAuth{ClientSecret: word, token: word}},
		&SASL{Mechanism: "PLAIN", User: "u", Password: word, OAuth: &OAuth{ClientSecret: word, token: word}},
	}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		fmt.Fprintf(&out, verb+" ", c.SASL.Password)
		fmt.Fprintf(&out, verb+" ", c.SASL)
	}
	fmt.Fprint(&out, c.SASL, c.P)
	js, err := json.Marshal(c)
	noError(t, err)
	out.Write(js)
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("x", "secret", c.SASL.Password, "sasl", c.SASL)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", c.SASL.Password, "sasl", c.SASL)
	if strings.Contains(out.String(), word) || strings.Contains(out.String(), fmt.Sprintf("%x", word)) {
		t.Errorf("the secret shows in %s", out.String())
	}
	if !strings.Contains(out.String(), redacted) {
		t.Errorf("nothing says that a secret was left out: %s", out.String())
	}
	if c.SASL.Password.Reveal() != word {
		t.Error("Reveal does not return the secret")
	}
	if Secret("").String() != "" {
		t.Error("an empty secret must be seen as empty")
	}
}

func TestOpenReportsEveryProblem(t *testing.T) {
	_, err := Open(Cluster{Bootstrap: []string{"nowhere"}, SASL: &SASL{Mechanism: "KERBEROS"}}, nil)
	if err == nil {
		t.Fatal("an unusable cluster was opened")
	}
	for _, want := range []string{"no alias", `"nowhere" is not host:port`, `"KERBEROS" is not known`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %q", want, err)
		}
	}
	if _, err := Open(Cluster{Alias: "A"}, nil); err == nil || !strings.Contains(err.Error(), "no bootstrap servers") {
		t.Errorf("no bootstrap servers: %v", err)
	}
}

// closedPort is an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	addr := ln.Addr().String()
	noError(t, ln.Close())
	return addr
}

func TestNothingListens(t *testing.T) {
	addr := closedPort(t)
	cl := open(t, Cluster{Alias: "A", Bootstrap: []string{addr}})
	start := time.Now()
	_, err := cl.ClusterID(deadline(t))
	e := as[*ErrUnreachable](t, err)
	if e.Addr != addr || e.Cluster != "A" || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the error says %q of %+v", err, e)
	}
	if ClassifyErr(err) != Refresh {
		t.Errorf("class %v", ClassifyErr(err))
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a refused bootstrap was reported after %v", took)
	}
}

// A deadline that ends franz-go's inner retries must still say what was wrong.
func TestDeadlineNamesTheDial(t *testing.T) {
	reason := errors.New("no route to host")
	c := Cluster{
		Alias: "A", Bootstrap: []string{"127.0.0.1:1", "127.0.0.1:2"},
		Dial: func(_ context.Context, network, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: reason}
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := open(t, c).ClusterID(ctx)
	e := as[*ErrUnreachable](t, err)
	if !errors.Is(err, reason) || !strings.HasPrefix(e.Addr, "127.0.0.1:") {
		t.Errorf("the error says %q", err)
	}
}

func TestCanceledIsNoFault(t *testing.T) {
	_, cl := fakeClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cl.ClusterID(ctx)
	if !errors.Is(err, context.Canceled) || ClassifyErr(err) != Stop {
		t.Errorf("class %v, error %v", ClassifyErr(err), err)
	}
}

func TestDialTLSUsesTheClustersDialer(t *testing.T) {
	server, pool := certificate(t)
	_, c := fake(t, kfake.NumBrokers(1), kfake.TLS(server))
	var dialed []string
	c.TLS = &tls.Config{RootCAs: pool}
	c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed = append(dialed, addr)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	conn, err := c.DialTLS(deadline(t), c.Bootstrap[0])
	noError(t, err)
	if _, ok := conn.(*tls.Conn); !ok || len(dialed) != 1 || dialed[0] != c.Bootstrap[0] {
		t.Errorf("got a %T after dialing %v", conn, dialed)
	}
	if c.TLS.ServerName != "" {
		t.Error("the caller's TLS configuration was changed")
	}
	noError(t, conn.Close())
}

func TestVersionCaps(t *testing.T) {
	fc, c := fake(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	got := map[kmsg.Key]int16{}
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.AddPartitionsToTxn} {
		fc.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			fc.KeepControl()
			got[key] = r.GetVersion()
			return nil, nil, false
		})
	}
	cl := open(t, c, LaneVersions())
	ctx := deadline(t)
	id, err := cl.InitProducer(ctx, "txn", time.Minute)
	noError(t, err)
	noError(t, cl.Keepalive(ctx, "txn", id, partition.ID{Topic: "t", Partition: 0}))
	_, err = cl.CommitPositions(ctx, "g", map[partition.ID]Committed{{Topic: "t", Partition: 0}: {Offset: 1}})
	noError(t, err)
	_, _, err = cl.FetchPositions(ctx, []string{"g"}, false)
	noError(t, err)
	want := map[kmsg.Key]int16{kmsg.EndTxn: 4, kmsg.OffsetCommit: 9, kmsg.OffsetFetch: 9, kmsg.AddPartitionsToTxn: 3}
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s was sent as v%d, want v%d", key.Name(), got[key], v)
		}
	}
	if open(t, c).lane() || open(t, c, kgo.MaxVersions(baseVersions())).lane() {
		t.Error("a client without LaneVersions passes for a lane's")
	}
}

func TestLogStartsAtWarn(t *testing.T) {
	var out bytes.Buffer
	addr := closedPort(t)
	cl, err := Open(Cluster{Alias: "A", Bootstrap: []string{addr}}, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	noError(t, err)
	_, err = cl.ClusterID(deadline(t))
	as[*ErrUnreachable](t, err)
	cl.Close()
	text := out.String()
	if strings.Contains(text, "level=DEBUG") || strings.Contains(text, "level=INFO") {
		t.Errorf("franz-go logs below warn: %s", text)
	}
	if !strings.Contains(text, "level=WARN") || !strings.Contains(text, "cluster=A") {
		t.Errorf("franz-go's warning or the cluster is missing: %s", text)
	}
}

func TestBoottimeAdvances(t *testing.T) {
	a := Boottime()
	timer := time.NewTimer(5 * time.Millisecond)
	<-timer.C
	if d := Boottime() - a; d < 4*time.Millisecond || d > 5*time.Second {
		t.Errorf("5 ms are %v by the boot clock", d)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`DESCRIBE on group "g" is missing on cluster A`:           &ErrDenied{"DESCRIBE", "group", "g", "A"},
		`IDEMPOTENT_WRITE on the cluster is missing on cluster A`: &ErrDenied{"IDEMPOTENT_WRITE", "cluster", "", "A"},
		`list groups on cluster A is not complete: broker 1: x; broker 2: y`: &ErrBrokers{
			"list groups", "A",
			map[int32]error{2: errors.New("y"), 1: errors.New("x")},
		},
		`read on cluster A: t-0 x (and 1 more partitions)`: &ErrPartitions{
			"read", "A",
			map[partition.ID]error{{Topic: "t", Partition: 1}: errors.New("t-1 y"), {Topic: "t", Partition: 0}: errors.New("t-0 x")},
		},
		`transaction "x" on cluster A is still PrepareAbort after 1.5s: ` + kerr.ConcurrentTransactions.Error(): &ErrTxnPending{
			"x", "A",
			"PrepareAbort", 1500 * time.Millisecond, kerr.ConcurrentTransactions,
		},
		`authenticate to cluster A as user "me" with PLAIN: x`: &ErrAuthentication{"A", "PLAIN", "me", errors.New("x")},
		`connect to cluster A at h:1: x`:                       &ErrUnreachable{"A", "h:1", errors.New("x")},
	} {
		if err.Error() != want {
			t.Errorf("got  %q\nwant %q", err, want)
		}
	}
}
