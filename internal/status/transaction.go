package status

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/internal/prose"
)

// Transaction is one that is open on a partition of the source.
type Transaction struct {
	ProducerID    int64     `json:"producer_id"`
	ProducerEpoch int16     `json:"producer_epoch"`
	ID            string    `json:"transactional_id,omitempty"` // empty where no coordinator tells it
	StartOffset   int64     `json:"start_offset"`               // its first record; nothing from there on is read as committed
	Since         time.Time `json:"since"`                      // when it began; where no coordinator tells, when its last record was written
	Hangs         bool      `json:"hangs"`                      // it is older than coordinators let any become, so nothing will end it by itself
}

// whose names the transaction and its age.
func (t Transaction) whose(now time.Time) string {
	what := fmt.Sprintf("the transaction of producer %d", t.ProducerID)
	if t.ID != "" {
		what += " (" + strconv.Quote(t.ID) + ")"
	}
	return what + ", open for " + age(t.Since, now)
}

// hangs is what to do about a transaction that nothing ends, behind its name and age.
func (h Header) hangs(topic string, partition int32, t Transaction) string {
	on := h.Tools.Source
	return fmt.Sprintf("which is longer than transaction.max.timeout.ms allows, so nothing ends it; if its application is gone: %s abort --topic %s --partition %d --start-offset %d%s",
		on.command("kafka-transactions.sh"), prose.ShellWord(topic), partition, t.StartOffset, on.login())
}
