package mm2_test

import (
	"errors"
	"fmt"

	"tidemark/mm2"
)

// The bytes of a record in A.checkpoints.internal say where a group stands on both sides.
func ExampleParseCheckpoint() {
	key := []byte("\x00\x07billing" + "\x00\x08A.orders" + "\x00\x00\x00\x03")
	value := []byte("\x00\x00" + "\x00\x00\x00\x00\x00\x00\x06\x40" + "\x00\x00\x00\x00\x00\x00\x04\xd3" + "\x00\x00")
	c, err := mm2.ParseCheckpoint(key, value)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c)
	fmt.Printf("%s reads on at %d of %s-%d on the target, where it had come to %d on the source\n", c.Group, c.Downstream, c.Topic, c.Partition, c.Upstream)
	// Output:
	// Checkpoint{consumerGroupId=billing, topicPartition=A.orders-3, upstreamOffset=1600, downstreamOffset=1235, metadata=}
	// billing reads on at 1235 of A.orders-3 on the target, where it had come to 1600 on the source
}

// An offset sync says which offset one record got. A null value deletes, which is no damage.
func ExampleParseOffsetSync() {
	key := []byte("\x00\x06orders" + "\x00\x00\x00\x03")
	value := []byte("\x00\x00\x00\x00\x00\x00\x05\xdc" + "\x00\x00\x00\x00\x00\x00\x04\xb0")
	s, err := mm2.ParseOffsetSync(key, value)
	fmt.Println(s, err)
	_, err = mm2.ParseOffsetSync(key, nil)
	fmt.Println(errors.Is(err, mm2.ErrTombstone))
	// Output:
	// OffsetSync{topicPartition=orders-3, upstreamOffset=1500, downstreamOffset=1200} <nil>
	// true
}

// What MirrorMaker 2 makes of its samples: one past the newest one at or below a position, which can be early.
func ExampleSyncTable() {
	var t mm2.SyncTable
	t.Add(mm2.OffsetSync{Topic: "orders", Upstream: 1000, Downstream: 900})
	t.Add(mm2.OffsetSync{Topic: "orders", Upstream: 1500, Downstream: 1200})
	down, used, _ := t.Translate(1400)
	fmt.Printf("source 1400 is target %d, by the record at %d; at most %d records are read again\n", down, used.Upstream, t.Replays(1400, down, mm2.NoEnd))
	_, _, ok := t.Translate(999)
	fmt.Println("source 999 has a place:", ok)
	// Output:
	// source 1400 is target 901, by the record at 1000; at most 299 records are read again
	// source 999 has a place: false
}

// The replication policy gives topics their names on the target, and takes names apart again.
func ExamplePolicy() {
	for _, p := range []mm2.Policy{
		mm2.DefaultPolicy{},
		mm2.DefaultPolicy{Separator: "_"},
		mm2.IdentityPolicy{Source: "A"},
	} {
		name := p.RemoteTopic("A", "orders")
		from, mirrored := p.TopicSource(name)
		fmt.Printf("%s: from %q (%v), checkpoints in %s\n", name, from, mirrored, p.CheckpointsTopic("A"))
	}
	// Output:
	// A.orders: from "A" (true), checkpoints in A.checkpoints.internal
	// A_orders: from "A" (true), checkpoints in A_checkpoints_internal
	// orders: from "A" (true), checkpoints in A.checkpoints.internal
}

// Include and exclude lists are Java's patterns, which match whole names and are case-sensitive.
func ExampleFilter() {
	f, err := mm2.NewKeyedFilter("groups", mm2.DefaultGroups(), mm2.DefaultGroupsExclude())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, group := range []string{"billing", "connect-sink", "Connect-sink"} {
		ok, rule := f.Match(group)
		fmt.Printf("%s: %v, %s\n", group, ok, rule)
	}
	// Output:
	// billing: true, included by groups pattern ".*"
	// connect-sink: false, excluded by groups.exclude pattern "connect-.*"
	// Connect-sink: true, included by groups pattern ".*"
}
