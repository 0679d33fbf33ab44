package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/batch"
	"tidemark/internal/partition"
)

// scanBudget lets a scan fetch one response while the previous one is read.
const scanBudget = 8 << 20

// ErrOutOfRange says that a log does not hold an offset.
type ErrOutOfRange struct {
	TP     partition.ID
	Offset int64
	// LogStart is the first offset of the log; -1 if it could not be found out.
	LogStart int64
}

func (e *ErrOutOfRange) Error() string {
	return fmt.Sprintf("offset %d of %v is not in the log, which starts at %d", e.Offset, e.TP, e.LogStart)
}

// ErrRefused is a broker's error code for one partition.
type ErrRefused struct {
	TP     partition.ID
	Offset int64
	Code   int16
}

func (e *ErrRefused) Error() string {
	if e.Code == kerr.TopicAuthorizationFailed.Code {
		return fmt.Sprintf("fetch %v at offset %d: READ on topic %q is missing", e.TP, e.Offset, e.TP.Topic)
	}
	return fmt.Sprintf("fetch %v at offset %d: %v", e.TP, e.Offset, kerr.ErrorForCode(e.Code))
}

// Unwrap is the kerr error of the code.
func (e *ErrRefused) Unwrap() error { return kerr.ErrorForCode(e.Code) }

// Scan reads the batches of a partition as they are stored, control batches
// too, from the one that contains from until the position reaches to. The
// first batch may begin before from. fn must not keep its argument; an error
// of fn ends the scan and is returned.
//
// isolation is 0 to read up to the high watermark and 1 to read up to the last
// stable offset. Batches of aborted transactions come as well; with isolation
// 1, aborted marks them. It is false for markers, which View.Control tells.
//
// Scan waits for a log that does not reach to yet, so take to from ListOffsets
// with the same isolation, and bound ctx. It never takes an empty answer for
// the end: brokers give those when they are slow, too.
//
// Errors: *ErrOutOfRange, *ErrRefused, batch.ErrMagic for messages older than
// v2, or ctx's error together with the trouble that made it wait.
func (n *Net) Scan(ctx context.Context, tp partition.ID, from, to int64, isolation int8, fn func(v batch.View, aborted bool) error) error {
	return n.ScanOld(ctx, tp, from, to, isolation, fn, nil)
}

// ScanOld is Scan for logs that may hold sets of v0 and v1 messages, as topics
// do that are older than Kafka 0.11. old gets each set, as batch.Legacy cuts it
// off, and says which offset follows it; the set may begin before from. nil
// means that there are none.
func (n *Net) ScanOld(ctx context.Context, tp partition.ID, from, to int64, isolation int8, fn func(v batch.View, aborted bool) error, old func(set []byte) (next int64, err error)) error {
	if from >= to {
		return nil
	}
	scanCtx, cancel := context.WithCancel(ctx)
	g, scanCtx := errgroup.WithContext(scanCtx)
	got := make(chan Fetched)
	f := n.NewFetcher(FetchOptions{Isolation: isolation, Budget: NewBudget(scanBudget)}, func(x Fetched) {
		if len(x.Records) == 0 && x.Code == 0 && x.Err == nil && x.Diverging == nil {
			return
		}
		select {
		case got <- x:
		case <-scanCtx.Done():
			if x.Release != nil {
				x.Release()
			}
		}
	})
	g.Go(func() error { return f.Run(scanCtx) })
	err := scan(scanCtx, f, got, tp, from, to, visitor{fn, old})
	cancel()
	ran := g.Wait()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	case errors.Is(ran, ErrClosed):
		return fmt.Errorf("scan %v: %w", tp, ran)
	}
	if out, ok := errors.AsType[*ErrOutOfRange](err); ok {
		out.LogStart = n.logStart(ctx, tp)
	}
	return err
}

// visitor is what a scan calls.
type visitor struct {
	fn  func(v batch.View, aborted bool) error
	old func(set []byte) (next int64, err error)
}

