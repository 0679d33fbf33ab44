package mirror

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/kafka"
	"tidemark/internal/ledger"
	"tidemark/internal/partition"
	"tidemark/internal/testcluster"
	"tidemark/internal/translate"
	"tidemark/internal/verdicts"
	"tidemark/offsetmap"
)

// heard keeps a flow's log lines, beside the test's own log.
type heard struct {
	next  io.Writer
	mu    sync.Mutex
	lines []string
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	h.lines = append(h.lines, string(p))
	h.mu.Unlock()
	return h.next.Write(p)
}

// line says whether one line holds all parts.
func (h *heard) line(parts ...string) bool { return h.count(parts...) > 0 }

// count is how many lines hold all parts.
func (h *heard) count(parts ...string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			n++
		}
	}
	return n
}

// listen makes the log of the flows that are started from now on readable.
func (r *rig) listen() *heard {
	h := &heard{next: testLog{r.t}}
	r.log = slog.New(slog.NewTextHandler(h, nil))
	return h
}

func (r *rig) until(what string, ok func() (bool, string)) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Second)
	defer cancel()
	err := testcluster.Await(ctx, what, func(context.Context) (bool, string, error) {
		done, why := ok()
		return done, why, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// refuses is a test in which the mirror forwards damage on purpose, under the source's own checksum, so that the target
// refuses it.
type refuses struct{ *testing.T }

func (t refuses) Errorf(format string, args ...any) {
	t.Helper()
	if s := fmt.Sprintf(format, args...); strings.Contains(s, "corrupt batch: crc") {
		t.Logf("%s", s)
		return
	}
	t.T.Errorf(format, args...)
}

// both creates a topic and its copy.
func (r *rig) both(topic string, partitions int32) {
	r.t.Helper()
	r.create(r.src, topic, partitions, nil)
	r.create(r.dst, "A."+topic, partitions, nil)
}

// halt stops a flow cleanly.
func (run *running) halt(t *testing.T) {
	t.Helper()
	run.stop()
	run.wg.Wait()
	for n, err := range run.errs {
		if err != nil {
			t.Errorf("lane %d: %v", n, err)
		}
	}
}

// commit gives the flow one group's position.
func (run *running) commit(group string, tp partition.ID, offset int64) {
	run.flow.mu.Lock()
	next := map[partition.ID][]verdicts.Commit{}
	for at, cs := range run.flow.commits {
		next[at] = slices.Clone(cs)
	}
	run.flow.mu.Unlock()
	next[tp] = append(next[tp], verdicts.Commit{Group: group, Offset: offsetmap.SourceOffset(offset)})
	run.flow.SetCommits(next)
}

// verdict is what the verdicts topic says last about a position.
func (r *rig) verdict(group string, tp partition.ID) (translate.Verdict, bool) {
	r.t.Helper()
	recs, err := testcluster.Read(r.t.Context(), r.dst.Kgo(), r.settings.Verdicts, testcluster.ReadUncommitted)
	if err != nil {
		r.t.Fatal(err)
	}
	key := string(verdicts.Key{Group: group, Topic: tp.Topic, Partition: tp.Partition}.EncodeKey())
	for _, rec := range slices.Backward(recs) {
		if string(rec.Key) == key && rec.Value != nil {
			row, err := verdicts.ParseRow(rec.Value)
			if err != nil {
				r.t.Fatal(err)
			}
			return row.Verdict, true
		}
	}
	return translate.Verdict{}, false
}

// stopped waits until a group on the partition is told that it is stopped, for a reason that holds all parts.
func (r *rig) stopped(run *running, tp partition.ID, parts ...string) {
	r.t.Helper()
	const group = "watch"
	run.commit(group, tp, 1)
	r.until(tp.String()+" stopped", func() (bool, string) {
		v, ok := r.verdict(group, tp)
		missing := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(v.Reason, p) })
		return ok && v.Kind == translate.PartitionStopped && !missing, v.String()
	})
}

// judged waits for a position's verdict.
func (r *rig) judged(run *running, group string, tp partition.ID, offset int64, ok func(translate.Verdict) bool) translate.Verdict {
	r.t.Helper()
	run.commit(group, tp, offset)
	var got translate.Verdict
	r.until(fmt.Sprintf("a verdict about offset %d of %s", offset, tp), func() (bool, string) {
		v, known := r.verdict(group, tp)
		got = v
		return known && ok(v), v.String()
	})
	return got
}

// end is a target partition's log end.
func (r *rig) end(c *kafka.Client, tp partition.ID) int64 {
	r.t.Helper()
	at, failed := offsets[int64](r.t.Context(), c, []partition.ID{tp}, -1, false)
	if failed[tp] != nil {
		r.t.Fatal(failed[tp])
	}
	return at[tp]
}

// history are the records of a key in a topic of our own, oldest first.
func (r *rig) history(topic, key string) []testcluster.Rec {
	r.t.Helper()
	recs, err := testcluster.Read(r.t.Context(), r.dst.Kgo(), topic, testcluster.ReadUncommitted)
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.DeleteFunc(recs, func(rec testcluster.Rec) bool { return string(rec.Key) != key })
}

