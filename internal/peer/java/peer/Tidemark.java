package peer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A `tidemark run FILE [--flow A:B]` process, which can be stopped and started again. */
public class Tidemark {
    private static final String BINARY = System.getProperty("peer.binary");
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final int READY_SECONDS = 60;
    private static final int STOP_SECONDS = 30;

    /**
     * Starts all processes: the kernel ends them with the thread that started them, so it must live as long as this JVM. A hook
     * at the JVM's end would not run when it is killed.
     */
    private static final ExecutorService STARTER = Executors.newSingleThreadExecutor(r -> {
        Thread t = new Thread(r, "starts tidemark");
        t.setDaemon(true);
        return t;
    });

    private final Path file;
    private final String flow;
    private Process process;
    private Path log;

    /** Writes the properties to a file. flow is "A:B", or null for all flows of the file. */
    public Tidemark(String name, Map<String, String> props, String flow) {
        this.flow = flow;
        try {
            file = Running.folder().resolve(name.replaceAll("[^A-Za-z0-9_.-]", "_") + "-" + NUMBER.incrementAndGet() + ".properties");
            Properties p = new Properties(); // writes what needs an escape with one
            p.putAll(adapted(props));
            try (OutputStream o = new FileOutputStream(file.toFile())) {
                p.store(o, "the test's mm2Props");
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The properties with what the Go test changes of them: -Dpeer.set.KEY=VALUE, and "-" for VALUE to take the key away. */
    private static Map<String, String> adapted(Map<String, String> props) {
        Map<String, String> out = new HashMap<>(props);
        System.getProperties().forEach((k, v) -> {
            String key = k.toString();
            if (!key.startsWith("peer.set.")) return;
            key = key.substring("peer.set.".length());
            Running.note("set " + key + "=" + v);
            if (v.equals("-")) out.remove(key); else out.put(key, v.toString());
        });
        return out;
    }

    private List<String> command(String... words) {
        List<String> out = new ArrayList<>(List.of(BINARY));
        out.addAll(Arrays.asList(words));
        if (flow != null) out.addAll(List.of("--flow", flow));
        return out;
    }

    public synchronized void start() {
        log = file.resolveSibling(file.getFileName() + "." + NUMBER.incrementAndGet() + ".log");
        List<String> argv = command("run", file.toString());
        if (new File("/usr/bin/setpriv").canExecute()) argv.addAll(0, List.of("/usr/bin/setpriv", "--pdeathsig", "KILL", "--"));
        process = inStarter(() -> new ProcessBuilder(argv).redirectErrorStream(true).redirectOutput(log.toFile()).start());
        Running.started(process);
        Running.note("start " + String.join(" ", argv) + " pid " + process.pid());
    }

    private static <T> T inStarter(Callable<T> c) {
        try {
            return STARTER.submit(c).get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    public boolean alive() { return process != null && process.isAlive(); }

    /** The last lines of the process's log. */
    public String tail() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 12), lines.size()));
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** What `tidemark status --json` says; null where it says nothing. */
    public JsonNode status() throws IOException, InterruptedException {
        Process s = new ProcessBuilder(command("status", file.toString(), "--json")).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        byte[] out = s.getInputStream().readAllBytes();
        s.waitFor();
        return out.length == 0 ? null : new ObjectMapper().readTree(out);
    }

    /** Whether a worker owns every lane of every flow, which is what "running" means for a connector. */
    public boolean ready() {
        if (!alive()) return false;
        try {
            JsonNode status = status();
            if (status == null || status.path("flows").isEmpty()) return false;
            for (JsonNode f : status.path("flows")) {
                if (f.path("lanes").isEmpty()) return false;
                for (JsonNode lane : f.path("lanes")) if (!"owned".equals(lane.path("state").asText())) return false;
            }
            return true;
        } catch (IOException e) {
            return false; // no whole answer yet
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public void awaitReady() {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_SECONDS);
        while (System.nanoTime() < end) {
            if (!alive()) throw new AssertionError("tidemark run ended with " + process.exitValue() + ": " + tail());
            if (ready()) return;
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new AssertionError("tidemark run does not own all lanes after " + READY_SECONDS + " s: " + tail());
    }

    /** Ends the process by SIGTERM. One that does not end, or not with status 0, is the test's failure. */
    public synchronized void stop() {
        if (process == null) return;
        try {
            boolean alive = process.isAlive();
            process.destroy();
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                throw new AssertionError("tidemark run did not end within " + STOP_SECONDS + " s of SIGTERM: " + tail());
            }
            Running.note("stopped, status " + process.exitValue() + (alive ? "" : ", was dead before"));
            if (process.exitValue() != 0) throw new AssertionError("tidemark run ended with " + process.exitValue() + ": " + tail());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            process = null;
        }
    }
}
