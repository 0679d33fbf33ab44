package inspect

import (
	"context"

	"tidemark/internal/partition"
	"tidemark/internal/status"
	"tidemark/internal/topiclog"
)

// readAll reads partitions of a topic of the target; what could not be read is trouble, in the partitions' order.
func (r *Reader) readAll(ctx context.Context, topic string, partitions []int32, take func(n int32) func(topiclog.Record) error) ([]status.Trouble, error) {
	failed, err := r.target.ReadAll(ctx, topic, partitions, r.progress, take)
	if err != nil {
		return nil, err
	}
	var trouble []status.Trouble
	for _, n := range partitions {
		p := partition.ID{Topic: topic, Partition: n}
		if err := failed[p]; err != nil {
			trouble = append(trouble, status.Trouble{What: "read " + p.String(), Error: err.Error()})
		}
	}
	return trouble, nil
}
