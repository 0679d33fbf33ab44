package kafka

import (
	"testing"

	"go.uber.org/goleak"
)

// Every client and embedded cluster is closed when its test ends, so whatever
// still runs after all tests was left behind by a call.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
