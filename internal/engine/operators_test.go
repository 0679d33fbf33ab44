package engine

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/config"
	"tidemark/internal/configfile"
)

// operators are the files of internal/lintfile that are not refused, which lint's test sees to: the topic that is filled,
// its name on the target, and the group that is there beside it. carried says that the file commits positions.
var operators = map[string]struct {
	topic, remote, group string
	carried, late        bool
}{
	"01-quickstart":         {topic: "orders", remote: "primary.orders", group: "billing"},
	"02-disaster-recovery":  {topic: "inventory.stock", remote: "prod.inventory.stock", group: "billing", carried: true},
	"03-cloud-api-keys":     {topic: "web.orders", remote: "web.orders", group: "billing"},
	"04-msk-iam":            {topic: "app-1", remote: "msk-east.app-1", group: "app-billing", carried: true},
	"05-misspelt":           {topic: "orders", remote: "source.orders", group: "billing", late: true},
	"06-active-active":      {topic: "customers", remote: "us-east.customers", group: "billing", carried: true},
	"10-secrets-from-files": {topic: "shop-1", remote: "blue.shop-1", group: "billing", carried: true},
}

// secure are the keys of logins and certificates. The embedded clusters have neither; internal/e2e tries them on real brokers.
var secure = regexp.MustCompile(`(?m)^(\S+\.)?(producer\.)?(security|sasl|ssl)\.\S.*(\\\n.*)*\n`)

// address is a line that says where a cluster is.
var address = regexp.MustCompile(`(?m)^(\S+)\.bootstrap\.servers.*$`)

// TestOperatorsFilesRun: the files that are not refused do what they say, but for their addresses and logins.
func TestOperatorsFilesRun(t *testing.T) {
	t.Setenv("MM2_BLUE", "blue:9092")
	for name, want := range operators {
		t.Run(name, func(t *testing.T) {
			path := "../lintfile/testdata/operators/" + name + ".properties"
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			e := newEnds(t, "")
			three := func(id string) *kfake.Cluster {
				c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.ClusterID(id))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return c
			}
			e.source, e.target = three("cluster-a"), three("cluster-b")
			e.src, e.dst = admin(t, e.source), admin(t, e.target)
			flow := config.FlowName{}
			at := []*kfake.Cluster{e.source, e.target}
			text := address.ReplaceAllStringFunc(secure.ReplaceAllString(string(data), ""), func(line string) string {
				alias := address.FindStringSubmatch(line)[1]
				c := at[0]
				at = at[1:]
				if flow.Source == "" {
					flow.Source = alias
				} else {
					flow.Target = alias
				}
				return alias + ".bootstrap.servers = " + strings.Join(c.ListenAddrs(), ",")
			})
			if e.cfg, err = configfile.Parse(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if !want.late {
				e.fill(want.topic, want.group)
			}
			stop := e.run()
			if want.late { // the file begins at the end of what is there
				e.until("the flow to begin", func() bool {
					ends, err := e.dst.ListEndOffsets(t.Context(), "tidemark-ledger."+flow.Source+".internal")
					n := int64(0)
					ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
					return err == nil && n >= 32
				})
				e.fill(want.topic, want.group)
			}
			e.until("records on the target", func() bool {
				ends, err := e.dst.ListEndOffsets(t.Context(), want.remote)
				o, ok := ends.Lookup(want.remote, 0)
				return err == nil && ok && o.Offset == 50
			})
			if want.carried {
				e.until("the group's position", func() bool {
					got, err := e.dst.FetchOffsets(t.Context(), want.group)
					o, ok := got.Lookup(want.remote, 0)
					return err == nil && ok && o.At == 20
				})
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// fill makes a topic of 50 records on the source, and a group that has read 20.
func (e *ends) fill(topic, group string) {
	e.t.Helper()
	ctx := e.t.Context()
	if _, err := e.src.CreateTopics(ctx, 1, 1, nil, topic); err != nil {
		e.t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(e.source.ListenAddrs()...))
	if err != nil {
		e.t.Fatal(err)
	}
	defer cl.Close()
	for i := range 50 {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "seq=%d", i)}, nil)
	}
	if err := cl.Flush(ctx); err != nil {
		e.t.Fatal(err)
	}
	at := kadm.Offsets{}
	at.AddOffset(topic, 0, 20, -1)
	if err := e.src.CommitAllOffsets(ctx, group, at); err != nil {
		e.t.Fatal(err)
	}
}
