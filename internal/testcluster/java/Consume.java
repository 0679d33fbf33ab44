import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads a topic as a member of a group with Kafka's own consumer, from the group's positions on.
 *
 * Arguments, key=value: topic, group, count (1: stop after so many records; 0: stay a member until
 * standard input ends), timeout (60000: ms after which it gives up with status 2), commit (true: commit exactly what was printed), and
 * client.NAME for consumer properties such as client.auto.offset.reset (none by default),
 * client.isolation.level (read_committed by default) or client.group.protocol. Prints one line per
 * record: offset:partition:key:value. A partition without a position under the reset rule "none" is
 * told on stderr, and ends it with status 3.
 */
public class Consume {
    public static void main(String[] args) {
        Map<String, String> opts = new HashMap<>();
        Properties props = new Properties();
        props.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
        props.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        for (String arg : args) {
            int eq = arg.indexOf('=');
            String key = arg.substring(0, eq);
            if (key.startsWith("client.")) {
                props.put(key.substring("client.".length()), arg.substring(eq + 1));
            } else {
                opts.put(key, arg.substring(eq + 1));
            }
        }
        props.put(ConsumerConfig.GROUP_ID_CONFIG, opts.get("group"));
        props.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        System.exit(read(opts, props));
    }

    static int read(Map<String, String> opts, Properties props) {
        long count = Long.parseLong(opts.getOrDefault("count", "1"));
        AtomicBoolean told = new AtomicBoolean();
        if (count == 0) {
            count = Long.MAX_VALUE;
            Thread end = new Thread(() -> awaitEnd(told));
            end.setDaemon(true);
            end.start();
        }
        long deadline = System.currentTimeMillis() + Long.parseLong(opts.getOrDefault("timeout", "60000"));
        boolean commit = Boolean.parseBoolean(opts.getOrDefault("commit", "true"));
        Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(props, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(opts.get("topic")));
            long seen = 0;
            while (!told.get() && seen < count && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                    if (seen == count) {
                        break;
                    }
                    seen++;
                    System.out.println(r.offset() + ":" + r.partition() + ":" + r.key() + ":" + r.value());
                    read.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                }
            }
            if (commit && !read.isEmpty()) {
                consumer.commitSync(read);
            }
            System.out.flush();
            return seen == count || told.get() ? 0 : 2;
        } catch (NoOffsetForPartitionException e) {
            System.err.println("no position: " + e.partitions());
            return 3;
        }
    }

    /** Waits until standard input ends. */
    static void awaitEnd(AtomicBoolean told) {
        try {
            while (System.in.read() >= 0) {
                // What comes does not matter.
            }
        } catch (IOException e) {
            System.err.println("standard input: " + e);
        }
        told.set(true);
    }
}
