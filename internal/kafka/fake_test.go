package kafka

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
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// fake starts an embedded cluster that lives as long as the test.
func fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, Cluster) {
	t.Helper()
	fc, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fc.Close)
	return fc, Cluster{Alias: "A", Bootstrap: fc.ListenAddrs()}
}

func open(t *testing.T, c Cluster, opts ...kgo.Opt) *Client {
	t.Helper()
	cl, err := Open(c, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// fakeClient is both at once, for tests that need no special cluster.
func fakeClient(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *Client) {
	t.Helper()
	fc, c := fake(t, opts...)
	return fc, open(t, c)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// as fails the test unless err wraps a T, and returns it.
func as[T error](t *testing.T, err error) T {
	t.Helper()
	e, ok := errors.AsType[T](err)
	if !ok {
		t.Fatalf("error %q (%T) is not a %T", err, err, e)
	}
	return e
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// produce writes n records to one partition.
func produce(t *testing.T, cl *Client, tp partition.ID, n int) {
	t.Helper()
	p := open(t, cl.Cluster(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for range n {
		noError(t, p.Kgo().ProduceSync(deadline(t), &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: []byte("v")}).FirstErr())
	}
}

// answer replaces every answer to requests of one kind.
func answer[Req kmsg.Request, Resp kmsg.Response](fc *kfake.Cluster, fn func(req Req, resp Resp)) {
	var kind Req
	var key int16
	switch any(kind).(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		key = int16(kmsg.AddPartitionsToTxn)
	case *kmsg.EndTxnRequest:
		key = int16(kmsg.EndTxn)
	case *kmsg.InitProducerIDRequest:
		key = int16(kmsg.InitProducerID)
	case *kmsg.DescribeTransactionsRequest:
		key = int16(kmsg.DescribeTransactions)
	case *kmsg.ListGroupsRequest:
		key = int16(kmsg.ListGroups)
	case *kmsg.OffsetFetchRequest:
		key = int16(kmsg.OffsetFetch)
	case *kmsg.OffsetCommitRequest:
		key = int16(kmsg.OffsetCommit)
	case *kmsg.MetadataRequest:
		key = int16(kmsg.Metadata)
	default:
		panic("answer: request kind not listed")
	}
	fc.ControlKey(key, func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		req := r.(Req)
		resp := req.ResponseKind().(Resp)
		fn(req, resp)
		return resp, nil, true
	})
}

// observe counts the requests of one kind, which go on to the cluster.
func observe(fc *kfake.Cluster, key kmsg.Key) *kfake.FaultHandle {
	return fc.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
}

// certificate makes a self-signed one for 127.0.0.1 and a pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	return certificateOf(t, "test broker", net.IPv4(127, 0, 0, 1))
}

// certificateOf makes a self-signed one with a common name, and with a subjectAltName only where addresses are given.
func certificateOf(t *testing.T, name string, addresses ...net.IP) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: addresses, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	noError(t, err)
	leaf, err := x509.ParseCertificate(der)
	noError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}
