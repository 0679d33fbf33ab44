package acls

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/internal/config"
	"tidemark/internal/config/security"
	"tidemark/internal/control"
	"tidemark/internal/ledger"
	"tidemark/mm2"
)

// Of computes what some flows of a configuration need, on every cluster that they touch. principal is who gets the rights
// ("User:name"); where it is empty, each cluster's own login counts, if the file tells its name.
func Of(cfg *config.Config, flows []config.Flow, principal string) Report {
	r := Report{File: cfg.File, Clusters: []Cluster{}}
	c := collector{cfg: cfg, clusters: map[string]*cluster{}, heartbeats: heartbeats(cfg, flows)}
	for _, f := range flows {
		r.Flows = append(r.Flows, f.Name().String())
		c.flow(f)
	}
	for _, alias := range slices.Sorted(maps.Keys(c.clusters)) {
		k := cfg.Clusters[alias]
		out := Cluster{Alias: alias, Bootstrap: k.Bootstrap, Principal: principal, Rules: c.clusters[alias].merged(), Notes: c.clusters[alias].notes}
		if principal == "" {
			out.Principal = loginOf(k)
		}
		if k.SASL.Mechanism == security.MechanismAWS && strings.HasPrefix(k.SecurityProtocol, "SASL") {
			out.Notes = append(out.Notes, "logins with AWS_MSK_IAM are judged by IAM policies, where the same operations have other names; these rules are for principals that Kafka's own authorizer judges")
		}
		r.Clusters = append(r.Clusters, out)
	}
	return r
}

// loginOf is the principal of a cluster's login. Only with these mechanisms it is the user's name; brokers map
// certificates, tokens and tickets by rules of their own.
func loginOf(k config.Cluster) string {
	switch k.SASL.Mechanism {
	case security.MechanismPlain, security.MechanismScram256, security.MechanismScram512:
		if strings.HasPrefix(k.SecurityProtocol, "SASL") && k.SASL.User != "" {
			return "User:" + k.SASL.User
		}
	}
	return ""
}

// id is a resource pattern.
type id struct {
	resource Resource
	pattern  string
	name     string
}

func named(r Resource, name string) id { return id{r, Literal, name} }

// everyName is the literal name by which an access rule stands for all resources of its kind.
const everyName = "*"

// under is the pattern for a span of names. A prefix must not be empty: all names are the literal "*". A group that is
// called "*" is therefore no literal; the prefix "*" is the narrowest pattern that holds it.
func under(r Resource, s span) id {
	switch {
	case !s.open && s.text == everyName:
		return id{r, Prefixed, everyName}
	case !s.open:
		return named(r, s.text)
	case s.text == "":
		return named(r, everyName)
	}
	return id{r, Prefixed, s.text}
}

// collector gathers needs flow by flow.
type collector struct {
	cfg        *config.Config
	clusters   map[string]*cluster
	heartbeats map[string][]string // the heartbeats topics that a cluster can hold, by alias
}

// want is what one flow wants of one pattern on one cluster.
type want struct {
	at   *entry
	flow string
}

func (c *collector) on(alias string, f config.Flow, at id) want {
	k := c.clusters[alias]
	if k == nil {
		k = &cluster{rules: map[id]*entry{}}
		c.clusters[alias] = k
	}
	e := k.rules[at]
	if e == nil {
		e = &entry{reasons: map[Operation][]Reason{}}
		k.rules[at] = e
	}
	return want{e, f.Name().String()}
}

func (w want) to(op Operation, need, unless string) want {
	w.at.add(op, Reason{Need: need, Flows: []string{w.flow}, Unless: unless})
	return w
}

func (w want) note(texts ...string) {
	for _, text := range texts {
		if text != "" && !slices.Contains(w.at.notes, text) {
			w.at.notes = append(w.at.notes, text)
		}
	}
}

// without names the setting that ends a need, in the words of the file.
func (c *collector) without(field, value string) string {
	if c.cfg.Properties() {
		return c.cfg.FlowKey(field) + "=" + value
	}
	return c.cfg.FlowKey(field) + ": " + value
}

func (c *collector) flow(f config.Flow) {
	filter, err := mm2.NewKeyedFilter("topics", f.Topics, f.TopicsExclude)
	if err != nil {
		filter = nil // the configuration refuses such a file; without a filter no literal name is left out
	}
	s := mm2.Selection{Policy: policy(c.cfg, f), Source: f.SourceAlias, Target: f.TargetAlias, Topics: filter, Heartbeats: f.ReplicateHeartbeats}
	c.topics(f, s)
	c.groups(f)
	c.own(f, s.Policy)
	c.on(f.Target, f, named(ClusterResource, ClusterName)).to(DescribeConfigs, "know how long the brokers remember a producer", "")
	if f.SyncTopicACLs {
		off := c.without("SyncTopicACLs", "false")
		c.on(f.Source, f, named(ClusterResource, ClusterName)).to(Describe, "read the access rules of topics", off)
		c.on(f.Target, f, named(ClusterResource, ClusterName)).to(Alter, "create access rules of remote topics", off).
			to(Describe, "read which there are", off)
	}
}

