package lintfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/ledger"
	"tidemark/mm2"
)

// looker looks at one file.
type looker struct {
	config.Examined

	brokers map[string]Brokers
}

func (l looker) policy(f config.Flow) mm2.Policy {
	return l.Config.Policy(f)
}

// flow says what a flow does.
func (l looker) flow(f config.Flow) Flow {
	out := Flow{Name: f.Name().String(), Enabled: f.Enabled}
	if !f.Enabled {
		return out
	}
	for _, s := range []struct {
		about string
		text  func(config.Flow) string
	}{
		{"topics", l.topics},
		{"names", l.names},
		{"records", l.records},
		{"settings", l.settings},
		{"groups", l.groups},
		{"checkpoints", l.checkpoints},
		{"offset syncs", l.offsetSyncs},
		{"heartbeats", l.heartbeats},
		{"own topics", l.own},
		{"replication", l.replication},
	} {
		out.Sentences = append(out.Sentences, Sentence{About: s.about, Text: s.text(f)})
	}
	return out
}

func (l looker) topics(f config.Flow) string {
	if len(f.Topics) == 0 {
		return "no topic is mirrored, as the list of topics is empty"
	}
	text := selected("topic", f.Source, f.Topics, f.TopicsExclude) + " is mirrored; topics of brokers and of mirrors never are; "
	if f.Start == config.StartLatest {
		text += fmt.Sprintf("no record that %s holds when the flow first starts is copied; topics and partitions that are created later are copied whole, where MirrorMaker 2 begins at their end too; ", f.Source)
	}
	if !f.RefreshTopics {
		return text + "new topics and partitions are seen at the next start only"
	}
	return text + "a new topic or partition is seen within " + span(f.RefreshTopicsInterval)
}

// selected is "every topic of A but those that match x or y".
func selected(what, alias string, include, exclude []string) string {
	text := fmt.Sprintf("every %s of %s", what, alias)
	if !slices.Contains(include, ".*") {
		text += " that matches " + alternatives(include)
	}
	if len(exclude) > 0 {
		text += " and does not match " + alternatives(exclude)
		if slices.Contains(include, ".*") {
			text = fmt.Sprintf("every %s of %s that does not match %s", what, alias, alternatives(exclude))
		}
	}
	return text
}

func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (l looker) names(f config.Flow) string {
	p := l.policy(f)
	if l.keepsHeartbeats(f) {
		return fmt.Sprintf("topics keep their names on %s (but for heartbeats, which is not mirrored: %s has its own)", f.Target, f.Target)
	}
	if f.Policy == config.PolicyIdentity {
		return fmt.Sprintf("topics keep their names on %s (heartbeats becomes %s)", f.Target, p.RemoteTopic(f.SourceAlias, mm2.HeartbeatsTopic))
	}
	return fmt.Sprintf("orders of %s is called %s on %s", f.Source, p.RemoteTopic(f.SourceAlias, "orders"), f.Target)
}

// keepsHeartbeats says whether a copy of the heartbeats topic would have the name of the target's own.
func (l looker) keepsHeartbeats(f config.Flow) bool {
	return l.policy(f).RemoteTopic(f.SourceAlias, mm2.HeartbeatsTopic) == mm2.HeartbeatsTopic
}

func (l looker) records(f config.Flow) string {
	text := "only committed records are copied"
	if f.Isolation == config.ReadUncommitted {
		text = "all records are copied, those of aborted transactions too"
	}
	return fmt.Sprintf("%s, as they are, with timestamps, headers and partition; at most %d MiB are on their way in one worker", text, f.MemoryBytes>>20)
}

func (l looker) settings(f config.Flow) string {
	text := "remote topics are created with the settings that their source topics have of their own"
	switch {
	case slices.Equal(f.ConfigPropertiesExclude, mm2.DefaultConfigPropertiesExclude()):
		text += fmt.Sprintf(", but for those that MirrorMaker 2 leaves out too (%s)", l.Config.FlowKey("ConfigPropertiesExclude"))
	case len(f.ConfigPropertiesExclude) > 0:
		text += ", but for " + alternatives(f.ConfigPropertiesExclude)
	}
	if f.SyncTopicConfigs {
		text += "; later changes follow within " + span(f.SyncTopicConfigsInterval)
	} else {
		text += "; later changes are not followed"
	}
	if f.SyncTopicACLs {
		return text + "; access rules about them are copied within " + span(f.SyncTopicACLsInterval) + ", where both clusters have an authorizer"
	}
	return text + "; access rules are not copied"
}

