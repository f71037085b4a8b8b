// Asks a fresh Apache Kafka 4.4.0 that was started with oracle.properties: describes its resources, makes the alterations of
// alterations.tsv one by one (all columns but the last two are read), and writes what it answered to the files beside this one.
//
//   java -cp '<jars of org.apache.kafka:kafka_2.13:4.4.0>/*' ConfigOracle.java <bootstrap server> <folder of these files>

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;

public class ConfigOracle {
    static final int ALTERATIONS_BEFORE_TUNED = 6;
    static final List<ConfigResource> RESOURCES = List.of(resource("BROKER", "1"), resource("BROKER", ""), resource("TOPIC", "plain"),
        resource("TOPIC", "tuned"), resource("GROUP", "g1"), resource("GROUP", "g2"), resource("CLIENT_METRICS", "m1"));

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[1]);
        Map<String, String> tuned =
            Map.of("cleanup.policy", "compact,delete", "retention.ms", "1000", "segment.bytes", "1048576", "compression.type", "zstd");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            admin.createTopics(List.of(new NewTopic("plain", 1, (short) 1), new NewTopic("tuned", 1, (short) 1).configs(tuned))).all().get();
            describe(admin, folder.resolve("describe-fresh.tsv"));
            List<String> answered = new ArrayList<>();
            for (String line : Files.readAllLines(folder.resolve("alterations.tsv"))) {
                if (answered.size() == ALTERATIONS_BEFORE_TUNED) describe(admin, folder.resolve("describe-tuned.tsv"));
                answered.add(alter(admin, line.split("\t", -1)));
                Thread.sleep(60); // The broker applies what the controller wrote a moment later.
            }
            Files.write(folder.resolve("alterations.tsv"), answered);
            describe(admin, folder.resolve("describe-altered.tsv"));
        }
    }

    static ConfigResource resource(String type, String name) {
        return new ConfigResource(ConfigResource.Type.valueOf(type), name);
    }

    static String alter(Admin admin, String[] columns) throws Exception {
        List<AlterConfigOp> operations = new ArrayList<>();
        for (String operation : columns[2].split(" \\| ")) {
            int blank = operation.indexOf(' ');
            int equals = operation.indexOf('=');
            String value = operation.substring(equals + 1);
            ConfigEntry entry = new ConfigEntry(operation.substring(blank + 1, equals), value.equals("\\N") ? null : value);
            operations.add(new AlterConfigOp(entry, AlterConfigOp.OpType.valueOf(operation.substring(0, blank))));
        }
        String answer = "0\t";
        try {
            admin.incrementalAlterConfigs(Map.of(resource(columns[0], columns[1]), operations)).all().get();
        } catch (ExecutionException e) {
            answer = Errors.forException(e.getCause()).code() + "\t" + e.getCause().getMessage();
        }
        return String.join("\t", columns[0], columns[1], columns[2], answer);
    }

    static void describe(Admin admin, Path file) throws Exception {
        Thread.sleep(500);
        List<String> lines = new ArrayList<>();
        for (ConfigResource resource : RESOURCES) {
            DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(true);
            List<ConfigEntry> entries = new ArrayList<>(admin.describeConfigs(List.of(resource), options).all().get().get(resource).entries());
            entries.sort((one, other) -> one.name().compareTo(other.name()));
            for (ConfigEntry entry : entries) {
                String synonyms = entry.synonyms().stream()
                    .map(synonym -> synonym.name() + "=" + orNull(synonym.value()) + "@" + synonym.source())
                    .collect(Collectors.joining(" ; "));
                lines.add(String.join("\t", resource.type().name(), resource.name(), entry.name(), orNull(entry.value()),
                    entry.source().name(), entry.isReadOnly() ? "ro" : "rw", entry.isSensitive() ? "sensitive" : "",
                    entry.type().name(), synonyms));
            }
        }
        Files.write(file, lines);
    }

    static String orNull(String value) {
        return value == null ? "\\N" : value;
    }
}