// kept is the newest record of a ledger key.
func (r *rig) kept(k ledger.Key) testcluster.Rec {
	r.t.Helper()
	recs := r.history(r.settings.Ledger, k.String())
	if len(recs) == 0 {
		r.t.Fatalf("the ledger has no record %s", k)
	}
	return recs[len(recs)-1]
}

// write appends records to the partitions that they name.
func (r *rig) write(c *kafka.Client, recs ...*kgo.Record) {
	r.t.Helper()
	cl := testcluster.NewClient(r.t, []kgo.Opt{kgo.SeedBrokers(c.Cluster().Bootstrap...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxProduceRequestsInflightPerBroker(1)})
	if err := cl.ProduceSync(r.t.Context(), recs...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// overwrite puts another value under a key of the ledger and gives its offset.
func (r *rig) overwrite(old testcluster.Rec, value []byte) int64 {
	r.t.Helper()
	rec := &kgo.Record{Topic: r.settings.Ledger, Partition: old.Partition, Key: old.Key, Value: value}
	r.write(r.dst, rec)
	return rec.Offset
}

// replace is overwrite, with a clean-up after it that leaves no older value of any key. It writes twice because the last
// batch of a log is never cleaned.
func (r *rig) replace(old testcluster.Rec, value []byte) {
	r.t.Helper()
	r.overwrite(old, value)
	r.overwrite(old, value)
	r.target.Compact()
}

// flipped is a copy with one bit changed.
func flipped(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 0x10
	return b
}

// stored gives the bytes of a source partition as a fetch from offset 0 does.
func (r *rig) stored(topic string) []byte {
	r.t.Helper()
	src, err := r.src.DescribeTopics(r.t.Context(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes = 100, 8<<20
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, src[0].ID
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.PartitionMaxBytes = 8 << 20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(r.t.Context(), r.src.Kgo().Broker(int(r.source.LeaderFor(topic, 0))))
	if err != nil {
		r.t.Fatal(err)
	}
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		r.t.Fatal(kerr.ErrorForCode(p.ErrorCode))
	}
	return p.RecordBatches
}

// lies are batches that the source serves for a topic in place of those that it holds.
type lies struct {
	mu    sync.Mutex
	told  []stretch // nil: the truth
	asked int       // fetches answered with them
}

// stretch is a batch, or a set of messages, and the offset after it as it was before any damage: where a broker's index
// finds it.
type stretch struct {
	next  int64
	bytes []byte
}

func (l *lies) tell(s []stretch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = s
}

func (l *lies) tries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// from is what a fetch from an offset gets.
func (l *lies) from(offset int64) (b []byte) {
	for _, s := range l.told {
		if s.next > offset {
			b = append(b, s.bytes...)
		}
	}
	return b
}

// lie makes the source answer fetches of a one-partition topic with other bytes. The topic gets a broker of its own, so
// that no other topic is part of such a fetch.
func (r *rig) lie(topic string, neighbours ...string) *lies {
	r.t.Helper()
	src, err := r.src.DescribeTopics(r.t.Context(), topic)
	if err != nil {
		r.t.Fatal(err)
	}
	id := src[0].ID
	for node, names := range [][]string{{topic}, neighbours} {
		for _, name := range names {
			if err := r.source.MoveTopicPartition(name, 0, int32(node)); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	l := &lies{}
	r.source.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		r.source.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.told == nil || len(req.Topics) == 0 || req.Topics[0].TopicID != id {
			return nil, nil, false
		}
		l.asked++
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = topic, id
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = 1000, 1000, 0
		rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = -1, -1
		rp.RecordBatches = l.from(req.Topics[0].Partitions[0].FetchOffset)
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	return l
}

// split cuts stored bytes into batches.
func split(b []byte) (out []stretch) {
	for len(b) > 0 {
		v, rest, err := batch.Next(b)
		if err != nil {
			panic(err) // kfake's own bytes
		}
		out = append(out, stretch{next: v.NextOffset(), bytes: slices.Clone(v)})
		b = rest
	}
	return out
}

// leaderless makes the target say of one partition that it has no leader.
func (r *rig) leaderless(topic string, partition int32) {
	addrs := r.target.ListenAddrs()
	r.target.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		r.target.KeepControl()
		req := kreq.(*kmsg.MetadataRequest)
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		for node, addr := range addrs {
			host, port, _ := net.SplitHostPort(addr)
			n, _ := strconv.Atoi(port)
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = int32(node), host, int32(n)
			resp.Brokers = append(resp.Brokers, b)
		}
		asked := false
		for _, rt := range req.Topics {
			if rt.Topic == nil {
				return nil, nil, false
			}
			info := r.target.TopicInfo(*rt.Topic)
			if info == nil {
				return nil, nil, false
			}
			mt := kmsg.NewMetadataResponseTopic()
			mt.Topic, mt.TopicID = rt.Topic, info.TopicID
			for _, p := range r.target.PartitionInfos(*rt.Topic) {
				mp := kmsg.NewMetadataResponseTopicPartition()
				mp.Partition, mp.Leader, mp.LeaderEpoch = p.Partition, p.Leader, p.Epoch
				if *rt.Topic == topic && p.Partition == partition {
					asked = true
					mp.Leader, mp.ErrorCode = -1, kerr.LeaderNotAvailable.Code
				}
				mt.Partitions = append(mt.Partitions, mp)
			}
			resp.Topics = append(resp.Topics, mt)
		}
		return resp, nil, asked
	})
}
