import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Asks every question that Kafka's RemoteClusterUtils and MirrorClient know about the cluster that
 * it connects to.
 *
 * Arguments, key=value: alias (whose topics and checkpoints are asked for), group and groups (a
 * pattern, KIP-1239) for positions, hops (aliases with commas between), and client.NAME for the
 * properties of MirrorClient. Prints "METHOD WHAT: ANSWER", names sorted; methods that both classes
 * have are asked of both, and an answer that differs is an error.
 */
public class Ask {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    public static void main(String[] args) throws Exception {
        Map<String, String> opts = new HashMap<>();
        Map<String, Object> props = new HashMap<>();
        for (String arg : args) {
            int eq = arg.indexOf('=');
            String key = arg.substring(0, eq);
            if (key.startsWith("client.")) {
                props.put(key.substring("client.".length()), arg.substring(eq + 1));
            } else {
                opts.put(key, arg.substring(eq + 1));
            }
        }
        String alias = opts.get("alias");
        Pattern groups = Pattern.compile(opts.get("groups"));
        try (MirrorClient client = new MirrorClient(props)) {
            for (String hop : opts.get("hops").split(",")) {
                say("replicationHops", hop, () -> RemoteClusterUtils.replicationHops(props, hop), () -> client.replicationHops(hop));
            }
            say("heartbeatTopics", "", () -> new TreeSet<>(RemoteClusterUtils.heartbeatTopics(props)), () -> new TreeSet<>(client.heartbeatTopics()));
            say("checkpointTopics", "", () -> new TreeSet<>(RemoteClusterUtils.checkpointTopics(props)), () -> new TreeSet<>(client.checkpointTopics()));
            say("upstreamClusters", "", () -> new TreeSet<>(RemoteClusterUtils.upstreamClusters(props)), () -> new TreeSet<>(client.upstreamClusters()));
            say("remoteTopics", "", () -> new TreeSet<>(client.remoteTopics()), () -> new TreeSet<>(client.remoteTopics()));
            say("remoteTopics", alias, () -> new TreeSet<>(client.remoteTopics(alias)), () -> new TreeSet<>(client.remoteTopics(alias)));
            say("translateOffsets", opts.get("group"),
                () -> lines(RemoteClusterUtils.translateOffsets(props, alias, opts.get("group"), PATIENCE)),
                () -> lines(client.remoteConsumerOffsets(opts.get("group"), alias, PATIENCE)));
            say("translateOffsets", groups.pattern(),
                () -> byGroup(RemoteClusterUtils.translateOffsets(props, alias, groups, PATIENCE)),
                () -> byGroup(client.remoteConsumerOffsets(groups, alias, PATIENCE)));
        }
    }

    /** Both must say the same. They are asked one after the other, and others make topics meanwhile: so until they do. */
    private static void say(String method, String what, Callable<?> utils, Callable<?> client) throws Exception {
        Object one;
        Object two;
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        do {
            one = utils.call();
            two = client.call();
        } while (!one.equals(two) && System.nanoTime() < deadline);
        if (!one.equals(two)) {
            throw new IllegalStateException(method + " " + what + ": RemoteClusterUtils says " + one + ", MirrorClient " + two);
        }
        System.out.println(method + " " + what + ": " + one);
    }

    private static Map<String, String> lines(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, String> out = new TreeMap<>();
        offsets.forEach((tp, o) -> out.put(tp.toString(), o.offset() + "/" + o.metadata()));
        return out;
    }

    private static Map<String, Map<String, String>> byGroup(Map<String, Map<TopicPartition, OffsetAndMetadata>> groups) {
        Map<String, Map<String, String>> out = new TreeMap<>();
        groups.forEach((group, offsets) -> out.put(group, lines(offsets)));
        return out;
    }
}
