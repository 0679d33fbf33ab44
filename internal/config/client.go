package config

import (
	"fmt"
	"strings"
	"time"

	"tidemark/internal/config/report"
	"tidemark/internal/config/setting"
	"tidemark/internal/kafka"
)

// Role is what one client of a flow is there for, named as a key under a flow's clients in YAML.
type Role string

// The roles. In a properties file their settings stand where MirrorMaker 2 reads those of its own clients, see internal/config/properties.
const (
	SourceConsumer Role = "source_consumer" // reads records
	SourceAdmin    Role = "source_admin"    // topics, settings, access rules and group positions of the source
	SourceProducer Role = "source_producer" // writes offset syncs, where they are kept on the source
	RecordProducer Role = "record_producer" // writes records to the target
	TargetProducer Role = "target_producer" // writes checkpoints and heartbeats, and offset syncs where they are kept on the target
	TargetConsumer Role = "target_consumer" // reads the verdicts topic
	TargetAdmin    Role = "target_admin"    // lanes, topics, transactions and group positions on the target
)

// AnyRole stands for whatever speaks with a cluster: its settings are those of clusters.<alias>.client, or after "A.".
const AnyRole Role = ""

// Roles are all roles, in the order in which records pass them.
func Roles() []Role {
	return []Role{SourceConsumer, SourceAdmin, SourceProducer, RecordProducer, TargetProducer, TargetConsumer, TargetAdmin}
}

// raw says that the role's connections are the mirror's own; the others are franz-go clients.
func (r Role) raw() bool { return r == SourceConsumer || r == RecordProducer }

// Alias is the cluster that the role talks to.
func (r Role) Alias(f FlowName) string {
	if strings.HasPrefix(string(r), "source") {
		return f.Source
	}
	return f.Target
}

// ClientSettings are what clients of a cluster do that is no address, login or name. Zero means the default. The tags name
// the keys: client under clusters.<alias>.client and under a role in a flow's clients, mm2 in a properties file.
type ClientSettings struct {
	RequestTimeout      time.Duration `client:"request_timeout" mm2:"request.timeout.ms" kind:"bounded" yaml:",omitempty"`
	APITimeout          time.Duration `client:"api_timeout" mm2:"default.api.timeout.ms" kind:"bounded" yaml:",omitempty"`
	ConnectTimeout      time.Duration `client:"connect_timeout" mm2:"socket.connection.setup.timeout.ms" kind:"bounded" yaml:",omitempty"`
	IdleTimeout         time.Duration `client:"idle_timeout" mm2:"connections.max.idle.ms" kind:"bounded" yaml:",omitempty"`
	MetadataMaxAge      time.Duration `client:"metadata_max_age" mm2:"metadata.max.age.ms" kind:"bounded" yaml:",omitempty"`
	ReconnectBackoff    time.Duration `client:"reconnect_backoff" mm2:"reconnect.backoff.ms" kind:"bounded" yaml:",omitempty"`
	ReconnectBackoffMax time.Duration `client:"reconnect_backoff_max" mm2:"reconnect.backoff.max.ms" kind:"bounded" yaml:",omitempty"`
	RetryBackoff        time.Duration `client:"retry_backoff" mm2:"retry.backoff.ms" kind:"bounded" yaml:",omitempty"`
	RetryBackoffMax     time.Duration `client:"retry_backoff_max" mm2:"retry.backoff.max.ms" kind:"bounded" yaml:",omitempty"`
	SendBuffer          int64         `client:"send_buffer" mm2:"send.buffer.bytes" kind:"bytes" yaml:",omitempty"`
	ReceiveBuffer       int64         `client:"receive_buffer" mm2:"receive.buffer.bytes" kind:"bytes" yaml:",omitempty"`
	FetchBytes          int64         `client:"fetch_bytes" mm2:"fetch.max.bytes" kind:"bytes" yaml:",omitempty"`
	PartitionFetchBytes int64         `client:"partition_fetch_bytes" mm2:"max.partition.fetch.bytes" kind:"bytes" yaml:",omitempty"`
	FetchMinBytes       int64         `client:"fetch_min_bytes" mm2:"fetch.min.bytes" kind:"bytes" yaml:",omitempty"`
	FetchWait           time.Duration `client:"fetch_wait" mm2:"fetch.max.wait.ms" kind:"bounded" yaml:",omitempty"`
	RequestBytes        int64         `client:"request_bytes" mm2:"max.request.size" kind:"bytes" yaml:",omitempty"`
	BatchBytes          int64         `client:"batch_bytes" mm2:"batch.size" kind:"bytes" yaml:",omitempty"`
}

