package org.apache.kafka.connect.mirror.clients.admin;

import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.test.NoRetryException;
import org.opentest4j.TestAbortedException;

import java.util.List;
import java.util.Map;

import peer.Running;

/**
 * Stands before Kafka's class of this name: a Java admin client inside MirrorMaker 2's own JVM would fill it. There is none here,
 * so a test that looks into it cannot pass; what it checks on the clusters goes on as far as it can.
 */
public class FakeLocalMetadataStore {
    private static final String STORE = "a store that a Java admin client fills inside MirrorMaker 2's JVM";

    private FakeLocalMetadataStore() { }

    public static Boolean containsTopic(String topic) {
        Running.wentOnWithout(STORE);
        return true;
    }

    public static Map<String, String> topicConfig(String topic) { throw new NoRetryException(aborted()); }

    public static List<AclBinding> aclBindings(String user) { throw aborted(); }

    private static TestAbortedException aborted() {
        return new TestAbortedException("not applicable from here on: " + STORE + "; all before it passes");
    }

    public static void clear() { }
}
