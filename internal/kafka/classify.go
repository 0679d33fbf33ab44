package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Class is what a mirror does about an error. The zero value is OK.
type Class int

const (
	// OK is no error.
	OK Class = iota
	// Retry is trouble that passes: the same request to the same broker after
	// a back-off.
	Retry
	// Refresh means that the answer lies elsewhere: metadata or the
	// coordinator is out of date, or the connection broke. Ask again where to
	// send it, then retry. Only a caller that has refreshed several times may
	// take it as final (a topic that stays unknown is gone).
	Refresh
	// Stop means that the same request will be refused again until somebody
	// changes the request, the configuration or the broker.
	Stop
	// Fenced means that another owner has taken over this identity: write
	// nothing more with it.
	Fenced
	// Denied means that rights or credentials are missing.
	Denied
	// Corrupt means that the bytes are damaged, where they were sent or where
	// they are stored.
	Corrupt
	// Sequence means that the broker's producer state and ours disagree: the
	// state was forgotten, or an earlier batch is missing.
	Sequence
	// TooLarge means that a batch or record exceeds the broker's limit: split
	// it or stop.
	TooLarge
	// Range means that an offset lies outside the log.
	Range
	// Live means that the group has members or is changing them, so its
	// positions are not ours to write.
	Live
	// Exists means that what was to be created is there already.
	Exists
)

// String is the class's name in lower case, for logs and metrics.
func (c Class) String() string {
	switch c {
	case OK:
		return "ok"
	case Retry:
		return "retry"
	case Refresh:
		return "refresh"
	case Stop:
		return "stop"
	case Fenced:
		return "fenced"
	case Denied:
		return "denied"
	case Corrupt:
		return "corrupt"
	case Sequence:
		return "sequence"
	case TooLarge:
		return "too large"
	case Range:
		return "range"
	case Live:
		return "live"
	case Exists:
		return "exists"
	}
	return "unknown"
}

// Classify says what to do about a broker's error code. It does not follow
// Kafka's own "retriable" flag, which is about Java's producer: for a mirror
// CORRUPT_MESSAGE is never retried blindly, and CONCURRENT_TRANSACTIONS always
// is. A code that this version does not know is Stop: going on could lose
// records.
func Classify(code int16) Class {
	class, known := classify(code)
	if !known {
		return Stop
	}
	return class
}

func classify(code int16) (class Class, known bool) {
	switch code {
	case 0:
		return OK, true
	case kerr.RequestTimedOut.Code, kerr.NotEnoughReplicas.Code, kerr.NotEnoughReplicasAfterAppend.Code,
		kerr.CoordinatorLoadInProgress.Code, kerr.ConcurrentTransactions.Code, kerr.UnstableOffsetCommit.Code,
		kerr.ThrottlingQuotaExceeded.Code, kerr.OffsetNotAvailable.Code, kerr.ReassignmentInProgress.Code,
		kerr.UnknownLeaderEpoch.Code, kerr.OperationNotAttempted.Code, kerr.ShareSessionLimitReached.Code,
		kerr.TransactionAbortable.Code:
		return Retry, true
	case kerr.UnknownTopicOrPartition.Code, kerr.LeaderNotAvailable.Code, kerr.NotLeaderForPartition.Code,
		kerr.BrokerNotAvailable.Code, kerr.ReplicaNotAvailable.Code, kerr.NetworkException.Code,
		kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.NotController.Code,
		kerr.StaleControllerEpoch.Code, kerr.KafkaStorageError.Code, kerr.FetchSessionIDNotFound.Code,
		kerr.InvalidFetchSessionEpoch.Code, kerr.FetchSessionTopicIDError.Code, kerr.ListenerNotFound.Code,
		kerr.FencedLeaderEpoch.Code, kerr.StaleBrokerEpoch.Code, kerr.PreferredLeaderNotAvailable.Code,
		kerr.EligibleLeadersNotAvailable.Code, kerr.UnknownTopicID.Code, kerr.InconsistentTopicID.Code,
		kerr.NewLeaderElected.Code, kerr.BrokerIDNotRegistered.Code, kerr.ShareSessionNotFound.Code,
		kerr.InvalidShareSessionEpoch.Code, kerr.RebootstrapRequired.Code:
		return Refresh, true
	case kerr.InvalidProducerEpoch.Code, kerr.ProducerFenced.Code, kerr.InvalidProducerIDMapping.Code,
		kerr.TransactionCoordinatorFenced.Code:
		return Fenced, true
	case kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code,
		kerr.TransactionalIDAuthorizationFailed.Code, kerr.DelegationTokenAuthorizationFailed.Code,
		kerr.SaslAuthenticationFailed.Code, kerr.UnsupportedSaslMechanism.Code, kerr.IllegalSaslState.Code,
		kerr.SecurityDisabled.Code, kerr.DelegationTokenAuthDisabled.Code, kerr.DelegationTokenNotFound.Code,
		kerr.DelegationTokenOwnerMismatch.Code, kerr.DelegationTokenRequestNotAllowed.Code,
		kerr.DelegationTokenExpired.Code, kerr.UnacceptableCredential.Code,
		kerr.PrincipalDeserializationFailure.Code, kerr.InvalidPrincipalType.Code:
		return Denied, true
	case kerr.CorruptMessage.Code, kerr.InvalidRecord.Code:
		return Corrupt, true
	case kerr.OutOfOrderSequenceNumber.Code, kerr.DuplicateSequenceNumber.Code, kerr.UnknownProducerID.Code:
		return Sequence, true
	case kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code:
		return TooLarge, true
	case kerr.OffsetOutOfRange.Code, kerr.OffsetMovedToTieredStorage.Code, kerr.PositionOutOfRange.Code:
		return Range, true
	case kerr.UnknownMemberID.Code, kerr.IllegalGeneration.Code, kerr.RebalanceInProgress.Code,
		kerr.FencedInstanceID.Code, kerr.FencedMemberEpoch.Code, kerr.StaleMemberEpoch.Code,
		kerr.UnreleasedInstanceID.Code, kerr.MemberIDRequired.Code, kerr.NonEmptyGroup.Code,
		kerr.GroupSubscribedToTopic.Code, kerr.GroupMaxSizeReached.Code, kerr.InconsistentGroupProtocol.Code,
		kerr.UnsupportedAssignor.Code:
		return Live, true
	case kerr.TopicAlreadyExists.Code, kerr.DuplicateResource.Code, kerr.DuplicateBrokerRegistration.Code,
		kerr.DuplicateVoter.Code, kerr.ElectionNotNeeded.Code:
		return Exists, true
	}
	return stopCode(code)
}

