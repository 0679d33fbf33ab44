package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeTopics(t *testing.T) {
	fc, cl := fakeClient(t, kfake.SeedTopics(3, "b"), kfake.SeedTopics(1, "a", "hidden"))
	all, err := cl.DescribeTopics(deadline(t))
	noError(t, err)
	var names []string
	for _, topic := range all {
		names = append(names, topic.Name)
		if topic.ID != fc.TopicInfo(topic.Name).TopicID || topic.ReplicationFactor != 3 || topic.Internal || topic.Err != nil {
			t.Errorf("got %+v", topic)
		}
	}
	if strings.Join(names, " ") != "a b hidden" || all[1].Partitions != 3 {
		t.Errorf("got %+v", all)
	}
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "hidden", Err: kerr.TopicAuthorizationFailed, Count: -1})
	some, err := cl.DescribeTopics(deadline(t), "hidden", "b", "gone")
	noError(t, err)
	if len(some) != 3 || some[0].Partitions != 3 || some[0].Err != nil {
		t.Fatalf("got %+v", some)
	}
	if !errors.Is(some[1].Err, ErrNoTopic) {
		t.Errorf("gone: %v", some[1].Err)
	}
	if got := *as[*ErrDenied](t, some[2].Err); got != (ErrDenied{"DESCRIBE", "topic", "hidden", "A"}) {
		t.Errorf("denied: %+v", got)
	}
	if info := fc.TopicInfo("gone"); info != nil {
		t.Error("asking for a topic created it")
	}
}

func TestCreateAndGrow(t *testing.T) {
	_, cl := fakeClient(t, kfake.NumBrokers(3))
	spec := TopicSpec{Name: "t", Partitions: 2, ReplicationFactor: 3, Configs: map[string]*string{
		"cleanup.policy": new("compact"), "retention.ms": new("1000"),
	}}
	noError(t, cl.CreateTopic(deadline(t), spec))
	err := cl.CreateTopic(deadline(t), spec)
	if !errors.Is(err, kerr.TopicAlreadyExists) || ClassifyErr(err) != Exists || !strings.Contains(err.Error(), `create topic "t" on cluster A`) {
		t.Errorf("a second time: %v", err)
	}
	configs, failed, err := cl.TopicConfigs(deadline(t), []string{"t", "gone"})
	noError(t, err)
	if e := configs["t"]["cleanup.policy"]; e.Value == nil || *e.Value != "compact" || !e.OfTopic() {
		t.Errorf("cleanup.policy: %+v", e)
	}
	if failed["gone"] == nil || failed["t"] != nil || configs["gone"] != nil {
		t.Errorf("failed: %v", failed)
	}
	noError(t, cl.CreatePartitions(deadline(t), "t", 5))
	got, err := cl.DescribeTopics(deadline(t), "t")
	noError(t, err)
	if got[0].Partitions != 5 {
		t.Errorf("%d partitions after growing", got[0].Partitions)
	}
	if err := cl.CreatePartitions(deadline(t), "t", 4); !errors.Is(err, kerr.InvalidPartitions) || ClassifyErr(err) != Stop {
		t.Errorf("shrinking: %v", err)
	}
	if err := cl.CreatePartitions(deadline(t), "gone", 5); err == nil {
		t.Error("a topic that does not exist was grown")
	}
	if err := cl.CreateTopic(deadline(t), TopicSpec{Name: "u", Partitions: 1, ReplicationFactor: 9}); ClassifyErr(err) != Stop {
		t.Errorf("more replicas than brokers: %v", err)
	}
}