func (l looker) groups(f config.Flow) string {
	if len(f.Groups) == 0 {
		return "no position is translated, as the list of groups is empty"
	}
	text, late := "the positions of "+selected("group", f.Source, f.Groups, f.GroupsExclude)+" are translated", ""
	if f.UnmirroredPositions == config.UnmirroredEarliest {
		text += ", those below the first mirrored record to the oldest record on " + f.Target
	} else if f.Start == config.StartLatest {
		late = fmt.Sprintf("; a group that stands below the place where mirroring began has no position on %s until it has read up to there", f.Target)
	}
	if !f.SyncGroupOffsets {
		return fmt.Sprintf("%s, and not committed on %s: %s is off%s", text, f.Target, l.Config.FlowKey("SyncGroupOffsets"), late)
	}
	return fmt.Sprintf("%s and, while a group is not active there, committed on %s; they are read %s%s", text, f.Target, l.often(f), late)
}

// often is how often positions are read. The interval of group sync is an upper limit for that, which MirrorMaker 2 takes as
// the time to wait.
func (l looker) often(f config.Flow) string {
	text := "every " + span(f.PositionsInterval)
	key, line, given := l.Given(f.Name(), "SyncGroupOffsetsInterval")
	switch {
	case !given:
		return text
	case f.SyncGroupOffsetsInterval > f.PositionsInterval:
		return fmt.Sprintf("%s, more often than %s (line %d) asks for, whose %s is an upper limit", text, key, line, span(f.SyncGroupOffsetsInterval))
	}
	return fmt.Sprintf("%s, as %s (line %d) says", text, key, line)
}

func (l looker) checkpoints(f config.Flow) string {
	if !f.EmitCheckpoints {
		return "none are written"
	}
	return fmt.Sprintf("are written to %s on %s when a position has moved", l.policy(f).CheckpointsTopic(f.SourceAlias), f.Target)
}

func (l looker) offsetSyncs(f config.Flow) string {
	if !f.EmitOffsetSyncs {
		return fmt.Sprintf("none are written, and nothing is written to %s", f.Source)
	}
	if f.OffsetSyncsLocation == config.LocationTarget {
		return fmt.Sprintf("are written to %s on %s; nothing is written to %s", l.policy(f).OffsetSyncsTopic(f.SourceAlias), f.Target, f.Source)
	}
	return fmt.Sprintf("are written to %s on %s, the source; nothing else is written there", l.policy(f).OffsetSyncsTopic(f.TargetAlias), f.Source)
}

func (l looker) heartbeats(f config.Flow) string {
	text := "none are written"
	if f.EmitHeartbeats {
		text = fmt.Sprintf("are written to %s on %s every %s", mm2.HeartbeatsTopic, f.Target, span(f.HeartbeatsInterval))
	}
	if l.keepsHeartbeats(f) {
		return fmt.Sprintf("%s; those of %s are not mirrored", text, f.Source)
	}
	if f.ReplicateHeartbeats {
		return fmt.Sprintf("%s; heartbeats topics of %s are mirrored, also where no pattern names them", text, f.Source)
	}
	return fmt.Sprintf("%s; heartbeats topics of %s are mirrored only where a pattern names them", text, f.Source)
}

func (l looker) own(f config.Flow) string {
	return fmt.Sprintf("%s and %s on %s, of %d partitions each, hold where mirroring stands; so many workers can share the flow",
		ledger.TopicName(f.Source), ledger.VerdictsName(f.Source), f.Target, f.Lanes)
}

func (l looker) replication(f config.Flow) string {
	var parts []string
	for _, c := range created(f) {
		parts = append(parts, fmt.Sprintf("%s %s", c.what, factor(c.factor)))
	}
	return strings.Join(parts, ", ")
}

// factor is a replication factor in words.
func factor(n int16) string {
	if n < 0 {
		return "the broker's default"
	}
	return fmt.Sprint(n)
}

// creation is a kind of topic that a flow creates.
type creation struct {
	what, cluster, field string
	factor               int16
}

// created are the topics that a flow creates where they do not exist.
const remoteTopics = "remote topics"

func created(f config.Flow) []creation {
	out := []creation{
		{remoteTopics, f.Target, "ReplicationFactor", f.ReplicationFactor},
		{"Tidemark's own topics", f.Target, "OffsetSyncsReplicationFactor", f.OffsetSyncsReplicationFactor},
	}
	if f.EmitOffsetSyncs {
		at := f.Source
		if f.OffsetSyncsLocation == config.LocationTarget {
			at = f.Target
		}
		out = append(out, creation{"offset syncs", at, "OffsetSyncsReplicationFactor", f.OffsetSyncsReplicationFactor})
	}
	if f.EmitCheckpoints {
		out = append(out, creation{"checkpoints", f.Target, "CheckpointsReplicationFactor", f.CheckpointsReplicationFactor})
	}
	if f.EmitHeartbeats {
		out = append(out, creation{"heartbeats", f.Target, "HeartbeatsReplicationFactor", f.HeartbeatsReplicationFactor})
	}
	return out
}

// span is a duration without units that are zero: 10m, not 10m0s.
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
