package kafka

import (
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Only a cluster that says that we see a topic, and leaves the right to change it out, denies that.
func TestCannotAlterConfigs(t *testing.T) {
	fc, cl := fakeClient(t, kfake.NumBrokers(1))
	bit := func(op kmsg.ACLOperation) int32 { return 1 << op }
	rights := map[string]int32{
		"all": bit(kmsg.ACLOperationDescribe) | bit(kmsg.ACLOperationAlterConfigs), "denied": bit(kmsg.ACLOperationDescribe) | bit(kmsg.ACLOperationWrite),
		"no authorizer": rightsNotTold, "nothing told": 0,
	}
	fc.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fc.KeepControl()
		req := r.(*kmsg.MetadataRequest)
		if !req.IncludeTopicAuthorizedOperations {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		for _, rt := range req.Topics {
			mt := kmsg.NewMetadataResponseTopic()
			mt.Topic, mt.AuthorizedOperations = rt.Topic, rights[*rt.Topic]
			resp.Topics = append(resp.Topics, mt)
		}
		return resp, nil, true
	})
	got, err := cl.CannotAlterConfigs(deadline(t), slices.Collect(maps.Keys(rights)))
	noError(t, err)
	if len(got) != 1 {
		t.Errorf("%v", got)
	}
	if d := *as[*ErrDenied](t, got["denied"]); d != (ErrDenied{"ALTER_CONFIGS", "topic", "denied", "A"}) {
		t.Errorf("%+v", d)
	}
}
