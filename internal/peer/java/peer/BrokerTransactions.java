package peer;

import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.matcher.ElementMatchers;

import java.util.Properties;

/**
 * Gives the tests' clusters of one broker a transaction log that one broker can hold. Kafka's default asks for three replicas,
 * so on such a cluster there are no transactions at all, which MirrorMaker 2 does not need and Tidemark does.
 */
class BrokerTransactions {
    private BrokerTransactions() { }

    /** Runs at the beginning of the method that fills in what the tests leave open. */
    public static class Defaults {
        @Advice.OnMethodEnter
        public static void enter(@Advice.Argument(0) Properties p) {
            p.putIfAbsent("transaction.state.log.replication.factor", "1");
            p.putIfAbsent("transaction.state.log.min.isr", "1");
            p.putIfAbsent("transaction.state.log.num.partitions", "4");
        }
    }

    static void install() {
        ByteBuddyAgent.install();
        new AgentBuilder.Default().disableClassFormatChanges()
            .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
            .type(ElementMatchers.named("org.apache.kafka.connect.util.clusters.EmbeddedKafkaCluster"))
            .transform((builder, type, loader, module, domain) ->
                builder.visit(Advice.to(Defaults.class).on(ElementMatchers.named("addDefaultBrokerPropsIfAbsent"))))
            .installOnByteBuddyAgent();
    }
}
