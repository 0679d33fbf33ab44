package peer;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestInstancePostProcessor;
import org.opentest4j.TestAbortedException;

import java.io.FileWriter;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.LocalTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** The test that is running: its instance, its folder of logs and notes, and the processes that it has started. */
public class Running implements TestInstancePostProcessor, BeforeEachCallback, AfterTestExecutionCallback,
    TestExecutionExceptionHandler, AfterEachCallback {
    private static volatile Object instance;
    private static volatile String test = "none";
    private static volatile String beyond;
    private static final List<Process> PROCESSES = new CopyOnWriteArrayList<>();

    @Override
    public void postProcessTestInstance(Object o, ExtensionContext c) { instance = o; }

    @Override
    public void beforeEach(ExtensionContext c) {
        test = c.getRequiredTestClass().getSimpleName() + "." + c.getRequiredTestMethod().getName();
        beyond = null;
    }

    /** A test that asked for what has no equivalent here did not pass, even if all the rest of it did. */
    @Override
    public void afterTestExecution(ExtensionContext c) {
        if (beyond != null && c.getExecutionException().isEmpty()) throw new TestAbortedException(beyond);
    }

    /** The tests' way of waiting wraps what is thrown inside it, and a wrapped abort would count as a failure. */
    @Override
    public void handleTestExecutionException(ExtensionContext c, Throwable thrown) throws Throwable {
        for (Throwable t = thrown; t != null; t = t.getCause()) if (t instanceof TestAbortedException) throw t;
        throw thrown;
    }

    @Override
    public void afterEach(ExtensionContext c) {
        for (Process p : PROCESSES) {
            if (!p.isAlive()) continue;
            note("pid " + p.pid() + " was left running and is ended");
            p.destroyForcibly();
        }
        PROCESSES.clear();
    }

    static void started(Process p) { PROCESSES.add(p); }

    /** Says once and for all that the running test went on although it had asked for what has no equivalent. */
    public static void wentOnWithout(String what) {
        note("not applicable: " + what);
        beyond = "not applicable: " + what + "; all the rest of the test passes";
    }

    static Path folder() throws IOException { return Files.createDirectories(Paths.get(System.getProperty("peer.logs"), test)); }

    /** Adds a line to the test's notes, which are there for whoever looks for the reason of a failure. */
    public static synchronized void note(String s) {
        try (FileWriter w = new FileWriter(folder().resolve("notes.txt").toFile(), true)) {
            w.write(LocalTime.now() + " " + s + "\n");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The test's own configuration of MirrorMaker 2: a field of one of its classes. */
    @SuppressWarnings("unchecked")
    public static Map<String, String> properties() {
        for (Class<?> c = instance.getClass(); c != null; c = c.getSuperclass()) {
            try {
                Field f = c.getDeclaredField("mm2Props");
                f.setAccessible(true);
                return new HashMap<>((Map<String, String>) f.get(instance));
            } catch (NoSuchFieldException e) {
                continue; // the next class up
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("no mm2Props in " + instance);
    }
}
