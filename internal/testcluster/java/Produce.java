import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes numbered records with Kafka's own producer.
 *
 * Arguments, key=value: topic, partition (0), count (100), first (0: the first sequence number),
 * timestamp (now: ms of the first record), step (1: ms between records), bytes (60: size of a value),
 * txid (none: not transactional), txsize (10: records a transaction), abort (0: each n-th transaction
 * is aborted), and client.NAME for producer properties such as client.compression.type,
 * client.batch.size, client.enable.idempotence. Prints one line per acknowledged record:
 * offset:sequence number, also for records of aborted transactions.
 */
public class Produce {
    public static void main(String[] args) throws Exception {
        Map<String, String> opts = new HashMap<>();
        Properties props = new Properties();
        for (String arg : args) {
            int eq = arg.indexOf('=');
            String key = arg.substring(0, eq);
            if (key.startsWith("client.")) {
                props.put(key.substring("client.".length()), arg.substring(eq + 1));
            } else {
                opts.put(key, arg.substring(eq + 1));
            }
        }
        props.putIfAbsent(ProducerConfig.LINGER_MS_CONFIG, "5");
        String txid = opts.get("txid");
        if (txid != null) {
            props.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, txid);
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(props, new StringSerializer(), new StringSerializer())) {
            if (txid == null) {
                write(producer, opts, 0, number(opts, "count", 100));
            } else {
                writeTransactions(producer, opts);
            }
        }
    }

    static void writeTransactions(KafkaProducer<String, String> producer, Map<String, String> opts) throws Exception {
        long count = number(opts, "count", 100);
        long size = number(opts, "txsize", 10);
        long abort = number(opts, "abort", 0);
        producer.initTransactions();
        long tx = 0;
        for (long from = 0; from < count; from += size) {
            tx++;
            producer.beginTransaction();
            write(producer, opts, from, Math.min(count, from + size));
            if (abort > 0 && tx % abort == 0) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
    }

    static void write(KafkaProducer<String, String> producer, Map<String, String> opts, long from, long to) throws Exception {
        long first = number(opts, "first", 0);
        long timestamp = number(opts, "timestamp", System.currentTimeMillis());
        long step = number(opts, "step", 1);
        int bytes = (int) number(opts, "bytes", 60);
        int partition = (int) number(opts, "partition", 0);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (long i = from; i < to; i++) {
            StringBuilder value = new StringBuilder("seq=" + (first + i) + "|");
            while (value.length() < bytes) {
                value.append((char) ('a' + (value.length() + i) % 26));
            }
            sent.add(producer.send(new ProducerRecord<>(
                opts.get("topic"), partition, timestamp + i * step, "key-" + (first + i), value.toString())));
        }
        producer.flush();
        for (int i = 0; i < sent.size(); i++) {
            System.out.println(sent.get(i).get().offset() + ":" + (first + from + i));
        }
    }

    static long number(Map<String, String> opts, String key, long otherwise) {
        return opts.containsKey(key) ? Long.parseLong(opts.get(key)) : otherwise;
    }
}
