package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

const (
	// readAhead takes a small response in one read; the body of a large one is
	// read straight into its buffer.
	readAhead = 16 << 10
	// writeBehind gathers the pieces of a request on connections without
	// writev, so that a TLS record does not hold 20 bytes.
	writeBehind = 64 << 10
	// maxResponse refuses a length that can only come from something that is
	// no Kafka broker; four bytes of an HTTP answer read as 1.2 GB. Brokers
	// bound a response by fetch.max.bytes plus one batch.
	maxResponse = 1 << 30
)

// call is one request under way.
type call struct {
	key     int16
	timeout time.Duration // from the sending, or from the previous answer if that is later
	// done gets the response, whose release is then its duty, or the reason
	// why there is none. It runs in the connection's read goroutine, once.
	done func(*buffer, error)

	sent    time.Time   // when the write began
	written atomic.Bool // the write has returned
}

// conn is one connection to a broker. Any goroutine may close it; one at a
// time may send.
type conn struct {
	addr     string
	nc       net.Conn
	plain    bool // writev works
	w        *bufio.Writer
	r        *bufio.Reader
	home     *Net
	versions map[int16]versionRange
	enc      []byte // scratch for requests made by kmsg
	form     *kmsg.RequestFormatter

	// renew is when the SASL session must be renewed; zero: never. It belongs
	// to the goroutine that sends.
	renew time.Time
	// worked says that a Fetch or Produce was answered.
	worked atomic.Bool

	wmu  sync.Mutex // held during a write
	dead error      // under wmu: why nothing can be sent any more
	corr int32      // under wmu: correlation id of the last request

	qmu   sync.Mutex
	queue []*call   // sent and not answered, oldest first
	next  int32     // correlation id of queue[0]
	cause error     // why close was called; nil if it was not
	rests time.Time // since when queue is empty
	// resume, under qmu, is when the broker's throttling ends (KIP-219).
	resume time.Time

	reader errgroup.Group
}

// newConn wraps a connection and starts its read goroutine; close ends it.
func newConn(home *Net, nc net.Conn, addr string) *conn {
	_, plain := nc.(*net.TCPConn)
	c := &conn{
		addr:  addr,
		nc:    nc,
		plain: plain,
		r:     bufio.NewReaderSize(nc, readAhead),
		home:  home,
		form:  kmsg.NewRequestFormatter(kmsg.FormatterClientID(home.clientID())),
		next:  1,
	}
	if !plain {
		c.w = bufio.NewWriterSize(nc, writeBehind)
	}
	c.reader.Go(c.read)
	return c
}

// send writes one request, whose pieces are header and body without the length
// in front of them: room for it and for the correlation id is in parts[0].
// An error means that nothing was written and that cl.done will not be called.
// In every other case cl.done is called, also when the write breaks off.
func (c *conn) send(parts net.Buffers, cl *call) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.dead != nil {
		return c.dead
	}
	c.corr++
	binary.BigEndian.PutUint32(parts[0], uint32(size-4))
	binary.BigEndian.PutUint32(parts[0][8:], uint32(c.corr))
	cl.sent = time.Now()
	c.enqueue(cl)
	err := c.nc.SetWriteDeadline(cl.sent.Add(cl.timeout))
	if err == nil {
		err = c.write(parts)
	}
	cl.written.Store(true)
	if err != nil {
		c.shut(fmt.Errorf("write to broker at %s: %w", c.addr, err))
	}
	return nil
}

func (c *conn) write(parts net.Buffers) error {
	if c.plain {
		_, err := parts.WriteTo(c.nc)
		return err
	}
	for _, p := range parts {
		if _, err := c.w.Write(p); err != nil {
			return err
		}
	}
	return c.w.Flush()
}

// enqueue makes cl the newest of the requests that wait for an answer.
func (c *conn) enqueue(cl *call) {
	c.qmu.Lock()
	defer c.qmu.Unlock()
	c.queue = append(c.queue, cl)
	if len(c.queue) == 1 {
		c.expect(cl.sent.Add(cl.timeout))
	}
}

// expect sets the time by which the next answer must be there; zero: none is
// due. The caller holds qmu. A connection that refuses a deadline is closed
// already, which its reader learns from its next read.
func (c *conn) expect(by time.Time) { _ = c.nc.SetReadDeadline(by) }

// read delivers answers until the connection ends, and then fails everything
// that is still under way, in order.
func (c *conn) read() error {
	err := c.answers()
	c.shut(err)
	// With wmu held no write is under way, so nobody touches a request's bytes
	// after its done has been called.
	c.wmu.Lock()
	c.qmu.Lock()
	if c.cause != nil {
		err = c.cause
	}
	c.dead = err
	left := c.queue
	c.queue = nil
	c.qmu.Unlock()
	c.wmu.Unlock()
	c.home.forget(c)
	for _, cl := range left {
		cl.done(nil, err)
	}
	return nil
}

