package mirror

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
)

// An identity counts as hanging when its transaction does not end, not when its coordinator is away, and not for failures
// that lie apart.
func TestHangs(t *testing.T) {
	pending := func(err error) error { return fmt.Errorf("fence: %w", &kafka.ErrTxnPending{TxnID: "txid", Err: err}) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("so"), false},
		{pending(context.DeadlineExceeded), true},
		{pending(kerr.ConcurrentTransactions), true},
		{pending(kerr.CoordinatorLoadInProgress), false},
		{pending(context.Canceled), false},
	} {
		if got := hangs(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

// TestIdentityOf: under which transactional id a lane goes on.
func TestIdentityOf(t *testing.T) {
	const base = "tidemark.A->B.lane.0"
	for was, want := range map[string]string{"": base, base: base, base + ".3": base + ".3", base + ".x": base, base + "0.3": base} {
		if got := identityOf(&ledger.Claim{TransactionalID: was}, base); got != want {
			t.Errorf("%q: %q, want %q", was, got, want)
		}
	}
	if got := identityOf(nil, base); got != base {
		t.Errorf("no claim: %q", got)
	}
	if got := nextIdentity(base+".3", base); got != base+".4" {
		t.Errorf("%q", got)
	}
}
