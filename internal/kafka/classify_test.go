package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/partition"
)

// known lists every code that franz-go knows.
func known() []*kerr.Error {
	var all []*kerr.Error
	for code := int16(-1); code < 1000; code++ {
		if e := kerr.TypedErrorForCode(code); e != nil && e.Code == code {
			all = append(all, e)
		}
	}
	return all
}

func TestEveryCodeIsClassified(t *testing.T) {
	all := known()
	if len(all) < 130 {
		t.Fatalf("found only %d codes", len(all))
	}
	for _, e := range all {
		class, ok := classify(e.Code)
		if !ok {
			t.Errorf("%s (%d) is not classified", e.Message, e.Code)
		}
		if class == OK {
			t.Errorf("%s (%d) counts as success", e.Message, e.Code)
		}
		if class.String() == "unknown" {
			t.Errorf("class %d of %s has no name", class, e.Message)
		}
	}
	if Classify(0) != OK || Classify(9999) != Stop {
		t.Error("0 is OK and a code from the future stops")
	}
}

// The codes that decide about loss and duplicates, each with its reason.
func TestClassesThatMatter(t *testing.T) {
	for _, c := range []struct {
		err  *kerr.Error
		want Class
		why  string
	}{
		{kerr.InvalidProducerEpoch, Fenced, "the partition has seen our successor's epoch"},
		{kerr.ProducerFenced, Fenced, "the coordinator has seen our successor"},
		{kerr.InvalidProducerIDMapping, Fenced, "the transactional id has another producer id"},
		{kerr.OutOfOrderSequenceNumber, Sequence, "settle, never skip"},
		{kerr.UnknownProducerID, Sequence, "old brokers forget producers"},
		{kerr.DuplicateSequenceNumber, Sequence, "old brokers"},
		{kerr.CorruptMessage, Corrupt, "Kafka calls it retriable, the bytes stay the same"},
		{kerr.InvalidRecord, Corrupt, "the broker refused what we built"},
		{kerr.ConcurrentTransactions, Retry, "markers are being written"},
		{kerr.UnstableOffsetCommit, Retry, "a transaction is about to decide"},
		{kerr.RequestTimedOut, Retry, "identical bytes again"},
		{kerr.NotEnoughReplicasAfterAppend, Retry, "identical bytes again"},
		{kerr.NotLeaderForPartition, Refresh, "another broker leads"},
		{kerr.FencedLeaderEpoch, Refresh, "our metadata is old"},
		{kerr.UnknownLeaderEpoch, Retry, "the broker's metadata is old"},
		{kerr.UnknownTopicID, Refresh, "deleted, or not known yet"},
		{kerr.NotCoordinator, Refresh, "another broker coordinates"},
		{kerr.OffsetOutOfRange, Range, "trimmed or truncated"},
		{kerr.MessageTooLarge, TooLarge, "split or stop"},
		{kerr.RecordListTooLarge, TooLarge, "split or stop"},
		{kerr.UnknownMemberID, Live, "a memberless commit to a live group"},
		{kerr.TopicAuthorizationFailed, Denied, "an ACL is missing"},
		{kerr.SaslAuthenticationFailed, Denied, "wrong credentials"},
		{kerr.TopicAlreadyExists, Exists, "somebody was faster"},
		{kerr.PolicyViolation, Stop, "the broker's policy"},
		{kerr.UnknownServerError, Stop, "nothing says that it passes"},
	} {
		if got := Classify(c.err.Code); got != c.want {
			t.Errorf("%s is %v, want %v: %s", c.err.Message, got, c.want, c.why)
		}
	}
}

func TestClassifyErr(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Class
	}{
		{nil, OK},
		{kerr.NotLeaderForPartition, Refresh},
		{&ErrDenied{}, Denied},
		{&ErrAuthentication{Err: kerr.SaslAuthenticationFailed}, Denied},
		{&ErrUnreachable{Err: errors.New("refused")}, Refresh},
		{&ErrGroupLive{Err: kerr.UnknownMemberID}, Live},
		{&ErrTxnPending{Err: context.DeadlineExceeded}, Retry},
		{&ErrPartitions{Partitions: map[partition.ID]error{{Topic: "t", Partition: 0}: kerr.UnstableOffsetCommit}}, Retry},
		{&ErrBrokers{Brokers: map[int32]error{1: &ErrDenied{}}}, Denied},
		{context.Canceled, Stop},
		{context.DeadlineExceeded, Refresh},
		{io.ErrUnexpectedEOF, Refresh},
		{ErrNotLoaded, Refresh},
		{ErrNoTopic, Refresh},
		{ErrNoLeader, Refresh},
		{errors.New("something else"), Stop},
	} {
		if got := ClassifyErr(c.err); got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
		if c.err == nil {
			continue
		}
		if got := ClassifyErr(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("wrapped %v is %v, want %v", c.err, got, c.want)
		}
	}
}