// Bound is what a setting may be. Values beyond it are refused in YAML; in a properties file, which a MirrorMaker 2 ran
// with, the nearest one is used and said so.
type Bound struct {
	Least, Most int64 // nanoseconds or bytes
	whyLeast    string
	whyMost     string
}

const (
	busy   = "less would only keep both sides busy"
	standI = "a flow would stand still that long after a broker has come back"
)

// Bounds are by field of ClientSettings. What they keep safe is said in the reasons.
func Bounds(r Role) map[string]Bound {
	ms, s, m := int64(time.Millisecond), int64(time.Second), int64(time.Minute)
	request := Bound{s, 15 * m, "a broker that pauses for a moment would be taken for dead", "a broker that is gone would not be noticed"}
	if r == RecordProducer {
		request.Most, request.whyMost = 30*s, "a write may still be under way for that long after its lane has gone to another worker"
	}
	size := func(least int64, why string, most int64, whyMost string) Bound {
		return Bound{least, most, why, whyMost}
	}
	pointless := "each request would hold next to nothing"
	return map[string]Bound{
		"RequestTimeout":      request,
		"APITimeout":          {s, 15 * m, "no request could be repeated", "an operator would wait that long for an answer"},
		"ConnectTimeout":      {100 * ms, 5 * m, "no connection over a long distance would be made", "the other addresses of a cluster would not be tried meanwhile"},
		"IdleTimeout":         {s, 15 * m, "connections would be made anew for each request", "brokers and firewalls have closed it by then"},
		"MetadataMaxAge":      {s, 60 * m, busy, "a client would talk to brokers that are long gone"},
		"ReconnectBackoff":    {10 * ms, m, busy, standI},
		"ReconnectBackoffMax": {10 * ms, m, busy, standI},
		"RetryBackoff":        {10 * ms, m, busy, standI},
		"RetryBackoffMax":     {10 * ms, m, busy, standI},
		"SendBuffer":          size(4<<10, busy, 1<<30, "systems refuse more"),
		"ReceiveBuffer":       size(4<<10, busy, 1<<30, "systems refuse more"),
		"FetchBytes":          size(64<<10, pointless, 1<<30, "no broker answers with more"),
		"PartitionFetchBytes": size(1<<10, pointless, 1<<30, "no broker answers with more"),
		"FetchMinBytes":       size(1, "a broker would answer at once, with nothing", 1<<30, "no broker answers with more"),
		"FetchWait":           {ms, 10 * s, busy, "a partition that is added meanwhile waits for the answer"},
		"RequestBytes":        size(1<<10, pointless, 64<<20, "brokers refuse requests of more than socket.request.max.bytes, 100 MiB"),
		"BatchBytes":          size(1<<10, "small batches are what costs most, here and on the target's brokers", 16<<20, "topics take no such batches"),
	}
}

// defaultSettings are a role's settings where the file says nothing; what it has no use for is zero.
func defaultSettings(r Role) ClientSettings {
	if r == AnyRole {
		out := settingsOf(kafka.ClientDefaults())
		own := settingsOf(kafka.TransportDefaults())
		out.ReconnectBackoff, out.ReconnectBackoffMax = own.ReconnectBackoff, own.ReconnectBackoffMax
		return out
	}
	if !r.raw() {
		return settingsOf(kafka.ClientDefaults())
	}
	out := settingsOf(kafka.TransportDefaults())
	if r == SourceConsumer {
		// The arithmetic is at Flow.MemoryBytes. One partition must not fill a response alone.
		out.FetchBytes, out.PartitionFetchBytes, out.FetchMinBytes = 4<<20, 1<<20, 1
		out.FetchWait = 500 * time.Millisecond
		return out
	}
	// 256 KiB is where merging small batches is cheapest for mirror and target broker together (docs/performance.md).
	out.RequestBytes, out.BatchBytes = 16<<20, 256<<10
	return out
}

