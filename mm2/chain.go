package mm2

// originalTopic takes off every hop.
func originalTopic(p Policy, topic string) string {
	for {
		up, ok := p.UpstreamTopic(topic)
		if !ok || up == topic {
			return topic
		}
		topic = up
	}
}

// Chain lists the clusters that a name says it came through, nearest first: B, A
// for B.A.orders. Policies that keep names have no chain, heartbeats topics apart.
func Chain(p Policy, topic string) []string {
	var aliases []string
	for {
		alias, ok := p.TopicSource(topic)
		if !ok {
			return aliases
		}
		up, ok := p.UpstreamTopic(topic)
		if !ok || up == topic {
			return aliases
		}
		aliases = append(aliases, alias)
		topic = up
	}
}

// isCycle looks for target among the hops of the name. The alias of the nearest hop
// counts even where the policy keeps names, as in Java.
func isCycle(p Policy, topic, target string) bool {
	for {
		alias, ok := p.TopicSource(topic)
		if !ok {
			return false
		}
		if alias == target {
			return true
		}
		up, ok := p.UpstreamTopic(topic)
		if !ok || up == topic {
			return false
		}
		topic = up
	}
}

// Hops counts the hops from the cluster alias to the topic's place: 1 for A.orders
// and A. It is false when alias is not in the name or a cluster occurs twice
// before it (MirrorClient.replicationHops).
func Hops(p Policy, topic, alias string) (int, bool) {
	seen := map[string]bool{}
	for hops := 1; ; hops++ {
		source, ok := p.TopicSource(topic)
		if !ok || seen[source] {
			return 0, false
		}
		if source == alias {
			return hops, true
		}
		seen[source] = true
		if topic, ok = p.UpstreamTopic(topic); !ok {
			return 0, false
		}
	}
}

// IsRemote says whether the topic was mirrored from another cluster
// (MirrorClient.remoteTopics).
func IsRemote(p Policy, topic string) bool {
	_, ok := p.TopicSource(topic)
	return ok && !p.IsInternal(topic)
}

// TargetTopic is the name on target of a topic of source, as checkpoints carry it.
// A topic that came from target goes home under the name it has there; such a
// topic is a cycle and not mirrored, so only a reverse translation asks for it.
// Java takes off all hops instead, which names a topic that target does not have
// when B.C.orders goes home to B.
func TargetTopic(p Policy, source, target, topic string) string {
	if alias, ok := p.TopicSource(topic); ok && alias == target {
		if up, ok := p.UpstreamTopic(topic); ok {
			return up
		}
	}
	return p.RemoteTopic(source, topic)
}
