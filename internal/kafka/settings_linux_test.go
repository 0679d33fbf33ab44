package kafka

import (
	"net"
	"syscall"
	"testing"
)

// TestSocketBuffers: the socket has the buffers that are set, which Linux doubles for its own use.
func TestSocketBuffers(t *testing.T) {
	fc, c := fake(t)
	c.Settings = Settings{SendBuffer: 16 << 10, ReceiveBuffer: 32 << 10}
	conn, err := c.DialTLS(deadline(t), fc.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{syscall.SO_SNDBUF: 32 << 10, syscall.SO_RCVBUF: 64 << 10} {
		var have int
		var got error
		if err := raw.Control(func(fd uintptr) { have, got = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option) }); err != nil || got != nil {
			t.Fatal(err, got)
		}
		if have != want {
			t.Errorf("option %d is %d bytes, want %d", option, have, want)
		}
	}
}
