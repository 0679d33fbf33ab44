package config

import (
	"reflect"
	"time"

	"tidemark/internal/config/report"
	"tidemark/internal/config/security"
)

// Config is what one file says, complete and validated.
type Config struct {
	File     string             // the file's name as it was given
	Clusters map[string]Cluster // by alias
	Flows    []Flow             // sorted by source, then target; disabled ones included
	Notes    []string           // what is worth saying once at start, in the order of the file
	Warnings []string           // keys that say nothing to anybody, most likely misspelt or misplaced, in the order of the file

	// clients are those of a flow. A function, since fmt prints the secrets of a field that is not exported.
	clients func(FlowName) map[Role]Cluster
	form    Form
}

// Examined is all that there is to say about one file.
type Examined struct {
	Config   *Config         // nil where there is a problem
	Problems report.Problems // in the order of the file
	Remarks  []report.Remark // in the order of the file; they are there beside problems too

	flows map[FlowName]Places
}

// Given is where the file sets a field of a flow: the key as written, and its line. ok is false where the field has its
// default.
func (e Examined) Given(flow FlowName, field string) (key string, line int, ok bool) {
	where, ok := e.flows[flow][field]
	return where.Key, where.Line, ok
}

// Properties says that the file is one of MirrorMaker 2, not YAML.
//
// That is so also of the resources and connectors in which MirrorMaker 2 is deployed, which are read as what a properties file
// would say.
func (c *Config) Properties() bool { return c.form.Tag == "mm2" }

// Called is what kind of file it is, for people.
func (c *Config) Called() string {
	switch {
	case c.form.Called != "":
		return c.form.Called
	case c.Properties():
		return "a MirrorMaker 2 properties file"
	}
	return "YAML"
}

// FlowKey is the key of this kind of file that sets a field of Flow: "sync_groups" or "sync.group.offsets.enabled" for
// SyncGroupOffsets. It is empty where no single key does.
func (c *Config) FlowKey(field string) string {
	f, _ := reflect.TypeFor[Flow]().FieldByName(field)
	return f.Tag.Get(c.form.Tag)
}

// BootstrapKey is the key of this kind of file that holds a cluster's addresses.
func (c *Config) BootstrapKey(alias string) string { return c.form.Bootstrap(alias) }

// Cluster is how to reach one Kafka cluster. The tags name the keys: yaml under clusters.<alias>, security under
// clusters.<alias>.security.
type Cluster struct {
	Alias             string
	Bootstrap         []string `yaml:"bootstrap" kind:"addresses"` // host:port, at least one
	ClientID          string   `yaml:"client_id"`                  // default "tidemark"
	security.Security `yaml:",inline"`
	Client            ClientSettings
}

