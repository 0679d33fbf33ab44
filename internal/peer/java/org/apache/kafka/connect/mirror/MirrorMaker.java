package org.apache.kafka.connect.mirror;

import org.apache.kafka.connect.runtime.rest.entities.ConnectorStateInfo;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorType;
import org.apache.kafka.connect.runtime.rest.entities.TaskInfo;
import org.apache.kafka.connect.util.Callback;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

import peer.Running;
import peer.Tidemark;

/** Stands before Kafka's class of this name on the class path: MirrorMaker 2's dedicated mode is `tidemark run FILE`. */
public class MirrorMaker {
    public static final List<Class<?>> CONNECTOR_CLASSES =
        List.of(MirrorSourceConnector.class, MirrorHeartbeatConnector.class, MirrorCheckpointConnector.class);
    private static final AtomicInteger NUMBER = new AtomicInteger();

    private final Tidemark process;

    public MirrorMaker(Map<String, String> props) { process = new Tidemark("node" + NUMBER.incrementAndGet(), props, null); }

    public void start() { process.start(); }

    public void stop() { process.stop(); }

    public void awaitStop() { } // stop has waited

    public ConnectorStateInfo connectorStatus(SourceAndTarget flow, String connector) {
        if (!process.alive()) {
            Running.note("not alive: " + process.tail());
            return info(connector, "FAILED");
        }
        return info(connector, process.ready() ? "RUNNING" : "UNASSIGNED");
    }

    private static ConnectorStateInfo info(String connector, String state) {
        return new ConnectorStateInfo(connector, new ConnectorStateInfo.ConnectorState(state, "tidemark", "", ""),
            List.of(new ConnectorStateInfo.TaskState(0, state, "tidemark", "", "")), ConnectorType.SOURCE);
    }

    /** Nothing keeps configurations of tasks: each worker has its file. Without any task, what is asked of all tasks is true. */
    public void taskConfigs(SourceAndTarget flow, String connector, Callback<List<TaskInfo>> callback) {
        Running.wentOnWithout("the configurations of tasks in a topic of Connect's");
        callback.onCompletion(null, List.of());
    }
}
