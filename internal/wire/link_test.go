package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// cutter makes connections that break after a number of bytes, in either
// direction, until it is told to stop.
type cutter struct {
	left atomic.Int64 // bytes until the next cut
	each int64
	cuts atomic.Int64
	off  atomic.Bool
}

type cutConn struct {
	net.Conn
	c *cutter
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{nc, c}, nil
}

func (c *cutConn) count(n int) {
	if c.c.off.Load() {
		return
	}
	if c.c.left.Add(-int64(n)) < 0 {
		c.c.left.Store(c.c.each)
		c.c.cuts.Add(1)
		c.Conn.Close()
	}
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.count(n)
	return n, err
}

func (c *cutConn) Write(p []byte) (int, error) {
	c.count(len(p))
	return c.Conn.Write(p)
}

func TestConnectionsThatBreak(t *testing.T) {
	c := fake(t, 2, "t", 2)
	cut := &cutter{each: 20_000}
	cut.left.Store(20_000)
	// Only the transport's connections break: metadata has its own retries.
	n := netTo(t, c, nil)
	n.cluster.Dial = cut.dial
	p := startProducer(t, n, ProduceOptions{Depth: 3})
	f := startFetcher(t, n, FetchOptions{})
	tps := []partition.ID{{Topic: "t"}, {Topic: "t", Partition: 1}}
	var rs []*resender
	for _, tp := range tps {
		r := newResender(t, p.Producer, tp, 150, 2, 9)
		rs = append(rs, r)
		r.send()
		f.Want(tp, 0, -1)
	}
	got := map[partition.ID][]int{}
	for total := 0; total < 600; {
		x := f.next()
		if x.Code != 0 {
			t.Fatalf("%+v", x)
		}
		if x.Err != nil {
			continue
		}
		more, err := numbers(x.Records, x.Offset)
		if err != nil {
			t.Fatal(err)
		}
		x.Release()
		got[x.TP] = append(got[x.TP], more...)
		total += len(more)
		f.Want(x.TP, x.Offset+int64(len(more)), -1)
	}
	cut.off.Store(true)
	for i, tp := range tps {
		rs[i].wait(t)
		wantRun(t, got[tp], 300)
		wantRun(t, stored(t, n, tp, 300), 300)
	}
	if cut.cuts.Load() < 3 {
		t.Errorf("only %d connections broke", cut.cuts.Load())
	}
	f.stop()
	if used := f.opt.Budget.Used(); used != 0 {
		t.Errorf("%d bytes of the budget are gone", used)
	}
}

func TestFetchReportsTroubleThatLasts(t *testing.T) {
	w := trouble{}
	now := time.Unix(1000, 0)
	var reports []time.Duration
	for i := range 1000 {
		if at := now.Add(time.Duration(i) * 100 * time.Millisecond); w.add(at) {
			reports = append(reports, at.Sub(now))
		}
	}
	if len(reports) != 10 || reports[0] != troubleLasts || reports[1] != troubleLasts+troubleAgain {
		t.Errorf("reported after %v", reports)
	}
}

func TestDeadBrokerIsReportedAndComesBack(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	tp := partition.ID{Topic: "t"}
	fill(t, startProducer(t, n, ProduceOptions{}), tp, 1, 1, 10)
	refused := errors.New("no way")
	var down atomic.Bool
	down.Store(true)
	n.cluster.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if down.Load() {
			return nil, refused
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	f := startFetcher(t, n, FetchOptions{})
	f.Want(tp, 0, -1)
	began := time.Now()
	x := f.next()
	if !errors.Is(x.Err, refused) || x.Code != 0 || time.Since(began) < troubleLasts {
		t.Errorf("after %v: %+v", time.Since(began), x)
	}
	if _, ok := errors.AsType[*kafka.ErrUnreachable](x.Err); !ok {
		t.Errorf("%v is not unreachable", x.Err)
	}
	down.Store(false)
	x = f.next() // still armed
	if len(x.Records) == 0 {
		t.Fatalf("%+v", x)
	}
	x.Release()
}

// certificate is a server's TLS configuration for 127.0.0.1, and a client's
// that trusts it.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "broker"},
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: roots}
}