// Flow is one direction of mirroring. Patterns are Java's regular expressions and match whole names (internal/javapattern).
//
// The tags name the keys that set a field: yaml under flows and defaults, mm2 in a properties file (at top level and
// after "A->B."). Keys that need more than a field of the right type (replication.policy.class, isolation.level, auto.offset.reset) are
// read by the forms themselves.
type Flow struct {
	Source  string `yaml:"from"` // alias
	Target  string `yaml:"to"`   // alias
	Enabled bool   `yaml:"enabled" mm2:"enabled"`

	// What the two clusters are called in the names of remote and internal topics and in heartbeats: Source and Target, unless
	// the file says otherwise. They may be empty. What is Tidemark's own is named by Source and Target.
	SourceAlias string `yaml:"source_alias" mm2:"source.cluster.alias" kind:"alias"`
	TargetAlias string `yaml:"target_alias" mm2:"target.cluster.alias" kind:"alias"`

	Topics                  []string `yaml:"topics" mm2:"topics" kind:"patterns"` // an empty list selects nothing
	TopicsExclude           []string `yaml:"topics_exclude" mm2:"topics.exclude" kind:"patterns"`
	Groups                  []string `yaml:"groups" mm2:"groups" kind:"patterns"`
	GroupsExclude           []string `yaml:"groups_exclude" mm2:"groups.exclude" kind:"patterns"`
	ConfigPropertiesExclude []string `yaml:"config_properties_exclude" mm2:"config.properties.exclude" kind:"patterns"`

	Policy            string `yaml:"policy" choice:"default identity"`
	Separator         string `yaml:"separator" mm2:"replication.policy.separator" kind:"separator"`                // may be empty where names are kept
	InternalSeparator bool   `yaml:"internal_separator" mm2:"replication.policy.internal.topic.separator.enabled"` // internal topic names use Separator too (KIP-949); otherwise "."

	// Replication factors: at least 1, or -1 for the broker's default.
	ReplicationFactor            int16 `yaml:"replication_factor" mm2:"replication.factor"`                                 // remote topics
	OffsetSyncsReplicationFactor int16 `yaml:"offset_syncs_replication_factor" mm2:"offset-syncs.topic.replication.factor"` // and Tidemark's own topics
	CheckpointsReplicationFactor int16 `yaml:"checkpoints_replication_factor" mm2:"checkpoints.topic.replication.factor"`
	HeartbeatsReplicationFactor  int16 `yaml:"heartbeats_replication_factor" mm2:"heartbeats.topic.replication.factor"`

	OffsetSyncsLocation string `yaml:"offset_syncs_location" mm2:"offset-syncs.topic.location" choice:"source target"` // the cluster that holds the offset-syncs topic

	EmitOffsetSyncs bool `yaml:"emit_offset_syncs" mm2:"emit.offset-syncs.enabled"`
	EmitCheckpoints bool `yaml:"emit_checkpoints" mm2:"emit.checkpoints.enabled"`
	EmitHeartbeats  bool `yaml:"emit_heartbeats" mm2:"emit.heartbeats.enabled"`
	// ReplicateHeartbeats mirrors the heartbeats topics too, although no pattern names them (KIP-1089).
	ReplicateHeartbeats bool `yaml:"replicate_heartbeats" mm2:"heartbeats.replication.enabled"`
	SyncGroupOffsets    bool `yaml:"sync_groups" mm2:"sync.group.offsets.enabled"`
	SyncTopicConfigs    bool `yaml:"sync_topic_configs" mm2:"sync.topic.configs.enabled"`
	SyncTopicACLs       bool `yaml:"sync_topic_acls" mm2:"sync.topic.acls.enabled"`
	RefreshTopics       bool `yaml:"refresh_topics" mm2:"refresh.topics.enabled"`
	RefreshGroups       bool `yaml:"refresh_groups" mm2:"refresh.groups.enabled"`

	// Intervals are all positive. They are upper limits: what can follow a change at once does.
	RefreshTopicsInterval    time.Duration `yaml:"refresh_topics_interval" mm2:"refresh.topics.interval.seconds"`
	RefreshGroupsInterval    time.Duration `yaml:"refresh_groups_interval" mm2:"refresh.groups.interval.seconds"`
	EmitCheckpointsInterval  time.Duration `yaml:"checkpoints_interval" mm2:"emit.checkpoints.interval.seconds"`
	SyncGroupOffsetsInterval time.Duration `yaml:"sync_groups_interval" mm2:"sync.group.offsets.interval.seconds"`
	PositionsInterval        time.Duration `yaml:"positions_interval" mm2:"tidemark.positions.interval.ms"` // never above the two before it
	HeartbeatsInterval       time.Duration `yaml:"heartbeats_interval" mm2:"emit.heartbeats.interval.seconds"`
	SyncTopicACLsInterval    time.Duration `yaml:"sync_topic_acls_interval" mm2:"sync.topic.acls.interval.seconds"`
	SyncTopicConfigsInterval time.Duration `yaml:"sync_topic_configs_interval" mm2:"sync.topic.configs.interval.seconds"`

	Isolation           string `yaml:"isolation" choice:"read_committed read_uncommitted"`
	Start               string `yaml:"start" choice:"earliest latest"`     // of partitions that the source has when the flow first starts; later ones are mirrored whole
	Lanes               int    `yaml:"lanes" mm2:"tidemark.lanes"`         // partitions of the ledger, fixed when it is created
	MemoryBytes         int64  `yaml:"memory" mm2:"tidemark.memory.bytes"` // everything fetched and not yet acknowledged
	UnmirroredPositions string `yaml:"unmirrored_positions" mm2:"tidemark.unmirrored.positions" choice:"none earliest"`
}

// Values of the Flow fields that are a choice.
const (
	PolicyDefault      = "default"  // remote topics are called source + separator + topic
	PolicyIdentity     = "identity" // remote topics keep their name
	LocationSource     = "source"
	LocationTarget     = "target"
	ReadCommitted      = "read_committed"
	ReadUncommitted    = "read_uncommitted"
	StartEarliest      = "earliest" // with the oldest record
	StartLatest        = "latest"   // with the first record after the end of the log
	UnmirroredNone     = "none"     // a group below the first mirrored record gets no position
	UnmirroredEarliest = "earliest" // it starts at the first record that the target holds
)

// Name is the flow's name, "A->B".
func (f Flow) Name() FlowName { return FlowName{Source: f.Source, Target: f.Target} }
