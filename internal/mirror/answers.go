package mirror

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/failpoint"
	"tidemark/internal/kafka"
	"tidemark/internal/lane"
	"tidemark/internal/partition"
	"tidemark/internal/wire"
	"tidemark/offsetmap"
)

// goneAfter is how often a batch is sent to a partition that the target does not know before it counts as deleted:
// metadata of a fresh topic reaches all brokers only after a moment.
const goneAfter = 20

// answer says what a produce result means to the lane. attempts is how often the batch was sent.
func answer(tp partition.ID, r wire.Result, attempts int, epoch int16) lane.Result {
	if errors.Is(r.Err, wire.ErrUnsent) {
		return lane.Result{Answer: lane.NotSaved, Reason: r.Err.Error()}
	}
	if r.Err != nil {
		return lane.Result{Answer: lane.InDoubt, Reason: r.Err.Error()}
	}
	if r.Code == 0 {
		return lane.Result{Answer: lane.Acked, BaseOffset: offsetmap.TargetOffset(r.BaseOffset)}
	}
	err := kerr.ErrorForCode(r.Code)
	say := func(format string, args ...any) string {
		s := fmt.Sprintf(format, args...)
		if r.Message != "" {
			s += " (" + r.Message + ")"
		}
		return s
	}
	switch {
	case errors.Is(err, kerr.RequestTimedOut), errors.Is(err, kerr.NotEnoughReplicasAfterAppend), errors.Is(err, kerr.UnknownServerError), errors.Is(err, kerr.NetworkException):
		return lane.Result{Answer: lane.InDoubt, Reason: err.Error()}
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.ThrottlingQuotaExceeded):
		return lane.Result{Answer: lane.NotSaved, Reason: err.Error()} // checked before the append
	case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.DuplicateSequenceNumber), errors.Is(err, kerr.InvalidProducerIDMapping):
		return lane.Result{Answer: lane.Sequence, Reason: err.Error()}
	case errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.ProducerFenced):
		return lane.Result{Answer: lane.Fenced, Reason: say("%s refuses epoch %d: another owner has the lane", tp, epoch)}
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		if attempts < goneAfter {
			return lane.Result{Answer: lane.InDoubt, Reason: err.Error()}
		}
		return lane.Result{Answer: lane.Refused, Reason: say("remote topic %s does not exist on the target any more", tp.Topic)}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return lane.Result{Answer: lane.Refused, Reason: say("not allowed: WRITE on topic %q is missing on the target", tp.Topic)}
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return lane.Result{Answer: lane.Refused, Reason: say("not allowed: IDEMPOTENT_WRITE on the cluster is missing on the target")}
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return lane.Result{Answer: lane.Refused, Reason: say("the target refuses the batch as too large: raise max.message.bytes of topic %s", tp.Topic)}
	case errors.Is(err, kerr.CorruptMessage):
		return lane.Result{Answer: lane.Refused, Reason: say("the target found a damaged batch (its checksum comes from the source): check the source's log")}
	case errors.Is(err, kerr.InvalidTimestamp):
		return lane.Result{Answer: lane.Refused, Reason: say("the target refuses a record's timestamp: see message.timestamp.before.max.ms and message.timestamp.after.max.ms of topic %s", tp.Topic)}
	case errors.Is(err, kerr.InvalidRecord):
		return lane.Result{Answer: lane.Refused, Reason: say("the target refuses a record, for instance one without key in a compacted topic")}
	}
	switch kafka.Classify(r.Code) {
	case kafka.Retry, kafka.Refresh:
		// Also "not leader": a broker that loses leadership while it waits for its followers answers that after the append.
		return lane.Result{Answer: lane.InDoubt, Reason: err.Error()}
	default:
		return lane.Result{Answer: lane.Refused, Reason: say("the target refuses the batch: %v", err)}
	}
}

// answer takes what came back for a unit of data.
func (l *Lane) answer(e answered) {
	p := e.part
	if o := p.outs[e.unit.ID]; o != nil {
		o.inFlight--
		defer p.letGo(l.flow, e.unit.ID)
	}
	r := answer(p.remoteTP(), e.result, e.unit.Attempts(), e.unit.Epoch)
	if r.Answer == lane.Refused && kafka.Classify(e.result.Code) != kafka.Denied {
		r.Reason = fmt.Sprintf("source records from offset %d on: %s", e.unit.First(), r.Reason)
	}
	if r.Answer == lane.Acked {
		r.LogStart = offsetmap.TargetOffset(e.result.LogStart)
		failpoint.Hit("after-ack")
	}
	l.step(p, lane.Answered{Unit: e.unit, Result: r})
}

// refusal says what a fetch error means for a partition. Errors that pass by themselves are retried inside the fetcher and
// only shown.
func refusal(tp partition.ID, offset offsetmap.SourceOffset, code int16) lane.ReadFailed {
	err := kerr.ErrorForCode(code)
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		// Retention or DeleteRecords passed us (then records are lost for the mirror, which is said and kept in the map), or
		// the log is shorter than it was: the look at both ends decides.
		return lane.ReadFailed{Reason: fmt.Sprintf("source offset %d is out of range", offset), Front: true, Now: true}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return lane.ReadFailed{Reason: fmt.Sprintf("not allowed: READ on topic %q is missing on the source", tp.Topic)}
	case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID):
		return lane.ReadFailed{Reason: "the source topic is gone"}
	case kafka.Classify(code) == kafka.Corrupt:
		return lane.ReadFailed{Reason: fmt.Sprintf("the source broker reports a damaged batch at offset %d", offset), Front: true}
	}
	return lane.ReadFailed{Reason: fmt.Sprintf("read source offset %d: %v", offset, err)}
}