// topics adds what mirroring a flow's topics needs on either side.
func (c *collector) topics(f config.Flow, s mm2.Selection) {
	fold := false
	for _, pattern := range f.Topics {
		spans := spansOf(pattern, fold)
		for _, span := range spans {
			if !span.open && span.text == everyName {
				c.noteOn(f.Source, fmt.Sprintf("%s has %q, %s", c.cfg.FlowKey("Topics"), pattern, noTopic(len(spans))))
				continue
			}
			if !span.open && s.Topics != nil {
				if choice := s.Select(span.text); !choice.Mirrored {
					c.noteOn(f.Source, fmt.Sprintf("topic %s is named by %s and not mirrored: %s", span.text, c.cfg.FlowKey("Topics"), choice.Detail))
					continue
				}
			}
			remote := remoteSpan(f, s.Policy, span)
			c.mirrored(f, under(Topic, span), under(Topic, remote), "")
			c.on(f.Source, f, under(Topic, span)).note(c.width("topic", pattern, span, "Topics", "TopicsExclude", f.TopicsExclude, mm2.DefaultTopicsExclude())...)
			if span.dot || span.open && (!span.exact || remote.text == "") {
				c.on(f.Target, f, under(Topic, remote)).note(c.width("topic", pattern, span, "Topics", "TopicsExclude", f.TopicsExclude, mm2.DefaultTopicsExclude())...)
			}
		}
		fold = fold || strings.Contains(pattern, "(?")
	}
	for _, name := range c.heartbeats[f.Source] {
		if choice := s.Select(name); choice.Mirrored {
			unless := ""
			if choice.Rule == mm2.RuleHeartbeats {
				unless = c.without("ReplicateHeartbeats", "false")
			}
			c.mirrored(f, named(Topic, name), named(Topic, s.Policy.RemoteTopic(f.SourceAlias, name)), unless)
		}
	}
}

// noTopic says why there is no rule for the topic "*" of a pattern that stands for some names.
func noTopic(names int) string {
	what, do := "and no topic can be called \"*\"", "remove the pattern"
	if names > 1 {
		what, do = "of which a part is for the name \"*\", and no topic can be called so", "remove that part"
	}
	return what + ": there is no rule for it, as a rule of that name would be one for every topic; " + do + ", or write .* if every topic is meant"
}

// mirrored adds the rights on a source topic and its remote topic.
func (c *collector) mirrored(f config.Flow, source, remote id, unless string) {
	c.on(f.Source, f, source).
		to(Describe, "see source topics, their partitions and positions", unless).
		to(Read, "read records", unless).
		to(DescribeConfigs, "copy settings of source topics, and know which are compacted", unless)
	w := c.on(f.Target, f, remote).
		to(Create, "create remote topics", unless).
		to(Describe, "see remote topics and their partitions", unless).
		to(Read, "look at the end of remote topics after an unclean stop", unless).
		to(Write, "write records, and fence former owners", unless).
		to(Alter, "add partitions when a source topic gets more", unless).
		to(DescribeConfigs, "read settings of remote topics", unless)
	if f.SyncGroupOffsets && len(f.Groups) > 0 {
		w.to(Read, "commit positions in remote topics", either(unless, c.without("SyncGroupOffsets", "false")))
	}
	if f.SyncTopicConfigs {
		w.to(AlterConfigs, "follow changes of settings of source topics", either(unless, c.without("SyncTopicConfigs", "false")))
	}
}

// either joins two settings that each end a need.
func either(a, b string) string {
	if a == "" {
		return b
	}
	return a + " or " + b
}

// remoteSpan is what a span of source topics is called on the target.
func remoteSpan(f config.Flow, p mm2.Policy, s span) span {
	if s.open && f.Policy == config.PolicyIdentity {
		return s // RemoteTopic renames heartbeats topics, which a prefix is not; they have rules of their own
	}
	s.text = p.RemoteTopic(f.SourceAlias, s.text)
	return s
}

// groups adds what positions need.
func (c *collector) groups(f config.Flow) {
	filter, err := f.GroupNames()
	fold := false
	for _, pattern := range f.Groups {
		for _, span := range spansOf(pattern, fold) {
			if !span.open && err == nil {
				if ok, rule := filter.Match(span.text); !ok {
					c.noteOn(f.Source, fmt.Sprintf("group %s is named by %s and not carried: %s", span.text, c.cfg.FlowKey("Groups"), rule))
					continue
				}
			}
			notes := c.width("group", pattern, span, "Groups", "GroupsExclude", f.GroupsExclude, mm2.DefaultGroupsExclude())
			c.on(f.Source, f, under(Group, span)).to(Describe, "read positions of groups", "").note(notes...)
			if f.SyncGroupOffsets {
				off := c.without("SyncGroupOffsets", "false")
				c.on(f.Target, f, under(Group, span)).to(Describe, "see which groups are active", off).
					to(Read, "commit positions of groups", off).note(notes...)
			}
		}
		fold = fold || strings.Contains(pattern, "(?")
	}
}