func TestTLSAndSASLWithRenewal(t *testing.T) {
	for _, mech := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mech, func(t *testing.T) {
			t.Parallel()
			server, client := certificate(t)
			c := fake(t, 1, "t", 1, kfake.TLS(server), kfake.EnableSASL(), kfake.Superuser(mech, "u", "p"),
				kfake.BrokerConfigs(map[string]string{"connections.max.reauth.ms": "600"}))
			n := netTo(t, c, func(cl *kafka.Cluster) {
				cl.TLS = client
				cl.SASL = &kafka.SASL{Mechanism: mech, User: "u", Password: "p"}
			})
			var own atomic.Int64
			n.cluster.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				own.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}
			renewed := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLHandshake}, Observe: true, Count: -1, TopLevel: true})
			p := startProducer(t, n, ProduceOptions{Depth: 2})
			f := startFetcher(t, n, FetchOptions{MaxWait: 100 * time.Millisecond})
			tp := partition.ID{Topic: "t"}
			f.Want(tp, 0, -1)
			total := 0
			for until := time.Now().Add(1500 * time.Millisecond); time.Now().Before(until); {
				if r := p.send(tp, numbered(t, total, 1, 100_000, 3)); r.Err != nil || r.Code != 0 {
					t.Fatalf("%+v", r)
				}
				x := f.next()
				got, err := numbers(x.Records, x.Offset)
				if err != nil || len(got) != 1 || got[0] != total {
					t.Fatalf("fetched %v, %v: %+v", got, err, x)
				}
				x.Release()
				total++
				f.Want(tp, x.Offset+1, -1)
			}
			if own.Load() != 2 {
				t.Errorf("%d connections were opened, want 2 that live on", own.Load())
			}
			if renewed.Hits() < 6 {
				t.Errorf("%d handshakes in 1.5 s, want each connection to renew its session twice", renewed.Hits())
			}
		})
	}
}

func TestWrongPassword(t *testing.T) {
	c := fake(t, 1, "t", 1, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "u", "p"))
	n := netTo(t, c, func(cl *kafka.Cluster) {
		cl.SASL = &kafka.SASL{Mechanism: "SCRAM-SHA-256", User: "u", Password: "p"}
	})
	// The embedded cluster hangs up on a wrong password, brokers since 1.0
	// (KIP-152) answer.
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed})
	_, err := n.dial(testContext(t), c.ListenAddrs()[0])
	auth, ok := errors.AsType[*kafka.ErrAuthentication](err)
	if !ok || auth.User != "u" || auth.Cluster != "A" || !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("got %v", err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLHandshake}, TopLevel: true, Err: kerr.UnsupportedSaslMechanism})
	_, err = n.dial(testContext(t), c.ListenAddrs()[0])
	if _, ok := errors.AsType[*kafka.ErrAuthentication](err); !ok || !errors.Is(err, kerr.UnsupportedSaslMechanism) {
		t.Errorf("got %v", err)
	}
	n.cluster.SASL = &kafka.SASL{Mechanism: "SCRAM-SHA-256", User: "u", Password: "wrong"}
	if conn, err := n.dial(testContext(t), c.ListenAddrs()[0]); err == nil {
		t.Error("a wrong password is accepted")
		conn.close(context.Canceled)
	}
}

func TestOldApiVersions(t *testing.T) {
	for _, v := range []int16{0, 1, 2} {
		max := kversion.Stable()
		max.SetMaxKeyVersion(int16(kmsg.ApiVersions), v)
		c := fake(t, 1, "t", 1, kfake.MaxVersions(max))
		n := netTo(t, c, nil)
		conn, err := n.dial(testContext(t), c.ListenAddrs()[0])
		if err != nil {
			t.Fatalf("ApiVersions %d: %v", v, err)
		}
		if got, err := conn.pick(int16(kmsg.Fetch)); got != 17 || err != nil {
			t.Errorf("ApiVersions %d: fetch version %d, %v", v, got, err)
		}
		conn.close(context.Canceled)
	}
}

func TestVersionsThatDoNotMeet(t *testing.T) {
	c := &conn{addr: "b:9092", versions: map[int16]versionRange{int16(kmsg.Fetch): {0, 3}, int16(kmsg.Produce): {14, 20}}}
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.Produce, kmsg.SASLHandshake} {
		if v, err := c.pick(int16(key)); err == nil {
			t.Errorf("%s: picked %d", key.Name(), v)
		}
	}
}

func TestNotAKafkaBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		var b [1]byte
		if _, err := nc.Read(b[:]); err == nil {
			_, _ = nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}
	}()
	n := netTo(t, fake(t, 1, "t", 1), nil)
	if _, err := n.dial(testContext(t), l.Addr().String()); err == nil {
		t.Error("an HTTP server was taken for a broker")
	}
	<-served
}

func TestClosedNetEndsRuns(t *testing.T) {
	c := fake(t, 1, "t", 1)
	n := netTo(t, c, nil)
	f := n.NewFetcher(FetchOptions{}, func(Fetched) {})
	p := n.NewProducer(ProduceOptions{})
	ended := make(chan error, 2)
	go func() { ended <- f.Run(t.Context()) }()
	go func() { ended <- p.Run(t.Context()) }()
	f.Want(partition.ID{Topic: "t"}, 0, -1)
	reached := make(chan Result, 1)
	p.Send(Batch{TP: partition.ID{Topic: "t"}, Bytes: numbered(t, 0, 1, 10, -1), Done: func(r Result) { reached <- r }})
	if r := <-reached; r.Err != nil {
		t.Error(r.Err)
	}
	n.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Run ended with %v", err)
		}
	}
	if _, err := n.dial(testContext(t), c.ListenAddrs()[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed Net opens connections: %v", err)
	}
}
