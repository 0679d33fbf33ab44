package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/partition"
)

// ErrDenied says which right is missing: an ACL on the named cluster would
// make the call succeed.
type ErrDenied struct {
	Operation string // READ, WRITE, CREATE, ALTER, DESCRIBE, ...
	Resource  string // topic, group, cluster, transactional id
	Name      string // the resource's name; empty for resource cluster
	Cluster   string // alias
}

func (e *ErrDenied) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s on the %s is missing on cluster %s", e.Operation, e.Resource, e.Cluster)
	}
	return fmt.Sprintf("%s on %s %q is missing on cluster %s", e.Operation, e.Resource, e.Name, e.Cluster)
}

// ErrUnreachable says that no connection was made: nothing listens, the name
// does not resolve, a firewall drops packets, or TLS was not agreed on.
type ErrUnreachable struct {
	Cluster string // alias
	Addr    string // host:port tried last, or the bootstrap servers if it is not known which; may be empty
	Err     error
}

func (e *ErrUnreachable) Error() string {
	where := e.Addr
	if where == "" {
		where = "its brokers"
	}
	return fmt.Sprintf("connect to cluster %s at %s: %v%s", e.Cluster, where, e.Err, tlsHint(e.Err))
}

func (e *ErrUnreachable) Unwrap() error { return e.Err }

// tlsHint says what to do about the TLS mistakes that an error text hides.
func tlsHint(err error) string {
	if errors.Is(err, io.EOF) && strings.HasPrefix(err.Error(), handshake) {
		return " (the listener hung up, as one that speaks no TLS does: use its TLS port or turn TLS off)"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return " (the listener speaks no TLS: use its TLS port or turn TLS off)"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return " (the broker's certificate is not signed by a trusted authority: set the trust store)"
	}
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return " (" + otherHost(wrong.Certificate) + ")"
	}
	// The type of an alert is not exported. Brokers answer a missing certificate by "bad certificate" (Java) or
	// "certificate required".
	if text := err.Error(); strings.Contains(text, "remote error: tls: ") && strings.Contains(text, "certificate") {
		return " (the broker refuses our certificate, or that we have none: set the key store to one that its authority signed)"
	}
	return ""
}

// otherHost says what is wrong with a certificate that a broker shows under a name which is not its own. Java still takes a
// common name where there is no subjectAltName (RFC 6125 6.4.4), so such certificates work elsewhere. Go does not, and a check
// of our own in its place would have to be right about wildcards and chains.
func otherHost(c *x509.Certificate) string {
	if len(c.DNSNames) > 0 || len(c.IPAddresses) > 0 || c.Subject.CommonName == "" {
		return "the certificate does not name this host"
	}
	return fmt.Sprintf("the certificate has no subjectAltName and names its host only in its common name (CN=%s), which counts no more, though Java takes it: "+
		"have one issued with a subjectAltName; or check no host names, ssl.endpoint.identification.algorithm= (empty) in properties, verify_hostname: false in YAML, "+
		"and then whoever has any certificate of the same authority can pass for this broker", c.Subject.CommonName)
}

// ErrAuthentication says that the cluster was reached and refused the
// credentials or the SASL mechanism.
type ErrAuthentication struct {
	Cluster   string // alias
	Mechanism string // empty if none was configured
	User      string
	Err       error
}

func (e *ErrAuthentication) Error() string {
	if e.Mechanism == "" {
		return fmt.Sprintf("authenticate to cluster %s: no sasl is configured and the broker closed the connection: %v", e.Cluster, e.Err)
	}
	return fmt.Sprintf("authenticate to cluster %s as user %q with %s: %v", e.Cluster, e.User, e.Mechanism, e.Err)
}

func (e *ErrAuthentication) Unwrap() error { return e.Err }

// loginError marks what went wrong on our side of an authentication, before the broker was asked: no token, no credentials,
// no ticket.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }

func (e *loginError) Unwrap() error { return e.err }

// ErrGroupLive says that a group has members, so that a commit from outside is
// refused: its consumers own its positions.
type ErrGroupLive struct {
	Group   string
	Cluster string // alias
	Err     error
}

func (e *ErrGroupLive) Error() string {
	return fmt.Sprintf("group %q on cluster %s has live members, stop them or leave the position to them: %v", e.Group, e.Cluster, e.Err)
}

func (e *ErrGroupLive) Unwrap() error { return e.Err }

// ErrTxnPending says that a transaction of this transactional id did not end
// in time: a marker cannot be written (a partition without leader, or one that
// has seen a higher epoch), or its coordinator is gone. Waiting may help; another
// transactional id works at once.
type ErrTxnPending struct {
	TxnID   string
	Cluster string        // alias
	State   string        // as the coordinator names it; empty if not known
	Waited  time.Duration // how long we waited
	Err     error
}

