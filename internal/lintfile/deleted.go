package lintfile

import (
	"fmt"

	"tidemark/internal/config"
	"tidemark/internal/control"
	"tidemark/internal/ledger"
)

// keyed is a topic of which the newest record of each key is to stay, however old it is.
type keyed struct {
	at, topic string
	// missed is a clause about what its readers miss where old records are deleted. Empty: it is one of ours, and without
	// what it holds a flow cannot go on.
	missed string
}

// keyed are such topics that a flow writes.
func (l looker) keyed(f config.Flow) []keyed {
	out := []keyed{
		{f.Target, ledger.TopicName(f.Source), ""}, {f.Target, ledger.VerdictsName(f.Source), ""}, {f.Target, control.TopicName(f.Source), ""},
	}
	if f.EmitCheckpoints {
		out = append(out, keyed{f.Target, l.policy(f).CheckpointsTopic(f.Source), "whoever translates by checkpoints misses the positions of groups that have not moved since"})
	}
	if f.EmitOffsetSyncs {
		at, topic := l.syncsTopic(f)
		out = append(out, keyed{at, topic, "whoever translates by offset syncs finds none of partitions that have been idle since"})
	}
	if f.EmitHeartbeats {
		out = append(out, keyed{f.Target, "heartbeats", "whoever looks for the last heartbeat of a flow that was stopped finds none"})
	}
	return out
}

// deleted is about topics that are there and whose old records are deleted. A run takes MirrorMaker 2's as they are.
func (l looker) deleted(f config.Flow) []Finding {
	var out []Finding
	for _, k := range l.keyed(f) {
		if !l.brokers[k.at].Deleting[k.topic] {
			continue
		}
		x := Finding{Severity: Risk, Flow: f.Name().String(), Text: fmt.Sprintf("the cleanup.policy of %s on %s deletes old records: %s", k.topic, k.at, k.missed)}
		if k.missed == "" {
			x.Severity, x.Text = Error, fmt.Sprintf("the cleanup.policy of %s on %s deletes old records, which the flow must remember: a run is refused", k.topic, k.at)
		}
		x.Do = "set its cleanup.policy to compact"
		out = append(out, x)
	}
	return out
}
