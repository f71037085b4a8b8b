// Asks Apache Kafka 4.4.0 whether it would start: each line of startups.tsv is put over a combined node's properties, and the answer
// (OK, or why not) is written behind it.
//
//   java -cp '<jars of org.apache.kafka:kafka_2.13:4.4.0>/*' StartupOracle.java startups.tsv

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import kafka.server.KafkaConfig;

public class StartupOracle {
    public static void main(String[] arguments) throws Exception {
        List<String> answered = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String changes = line.split("\t")[0];
            answered.add(changes + "\t" + start(changes));
        }
        Files.write(Path.of(arguments[0]), answered);
    }

    static String start(String changes) {
        Properties properties = new Properties();
        properties.put("process.roles", "broker,controller");
        properties.put("node.id", "1");
        properties.put("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093");
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put("controller.quorum.voters", "1@localhost:9093");
        for (String change : changes.split(" \\| ")) {
            int equals = change.indexOf('=');
            properties.put(change.substring(0, equals), change.substring(equals + 1));
        }
        try {
            KafkaConfig.fromProps(properties, false);
            return "OK";
        } catch (Exception e) {
            return e.getMessage();
        }
    }
}
