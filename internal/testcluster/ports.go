//go:build unix

package testcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports are taken below the kernel's range for outgoing connections (32768 to
// 60999 on Linux). A port inside that range is lost while a killed broker is
// down: a client that keeps dialing it is given the very same number as its own
// port, connects to itself, and the restarted broker finds its address in use.
const (
	firstPort = 12000
	lastPort  = 31999
)

// ports are loopback port numbers reserved for one cluster. Each is held by a
// file lock until release, so that a cluster of another test binary does not
// take the port of a broker that is down for a moment.
type ports struct {
	numbers []int
	locks   []*os.File
}

func reservePorts(n int) (*ports, error) {
	p := &ports{}
	const attempts = 200
	for range attempts {
		if len(p.numbers) == n {
			return p, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		lock, err := lockPort(port)
		if err != nil {
			p.release()
			return nil, err
		}
		if lock == nil {
			continue
		}
		p.numbers = append(p.numbers, port)
		p.locks = append(p.locks, lock)
	}
	p.release()
	return nil, fmt.Errorf("no %d free ports between %d and %d after %d attempts", n, firstPort, lastPort, attempts)
}

// lockPort returns nil without an error where another cluster, or any other
// program, has the port.
func lockPort(port int) (*os.File, error) {
	path := filepath.Join(os.TempDir(), "tidemark-port-"+strconv.Itoa(port)+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if errors.Is(err, os.ErrPermission) {
		return nil, nil // the lock file of another user
	}
	if err != nil {
		return nil, fmt.Errorf("open port lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, nil //nolint:nilerr // taken by another process: no port, no error
	}
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		os.Remove(path)
		f.Close()
		return nil, nil //nolint:nilerr // taken by another process: no port, no error
	}
	if err := l.Close(); err != nil {
		f.Close()
		return nil, fmt.Errorf("close probe of port %d: %w", port, err)
	}
	return f, nil
}

// release gives the ports back. The lock files are removed before their locks
// go; a process that has opened one of them in between locks a file without a
// name, which costs nothing but a second cluster's luck with one of 20,000 ports.
func (p *ports) release() {
	for _, f := range p.locks {
		os.Remove(f.Name())
		f.Close()
	}
	p.locks, p.numbers = nil, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
