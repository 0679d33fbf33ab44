package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/ledger"
	"tidemark/internal/testcluster"
)

// configure changes settings of a topic; a nil value takes one away.
func configure(ctx context.Context, t *testing.T, a *kadm.Client, topic string, changes map[string]*string) {
	t.Helper()
	var alters []kadm.AlterConfig
	for k, v := range changes {
		op := kadm.SetConfig
		if v == nil {
			op = kadm.DeleteConfig
		}
		alters = append(alters, kadm.AlterConfig{Op: op, Name: k, Value: v})
	}
	got, err := a.AlterTopicConfigs(ctx, alters, topic)
	if err == nil {
		_, err = got.On(topic, nil)
	}
	if err == nil {
		err = got[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

// own waits until exactly these settings are set on the remote topic itself.
func (f *flow) own(topic string, want map[string]string) {
	f.tb.Helper()
	f.until(30*time.Second, fmt.Sprintf("%s with %v", f.remote(topic), want), func(ctx context.Context) (bool, string) {
		got, err := f.dst.DescribeTopicConfigs(ctx, f.remote(topic))
		if err == nil {
			_, err = got.On(f.remote(topic), nil)
		}
		if err == nil {
			err = got[0].Err
		}
		have := map[string]string{}
		for _, c := range got {
			for _, e := range c.Configs {
				if e.Source == kmsg.ConfigSourceDynamicTopicConfig {
					have[e.Key] = e.MaybeValue()
				}
			}
		}
		return err == nil && maps.Equal(have, want), fmt.Sprintf("%v, %v", have, err)
	})
}

// TestCase16SettingsFollow: what is set on the source topic itself is set on the remote topic, when it is created, when it
// changes and until it is removed. What only the target sets, what is excluded and what the source's brokers say by
// default is none of our business, at creation neither.
func TestCase16SettingsFollow(t *testing.T) {
	t.Parallel()
	const found, made = "c16-found", "c16-made"
	source := map[string]string{
		"cleanup.policy": "compact", "retention.ms": "86400000", "min.insync.replicas": "2", "leader.replication.throttled.replicas": "*",
	}
	followed := map[string]string{"cleanup.policy": "compact", "retention.ms": "86400000"}
	theirs := map[string]string{"retention.bytes": "1000000000", "min.insync.replicas": "1", "max.message.bytes": "500000"}
	with := func(ms ...map[string]string) map[string]string {
		out := map[string]string{}
		for _, m := range ms {
			maps.Copy(out, m)
		}
		return out
	}
	type flavour struct {
		*flow
		also map[string]string // what this flow does not exclude
	}
	ctx := t.Context()
	flavours := map[string]*flavour{
		"default": {flow: newFlow(t, "c16a", "c16-.*", "none", "")},
		"regex":   {flow: newFlow(t, "c16b", "c16-.*", "none", `, config_properties_exclude: ["min\\..*", ".*throttled.*"]`)},
		"empty":   {flow: newFlow(t, "c16c", "c16-.*", "none", ", config_properties_exclude: []"), also: map[string]string{"min.insync.replicas": "2", "leader.replication.throttled.replicas": "*"}},
	}
	admin := flavours["default"].src
	brokerDefault := func(v *string) {
		op := kadm.SetConfig
		if v == nil {
			op = kadm.DeleteConfig
		}
		if _, err := admin.AlterBrokerConfigs(context.WithoutCancel(ctx), []kadm.AlterConfig{{Op: op, Name: "log.cleaner.delete.retention.ms", Value: v}}); err != nil {
			t.Fatal(err)
		}
	}
	brokerDefault(new("86400001"))
	t.Cleanup(func() { brokerDefault(nil) })
	for _, topic := range []string{found, made} {
		flavours["default"].topic(topic, 1, source)
	}
	for _, f := range flavours {
		f.emptyRemote(found, 1, theirs)
		f.rewrite("positions_interval: 200ms", "positions_interval: 200ms, refresh_topics_interval: 500ms, sync_topic_configs_interval: 1s")
		f.listen()
		f.start()
	}
	for _, f := range flavours {
		f.own(made, with(followed, f.also))
		f.own(found, with(theirs, followed, f.also))
	}

	// An operator of the target sets a value that the source does not, another one that it does, and takes one away.
	for _, f := range flavours {
		configure(ctx, t, f.dst, f.remote(made), map[string]*string{"max.message.bytes": new("600000"), "retention.ms": new("5"), "cleanup.policy": nil})
	}
	configure(ctx, t, admin, made, map[string]*string{"segment.ms": new("70000"), "leader.replication.throttled.replicas": new("0:1")})
	configure(ctx, t, admin, found, map[string]*string{"retention.ms": new("43200000"), "max.message.bytes": new("700000")})
	for _, f := range flavours {
		if f.also != nil {
			f.also = with(f.also, map[string]string{"leader.replication.throttled.replicas": "0:1"})
		}
		f.own(made, with(followed, f.also, map[string]string{"max.message.bytes": "600000", "segment.ms": "70000"}))
		if f.also != nil {
			f.also["leader.replication.throttled.replicas"] = "*"
		}
		f.own(found, with(theirs, followed, f.also, map[string]string{"retention.ms": "43200000", "max.message.bytes": "700000"}))
	}

	configure(ctx, t, admin, made, map[string]*string{"segment.ms": nil, "retention.ms": nil, "leader.replication.throttled.replicas": nil})
	configure(ctx, t, admin, found, map[string]*string{"retention.ms": nil, "max.message.bytes": nil, "min.insync.replicas": nil})
	for _, f := range flavours {
		want := map[string]string{"cleanup.policy": "compact", "max.message.bytes": "600000"}
		if f.also != nil {
			want["min.insync.replicas"] = "2"
		}
		f.own(made, want)
		want = map[string]string{"cleanup.policy": "compact", "retention.bytes": "1000000000"}
		if f.also != nil {
			want["leader.replication.throttled.replicas"] = "*"
		} else {
			want["min.insync.replicas"] = "1"
		}
		f.own(found, want)
	}
}

// TestCase16RemovedAfterARestart: a setting that an earlier process copied is taken away too.
func TestCase16RemovedAfterARestart(t *testing.T) {
	t.Parallel()
	const topic = "c16r-t"
	f := newFlow(t, "c16r", topic, "none", ", refresh_topics: false, sync_topic_configs_interval: 1s")
	f.topic(topic, 1, map[string]string{"retention.ms": "86400000", "cleanup.policy": "compact"})
	stop := f.start()
	f.own(topic, map[string]string{"retention.ms": "86400000", "cleanup.policy": "compact"})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	log := f.listen()
	f.start()
	f.until(30*time.Second, "the second process", func(context.Context) (bool, string) { return log.line("lanes assigned"), "" })
	configure(t.Context(), t, f.src, topic, map[string]*string{"retention.ms": nil})
	f.own(topic, map[string]string{"cleanup.policy": "compact"})
	f.until(30*time.Second, "a word in the log", func(context.Context) (bool, string) { // it follows the change
		return log.line("settings of a remote topic follow the source", "topic="+topic, "removed=retention.ms"), ""
	})
}

// TestCase16RemovedWhileNoneRan: a setting that was copied is taken away too when it is removed on the source while no
// worker runs. What the target's operator set meanwhile stays.
func TestCase16RemovedWhileNoneRan(t *testing.T) {
	t.Parallel()
	const topic = "c16d-t"
	f := newFlow(t, "c16d", topic, "none", ", sync_topic_configs_interval: 1s")
	f.topic(topic, 1, map[string]string{"retention.ms": "86400000", "cleanup.policy": "compact", "segment.ms": "70000"})
	stop := f.start()
	f.own(topic, map[string]string{"retention.ms": "86400000", "cleanup.policy": "compact", "segment.ms": "70000"})
	cl := suite.target.Client(t)
	f.until(30*time.Second, "the topic's settings in the ledger", func(ctx context.Context) (bool, string) {
		recs, err := testcluster.Read(ctx, cl, ledger.TopicName(f.alias), testcluster.ReadUncommitted)
		return slices.ContainsFunc(recs, func(r testcluster.Rec) bool { return string(r.Key) == "configs/"+topic }), fmt.Sprint(err)
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	configure(t.Context(), t, f.src, topic, map[string]*string{"retention.ms": nil, "segment.ms": nil})
	configure(t.Context(), t, f.dst, f.remote(topic), map[string]*string{"segment.ms": new("80000")})
	f.start()
	f.own(topic, map[string]string{"cleanup.policy": "compact", "segment.ms": "80000"})
}

// TestCase16Rights: without ALTER_CONFIGS on a remote topic its settings do not follow, which is said with the right's
// name while the others go on; as soon as it is granted they do.
func TestCase16Rights(t *testing.T) {
	t.Parallel()
	const user, full, bare = "configurer", "c16s-full", "c16s-bare"
	r := secured(t)
	newUser(t, user)
	f, may := securedFlow(t, "c16s", "c16s-.*", "none", user, false, ", sync_topic_configs_interval: 1s")
	log := f.listen()
	may.under(topicACL, "tidemark-", create, describe, configs, read, write)
	may.on(topicACL, "c16s.checkpoints.internal", create, describe, configs, write)
	may.on(topicACL, "heartbeats", create, describe, configs, write)
	may.on(groupACL, "tidemark.c16s->T", read)
	may.under(txnACL, "tidemark.c16s->T.", write, describe)
	may.under(topicACL, "c16s.c16s-", create, describe, configs, read, write)
	may.on(topicACL, "c16s."+full, kmsg.ACLOperationAlterConfigs)
	for _, topic := range []string{full, bare} {
		f.topic(topic, 1, map[string]string{"retention.ms": "86400000"})
		f.produce(testcluster.Load{Topic: topic, Count: 50})
	}
	f.start()
	for _, topic := range []string{full, bare} {
		f.holds(r, f.remote(topic), 50) // a remote topic is created with its settings, which CREATE allows
		f.own(topic, map[string]string{"retention.ms": "86400000"})
		configure(t.Context(), t, f.src, topic, map[string]*string{"retention.ms": new("43200000"), "segment.ms": new("70000")})
	}
	f.own(full, map[string]string{"retention.ms": "43200000", "segment.ms": "70000"})
	denied := []string{"level=WARN", "settings of remote topics do not follow", `ALTER_CONFIGS on topic \"c16s.` + bare + `\" is missing on cluster T`}
	f.until(30*time.Second, "a word in the log", func(context.Context) (bool, string) { return log.line(denied...), strings.Join(denied, " ") })
	f.own(bare, map[string]string{"retention.ms": "86400000"})
	f.produce(testcluster.Load{Topic: bare, First: 50, Count: 50})
	f.holds(r, f.remote(bare), 100)
	may.on(topicACL, "c16s."+bare, kmsg.ACLOperationAlterConfigs)
	f.own(bare, map[string]string{"retention.ms": "43200000", "segment.ms": "70000"})
}