// own adds what the topics, the group and the identities of Tidemark and of MirrorMaker 2 need.
func (c *collector) own(f config.Flow, p mm2.Policy) {
	c.on(f.Target, f, named(Topic, ledger.TopicName(f.Source))).
		to(Create, "create the ledger", "").
		to(Describe, "see the ledger", "").
		to(DescribeConfigs, "check that the ledger is compacted", "").
		to(Read, "know at a start where mirroring stands", "").
		to(Write, "note where mirroring stands, and fence former owners", "")
	c.on(f.Target, f, named(Topic, ledger.VerdictsName(f.Source))).
		to(Create, "create the topic of verdicts", "").
		to(Describe, "see the topic of verdicts", "").
		to(DescribeConfigs, "check that the topic of verdicts is compacted", "").
		to(Read, "take over what lanes say about positions", "").
		to(Write, "say what each position is", "")
	c.on(f.Target, f, named(Topic, control.TopicName(f.Source))).
		to(Describe, "see whether people have decided anything", "").
		to(Read, "obey what people have decided", "")
	c.on(f.Target, f, id{TransactionalID, Prefixed, "tidemark." + f.Name().String() + ".lane."}).
		to(Describe, "see that a fence is complete", "").
		to(Write, "own a lane, and fence its former owner", "")
	c.on(f.Target, f, named(Group, "tidemark."+f.Name().String())).to(Describe, "see the group of workers", "").to(Read, "share the lanes among workers", "")
	if f.EmitCheckpoints {
		c.written(f, f.Target, p.CheckpointsTopic(f.SourceAlias), "checkpoints", c.without("EmitCheckpoints", "false"))
	}
	if f.EmitHeartbeats {
		c.written(f, f.Target, mm2.HeartbeatsTopic, "heartbeats", c.without("EmitHeartbeats", "false"))
	}
	if f.EmitOffsetSyncs {
		off := c.without("EmitOffsetSyncs", "false")
		if f.OffsetSyncsLocation == config.LocationTarget {
			c.written(f, f.Target, p.OffsetSyncsTopic(f.SourceAlias), "offset syncs", off)
		} else {
			c.written(f, f.Source, p.OffsetSyncsTopic(f.TargetAlias), "offset syncs", off+" or "+c.without("OffsetSyncsLocation", config.LocationTarget))
		}
	}
}

// written adds the rights on one of MirrorMaker 2's topics.
func (c *collector) written(f config.Flow, alias, topic, what, unless string) {
	c.on(alias, f, named(Topic, topic)).
		to(Create, "create the topic of "+what, unless).
		to(Describe, "see the topic of "+what, unless).
		to(Write, "write "+what, unless).
		to(DescribeConfigs, "check that the topic of "+what+" is compacted", unless)
}

func (c *collector) noteOn(alias, text string) {
	if k := c.clusters[alias]; k != nil {
		k.note(text)
		return
	}
	c.clusters[alias] = &cluster{rules: map[id]*entry{}, notes: []string{text}}
}

// width says in what a rule opens more, or less, than a pattern selects.
func (c *collector) width(what, pattern string, s span, field, excludeField string, exclude, usual []string) (notes []string) {
	key := c.cfg.FlowKey(field)
	const narrow = "it may be narrowed by rules for the names that exist"
	switch {
	case !s.open && s.text == everyName:
		notes = append(notes, fmt.Sprintf("an access rule for the one %s \"*\" would be one for every %s, so this one is for all whose names begin with \"*\"; it covers nothing else where no other name begins so", what, what))
	case !s.open:
	case s.text == "" && s.exact:
		notes = append(notes, fmt.Sprintf("%s has %q, so the rule is for every %s; %s", key, pattern, what, narrow))
	case s.text == "":
		notes = append(notes, fmt.Sprintf("no rule can stand for %q of %s, whose names have no beginning in common, so it is for every %s; %s", pattern, key, what, narrow))
	case !s.exact:
		notes = append(notes, fmt.Sprintf("a rule can stand for the beginning of %q of %s only, so it is wider; %s", pattern, key, narrow))
	}
	if s.dot {
		notes = append(notes, fmt.Sprintf(`a "." in %q of %s accepts any character; the rule takes it for a dot`, pattern, key))
	}
	var own []string
	for _, p := range exclude {
		if !slices.Contains(usual, p) || s.text == "" {
			own = append(own, p)
		}
	}
	if s.open && len(own) > 0 {
		notes = append(notes, fmt.Sprintf("it covers what %s leaves out as well (%s): rules that allow have no exceptions", c.cfg.FlowKey(excludeField), strings.Join(own, ", ")))
	}
	return notes
}

// policy is the replication policy of a flow.
func policy(cfg *config.Config, f config.Flow) mm2.Policy {
	return cfg.Policy(f)
}
