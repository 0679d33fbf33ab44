package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	txnTopic       = "__transaction_state"
	txnReplication = "transaction.state.log.replication.factor"
)

// txnState is what can be seen of a cluster's topic of transactions.
type txnState struct {
	Described bool // the cluster said whether there is one; without DESCRIBE on it nobody can
	Exists    bool
	Brokers   int   // that live
	Factor    []int // replication factor that the brokers would create it with, one for each that told
}

// noCoordinator finds out why transactions have no coordinator, if it is
// something that no waiting cures: the topic of transactions cannot be created.
// Brokers answer COORDINATOR_NOT_AVAILABLE for ever then. Empty where it is
// something else, or not known.
func (c *Client) noCoordinator(ctx context.Context, err error) string {
	if !errors.Is(err, kerr.CoordinatorNotAvailable) {
		return ""
	}
	return c.seeTxnState(ctx).obstacle()
}

// NoTransactions says why a cluster can do no transactions, and what to do, as
// far as that is seen for certain without asking for one. Empty where nothing
// shows it, or where too little may be seen.
func (c *Client) NoTransactions(ctx context.Context) string {
	s := c.seeTxnState(ctx)
	if !s.Described || len(s.Factor) == 0 {
		return ""
	}
	return s.obstacle()
}

func (c *Client) seeTxnState(ctx context.Context) txnState {
	var s txnState
	if got, err := c.DescribeTopics(ctx, txnTopic); err == nil && len(got) == 1 {
		s.Exists = got[0].Err == nil
		s.Described = s.Exists || errors.Is(got[0].Err, ErrNoTopic)
	}
	brokers, err := c.admin.ListBrokers(ctx)
	if err != nil {
		return s
	}
	s.Brokers = len(brokers)
	// What some brokers do not tell, others do.
	got, _ := c.BrokerConfigs(ctx, txnReplication)
	for _, v := range got[txnReplication] {
		if n, err := strconv.Atoi(v); err == nil {
			s.Factor = append(s.Factor, n)
		}
	}
	return s
}

// obstacle says why the topic of transactions cannot be created, and what to
// do; empty where nothing shows that.
func (s txnState) obstacle() string {
	if s.Exists || s.Brokers == 0 {
		return ""
	}
	brokers := strconv.Itoa(s.Brokers) + " brokers"
	if s.Brokers == 1 {
		brokers = "1 broker"
	}
	switch {
	case len(s.Factor) > 0 && slices.Max(s.Factor) > s.Brokers:
		unless := ""
		if !s.Described {
			unless = ", unless it is there already (DESCRIBE on it is missing, so it cannot be seen)"
		}
		return fmt.Sprintf("the cluster can do no transactions, which fence former owners: its topic %s cannot be created, because %s is %d and the cluster has %s%s; set it to at most %d on the brokers and restart them, or add brokers",
			txnTopic, txnReplication, slices.Max(s.Factor), brokers, unless, s.Brokers)
	case s.Described && len(s.Factor) == 0:
		return fmt.Sprintf("the cluster can do no transactions, which fence former owners: its topic %s does not exist, and brokers create it at the first request; look at %s and the brokers' logs (the cluster has %s; DESCRIBE_CONFIGS on it is missing, so the setting cannot be seen)",
			txnTopic, txnReplication, brokers)
	}
	return ""
}
