package e2e

import (
	"syscall"
	"testing"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/testcluster"
)

// TestThrottle: a flow copies no faster than somebody has decided, from the first record of a start on, and with two workers that
// share it; in the end everything is there. Lifted, the rest comes.
func TestThrottle(t *testing.T) {
	t.Parallel()
	const topic, perSecond, value = "thr-t", 200_000, 10_000
	f := newFlow(t, "thr", topic, "thr-g.*", "")
	l := testcluster.Load{Topic: topic, Partitions: 4, Count: 160, ValueBytes: value, BatchBytes: 20_000}
	f.topic(topic, l.Partitions, nil)
	f.produce(l)
	w := f.process()
	f.copied(topic, testcluster.ReadCommitted)
	throttle := func(code int, bytes string, parts ...string) {
		t.Helper()
		f.decides(code, []string{"throttle", "FILE", "--bytes", bytes, "--yes", "--reason", "a shared link"}, parts...)
	}
	throttle(2, "off", "no throttle of flow thr->")
	throttle(2, "fast", "such as 50MB or 64MiB")
	throttle(0, "1kB", "1 kB a second at most", "in force after")
	throttle(2, "1000", "that is in force since")
	throttle(0, "200kB", "in force after")
	if s := document[struct{ Flows []status.Flow }](f, "status", "FILE").Flows[0]; s.Throttle == nil || s.Throttle.Bytes != perSecond || s.Throttle.Reason != "a shared link" {
		t.Errorf("status: %+v", s.Throttle)
	}
	out, _ := f.tool("controls")
	says(t, out, "throttle to 200 kB a second", "in force")

	// An answer of 64 KiB can be on its way already, for each of the workers and of the brokers.
	slow := func(what string) {
		t.Helper()
		began := time.Now()
		l.First += l.Count
		f.produce(l)
		f.copied(topic, testcluster.ReadCommitted)
		bytes := l.Count * value
		least := time.Duration(float64(bytes-8<<16) / perSecond * float64(time.Second))
		if took := time.Since(began); took < least {
			t.Errorf("%s: %d bytes were copied in %v, %d a second allow no less than %v", what, bytes, took, perSecond, least)
		}
	}
	slow("one worker")
	if err := w.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	f.process()
	slow("one that started")
	other := f.process()
	slow("two workers")
	if err := other.end(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Error(err)
	}
	throttle(0, "1kB", "in force after")
	l.First += l.Count
	f.produce(l)
	throttle(0, "off", "as fast as it can", "in force after")
	f.copied(topic, testcluster.ReadCommitted)
	f.faultless(topic)
	if s := document[struct{ Flows []status.Flow }](f, "status", "FILE").Flows[0]; s.Throttle != nil {
		t.Errorf("status: %+v", s.Throttle)
	}
}
