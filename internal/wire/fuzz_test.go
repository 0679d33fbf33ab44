package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/batch"
	"tidemark/internal/fuzzing"
	"tidemark/internal/kafka"
	"tidemark/internal/partition"
)

// fuzzID is the id of the topic that fuzzed responses are about.
func fuzzID() [16]byte { return [16]byte{1, 2, 15: 3} }

// idle is a client that is never asked for anything.
func idle(f *testing.F) *kafka.Client {
	client, err := kafka.Open(kafka.Cluster{Alias: "A", Bootstrap: []string{"127.0.0.1:1"}}, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(client.Close)
	return client
}

// unconnected is a Net that knows no leader and reaches nobody. What goes back to its pool is overwritten.
func unconnected(client *kafka.Client, freed *int) *Net {
	n := New(kafka.Cluster{Alias: "A"}, kafka.NewMetadata(client), slog.New(slog.DiscardHandler))
	n.pool.freed = func(b []byte) {
		*freed++
		for i := range b[:min(len(b), 64<<10)] { // more would only cost time
			b[i] = 0xAA
		}
	}
	return n
}

// received is a response as the connection hands it over.
func received(n *Net, response []byte) *buffer {
	buf := n.pool.get(len(response))
	copy(buf.b, response)
	return buf
}

// fetched is a fetch response of that version about partitions 0, 1 and 2 of topic t.
func fetched(version int16, shape func(*kmsg.FetchResponse)) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = version
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = "t", fuzzID()
	for i := range int32(3) {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = i, 40, 30, 1
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	shape(resp)
	return headed(resp)
}

// headed is a response with the empty tags of its header, where its version has them.
func headed(resp kmsg.Response) []byte {
	if resp.IsFlexible() && kmsg.Key(resp.Key()) != kmsg.ApiVersions {
		return resp.AppendTo([]byte{0})
	}
	return resp.AppendTo(nil)
}

// FuzzFetchResponse: whatever a broker answers, only partitions that were asked for are told of, each at the offset that
// was asked for, with whole batches of this response, whose memory goes back with the last of them.
func FuzzFetchResponse(f *testing.F) {
	records := append(numbered(f, 0, 3, 20, -1), numbered(f, 3, 2, 200, 7)...)
	for _, version := range []int16{4, 11, 12, 13, 17} {
		whole := fetched(version, func(r *kmsg.FetchResponse) {
			p := r.Topics[0].Partitions
			p[0].RecordBatches, p[1].RecordBatches = records, records[:len(records)-9]
			aborted := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			aborted.ProducerID, aborted.FirstOffset = 7, 3
			p[0].AbortedTransactions = append(p[0].AbortedTransactions, aborted)
			p[2].ErrorCode, p[2].CurrentLeader.LeaderID, p[2].CurrentLeader.LeaderEpoch = 6, 2, 9
			r.Brokers = append(r.Brokers, kmsg.FetchResponseBroker{NodeID: 2, Host: "h", Port: 9092})
		})
		for _, cut := range fuzzing.Cuts(whole) {
			f.Add(cut, version)
		}
		f.Add(fetched(version, func(r *kmsg.FetchResponse) {
			p := r.Topics[0].Partitions
			p[0].RecordBatches, p[1].ErrorCode = records[:20], 1
			p[2].DivergingEpoch.Epoch, p[2].DivergingEpoch.EndOffset = 3, 20
			r.ThrottleMillis = 5
		}), version)
		f.Add(fetched(version, func(r *kmsg.FetchResponse) { r.ErrorCode = 70 }), version)
	}
	client := idle(f)
	f.Fuzz(func(t *testing.T, response []byte, version int16) {
		fuzzing.Within(t, 1<<20+400*len(response), func() { checkFetch(t, client, response, max(4, version%18)) })
	})
}

func checkFetch(t *testing.T, client *kafka.Client, response []byte, version int16) {
	freed := 0
	var got []Fetched
	n := unconnected(client, &freed)
	fetcher := n.NewFetcher(FetchOptions{}, func(x Fetched) { got = append(got, x) })
	b := newFetchBroker(fetcher, 1)
	b.link.conn, b.version, b.req.Version, b.request = &conn{home: n}, version, version, 1
	for i := range int32(3) {
		tp := partition.ID{Topic: "t", Partition: i}
		fetcher.Want(tp, int64(i), -1)
		w := fetcher.wants[tp]
		w.seeking, w.id, w.request, w.sentGen = false, fuzzID(), 1, w.gen
		b.attach(w)
	}
	b.lead = fetcher.wants[partition.ID{Topic: "t"}]
	buf := received(n, response)
	err := b.handle(buf)
	buf.release()
	if err != nil && !strings.Contains(err.Error(), "broker 1") {
		t.Fatalf("%v", err)
	}
	if freed == 1 == slices.ContainsFunc(got, func(x Fetched) bool { return x.Release != nil }) {
		t.Fatalf("the response was freed %d times while it is read", freed)
	}
	seen := map[partition.ID]bool{}
	for _, x := range got {
		if x.TP.Topic != "t" || x.TP.Partition < 0 || x.TP.Partition > 2 || x.Offset != int64(x.TP.Partition) {
			t.Fatalf("told of %v at offset %d", x.TP, x.Offset)
		}
		if (x.Release != nil) != (len(x.Records) > 0) || err != nil {
			t.Fatalf("%v: %d bytes of records, to be released: %v, with %v", x.TP, len(x.Records), x.Release != nil, err)
		}
		if x.Release == nil {
			continue
		}
		if seen[x.TP] || !bytes.Contains(response, x.Records) {
			t.Fatalf("%v: %d bytes that are not of the response, or again", x.TP, len(x.Records))
		}
		seen[x.TP] = true
		if whole, need, ok := wholeBatches(x.Records); whole != len(x.Records) || need != 0 || !ok {
			t.Fatalf("%v: %d of %d bytes are whole", x.TP, whole, len(x.Records))
		}
		readAll(t, x)
		x.Release()
	}
	if freed != 1 {
		t.Fatalf("the response was freed %d times", freed)
	}
}

// readAll reads records as a lane does; they may be damaged, and never go on behind their end.
func readAll(t *testing.T, x Fetched) {
	filter := batch.NewAbortFilter(x.Aborted)
	for rest := x.Records; len(rest) > 0; {
		v, behind, err := batch.Next(rest)
		if err != nil {
			return
		}
		if filter.Drop(v) && v.Control() || len(v)+len(behind) != len(rest) {
			t.Fatalf("%v: batch of %d bytes and %d behind it, of %d", x.TP, len(v), len(behind), len(rest))
		}
		rest = behind
	}
}

// FuzzProduceResponse: each batch of a request gets one result, what the answer leaves out is said to be missing, and no
// result points into the response, which is gone by then.
func FuzzProduceResponse(f *testing.F) {
	for _, version := range []int16{3, 8, 9, 12, 13} {
		resp := kmsg.NewPtrProduceResponse()
		resp.Version = version
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = "t", fuzzID()
		for i, code := range []int16{0, 6, 87} {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode, p.BaseOffset, p.LogStartOffset = int32(i), code, 1234, 5
			if code == 87 {
				bad := kmsg.NewProduceResponseTopicPartitionErrorRecord()
				p.ErrorMessage, bad.ErrorMessage = new("invalid"), new("no key")
				p.ErrorRecords = append(p.ErrorRecords, bad)
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
		resp.Brokers = append(resp.Brokers, kmsg.ProduceResponseBroker{NodeID: 2, Host: "h", Port: 9092})
		for _, cut := range fuzzing.Cuts(headed(resp)) {
			f.Add(cut, version)
		}
		resp.Topics[0].Partitions = resp.Topics[0].Partitions[:2]
		resp.Topics[0].Partitions[1].ErrorMessage = new("") // says nothing
		f.Add(headed(resp), version)
	}
	client := idle(f)
	f.Fuzz(func(t *testing.T, response []byte, version int16) {
		fuzzing.Within(t, 1<<20+400*len(response), func() { checkProduce(t, client, response, max(3, version%14)) })
	})
}

func checkProduce(t *testing.T, client *kafka.Client, response []byte, version int16) {
	freed := 0
	n := unconnected(client, &freed)
	b := newProduceBroker(n.NewProducer(ProduceOptions{}), 1)
	fl := &flight{version: version}
	for i := range int32(3) {
		fl.picks = append(fl.picks, pick{line: &line{tp: partition.ID{Topic: "t", Partition: i}}, id: fuzzID()})
	}
	buf := received(n, response)
	replies, err := b.replies(&conn{home: n}, fl, buf)
	before := fmt.Sprintf("%+v", replies)
	buf.release()
	if after := fmt.Sprintf("%+v", replies); after != before {
		t.Fatalf("%s became %s", before, after)
	}
	if (err == nil) != (len(replies) == len(fl.picks)) || err != nil && !strings.HasPrefix(err.Error(), "read response: ") {
		t.Fatalf("%d replies, %v", len(replies), err)
	}
	for i, r := range replies {
		switch {
		case !r.there && (r.Err == nil || r.BaseOffset != -1 || !strings.Contains(r.Err.Error(), fl.picks[i].line.tp.String())):
			t.Fatalf("no answer for batch %d, and %+v", i, r)
		case r.there && (r.Err != nil || r.Code != 0 && (r.BaseOffset != -1 || r.Message == "" && r.Code > 0)):
			t.Fatalf("batch %d: %+v", i, r)
		}
	}
}

// stream is a connection whose other side has sent all it will send.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error)    { return s.Reader.Read(p) }
func (stream) SetReadDeadline(time.Time) error { return nil }
func (stream) Close() error                    { return nil }

// FuzzAnswers: of whatever comes on a connection, each request gets one answer, those that came whole and in order their
// bytes, and all others the reason. A length that is none takes no gigabyte.
func FuzzAnswers(f *testing.F) {
	answer := func(id int32, size int, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(size))
		return append(binary.BigEndian.AppendUint32(b, uint32(id)), body...)
	}
	three := append(append(answer(1, 9, "hello"), answer(2, 4, "")...), answer(3, 6, "ab")...)
	for _, cut := range fuzzing.Cuts(three) {
		f.Add(cut)
	}
	f.Add(append(slices.Clone(three), answer(4, 5, "x")...))
	f.Add(append(answer(1, 5, "x"), answer(3, 5, "y")...))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"))
	f.Add(answer(1, maxResponse, "not as much"))
	f.Add(answer(1, maxResponse+1, ""))
	f.Add(answer(1, 3, ""))
	client := idle(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		fuzzing.Within(t, 100<<20+4*len(sent), func() { checkAnswers(t, client, sent) })
	})
}

func checkAnswers(t *testing.T, client *kafka.Client, sent []byte) {
	freed := 0
	n := unconnected(client, &freed)
	from := stream{Reader: bytes.NewReader(sent)}
	c := &conn{addr: "b:1", nc: from, r: bufio.NewReaderSize(from, readAhead), home: n, next: 1}
	var got []answer
	for range 3 {
		cl := &call{key: int16(kmsg.Fetch), done: func(b *buffer, err error) {
			got = append(got, answer{b, err})
		}}
		cl.written.Store(true)
		c.queue = append(c.queue, cl)
	}
	if err := c.read(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Fatalf("%d answers to 3 requests", len(got))
	}
	rest, whole := sent, true
	for i, a := range got {
		var want []byte
		if whole = whole && len(rest) >= 8; whole {
			size := int64(int32(binary.BigEndian.Uint32(rest)))
			whole = size >= 4 && size+4 <= int64(len(rest)) && int(binary.BigEndian.Uint32(rest[4:])) == i+1
			if whole {
				want, rest = rest[8:4+size], rest[4+size:]
			}
		}
		if whole != (a.err == nil) || a.err != nil && !strings.Contains(a.err.Error(), "b:1") {
			t.Fatalf("request %d: %v, whole: %v", i, a.err, whole)
		}
		if whole {
			if !bytes.Equal(a.buf.b, want) {
				t.Fatalf("request %d: %x, sent %x", i, a.buf.b, want)
			}
			a.buf.release()
		}
	}
}

// TestLargeResponse: one that is larger than any buffer that is reused comes whole.
func TestLargeResponse(t *testing.T) {
	for _, n := range []int{0, 1, 64 << 20, 64<<20 + 1, 150 << 20} {
		sent := make([]byte, n+3)
		for at := 0; at < n; at += 4 << 10 {
			sent[at] = byte(at>>12) | 1
		}
		c := &conn{r: bufio.NewReaderSize(bytes.NewReader(sent), readAhead), home: &Net{pool: &pool{}}}
		buf, err := c.body(n)
		if err != nil || !bytes.Equal(buf.b, sent[:n]) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, err := c.body(4); err == nil {
			t.Errorf("%d bytes: what is missing behind them is not noticed", n)
		}
	}
}

// FuzzHandshake: what a broker says before anything else is read as the protocol has it: written again it is the same.
func FuzzHandshake(f *testing.F) {
	versions := kmsg.NewPtrApiVersionsResponse()
	for key := range int16(5) {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, 10+key
		versions.ApiKeys = append(versions.ApiKeys, k)
	}
	login := kmsg.NewPtrSASLAuthenticateResponse()
	login.SASLAuthBytes, login.SessionLifetimeMillis, login.ErrorMessage = []byte("v=abc"), 3_600_000, new("no")
	for version := range int16(4) {
		versions.Version, login.Version = version, min(version, 2)
		for _, cut := range append(fuzzing.Cuts(headed(versions)), fuzzing.Cuts(headed(login))...) {
			f.Add(cut, version)
		}
	}
	versions.Version, versions.ErrorCode = 0, 35
	f.Add(headed(versions), int16(3))
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		fuzzing.Within(t, 1<<20+400*len(body), func() {
			version = max(0, version%4)
			if got, err := readVersions(body, version); err == nil {
				again, err := readVersions(got.AppendTo(nil), got.Version)
				if diff := cmp.Diff(got, again, cmp.AllowUnexported(kmsg.Tags{})); diff != "" || err != nil {
					t.Fatalf("%v\n%s", err, diff)
				}
			}
			req := kmsg.NewPtrSASLAuthenticateRequest()
			req.Version = min(version, 2)
			if got, err := readAuthenticate(&buffer{b: body}, req); err == nil {
				again, err := readAuthenticate(&buffer{b: headed(got)}, req)
				if diff := cmp.Diff(got, again, cmp.AllowUnexported(kmsg.Tags{})); diff != "" || err != nil {
					t.Fatalf("%v\n%s", err, diff)
				}
			}
		})
	})
}
