package config

import (
	"time"

	"tidemark/internal/config/security"
	"tidemark/mm2"
)

// DefaultFlow is a flow with every setting at its default, which is MirrorMaker 2's unless a line below says why not.
// SyncGroupOffsets is the one setting whose default depends on the kind of file: on in YAML, off in a properties file.
func DefaultFlow(source, target string) Flow {
	return Flow{
		Source: source, Target: target, Enabled: true,
		SourceAlias: source, TargetAlias: target,

		Topics:                  mm2.DefaultTopics(),
		TopicsExclude:           mm2.DefaultTopicsExclude(),
		Groups:                  mm2.DefaultGroups(),
		GroupsExclude:           mm2.DefaultGroupsExclude(),
		ConfigPropertiesExclude: mm2.DefaultConfigPropertiesExclude(),

		Policy: PolicyDefault, Separator: ".", InternalSeparator: true,

		ReplicationFactor:            2,
		OffsetSyncsReplicationFactor: 3,
		CheckpointsReplicationFactor: 3,
		HeartbeatsReplicationFactor:  3,

		OffsetSyncsLocation: LocationSource,
		EmitOffsetSyncs:     true, EmitCheckpoints: true, EmitHeartbeats: true, ReplicateHeartbeats: true,
		SyncGroupOffsets: true, SyncTopicConfigs: true, SyncTopicACLs: true,
		RefreshTopics: true, RefreshGroups: true,

		RefreshTopicsInterval:    10 * time.Minute,
		RefreshGroupsInterval:    10 * time.Minute,
		EmitCheckpointsInterval:  time.Minute,
		SyncGroupOffsetsInterval: time.Minute,
		HeartbeatsInterval:       time.Second,
		SyncTopicConfigsInterval: 10 * time.Minute,
		SyncTopicACLsInterval:    10 * time.Minute,

		// MirrorMaker 2 has no such key: it looks once a minute. Reading 1,000 groups of 10 partitions costs the
		// broker about 10 ms of CPU, so once a second is 1 % of a core at that size.
		PositionsInterval: time.Second,

		// MirrorMaker 2 reads uncommitted, which copies aborted records as if they had been committed.
		Isolation: ReadCommitted,
		Start:     StartEarliest,

		// A lane is the unit that moves between workers. 32 lets 32 workers share a flow and keeps the fences of a
		// takeover at 1/32 of the partitions; each idle lane costs a ledger partition and a keepalive.
		Lanes: 32,

		// One response holds at most 4 MiB: 32 MiB keeps 8 of them between the two clusters, enough for about
		// 300 MB/s at a round trip of 100 ms (arithmetic, not measured).
		MemoryBytes: 32 << 20,

		UnmirroredPositions: UnmirroredNone,
	}
}

const defaultClientID = "tidemark"

// DefaultCluster is a cluster with every setting but its address at its default.
func DefaultCluster(alias string) Cluster {
	return Cluster{
		Alias: alias, ClientID: defaultClientID, Security: security.Security{SecurityProtocol: security.ProtocolPlaintext, TLS: security.TLS{VerifyHostname: true}},
	}
}
