package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/config"
	"tidemark/internal/events"
	"tidemark/internal/pause"
	"tidemark/internal/terms"
)

// compareEvery is how often workers are compared with this one.
const compareEvery = 5 * time.Second

// termsOf are the settings of a flow that all its workers must have alike: those that decide what is mirrored, how it is
// called on the target, and what is written there. Intervals, limits and security are each worker's own.
func termsOf(c config.Flow, sourceID string) (t terms.Terms) {
	t.Add("source cluster", sourceID)
	t.Add("topics", c.Topics...)
	t.Add("topics_exclude", c.TopicsExclude...)
	t.Add("groups", c.Groups...)
	t.Add("groups_exclude", c.GroupsExclude...)
	t.Add("config_properties_exclude", c.ConfigPropertiesExclude...)
	t.Add("policy", c.Policy)
	t.Add("separator", c.Separator)
	if c.SourceAlias != c.Source { // workers of older builds know no such setting
		t.Add("source_alias", c.SourceAlias)
	}
	if c.TargetAlias != c.Target {
		t.Add("target_alias", c.TargetAlias)
	}
	t.Add("isolation", c.Isolation)
	t.Add("start", c.Start)
	t.Add("unmirrored_positions", c.UnmirroredPositions)
	t.Add("offset_syncs_location", c.OffsetSyncsLocation)
	for _, s := range []struct {
		key string
		on  bool
	}{
		{"internal_separator", c.InternalSeparator},
		{"emit_offset_syncs", c.EmitOffsetSyncs},
		{"emit_checkpoints", c.EmitCheckpoints},
		{"replicate_heartbeats", c.ReplicateHeartbeats},
		{"sync_groups", c.SyncGroupOffsets},
		{"sync_topic_configs", c.SyncTopicConfigs},
		{"sync_topic_acls", c.SyncTopicACLs},
	} {
		t.Add(s.key, strconv.FormatBool(s.on))
	}
	return t
}

// withTerms is a balancer whose members bring their terms along.
type withTerms struct {
	kgo.GroupBalancer
	terms terms.Terms
}

// JoinGroupMetadata is kgo.GroupBalancer's.
func (b withTerms) JoinGroupMetadata(interests []string, current map[string][]int32, generation int32) []byte {
	data := b.GroupBalancer.JoinGroupMetadata(interests, current, generation)
	var meta kmsg.ConsumerMemberMetadata
	if meta.ReadFrom(data) != nil {
		return data // kgo's own, so it can be read
	}
	meta.UserData = b.terms.Append(meta.UserData)
	return meta.AppendTo(nil)
}

// compare says which other workers of the flow have other terms than this one, once for each difference, until ctx ends.
// Which of them is right nobody can know; status names them all.
func (m *members) compare(ctx context.Context) error {
	said := map[string]other{} // by member
	for pause.For(ctx, compareEvery) {
		others, err := m.others(ctx)
		if err != nil {
			continue // a target that does not answer is told by the heartbeats
		}
		for member, o := range others {
			was := said[member]
			switch {
			case o.differs != "" && o.differs != was.differs:
				m.events.Say(events.OtherFile, "worker", o.name, "differs", o.differs)
			case o.differs == "" && was.differs != "":
				m.events.Say(events.SameFile, "worker", o.name)
			}
		}
		for member, was := range said {
			if _, there := others[member]; !there && was.differs != "" {
				m.events.Say(events.OtherFileGone, "worker", was.name)
			}
		}
		said = others
	}
	return nil
}

// other is another member of the lane group, and what it has otherwise than we; empty where nothing.
type other struct{ name, differs string }

func (m *members) others(ctx context.Context) (map[string]other, error) {
	bounded, cancel := context.WithTimeout(ctx, session)
	defer cancel()
	got, err := m.client.Admin().DescribeGroups(bounded, m.group)
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("describe the lane group: %w", err)
	}
	own, _ := m.client.Kgo().GroupMetadata()
	out := map[string]other{}
	for _, d := range got[m.group].Members {
		meta, ok := d.Join.AsConsumer()
		if ok && d.MemberID != own {
			differs := terms.Differ(m.terms, terms.Find(meta.UserData), "here", "there")
			out[d.MemberID] = other{d.ClientID + " at " + d.ClientHost, strings.Join(differs, "; ")}
		}
	}
	return out, nil
}
