package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/acls"
	"tidemark/internal/testcluster"
)

// TestACLsStarGroup: a group can be called "*". An access rule with that name would be one for every group; the rule that
// is computed lets its positions be read, and those of no group whose name begins otherwise.
func TestACLsStarGroup(t *testing.T) {
	t.Parallel()
	l := least{t, secured(t), secured(t)}
	l.users("lstar")
	f := l.flow(t, "lstar", "lstar-data", `'\*'`, ", sync_groups: false, sync_topic_acls: false")
	for _, c := range acls.Of(f.cfg, f.cfg.Flows, "User:lstar").Clusters {
		grant(t, l.src, rulesOf(c))
	}
	if err := testcluster.CreateTopic(t.Context(), l.src.ClientOpts(), "lstar-data", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"*", "*x", "lstar-other"} {
		f.commit(group, map[string]map[int32]int64{"lstar-data": {0: 7}})
	}
	user, err := kadm.NewOptClient(l.src.ClientOptsAs(testcluster.User{Name: "lstar", Password: "lstar-secret"}, "SCRAM-SHA-512")...)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	f.until(30*time.Second, "the rules have reached the broker", func(context.Context) (bool, string) {
		got, err := user.FetchOffsets(t.Context(), "*")
		at, _ := got.Lookup("lstar-data", 0)
		return err == nil && at.At == 7, fmt.Sprint(got, err)
	})
	if got, err := user.FetchOffsets(t.Context(), "*x"); err != nil {
		t.Errorf("a group whose name begins with a star: %v, %v", got, err)
	}
	if got, err := user.FetchOffsets(t.Context(), "lstar-other"); !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Errorf("a rule for the group * opens another one: %v, %v", got, err)
	}
}
