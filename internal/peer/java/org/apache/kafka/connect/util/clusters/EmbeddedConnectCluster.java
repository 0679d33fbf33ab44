package org.apache.kafka.connect.util.clusters;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.connect.runtime.rest.entities.ConnectorOffset;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorOffsets;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorStateInfo;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorType;
import org.opentest4j.TestAbortedException;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import peer.Running;
import peer.Tidemark;

/**
 * Stands before Kafka's class of this name on the class path: the same embedded Kafka cluster, and instead of Connect's workers
 * one `tidemark run` process for each flow whose connectors the test configures here.
 */
public class EmbeddedConnectCluster extends EmbeddedConnect {
    /** The connector whose restart and stop are those of the process: one process is all three. */
    private static final String MAIN = "MirrorSourceConnector";
    private static final List<String> WORKER_TOPICS = List.of("status.storage.topic", "offset.storage.topic", "config.storage.topic");

    private final Map<String, String> workerProps;
    private final String name;
    private final Map<String, String> flowOf = new LinkedHashMap<>(); // by connector
    private final Map<String, Tidemark> flows = new LinkedHashMap<>(); // null: the flow is off, and nothing runs for it
    private final Set<String> stopped = new HashSet<>();

    private EmbeddedConnectCluster(int brokers, Properties brokerProps, boolean maskExit, Map<String, String> clientProps,
                                   Map<String, String> workerProps, String name) {
        super(brokers, brokerProps, maskExit, clientProps);
        this.workerProps = workerProps;
        this.name = name;
    }

    @Override
    public Set<WorkerHandle> workers() { return Set.of(); }

    public String getName() { return name; }

    /** The tests wait for the three topics of Connect's workers before they go on; nothing reads or writes them here. */
    @Override
    public void startConnect() {
        for (String key : WORKER_TOPICS)
            if (workerProps.get(key) != null)
                kafka().createTopic(workerProps.get(key), key.startsWith("config") ? 1 : 5, 1, Map.of("cleanup.policy", "compact"));
    }

    @Override
    public String endpointForResource(String resource) { return "none: " + resource; } // is only logged

    @Override
    public String configureConnector(String connector, Map<String, String> config) {
        String from = config.get("source.cluster.alias");
        String to = config.get("target.cluster.alias");
        String flow = from + ":" + to;
        flowOf.put(connector, flow);
        if (flows.containsKey(flow)) return "";
        Map<String, String> props = Running.properties();
        if (!"true".equals(props.get(from + "->" + to + ".enabled"))) {
            Running.note("flow " + flow + " is off: nothing runs for " + connector);
            flows.put(flow, null);
            return "";
        }
        Tidemark process = new Tidemark(flow, props, flow);
        flows.put(flow, process);
        process.start();
        process.awaitReady();
        return "";
    }

    private Tidemark process(String connector) { return flows.get(flowOf.get(connector)); }

    @Override
    public ConnectorStateInfo connectorStatus(String connector) {
        Tidemark p = process(connector);
        String state = stopped.contains(connector) ? "STOPPED"
            : !flowOf.containsKey(connector) ? "UNASSIGNED"
            : p == null || p.alive() ? "RUNNING" : "FAILED";
        List<ConnectorStateInfo.TaskState> tasks = state.equals("STOPPED") ? List.of()
            : List.of(new ConnectorStateInfo.TaskState(0, state, "tidemark", "", ""));
        return new ConnectorStateInfo(connector, new ConnectorStateInfo.ConnectorState(state, "tidemark", "", ""), tasks, ConnectorType.SOURCE);
    }

    @Override
    public ConnectorStateInfo restartConnectorAndTasks(String connector, boolean onlyFailed, boolean tasks, boolean onlyCall) {
        if (connector.equals(MAIN)) {
            process(connector).stop();
            process(connector).start();
            process(connector).awaitReady();
        }
        return connectorStatus(connector);
    }

    @Override
    public void stopConnector(String connector) {
        stopped.add(connector);
        if (connector.equals(MAIN)) process(connector).stop();
    }

    @Override
    public void resumeConnector(String connector) {
        stopped.remove(connector);
        if (!connector.equals(MAIN)) return;
        process(connector).start();
        process(connector).awaitReady();
    }

    /** What Connect keeps as a source's offset is that of the last record, and status says the next one. */
    @Override
    public ConnectorOffsets connectorOffsets(String connector) {
        List<ConnectorOffset> offsets = new ArrayList<>();
        try {
            for (JsonNode f : process(connector).status().path("flows"))
                for (JsonNode p : f.path("partitions")) {
                    Map<String, Object> partition = new HashMap<>();
                    partition.put("cluster", flowOf.get(connector).split(":")[0]);
                    partition.put("topic", p.path("topic").asText());
                    partition.put("partition", p.path("partition").asInt());
                    offsets.add(new ConnectorOffset(partition, Map.of("offset", p.path("mirrored_to").asLong() - 1)));
                }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return new ConnectorOffsets(offsets);
    }

    @Override
    public String alterConnectorOffsets(String connector, ConnectorOffsets offsets) {
        throw new TestAbortedException("not applicable from here on: Connect's REST to alter a connector's offsets; all before it passes");
    }

    @Override
    public String resetConnectorOffsets(String connector) {
        throw new TestAbortedException("not applicable from here on: Connect's REST to reset a connector's offsets; all before it passes");
    }

    @Override
    public Collection<String> connectors() { return new ArrayList<>(flowOf.keySet()); }

    @Override
    public void deleteConnector(String connector) {
        String flow = flowOf.remove(connector);
        if (flowOf.containsValue(flow)) return;
        Tidemark p = flows.remove(flow);
        if (p != null) p.stop();
    }

    @Override
    public void stop() {
        try {
            for (Tidemark p : flows.values()) if (p != null) p.stop();
        } finally {
            flows.clear();
            super.stop();
        }
    }

    /** As Kafka's; the number of workers means nothing, as one process does the work of all. */
    public static class Builder extends EmbeddedConnectBuilder<EmbeddedConnectCluster, Builder> {
        private String name = "";

        public Builder name(String name) {
            this.name = name;
            return this;
        }

        public Builder numWorkers(int n) { return this; }

        @Override
        protected EmbeddedConnectCluster build(int brokers, Properties brokerProps, boolean maskExit, Map<String, String> clientProps,
                                               Map<String, String> workerProps) {
            return new EmbeddedConnectCluster(brokers, brokerProps, maskExit, clientProps, workerProps, name);
        }
    }
}