func (e *ErrTxnPending) Error() string {
	state := e.State
	if state == "" {
		state = "busy"
	}
	return fmt.Sprintf("transaction %q on cluster %s is still %s after %v: %v",
		e.TxnID, e.Cluster, state, e.Waited.Round(time.Millisecond), e.Err)
}

func (e *ErrTxnPending) Unwrap() error { return e.Err }

// ErrBrokers holds the brokers that did not answer a question put to all of
// them. The result beside it is right but not complete.
type ErrBrokers struct {
	What    string // "list groups"
	Cluster string // alias
	Brokers map[int32]error
}

func (e *ErrBrokers) Error() string {
	parts := make([]string, 0, len(e.Brokers))
	for _, id := range sortedKeys(e.Brokers) {
		parts = append(parts, fmt.Sprintf("broker %d: %v", id, e.Brokers[id]))
	}
	return fmt.Sprintf("%s on cluster %s is not complete: %s", e.What, e.Cluster, strings.Join(parts, "; "))
}

// Unwrap returns the brokers' errors in the order of broker ids.
func (e *ErrBrokers) Unwrap() []error {
	errs := make([]error, 0, len(e.Brokers))
	for _, id := range sortedKeys(e.Brokers) {
		errs = append(errs, e.Brokers[id])
	}
	return errs
}

// ErrPartitions holds the partitions of one group whose position could not be
// read. The positions beside it are right.
type ErrPartitions struct {
	What       string                 // "read positions of group g"
	Cluster    string                 // alias
	Partitions map[partition.ID]error // never empty; each error names its partition
}

func (e *ErrPartitions) Error() string {
	tps := sortedTPs(e.Partitions)
	more := ""
	if len(tps) > 1 {
		more = fmt.Sprintf(" (and %d more partitions)", len(tps)-1)
	}
	return fmt.Sprintf("%s on cluster %s: %v%s", e.What, e.Cluster, e.Partitions[tps[0]], more)
}

// Unwrap returns the partitions' errors in the order of partitions.
func (e *ErrPartitions) Unwrap() []error {
	errs := make([]error, 0, len(e.Partitions))
	for _, tp := range sortedTPs(e.Partitions) {
		errs = append(errs, e.Partitions[tp])
	}
	return errs
}

func sortedTPs[V any](m map[partition.ID]V) []partition.ID {
	tps := make([]partition.ID, 0, len(m))
	for tp := range m {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, partition.ID.Compare)
	return tps
}

// failed is the error of a call that got no usable answer: what was asked,
// which cluster, and the typed cause.
func (c *Client) failed(what string, err error) error {
	return fmt.Errorf("%s on cluster %s: %w", what, c.cluster.Alias, c.cause(err))
}

// cause turns a transport error into one of the typed errors. A broker's error
// code and the end of the caller's context come back as they are.
func (c *Client) cause(err error) error {
	// franz-go takes the end of a TLS handshake for one of its own cases and words it without the address.
	if u, ok := errors.AsType[*ErrUnreachable](err); ok {
		if _, ok := errors.AsType[*kgo.ErrFirstReadEOF](err); ok {
			return u
		}
	}
	if typed(err) || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*loginError](err); ok {
		return c.authentication(err)
	}
	if errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) ||
		errors.Is(err, kerr.IllegalSaslState) {
		return c.authentication(err)
	}
	if _, ok := errors.AsType[*kgo.ErrFirstReadEOF](err); ok {
		// A broker that wants SASL and is offered none hangs up after the first
		// request. franz-go sees the difference to a missing TLS but tells it
		// only in words.
		if c.cluster.SASL == nil && strings.Contains(err.Error(), "is SASL missing?") {
			return c.authentication(err)
		}
		return &ErrUnreachable{Cluster: c.cluster.Alias, Addr: c.anywhere(), Err: err}
	}
	if wrongPort(err) {
		return &ErrUnreachable{Cluster: c.cluster.Alias, Addr: c.anywhere(), Err: fmt.Errorf("%w: %w", errWrongPort, err)}
	}
	// Retries of a dial end in the caller's deadline or in franz-go's own
	// error; the last refusal says which address and why.
	_, network := errors.AsType[net.Error](err)
	lost := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if network || lost || errors.Is(err, context.DeadlineExceeded) || kgo.IsRetryableBrokerErr(err) {
		if last := c.dials.last(); last != nil {
			return fmt.Errorf("%w: %w", err, last)
		}
		if refused := c.dials.refused(); refused != nil {
			return fmt.Errorf("%w: %w", err, c.authentication(fmt.Errorf("the broker hung up: %w", refused)))
		}
	}
	// A deadline is a net.Error too, but without a refused dial it only says
	// that the answer took too long.
	if lost || network && !errors.Is(err, context.DeadlineExceeded) {
		return &ErrUnreachable{Cluster: c.cluster.Alias, Addr: c.anywhere(), Err: err}
	}
	return err
}