func TestAlterConfigs(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t", "u"))
	fc.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.IncrementalAlterConfigs}, Resource: "u", Err: kerr.InvalidConfig, Count: -1})
	value := func(topic, key string) ConfigEntry {
		t.Helper()
		configs, failed, err := cl.TopicConfigs(deadline(t), []string{topic})
		noError(t, errors.Join(err, failed[topic]))
		return configs[topic][key]
	}
	failed, err := cl.AlterConfigs(deadline(t), map[string]map[string]*string{
		"t":    {"retention.ms": new("1234"), "max.message.bytes": new("99999")},
		"u":    {"retention.ms": new("soon")},
		"gone": {"retention.ms": new("1")},
	})
	noError(t, err)
	if !errors.Is(failed["u"], kerr.InvalidConfig) || failed["gone"] == nil || failed["t"] != nil {
		t.Errorf("failed: %v", failed)
	}
	if e := value("t", "retention.ms"); *e.Value != "1234" || !e.OfTopic() {
		t.Errorf("retention.ms: %+v", e)
	}
	failed, err = cl.AlterConfigs(deadline(t), map[string]map[string]*string{"t": {"retention.ms": nil}})
	noError(t, errors.Join(err, failed["t"]))
	if e := value("t", "retention.ms"); e.OfTopic() {
		t.Errorf("retention.ms was not taken away: %+v", e)
	}
	if e := value("t", "max.message.bytes"); *e.Value != "99999" {
		t.Errorf("a value that was not named changed: %+v", e)
	}
}

func TestAdminRights(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	deny := func(key kmsg.Key, err *kerr.Error) {
		fc.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err, Count: -1})
	}
	deny(kmsg.CreateTopics, kerr.ClusterAuthorizationFailed)
	deny(kmsg.CreatePartitions, kerr.TopicAuthorizationFailed)
	deny(kmsg.DescribeConfigs, kerr.TopicAuthorizationFailed)
	deny(kmsg.IncrementalAlterConfigs, kerr.TopicAuthorizationFailed)
	ctx := deadline(t)
	_, described, err := cl.TopicConfigs(ctx, []string{"t"})
	noError(t, err)
	altered, err := cl.AlterConfigs(ctx, map[string]map[string]*string{"t": {"retention.ms": nil}})
	noError(t, err)
	for _, c := range []struct {
		err  error
		want ErrDenied
	}{
		{cl.CreateTopic(ctx, TopicSpec{Name: "new", Partitions: 1, ReplicationFactor: 1}), ErrDenied{"CREATE", "cluster", "", "A"}},
		{cl.CreatePartitions(ctx, "t", 2), ErrDenied{"ALTER", "topic", "t", "A"}},
		{described["t"], ErrDenied{"DESCRIBE_CONFIGS", "topic", "t", "A"}},
		{altered["t"], ErrDenied{"ALTER_CONFIGS", "topic", "t", "A"}},
	} {
		if got := *as[*ErrDenied](t, c.err); got != c.want {
			t.Errorf("denied: %+v, want %+v", got, c.want)
		}
	}
}

func TestBrokersReasonIsKept(t *testing.T) {
	cl := &Client{cluster: Cluster{Alias: "A"}, dials: &dialLog{}}
	err := cl.adminResult(`create topic "t"`, "CREATE", "t", kerr.PolicyViolation.Code, new("names start with team-"))
	if !errors.Is(err, kerr.PolicyViolation) || !strings.Contains(err.Error(), "names start with team-") {
		t.Errorf("the error says %q", err)
	}
	if err := cl.adminResult("x", "CREATE", "t", 0, nil); err != nil {
		t.Error(err)
	}
}

func TestAdminOfNobody(t *testing.T) {
	cl := open(t, Cluster{Alias: "A", Bootstrap: []string{closedPort(t)}})
	ctx := deadline(t)
	_, e1 := cl.DescribeTopics(ctx)
	_, _, e2 := cl.TopicConfigs(ctx, []string{"t"})
	_, e3 := cl.AlterConfigs(ctx, map[string]map[string]*string{"t": nil})
	for _, err := range []error{e1, e2, e3, cl.CreateTopic(ctx, TopicSpec{Name: "t"}), cl.CreatePartitions(ctx, "t", 1)} {
		as[*ErrUnreachable](t, err)
		if !strings.Contains(err.Error(), "on cluster A: ") {
			t.Errorf("the error says %q", err)
		}
	}
}
