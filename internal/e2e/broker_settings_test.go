package e2e

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"tidemark/internal/kafka"
)

// TestBrokerSettings: what stands in a broker's own file is seen, and Kafka's defaults too: by them a lane knows when the
// target forgets a producer. Without the right to look, the right is named.
func TestBrokerSettings(t *testing.T) {
	t.Parallel()
	const producer, txn = "producer.id.expiration.ms", "transactional.id.expiration.ms"
	three, err := suite.three()
	if err != nil {
		t.Fatal(err)
	}
	brokersOfThree.RLock()
	defer brokersOfThree.RUnlock()
	cl, err := kafka.Open(kafka.Cluster{Alias: "T", Bootstrap: three.Bootstrap()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	got, err := cl.BrokerConfigs(t.Context(), producer, txn)
	if err != nil || !slices.Equal(got[producer], []string{"86400001", "86400001", "86400001"}) || !slices.Equal(got[txn], []string{"604800000", "604800000", "604800000"}) {
		t.Fatalf("%v, %v", got, err)
	}

	const user = "settings-reader"
	newUser(t, user)
	f, _ := securedFlow(t, "bsr", "bsr-.*", "none", user, false, "")
	kc, err := f.cfg.Clusters["T"].Kafka()
	if err != nil {
		t.Fatal(err)
	}
	bare, err := kafka.Open(kc, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if _, err = bare.BrokerConfigs(t.Context(), producer); !errorsAsDenied(err, "DESCRIBE_CONFIGS") {
		t.Errorf("without the right: %v", err)
	}
}

func errorsAsDenied(err error, operation string) bool {
	denied, ok := errors.AsType[*kafka.ErrDenied](err)
	return ok && denied.Operation == operation && denied.Resource == "cluster"
}
