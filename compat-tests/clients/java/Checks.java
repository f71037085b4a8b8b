import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Callable;

/** Runs checks and reports them as harness/client_programs.py says; knows no Kafka class. */
final class Checks {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final int RECORDS = 200;
    static final int LARGE = 900 * 1024;
    static final int TOO_LARGE = 2 * 1024 * 1024;
    static final long TIMEOUT_MS = 30_000;

    interface Action {
        void run() throws Exception;
    }

    private Checks() {
    }

    static String unique(String name) {
        return name + "-" + UUID.randomUUID().toString().substring(0, 8);
    }

    /** Values that compress, one empty, one with every byte in it. */
    static List<byte[]> sampleValues(int count) {
        List<byte[]> values = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            values.add(bytes(("value-" + number + " ").repeat(10)));
        }
        values.set(1, new byte[0]);
        byte[] all = new byte[256];
        for (int value = 0; value < 256; value++) {
            all[value] = (byte) value;
        }
        values.set(2, all);
        return values;
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static void expect(Object actual, Object wanted, String what) {
        if (!Objects.equals(actual, wanted)) {
            throw new AssertionError(what + " is " + actual + ", not " + wanted);
        }
    }

    /** The action must fail with an error of this class (at any depth of causes). */
    static void expectError(Class<? extends Exception> wanted, Callable<?> action) {
        Object result;
        try {
            result = action.call();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (wanted.isInstance(cause)) {
                    return;
                }
            }
            throw new AssertionError("the error is " + error + ", not " + wanted.getSimpleName(), error);
        }
        throw new AssertionError("no " + wanted.getSimpleName() + ", but " + result);
    }

    static void until(Callable<Boolean> condition, String what) throws Exception {
        long deadline = System.currentTimeMillis() + TIMEOUT_MS;
        while (!condition.call()) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError(what + " did not happen in time");
            }
            Thread.sleep(20);
        }
    }

    static void report(String name, Action action) {
        long started = System.currentTimeMillis();
        try {
            action.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError error) {
            String where = "";
            for (StackTraceElement frame : error.getStackTrace()) {
                if (frame.getClassName().startsWith("Suite")) {
                    where = " in " + frame.getMethodName() + ":" + frame.getLineNumber();
                    break;
                }
            }
            System.out.println("failed " + name + ": " + error.toString().replace('\n', ' ') + where);
        }
        System.out.println("# " + (System.currentTimeMillis() - started) + " ms");
    }
}
