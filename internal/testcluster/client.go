package testcluster

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// T is what this package needs of *testing.T, *testing.B and *rapid.T. It is an
// own interface so that the demo, which starts a kfake pair, does not link the
// testing package.
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// clientOpts are the options that every client of this package has. kgo's own
// minimum age of metadata is 5 s, and each retry waits for it: three leader
// changes would cost a test 15 s.
func clientOpts(bootstrap []string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(bootstrap...),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryTimeout(30 * time.Second),
	}
}

// NewClient makes a client that is closed at the end of the test. Later options
// win over the ones in conn.
func NewClient(t T, conn []kgo.Opt, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts := append(append([]kgo.Opt{}, conn...), more...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}
