import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Asks Kafka's own RemoteClusterUtils for the positions of a group on the cluster that it connects
 * to, as an application would that moves there.
 *
 * Arguments, key=value: alias (of the source), group, timeout (10000 ms), and client.NAME for
 * properties of the target, client.bootstrap.servers among them. Prints one line per partition,
 * sorted: topic partition offset metadata.
 */
public class Translate {
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
        Duration timeout = Duration.ofMillis(Long.parseLong(opts.getOrDefault("timeout", "10000")));
        Map<String, String> lines = new TreeMap<>();
        for (Map.Entry<TopicPartition, OffsetAndMetadata> e : RemoteClusterUtils
                .translateOffsets(props, opts.get("alias"), opts.get("group"), timeout).entrySet()) {
            TopicPartition tp = e.getKey();
            lines.put(tp.topic() + " " + String.format("%010d", tp.partition()),
                tp.topic() + " " + tp.partition() + " " + e.getValue().offset() + " " + e.getValue().metadata());
        }
        lines.values().forEach(System.out::println);
    }
}
