package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/partition"
)

// asks is how requests of this package reach franz-go: what takes long is told
// (Waits). Wrapping the client was preferred to a word in each loop: franz-go
// makes a request again for half a minute without one.
type asks struct{ c *Client }

// Request is kmsg.Requestor's.
func (a asks) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	w := a.c.begin(kmsg.NameForKey(req.Key()), subject(req))
	resp, err := a.c.kgo.Request(ctx, req)
	w.end(err)
	return resp, err
}

// sharded is kgo.Client.RequestSharded. It fails where all parts do.
func (c *Client) sharded(ctx context.Context, req kmsg.Request) []kgo.ResponseShard {
	w := c.begin(kmsg.NameForKey(req.Key()), subject(req))
	shards := c.kgo.RequestSharded(ctx, req)
	var err error
	for _, s := range shards {
		if err = s.Err; err == nil {
			break
		}
	}
	w.end(err)
	return shards
}

// begin notes a request that is about to be made.
func (c *Client) begin(what, subject string) *wait {
	return c.waits.begin(what, subject, c.trouble, nil)
}

// trouble is why the cluster may not answer, as far as connections tell.
func (c *Client) trouble() error {
	if err := c.dials.last(); err != nil {
		return err
	}
	return c.dials.refused()
}

// subject is what a request is about, for people.
func subject(req kmsg.Request) string {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		if len(r.Topics) == 1 && r.Topics[0].Topic != nil {
			return *r.Topics[0].Topic
		}
	case *kmsg.ListOffsetsRequest:
		if len(r.Topics) == 0 || len(r.Topics[0].Partitions) == 0 {
			return ""
		}
		n := -1
		for _, t := range r.Topics {
			n += len(t.Partitions)
		}
		return andMore(partition.ID{Topic: r.Topics[0].Topic, Partition: r.Topics[0].Partitions[0].Partition}.String(), n)
	case *kmsg.OffsetFetchRequest:
		if len(r.Groups) > 0 {
			return andMore(r.Groups[0].Group, len(r.Groups)-1)
		}
	case *kmsg.OffsetCommitRequest:
		return r.Group
	case *kmsg.CreateTopicsRequest:
		if len(r.Topics) > 0 {
			return r.Topics[0].Topic
		}
	case *kmsg.CreatePartitionsRequest:
		if len(r.Topics) > 0 {
			return r.Topics[0].Topic
		}
	}
	return ""
}

func andMore(first string, more int) string {
	if more <= 0 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, more)
}

// retryLog is franz-go's log, which is the only place where it says why it
// makes a request again.
type retryLog struct {
	kgo.Logger
	waits *Waits
}

// Level is kgo.Logger's. The line in question is one of debugging.
func (l retryLog) Level() kgo.LogLevel { return kgo.LogLevelDebug }

// Log is kgo.Logger's.
func (l retryLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if msg == "retrying request" {
		l.retried(keyvals)
	}
	if level <= l.Logger.Level() {
		l.Logger.Log(level, msg, keyvals...)
	}
}

func (l retryLog) retried(keyvals []any) {
	what, why := "", error(nil)
	for i := 0; i+1 < len(keyvals); i += 2 {
		switch keyvals[i] {
		case "request":
			what, _ = keyvals[i+1].(string)
		case "request_error", "response_error":
			if err, ok := keyvals[i+1].(error); ok && err != nil {
				why = err
			}
		}
	}
	if what != "" && why != nil {
		l.waits.retried(what, why)
	}
}
