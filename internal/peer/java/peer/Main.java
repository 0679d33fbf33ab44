package peer;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lists or runs JUnit tests and says what became of each in one line of JSON, which the Go test beside these sources reads.
 * Arguments: "list" or "run", then CLASS or CLASS#METHOD each.
 */
public class Main {
    private static final String MARK = "RESULT ";

    public static void main(String[] args) throws Exception {
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String s : List.of(args).subList(1, args.length))
            selectors.add(s.contains("#") ? DiscoverySelectors.selectMethod(s) : DiscoverySelectors.selectClass(s));
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request().selectors(selectors)
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true") // finds Running
            .configurationParameter("junit.jupiter.execution.timeout.default", "300 s").build();
        Launcher launcher = LauncherFactory.create();
        if (args[0].equals("list")) {
            list(launcher.discover(request));
            return;
        }
        BrokerTransactions.install();
        launcher.execute(request, new Reporter(System.out));
        System.exit(0); // brokers and clients leave threads behind
    }

    private static void list(TestPlan plan) throws Exception {
        for (TestIdentifier root : plan.getRoots())
            for (TestIdentifier id : plan.getDescendants(root))
                if (id.isTest()) System.out.println(MARK + new ObjectMapper().writeValueAsString(name(id)));
    }

    private static Map<String, Object> name(TestIdentifier id) {
        Map<String, Object> out = new LinkedHashMap<>();
        // The class that is run, not the one that declares the method: six classes inherit the same tests.
        out.put("class", id.getUniqueId().replaceAll(".*\\[class:[^\\]]*\\.([A-Za-z0-9]+)\\].*", "$1"));
        out.put("test", id.getSource().filter(MethodSource.class::isInstance).map(s -> ((MethodSource) s).getMethodName()).orElse(""));
        return out;
    }

    private static class Reporter implements TestExecutionListener {
        private final PrintStream out;
        private final Map<String, Long> began = new HashMap<>();

        Reporter(PrintStream out) { this.out = out; }

        @Override
        public void executionStarted(TestIdentifier id) { began.put(id.getUniqueId(), System.nanoTime()); }

        @Override
        public void executionSkipped(TestIdentifier id, String reason) { say(id, "SKIPPED", reason); }

        @Override
        public void executionFinished(TestIdentifier id, TestExecutionResult result) {
            if (!id.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) return; // a class
            result.getThrowable().ifPresent(Throwable::printStackTrace);
            say(id, result.getStatus().toString(), result.getThrowable().map(Main::text).orElse(""));
        }

        private void say(TestIdentifier id, String outcome, String says) {
            Map<String, Object> line = name(id);
            line.put("outcome", outcome);
            line.put("seconds", (System.nanoTime() - began.getOrDefault(id.getUniqueId(), System.nanoTime())) / 1e9);
            line.put("says", says);
            try {
                out.println(MARK + new ObjectMapper().writeValueAsString(line));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static String text(Throwable t) {
        StringBuilder s = new StringBuilder(t.toString());
        for (Throwable c = t.getCause(); c != null; c = c.getCause()) s.append(" <- ").append(c);
        return s.toString();
    }
}