func settingsOf(s kafka.Settings) ClientSettings {
	return ClientSettings{
		RequestTimeout: s.RequestTimeout, APITimeout: s.APITimeout, ConnectTimeout: s.ConnectTimeout, IdleTimeout: s.IdleTimeout,
		MetadataMaxAge: s.MetadataMaxAge, ReconnectBackoff: s.ReconnectBackoff, ReconnectBackoffMax: s.ReconnectBackoffMax,
		RetryBackoff: s.RetryBackoff, RetryBackoffMax: s.RetryBackoffMax,
	}
}

// kafka is the part that internal/kafka and internal/wire take with a cluster.
func (s ClientSettings) kafka() kafka.Settings {
	return kafka.Settings{
		RequestTimeout: s.RequestTimeout, APITimeout: s.APITimeout, ConnectTimeout: s.ConnectTimeout, IdleTimeout: s.IdleTimeout,
		MetadataMaxAge: s.MetadataMaxAge, ReconnectBackoff: s.ReconnectBackoff, ReconnectBackoffMax: s.ReconnectBackoffMax,
		RetryBackoff: s.RetryBackoff, RetryBackoffMax: s.RetryBackoffMax, SendBuffer: int(s.SendBuffer), ReceiveBuffer: int(s.ReceiveBuffer),
	}
}

// Uses says whether a role has a use for a setting.
func (r Role) Uses(field string) bool {
	switch field {
	case "RequestTimeout", "ConnectTimeout", "RetryBackoff", "RetryBackoffMax", "SendBuffer", "ReceiveBuffer", "IdleTimeout":
		return true
	case "ReconnectBackoff", "ReconnectBackoffMax":
		return r.raw() || r == AnyRole
	case "APITimeout", "MetadataMaxAge":
		return !r.raw()
	case "RequestBytes", "BatchBytes":
		return r == RecordProducer
	}
	return r == SourceConsumer
}

// Only leaves the settings that a role has a use for.
func (s ClientSettings) Only(r Role) ClientSettings {
	for _, one := range setting.Of("client", &s) {
		if !r.Uses(one.Field) {
			one.Value.SetZero()
		}
	}
	return s
}

// or takes the defaults of a role where s says nothing.
func (s ClientSettings) or(r Role) ClientSettings {
	d := defaultSettings(r)
	conn := settingsOf(s.kafka().Or(d.kafka())) // back-offs go in pairs
	have, from := setting.Of("client", &s), setting.Of("client", &d)
	connected := setting.Of("client", &conn)
	for key, one := range have {
		if v := connected[key].Value; !v.IsZero() {
			one.Value.Set(v)
		} else if one.Value.IsZero() {
			one.Value.Set(from[key].Value)
		}
	}
	return s
}

// Clients are those of a flow that do not use what their clusters say.
func (c *Config) Clients(f FlowName) map[Role]Cluster {
	if c.clients == nil {
		return nil
	}
	return c.clients(f)
}

// Client is how the client of a flow with that role reaches its cluster. Every setting that it has a use for has its value.
func (c *Config) Client(f FlowName, r Role) Cluster {
	out := c.Clusters[r.Alias(f)]
	out.Client = out.Client.Only(r)
	if own, ok := c.Clients(f)[r]; ok {
		out = own
	}
	out.Client = out.Client.or(r)
	return out
}

// Within is the value nearest to n that a role may have, and why n may not be it; "" where it may.
func (b Bound) Within(n int64) (nearest int64, why string) {
	switch {
	case n < b.Least:
		return b.Least, b.whyLeast
	case n > b.Most:
		return b.Most, b.whyMost
	}
	return n, ""
}

// Refuse is what is wrong with n; nil where a role may have it.
func (b Bound) Refuse(field string, n int64) *report.Fault {
	nearest, why := b.Within(n)
	if why == "" {
		return nil
	}
	return report.Wrong(fmt.Sprintf("is out of bounds (%s to %s): %s", Amount(field, b.Least), Amount(field, b.Most), why), "write "+Amount(field, nearest))
}

// Amount writes a setting's value as YAML has it.
func Amount(field string, n int64) string {
	switch d := time.Duration(n); field {
	case "SendBuffer", "ReceiveBuffer", "FetchBytes", "PartitionFetchBytes", "FetchMinBytes", "RequestBytes", "BatchBytes":
		return setting.Size(n)
	default:
		return setting.Duration(d)
	}
}
