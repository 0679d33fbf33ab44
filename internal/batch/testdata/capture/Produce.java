import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Produce BOOTSTRAP TOPIC CODEC MODE: one batch a flush, by Kafka's own producer. */
public class Produce {
    static byte[] bytes(String s) {
        return s == null ? null : s.getBytes(StandardCharsets.UTF_8);
    }

    static KafkaProducer<byte[], byte[]> open(String bootstrap, String codec, String txid) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("compression.type", codec);
        p.put("linger.ms", "2000");
        p.put("batch.size", "400000");
        if (txid != null) {
            p.put("transactional.id", txid);
        }
        return new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int i) {
        String key = i % 5 == 1 ? null : i % 5 == 2 ? "" : "key-" + i;
        String value = i % 7 == 3 ? null : i % 7 == 4 ? "" : ("value " + i + " ").repeat(12);
        // Times that go back and forth, since deltas are signed.
        long time = 1_700_000_000_000L + (i % 3 - 1) * 86_400_000L + i;
        ProducerRecord<byte[], byte[]> r = new ProducerRecord<>(topic, 0, time, bytes(key), bytes(value));
        for (int h = 0; h < i % 3; h++) {
            r.headers().add("header", h == 0 ? bytes("h" + i) : null);
        }
        return r;
    }

    static void keyed(KafkaProducer<byte[], byte[]> producer, String topic, String... keys) {
        for (String k : keys) {
            producer.send(new ProducerRecord<>(topic, 0, bytes(k), bytes(("value of " + k + " ").repeat(8))));
        }
        producer.flush();
    }

    public static void main(String[] args) {
        String bootstrap = args[0], topic = args[1], codec = args[2], mode = args[3];
        try (KafkaProducer<byte[], byte[]> producer = open(bootstrap, codec, mode.equals("txn") ? topic : null)) {
            switch (mode) {
                case "plain":
                    for (int flush = 0; flush < 2; flush++) {
                        for (int i = 0; i < 25; i++) {
                            producer.send(record(topic, flush * 25 + i));
                        }
                        producer.flush();
                    }
                    break;
                case "txn":
                    producer.initTransactions();
                    for (int t = 0; t < 4; t++) {
                        producer.beginTransaction();
                        for (int i = 0; i < 5; i++) {
                            producer.send(record(topic, t * 5 + i));
                        }
                        producer.flush();
                        if (t % 2 == 0) {
                            producer.commitTransaction();
                        } else {
                            producer.abortTransaction();
                        }
                    }
                    break;
                case "keys": // for compaction: the second batch supersedes part of the first
                    keyed(producer, topic, "a", "b", "c", "d", "e", "f");
                    keyed(producer, topic, "b", "d", "f");
                    break;
                case "roll": // closes the segment, so that the cleaner may take it
                    keyed(producer, topic, "b", "d", "f");
                    break;
                default:
                    throw new IllegalArgumentException(mode);
            }
        }
    }
}