// anywhere names the bootstrap servers, for errors of a connection that franz-go does not name.
func (c *Client) anywhere() string { return strings.Join(c.cluster.Bootstrap, ", ") }

// errWrongPort marks a connection to something that does not speak Kafka in
// plain text.
var errWrongPort = errors.New("not a plaintext Kafka listener, turn TLS on or check the port")

// wrongPort recognises an answer in TLS or HTTP. franz-go takes it for the size
// of a response, sees what it is, and says so only in words.
func wrongPort(err error) bool {
	text := err.Error()
	return strings.Contains(text, "invalid large response size") &&
		(strings.Contains(text, "tls alert") || strings.Contains(text, "'HTTP'"))
}

// typed says whether the cause is already one that callers can act on.
func typed(err error) bool {
	if _, ok := errors.AsType[*ErrUnreachable](err); ok {
		return true
	}
	if _, ok := errors.AsType[*ErrAuthentication](err); ok {
		return true
	}
	if _, ok := errors.AsType[*ErrDenied](err); ok {
		return true
	}
	_, ok := errors.AsType[*ErrTxnPending](err)
	return ok
}

func (c *Client) authentication(err error) error {
	e := &ErrAuthentication{Cluster: c.cluster.Alias, Err: c.cluster.Stale(err)}
	if s := c.cluster.SASL; s != nil {
		e.Mechanism, e.User = s.Mechanism, s.User
	}
	return e
}

// topicError is the error of one topic in an answer to a question that needs
// DESCRIBE on it; nil for code 0.
func (c *Client) topicError(topic string, code int16) error {
	switch code {
	case 0:
		return nil
	case kerr.TopicAuthorizationFailed.Code:
		return &ErrDenied{Operation: "DESCRIBE", Resource: "topic", Name: topic, Cluster: c.cluster.Alias}
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code:
		return fmt.Errorf("topic %q on cluster %s: %w: %w", topic, c.cluster.Alias, ErrNoTopic, kerr.ErrorForCode(code))
	}
	return fmt.Errorf("topic %q on cluster %s: %w", topic, c.cluster.Alias, kerr.ErrorForCode(code))
}

// Denied turns franz-go's own error about a topic, from its producer or consumer, into *ErrDenied where operation on the
// topic is what is missing. Other errors come back as they are.
func (c *Client) Denied(topic, operation string, err error) error {
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return &ErrDenied{Operation: operation, Resource: "topic", Name: topic, Cluster: c.cluster.Alias}
	}
	return err
}

// partitionError is a broker's error about one partition in a call that needs
// operation on the topic; nil for code 0.
func (c *Client) partitionError(tp partition.ID, operation string, code int16) error {
	switch code {
	case 0:
		return nil
	case kerr.TopicAuthorizationFailed.Code:
		return &ErrDenied{Operation: operation, Resource: "topic", Name: tp.Topic, Cluster: c.cluster.Alias}
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code:
		return fmt.Errorf("%v on cluster %s: %w: %w", tp, c.cluster.Alias, ErrNoTopic, kerr.ErrorForCode(code))
	}
	return fmt.Errorf("%v on cluster %s: %w", tp, c.cluster.Alias, kerr.ErrorForCode(code))
}

// groupError is a coordinator's error about a group in a call that needs
// operation on it; nil for code 0.
func (c *Client) groupError(group, operation string, code int16) error {
	switch {
	case code == 0:
		return nil
	case code == kerr.GroupAuthorizationFailed.Code:
		return &ErrDenied{Operation: operation, Resource: "group", Name: group, Cluster: c.cluster.Alias}
	case Classify(code) == Live:
		return &ErrGroupLive{Group: group, Cluster: c.cluster.Alias, Err: kerr.ErrorForCode(code)}
	}
	return fmt.Errorf("group %q on cluster %s: %w", group, c.cluster.Alias, kerr.ErrorForCode(code))
}

// errorCode is the broker's error code inside err, if there is one.
func errorCode(err error) (int16, bool) {
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return e.Code, true
	}
	return 0, false
}

// coordinatorError is the error of a group whose coordinator was not found or
// did not answer, in a call that needs operation on the group.
func (c *Client) coordinatorError(group, operation string, err error) error {
	if code, ok := errorCode(err); ok {
		return c.groupError(group, operation, code)
	}
	return fmt.Errorf("group %q: %w", group, c.cause(err))
}