// answers reads responses and hands each to the oldest request.
func (c *conn) answers() error {
	var head [8]byte
	for {
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return c.explain(err)
		}
		size := int(int32(binary.BigEndian.Uint32(head[:])))
		if size < 4 || size > maxResponse {
			return fmt.Errorf("broker at %s announced a response of %d bytes: is it a Kafka listener, and is TLS set as it should be?", c.addr, size)
		}
		got := int32(binary.BigEndian.Uint32(head[4:]))
		c.qmu.Lock()
		want, idle := c.next, len(c.queue) == 0
		c.qmu.Unlock()
		if idle || got != want {
			return fmt.Errorf("broker at %s sent correlation id %d, expected %d", c.addr, got, want)
		}
		buf, err := c.body(size - 4)
		if err != nil {
			return c.explain(err)
		}
		cl := c.dequeue()
		if !cl.written.Load() {
			// The answer overtook the return of the write that it answers.
			c.wmu.Lock()
			c.wmu.Unlock() //nolint:staticcheck // waits for that write to return
		}
		cl.done(buf, nil)
	}
}

// body reads the n bytes of a response behind its correlation id. More than
// the largest buffer that is reused takes memory as it comes: a length that is
// none must not take a gigabyte.
func (c *conn) body(n int) (*buffer, error) {
	buf := c.home.pool.get(min(n, classSize(classes-1)))
	for have := 0; ; {
		if _, err := io.ReadFull(c.r, buf.b[have:]); err != nil {
			buf.release()
			return nil, err
		}
		if have = len(buf.b); have == n {
			return buf, nil
		}
		larger := c.home.pool.get(min(n, 2*have))
		copy(larger.b, buf.b)
		buf.release()
		buf = larger
	}
}

// dequeue takes the request that was just answered. The next one's time starts
// now at the earliest: brokers do not look at a request of a connection before
// they have answered the previous one.
func (c *conn) dequeue() *call {
	c.qmu.Lock()
	defer c.qmu.Unlock()
	cl := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	c.next++
	if len(c.queue) == 0 {
		c.rests = time.Now()
		c.expect(time.Time{})
	} else {
		c.expect(time.Now().Add(c.queue[0].timeout))
	}
	return cl
}

// unused says whether nothing was under way for that long, the time apart that
// the broker asked for by throttling. Brokers close such a connection, and a
// firewall may have forgotten it, which shows only when a request on it gets no
// answer.
func (c *conn) unused(d time.Duration) bool {
	c.qmu.Lock()
	defer c.qmu.Unlock()
	return len(c.queue) == 0 && !c.rests.IsZero() && time.Since(c.rests) > d && time.Since(c.resume) > d
}

// explain says what the end of a read means.
func (c *conn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.qmu.Lock()
		defer c.qmu.Unlock()
		if len(c.queue) > 0 {
			return fmt.Errorf("broker at %s did not answer %s within %v: %w",
				c.addr, kmsg.NameForKey(c.queue[0].key), c.queue[0].timeout, err)
		}
	}
	return fmt.Errorf("read from broker at %s: %w", c.addr, err)
}

// shut closes the socket, which ends the read goroutine and any write. The
// first cause is what requests under way are told.
func (c *conn) shut(cause error) {
	c.qmu.Lock()
	first := c.cause == nil
	if first {
		c.cause = cause
	}
	c.qmu.Unlock()
	if !first {
		return
	}
	// tls.Conn.Close waits up to 5 s to write an alert that nobody needs: every
	// Kafka message carries its length, so an end without it hides nothing.
	nc := c.nc
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	// The connection is given up; there is nothing to do about an error.
	_ = nc.Close()
}

// close ends the connection and waits until every request under way has been
// told cause. It must not be called from a done function.
func (c *conn) close(cause error) {
	c.shut(cause)
	// The read goroutine has no error of its own, see read.
	_ = c.reader.Wait()
}

// alive says whether requests can be sent.
func (c *conn) alive() bool {
	c.qmu.Lock()
	defer c.qmu.Unlock()
	return c.cause == nil
}

// answer is what a request came to.
type answer struct {
	buf *buffer
	err error
}

// roundTrip sends one request and waits for its answer. The end of ctx closes
// the connection: the answer that would still come has no taker.
func (c *conn) roundTrip(ctx context.Context, req kmsg.Request, timeout time.Duration) (*buffer, error) {
	got := make(chan answer, 1)
	c.enc = c.form.AppendRequest(c.enc[:0], req, 0)
	err := c.send(net.Buffers{c.enc}, &call{
		key:     req.Key(),
		timeout: timeout,
		done:    func(b *buffer, err error) { got <- answer{b, err} },
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.buf, a.err
	case <-ctx.Done():
	}
	c.close(ctx.Err())
	if a := <-got; a.buf != nil {
		a.buf.release()
	}
	return nil, ctx.Err()
}

// responseBody is the part of a response behind its header, which in flexible
// versions (tagged) ends in tags. None are defined so far. ApiVersions
// responses never have any: a client must be able to read the refusal of a
// version that the broker does not know.
func responseBody(b *buffer, tagged bool) ([]byte, error) {
	rest := b.b
	if !tagged {
		return rest, nil
	}
	count, n := binary.Uvarint(rest)
	if n <= 0 {
		return nil, io.ErrUnexpectedEOF
	}
	rest = rest[n:]
	for range count {
		_, n := binary.Uvarint(rest) // the tag
		if n <= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		size, m := binary.Uvarint(rest[n:])
		if m <= 0 || size > uint64(len(rest)-n-m) {
			return nil, io.ErrUnexpectedEOF
		}
		rest = rest[n+m+int(size):]
	}
	return rest, nil
}