// stopCode lists the codes that only a change can cure. They are written out,
// not left to a default, so that a code new to franz-go fails the table test
// and somebody decides.
func stopCode(code int16) (class Class, known bool) {
	switch code {
	case kerr.UnknownServerError.Code, kerr.InvalidFetchSize.Code, kerr.OffsetMetadataTooLarge.Code,
		kerr.InvalidTopicException.Code, kerr.InvalidRequiredAcks.Code, kerr.InvalidGroupID.Code,
		kerr.InvalidSessionTimeout.Code, kerr.InvalidCommitOffsetSize.Code, kerr.InvalidTimestamp.Code,
		kerr.UnsupportedVersion.Code, kerr.InvalidPartitions.Code, kerr.InvalidReplicationFactor.Code,
		kerr.InvalidReplicaAssignment.Code, kerr.InvalidConfig.Code, kerr.InvalidRequest.Code,
		kerr.UnsupportedForMessageFormat.Code, kerr.PolicyViolation.Code, kerr.InvalidTxnState.Code,
		kerr.InvalidTransactionTimeout.Code, kerr.LogDirNotFound.Code, kerr.GroupIDNotFound.Code,
		kerr.TopicDeletionDisabled.Code, kerr.UnsupportedCompressionType.Code, kerr.NoReassignmentInProgress.Code,
		kerr.ResourceNotFound.Code, kerr.InconsistentVoterSet.Code, kerr.InvalidUpdateVersion.Code,
		kerr.FeatureUpdateFailed.Code, kerr.SnapshotNotFound.Code, kerr.InconsistentClusterID.Code,
		kerr.TransactionalIDNotFound.Code, kerr.IneligibleReplica.Code, kerr.MismatchedEndpointType.Code,
		kerr.UnsupportedEndpointType.Code, kerr.UnknownControllerID.Code, kerr.UnknownSubscriptionID.Code,
		kerr.TelemetryTooLarge.Code, kerr.InvalidRegistration.Code, kerr.InvalidRecordState.Code,
		kerr.FencedStateEpoch.Code, kerr.InvalidVoterKey.Code, kerr.VoterNotFound.Code,
		kerr.InvalidRegularExpression.Code, kerr.StreamsInvalidTopology.Code,
		kerr.StreamsInvalidTopologyEpoch.Code, kerr.StreamsTopologyFenced.Code, kerr.GroupDeletionFailed.Code,
		kerr.StreamsTopologyDescriptionUpdateFailed.Code, kerr.ControllerIDNotRegistered.Code:
		return Stop, true
	}
	return Stop, false
}

// ClassifyErr classifies any error that this package or franz-go returns; nil
// is OK. An expired deadline and a broken or refused connection are Refresh,
// a canceled context is Stop.
func ClassifyErr(err error) Class {
	if err == nil {
		return OK
	}
	if _, ok := errors.AsType[*ErrDenied](err); ok {
		return Denied
	}
	if _, ok := errors.AsType[*ErrAuthentication](err); ok {
		return Denied
	}
	if _, ok := errors.AsType[*ErrGroupLive](err); ok {
		return Live
	}
	if _, ok := errors.AsType[*ErrTxnPending](err); ok {
		return Retry
	}
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return Classify(e.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) || tlsMistake(err) {
		return Stop
	}
	if _, ok := errors.AsType[*ErrUnreachable](err); ok {
		return Refresh
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return Refresh
	}
	if errors.Is(err, ErrNotLoaded) || errors.Is(err, ErrNoTopic) || errors.Is(err, ErrNoLeader) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || kgo.IsRetryableBrokerErr(err) {
		return Refresh
	}
	return Stop
}

// tlsMistake says whether a handshake failed in a way that no retry cures.
func tlsMistake(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, errWrongPort)
}
