//go:build unix

package testcluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Listener names of a broker. Without security clients and brokers share the
// client listener; otherwise brokers use an internal plaintext one, so that only
// clients meet what a test is about.
const (
	clientListener     = "CLIENTS"
	internalListener   = "INTERNAL"
	controllerListener = "CONTROLLER"
	frontListener      = "FRONT" // plaintext, where a proxy stands in front of it
)

// brokerProps are the properties of node n.
func (r *Real) brokerProps(n *node) map[string]string {
	var voters []string
	for _, m := range r.nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", r.NodeID(m.index), m.controller))
	}
	listeners := clientListener + "://" + n.client + "," + controllerListener + "://" + n.controller
	inter := clientListener
	if n.internal != "" {
		listeners += "," + internalListener + "://" + n.internal
		inter = internalListener
	}
	told := ""
	if n.behind != "" {
		listeners += "," + frontListener + "://" + n.behind
		told = clientListener + "://" + n.client + "," + frontListener + "://" + n.front
		if n.internal != "" {
			told += "," + internalListener + "://" + n.internal
		}
	}
	replicas := strconv.Itoa(r.opts.Brokers)
	minISR := "1"
	if r.opts.Brokers > 1 {
		minISR = "2" // one of three brokers may be down
	}
	props := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(int(r.NodeID(n.index))),
		"controller.quorum.voters":       strings.Join(voters, ","),
		"controller.listener.names":      controllerListener,
		"listeners":                      listeners,
		"inter.broker.listener.name":     inter,
		"listener.security.protocol.map": clientListener + ":" + r.opts.Security.protocol() + "," + controllerListener + ":PLAINTEXT," + internalListener + ":PLAINTEXT," + frontListener + ":PLAINTEXT",
		"log.dirs":                       n.dataDir(),

		"auto.create.topics.enable":                        "false",
		"default.replication.factor":                       replicas,
		"offsets.topic.replication.factor":                 replicas,
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    minISR,
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": replicas,
		"share.coordinator.state.topic.min.isr":            minISR,
		"share.coordinator.state.topic.num.partitions":     "4",
		"group.initial.rebalance.delay.ms":                 "0",
		"group.min.session.timeout.ms":                     "1000",

		// A killed broker is taken out after 4 s, not 9, and can register again
		// no sooner than that.
		"broker.session.timeout.ms":    "4000",
		"broker.heartbeat.interval.ms": "500",

		// Records of 2023 must outlive the test that produced them; tests of
		// retention set retention.ms on their topic and see it within a second.
		"log.retention.ms":                "-1",
		"log.retention.check.interval.ms": "1000",
		"log.initial.task.delay.ms":       "1000",
		"log.segment.delete.delay.ms":     "1000",
		"log.cleaner.backoff.ms":          "200",
		"log.cleaner.dedupe.buffer.size":  strconv.Itoa(8 << 20), // 128 MiB by default, taken at start

		"num.network.threads": "2",
		"num.io.threads":      "4",
	}
	if told != "" {
		props["advertised.listeners"] = told
	}
	maps.Copy(props, securityProps(r.opts, r.certs))
	maps.Copy(props, r.opts.Props)
	for k, v := range props { // a listener more needs the addresses of those that are there
		props[k] = strings.NewReplacer("%CLIENT%", n.client, "%CONTROLLER%", n.controller).Replace(v)
	}
	return props
}

// writeProps writes a Java properties file, sorted, so that two runs compare.
func writeProps(path string, props map[string]string) error {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(&b, "%s=%s\n", key, escape.Replace(props[key]))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write properties: %w", err)
	}
	return nil
}

// loggingFile is the log4j 2 configuration inside a directory.
const loggingFile = "log4j2.properties"

// writeLogging makes JVMs print warnings and errors, with stack traces, to
// stderr, which ends in the file of their process. They would print nothing at
// all by default, not even why they end.
func writeLogging(dir string) error {
	return writeProps(filepath.Join(dir, loggingFile), map[string]string{
		"status":                       "error",
		"rootLogger.level":             "warn",
		"rootLogger.appenderRef.c.ref": "console",
		"appender.c.type":              "Console",
		"appender.c.name":              "console",
		"appender.c.target":            "SYSTEM_ERR",
		"appender.c.layout.type":       "PatternLayout",
		"appender.c.layout.pattern":    "%d{HH:mm:ss,SSS} %p %m (%c{1})%n%ex",
		// Connect's plugin scan warns about every class path entry it cannot read.
		"logger.reflections.name":  "org.reflections",
		"logger.reflections.level": "error",
	})
}

// awaitReady waits until every broker that should answer does: each running
// one knows all the others, and a topic with a replica on each would be created
// (asked with validate only, so nothing is left behind).
func (r *Real) awaitReady(ctx context.Context) error {
	r.mu.Lock()
	var up []*node
	for _, n := range r.nodes {
		if n.proc != nil && n.proc.Running() && !n.frozen {
			up = append(up, n)
		}
	}
	r.mu.Unlock()
	for _, n := range up {
		if err := r.awaitNode(ctx, n, up); err != nil {
			return err
		}
	}
	return nil
}

func (r *Real) awaitNode(ctx context.Context, n *node, up []*node) error {
	// The client asks this one node and nobody else: another broker may still
	// list the previous life of a node that was killed and started again.
	cl, err := kgo.NewClient(append(r.ClientOpts(), kgo.SeedBrokers(n.client))...)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	what := fmt.Sprintf("broker %d", r.NodeID(n.index))
	return Await(ctx, what, func(ctx context.Context) (bool, string, error) {
		if p := r.process(n.index); !p.Running() {
			return false, "", fmt.Errorf("it ended (%w):\n%s", p.Err(), p.LogTail(25))
		}
		return nodeReady(ctx, r, cl, admin, n, up)
	})
}

func nodeReady(ctx context.Context, r *Real, cl *kgo.Client, admin *kadm.Client, n *node, up []*node) (bool, string, error) {
	if err := dialOnce(ctx, n.client); err != nil {
		return false, err.Error(), nil //nolint:nilerr // not listening yet: cheaper to find out than by kgo's retries
	}
	// Not kadm's BrokerMetadata: a request that names no topic is answered from
	// kgo's cache, however old.
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	meta, err := req.RequestWith(ctx, cl.SeedBrokers()[0])
	if err != nil {
		return false, err.Error(), nil //nolint:nilerr // the error is the reason that the waiter shows
	}
	var known []int32
	for _, b := range meta.Brokers {
		known = append(known, b.NodeID)
	}
	for _, m := range up {
		if !slices.Contains(known, r.NodeID(m.index)) {
			return false, fmt.Sprintf("metadata has brokers %v only", known), nil
		}
	}
	res, err := admin.ValidateCreateTopics(ctx, 1, int16(len(up)), nil, "tidemark-ready-probe")
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		return false, "create a topic: " + err.Error(), nil //nolint:nilerr // the error is the reason that the waiter shows
	}
	return true, "", nil
}
