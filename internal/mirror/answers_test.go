package mirror

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
)

// TestAnswers: what a target's answer means. Only what was surely not appended counts as not saved: sent again with other
// bytes it would stand twice.
func TestAnswers(t *testing.T) {
	tp := partition.ID{Topic: "A.orders", Partition: 3}
	code := func(e *kerr.Error) wire.Result { return wire.Result{Code: e.Code} }
	for _, c := range []struct {
		result   wire.Result
		attempts int
		want     lane.Answer
		says     string
	}{
		{wire.Result{}, 1, lane.Acked, ""},
		{wire.Result{Err: fmt.Errorf("%w: too late", wire.ErrUnsent)}, 1, lane.NotSaved, "too late"},
		{wire.Result{Err: errors.New("connection lost")}, 1, lane.InDoubt, "connection lost"},
		{code(kerr.NotEnoughReplicas), 1, lane.NotSaved, "NOT_ENOUGH_REPLICAS"},
		{code(kerr.NotEnoughReplicasAfterAppend), 1, lane.InDoubt, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
		{code(kerr.RequestTimedOut), 1, lane.InDoubt, "REQUEST_TIMED_OUT"},
		{code(kerr.UnknownServerError), 1, lane.InDoubt, "UNKNOWN_SERVER_ERROR"},
		{code(kerr.NotLeaderForPartition), 1, lane.InDoubt, "NOT_LEADER"},
		{code(kerr.KafkaStorageError), 1, lane.InDoubt, "KAFKA_STORAGE_ERROR"},
		{code(kerr.OutOfOrderSequenceNumber), 1, lane.Sequence, "OUT_OF_ORDER_SEQUENCE_NUMBER"},
		{code(kerr.UnknownProducerID), 1, lane.Sequence, "UNKNOWN_PRODUCER_ID"},
		{code(kerr.InvalidProducerEpoch), 1, lane.Fenced, "A.orders-3 refuses epoch 9: another owner has the lane"},
		{code(kerr.ProducerFenced), 1, lane.Fenced, "another owner has the lane"},
		{code(kerr.UnknownTopicOrPartition), goneAfter - 1, lane.InDoubt, "UNKNOWN_TOPIC_OR_PARTITION"},
		{code(kerr.UnknownTopicOrPartition), goneAfter, lane.Refused, "remote topic A.orders does not exist on the target any more"},
		{code(kerr.TopicAuthorizationFailed), 1, lane.Refused, "WRITE on topic \"A.orders\""},
		{code(kerr.MessageTooLarge), 1, lane.Refused, "max.message.bytes"},
		{wire.Result{Code: kerr.InvalidRecord.Code, Message: "no key"}, 1, lane.Refused, "(no key)"},
	} {
		if got := answer(tp, c.result, c.attempts, 9); got.Answer != c.want || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%+v after %d attempts: %s, want %s that says %q", c.result, c.attempts, got, c.want, c.says)
		}
	}
}

// TestRefusals: what the source's refusal of a read means.
func TestRefusals(t *testing.T) {
	tp := partition.ID{Topic: "orders", Partition: 3}
	for _, c := range []struct {
		err              *kerr.Error
		front, now, last bool
		says             string
	}{
		{kerr.OffsetOutOfRange, true, true, false, "source offset 7 is out of range"},
		{kerr.TopicAuthorizationFailed, false, false, false, "READ on topic \"orders\""},
		{kerr.UnknownTopicID, false, false, false, "the source topic is gone"},
		{kerr.CorruptMessage, true, false, false, "damaged batch at offset 7"},
		{kerr.InvalidRequest, false, false, false, "read source offset 7: INVALID_REQUEST"},
	} {
		got := refusal(tp, 7, c.err.Code)
		if got.Front != c.front || got.Now != c.now || got.Final != c.last || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%s: %+v, want one that says %q", c.err.Message, got, c.says)
		}
	}
}
