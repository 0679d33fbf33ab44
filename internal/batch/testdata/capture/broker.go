//go:build capture

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	listen     = "127.0.0.1:29192"
	controller = "127.0.0.1:29193"
)

const serverProperties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=%[3]s
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
`

const log4j = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`

// java runs a class, or a source file, with Kafka's jars.
func java(ctx context.Context, libs, dir string, args ...string) *exec.Cmd {
	base := []string{"-Xmx512m", "-cp", filepath.Join(libs, "*"), "-Dlog4j2.configurationFile=" + filepath.Join(dir, "log4j2.properties")}
	cmd := exec.CommandContext(ctx, "java", append(base, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startBroker formats and starts one broker; stop ends it and waits.
func startBroker(ctx context.Context, libs, dir string) (stop func(), err error) {
	files := map[string]string{
		"server.properties": fmt.Sprintf(serverProperties, listen, controller, filepath.Join(dir, "data")),
		"log4j2.properties": log4j,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	properties := filepath.Join(dir, "server.properties")
	id, err := java(ctx, libs, dir, "kafka.tools.StorageTool", "random-uuid").Output()
	if err != nil {
		return nil, fmt.Errorf("make a cluster id: %w", err)
	}
	format := java(ctx, libs, dir, "kafka.tools.StorageTool", "format", "-t", strings.TrimSpace(string(id)), "-c", properties)
	if err := format.Run(); err != nil {
		return nil, fmt.Errorf("format the broker's storage: %w", err)
	}
	broker := java(ctx, libs, dir, "kafka.Kafka", properties)
	broker.Stdout = os.Stderr
	// A clean stop, so that nothing is left half written in dir.
	broker.Cancel = func() error { return broker.Process.Signal(syscall.SIGTERM) }
	broker.WaitDelay = 15 * time.Second
	if err := broker.Start(); err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	stop = func() {
		_ = broker.Process.Signal(syscall.SIGTERM) // gone already is as good
		_ = broker.Wait()
	}
	return stop, waitFor(ctx, "the broker listens", func() (bool, error) {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", listen)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
}

// waitFor asks four times a second for up to a minute.
func waitFor(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