// scan takes responses until position to is reached.
func scan(ctx context.Context, f *Fetcher, got <-chan Fetched, tp partition.ID, from, to int64, visit visitor) error {
	var trouble error
	for pos := from; pos < to; {
		f.Want(tp, pos, -1)
		var x Fetched
		select {
		case x = <-got:
		case <-ctx.Done():
			err := fmt.Errorf("scan %v at offset %d of %d: %w", tp, pos, to, ctx.Err())
			if trouble != nil {
				err = fmt.Errorf("%w (%w)", err, trouble)
			}
			return err
		}
		switch {
		case x.Code == kerr.OffsetOutOfRange.Code:
			return &ErrOutOfRange{TP: tp, Offset: pos, LogStart: -1}
		case x.Code != 0:
			return &ErrRefused{TP: tp, Offset: pos, Code: x.Code}
		case x.Err != nil:
			trouble = x.Err // still armed
			continue
		case x.Release == nil:
			return fmt.Errorf("scan %v at offset %d: the log diverges, though no epoch was asked about", tp, pos)
		}
		next, err := visit.batches(x, pos, to)
		x.Release()
		if err != nil {
			return fmt.Errorf("scan %v: %w", tp, err)
		}
		if next == pos {
			return fmt.Errorf("scan %v at offset %d: the broker sent only batches below it", tp, pos)
		}
		pos, trouble = next, nil
	}
	return nil
}

// batches gives the batches of one response to the visitor and returns the
// position behind them.
func (s visitor) batches(x Fetched, pos, to int64) (int64, error) {
	filter := batch.NewAbortFilter(x.Aborted)
	for rest := x.Records; len(rest) > 0 && pos < to; {
		v, behind, err := batch.Next(rest)
		if errors.Is(err, batch.ErrMagic) && s.old != nil {
			if pos, rest, err = s.set(rest, pos); err != nil {
				return pos, err
			}
			continue
		}
		if err != nil {
			return pos, fmt.Errorf("at offset %d: %w", pos, err)
		}
		rest = behind
		aborted := filter.Drop(v)
		if v.BaseOffset() >= to {
			return to, nil // nothing is left of what was below it
		}
		if v.NextOffset() <= pos {
			continue // brokers may begin with a batch below the offset asked for
		}
		if err := s.fn(v, aborted); err != nil {
			return pos, err
		}
		pos = v.NextOffset()
	}
	return pos, nil
}

// set gives the old messages at the start of records to the visitor.
func (s visitor) set(records []byte, pos int64) (int64, []byte, error) {
	set, rest, err := batch.Legacy(records)
	if err != nil {
		return pos, nil, fmt.Errorf("at offset %d: %w", pos, err)
	}
	if len(set) == 0 {
		return pos, nil, nil // cut short: the next fetch brings it
	}
	next, err := s.old(set)
	if err != nil {
		return pos, nil, err
	}
	return max(pos, next), rest, nil
}

// logStart asks the leader for the first offset of a log; -1 if it does not
// say. It only completes an error that is certain without it.
func (n *Net) logStart(ctx context.Context, tp partition.ID) int64 {
	const earliest = -2
	leader, err := n.md.Leader(tp)
	if err != nil {
		return -1
	}
	c, err := n.dial(ctx, leader.Addr)
	if err != nil {
		return -1
	}
	defer c.close(context.Canceled)
	req := kmsg.NewPtrListOffsetsRequest()
	if req.Version, err = c.pick(req.Key()); err != nil {
		return -1
	}
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = tp.Partition, earliest
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = tp.Topic, []kmsg.ListOffsetsRequestTopicPartition{p}
	req.ReplicaID, req.Topics = -1, []kmsg.ListOffsetsRequestTopic{t}
	buf, err := c.roundTrip(ctx, req, 10*time.Second)
	if err != nil {
		return -1
	}
	defer buf.release()
	body, err := responseBody(buf, req.IsFlexible())
	if err != nil {
		return -1
	}
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(body); err != nil || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return -1
	}
	if got := resp.Topics[0].Partitions[0]; got.ErrorCode == 0 {
		return got.Offset
	}
	return -1
}
