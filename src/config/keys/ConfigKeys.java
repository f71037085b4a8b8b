// Prints what Kafka itself says of its configuration keys, in the columns of the tables beside this file: name, type, default, what is
// accepted, importance, update mode, internal or -, broker keys of the default. Flags and documentation are Ottla's own.
//
//   java -cp '<jars of org.apache.kafka:kafka_2.13:4.4.0>/*' ConfigKeys.java broker|quota|topic|group|client-metrics

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

public class ConfigKeys {
    public static void main(String[] arguments) throws Exception {
        String scope = arguments[0];
        Map<String, ConfigDef.ConfigKey> keys = switch (scope) {
            case "broker" -> AbstractKafkaConfig.CONFIG_DEF.configKeys();
            case "quota" -> QuotaConfig.brokerQuotaConfigs().configKeys();
            case "topic" -> LogConfig.configDefCopy().configKeys();
            case "group" -> GroupConfig.CONFIG_DEF.configKeys();
            default -> ClientMetricsConfigs.configDef().configKeys();
        };
        Map<String, String> updateModes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        boolean isBroker = scope.equals("broker") || scope.equals("quota");
        for (String name : new TreeSet<>(keys.keySet())) {
            ConfigDef.ConfigKey key = keys.get(name);
            System.out.println(String.join("\t", name, key.type.name().toLowerCase(), defaultOf(key), accepted(key),
                key.importance.name().toLowerCase(), isBroker ? updateModes.getOrDefault(name, "read-only") : "read-only",
                key.internalConfig ? "internal" : "-", synonyms(scope, name)));
        }
    }

    static String defaultOf(ConfigDef.ConfigKey key) {
        if (key.defaultValue == ConfigDef.NO_DEFAULT_VALUE) return "required";
        return key.defaultValue == null ? "null" : "=" + ConfigDef.convertToString(key.defaultValue, key.type);
    }

    static String synonyms(String scope, String name) {
        if (scope.equals("group")) return GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.get(name).orElse("-");
        List<ConfigSynonym> synonyms = scope.equals("topic") ? ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.get(name) : null;
        return synonyms == null ? "-" : synonyms.stream().map(ConfigSynonym::name).collect(Collectors.joining(","));
    }

    @SuppressWarnings("unchecked")
    static String accepted(ConfigDef.ConfigKey key) throws Exception {
        Object validator = key.validator;
        if (validator == null) return "any";
        return switch (validator.getClass().getSimpleName()) {
            case "Range" -> field(validator, "max") == null
                ? "at-least " + field(validator, "min")
                : "between " + field(validator, "min") + " " + field(validator, "max");
            case "ValidList" -> {
                List<String> items = (List<String>) field(field(validator, "validString"), "validStrings");
                yield "list" + ((boolean) field(validator, "isEmptyAllowed") ? "" : " non-empty")
                    + ((boolean) field(validator, "isNullAllowed") ? " nullable" : "")
                    + (items.isEmpty() ? "" : " of " + String.join("|", items));
            }
            case "ValidString" -> "one-of " + String.join("|", (List<String>) field(validator, "validStrings"));
            case "CaseInsensitiveValidString" -> "one-of-any-case " + String.join("|", (Set<String>) field(validator, "validStrings"));
            case "NonEmptyString" -> "non-empty";
            case "NonNullValidator" -> "non-null";
            case "ThrottledReplicaListValidator" -> "throttled-replicas";
            case "ControllerQuorumVotersValidator" -> "quorum-voters";
            case "ControllerQuorumBootstrapServersValidator" -> "bootstrap-servers";
            case "LambdaValidator" -> "gzip-level";
            case "Validator" -> "share-offset-reset";
            default -> throw new IllegalStateException(key.name + ": " + validator);
        };
    }

    static Object field(Object object, String name) throws Exception {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }
}
