import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.function.Predicate;
import java.util.zip.CRC32;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Writes the bytes which Kafka's own classes make of every message at every version.
 *
 * usage: GoldenMessages OUTPUT_FOLDER KAFKA_JAR...   (compat-tests/golden/make runs it)
 *
 * One file per message, `NAME.txt`, with lines `VERSION VARIANT HEX`. Variants:
 *
 * default  every field has its default value.
 * filled   every field that exists at that version has the value of the rule below.
 * null     as filled, but every field that is nullable at that version is null. Only where a field is nullable.
 * records  as filled, but fields of type records hold what a field of type bytes would. Only where there is such a field.
 *
 * The rule for the value of a field. P is the path of field names of the message definition, joined by '.', beginning
 * with the message's name, without positions: "FetchRequest.Topics.Partitions.Partition". h is the CRC-32 (IEEE) of P in
 * UTF-8, as an unsigned 32-bit number.
 *
 *   bool      not the field's default
 *   int8      h % 100 + 1                  int16, uint16   h % 30000 + 1
 *   int32     h % 1000000000 + 1           uint32          h % 1000000000 + 1
 *   int64     h + 1                        float64         h % 1000 + 0.5
 *   string    "s" followed by h % 1000     uuid            high 64 bits h, low 64 bits h + 1
 *   bytes     the two bytes (h >> 8) & 255, h & 255
 *   records   zero bytes, not null
 *   struct    each of its fields by this rule, with the path going on
 *   array     two equal elements; one element when a field of the element is a map key. A primitive element has the
 *             value that a field of its type would have at the array's own path.
 *
 * A number that equals the field's default is raised by 1, also that of a string. Fields that do not exist at the version keep their default.
 */
public final class GoldenMessages {
    private static final ObjectMapper JSON = new ObjectMapper().enable(JsonParser.Feature.ALLOW_COMMENTS);
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        Path output = Path.of(arguments[0]);
        Files.createDirectories(output);
        int files = 0;
        for (int i = 1; i < arguments.length; i++) {
            try (JarFile jar = new JarFile(arguments[i])) {
                for (Definition definition : definitions(jar)) {
                    writeMessage(output, definition);
                    files++;
                }
            }
        }
        writeHeaderVersions(output);
        System.out.println(files + " messages");
    }

    /** A message definition and the classes generated from it. */
    private record Definition(JsonNode json, Class<?> message, Class<?> converter) {
        String name() {
            return json.get("name").asText();
        }
    }

    private static List<Definition> definitions(JarFile jar) throws Exception {
        Map<String, String> classes = new HashMap<>();
        Map<String, JsonNode> found = new TreeMap<>();
        for (JarEntry entry : jar.stream().toList()) {
            String path = entry.getName();
            if (path.endsWith("JsonConverter.class") && !path.contains("$")) {
                String full = path.substring(0, path.length() - "JsonConverter.class".length()).replace('/', '.');
                classes.put(full.substring(full.lastIndexOf('.') + 1), full);
            } else if (path.endsWith(".json") && (path.contains("/message/") || path.contains("/metadata/") || path.startsWith("message/"))) {
                JsonNode json = JSON.readTree(jar.getInputStream(entry));
                if (wanted(json)) {
                    found.put(json.get("name").asText(), json);
                }
            }
        }
        List<Definition> result = new ArrayList<>();
        for (Map.Entry<String, JsonNode> each : found.entrySet()) {
            String full = classes.getOrDefault(each.getKey() + "Data", classes.get(each.getKey()));
            if (full == null) {
                throw new IllegalStateException("no class for " + each.getKey());
            }
            result.add(new Definition(each.getValue(), Class.forName(full), Class.forName(full + "JsonConverter")));
        }
        return result;
    }

    /** Messages that still have a version; those of tiered storage's own topic are left out, as in src/protocol/schema. */
    private static boolean wanted(JsonNode json) {
        return json.has("name") && json.has("validVersions") && !json.get("validVersions").asText().equals("none")
            && !json.get("name").asText().startsWith("Remote");
    }

    private static void writeMessage(Path output, Definition definition) throws Exception {
        Versions valid = Versions.of(definition.json().get("validVersions").asText());
        Method read = definition.converter().getMethod("read", JsonNode.class, short.class);
        StringBuilder text = new StringBuilder();
        for (int version = valid.lowest; version <= valid.highest; version++) {
            Message empty = (Message) definition.message().getConstructor().newInstance();
            text.append(line(version, "default", hex(empty, (short) version)));
            for (Variant variant : Variant.values()) {
                Filler filler = new Filler(definition.json(), version, variant);
                if (filler.applies()) {
                    Message message = (Message) read.invoke(null, filler.message(), (short) version);
                    text.append(line(version, variant.name().toLowerCase(Locale.ROOT), hex(message, (short) version)));
                }
            }
        }
        Files.writeString(output.resolve(definition.name() + ".txt"), text);
    }

    private static String line(int version, String variant, String hex) {
        return version + " " + variant + " " + hex + "\n";
    }

    private static String hex(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("size() and write() differ");
        }
        return HexFormat.of().formatHex(buffer.array());
    }

    /** `KEY VERSION REQUEST_HEADER_VERSION RESPONSE_HEADER_VERSION` for every version of every key. */
    private static void writeHeaderVersions(Path output) throws Exception {
        StringBuilder text = new StringBuilder();
        for (ApiKeys key : ApiKeys.values()) {
            if (!key.hasValidVersion()) {
                continue;
            }
            for (short version = key.oldestVersion(); version <= key.latestVersion(true); version++) {
                text.append(String.format("%d %d %d %d%n", key.id, version, key.requestHeaderVersion(version), key.responseHeaderVersion(version)));
            }
        }
        Files.writeString(output.resolve("header_versions.txt"), text);
    }

    private enum Variant { FILLED, NULL, RECORDS }

    /** An inclusive range of versions as message definitions write it: "none", "3", "3+", "3-5". */
    private record Versions(int lowest, int highest) {
        static Versions of(String text) {
            if (text.equals("none")) {
                return new Versions(1, 0);
            }
            if (text.endsWith("+")) {
                return new Versions(Integer.parseInt(text.substring(0, text.length() - 1)), Short.MAX_VALUE);
            }
            int dash = text.indexOf('-');
            if (dash < 0) {
                return new Versions(Integer.parseInt(text), Integer.parseInt(text));
            }
            return new Versions(Integer.parseInt(text.substring(0, dash)), Integer.parseInt(text.substring(dash + 1)));
        }

        boolean contains(int version) {
            return lowest <= version && version <= highest;
        }
    }

    /** Makes the JSON form of one message at one version by the rule in this file's head. */
    private static final class Filler {
        private final JsonNode definition;
        private final int version;
        private final Variant variant;
        private final Map<String, JsonNode> structs = new HashMap<>();

        Filler(JsonNode definition, int version, Variant variant) {
            this.definition = definition;
            this.version = version;
            this.variant = variant;
            collectStructs(definition);
            for (JsonNode common : definition.path("commonStructs")) {
                structs.put(common.get("name").asText(), common.get("fields"));
                collectStructs(common);
            }
        }

        private void collectStructs(JsonNode owner) {
            for (JsonNode field : owner.path("fields")) {
                if (field.has("fields")) {
                    structs.put(elementType(field.get("type").asText()), field.get("fields"));
                    collectStructs(field);
                }
            }
        }

        /** Whether a field makes this variant another than FILLED. */
        boolean applies() {
            return switch (variant) {
                case FILLED -> true;
                case NULL -> anyField(definition.get("fields"), this::nullable);
                case RECORDS -> anyField(definition.get("fields"), field -> field.get("type").asText().equals("records"));
            };
        }

        private boolean anyField(JsonNode fields, Predicate<JsonNode> condition) {
            for (JsonNode field : fields) {
                JsonNode inner = structs.get(elementType(field.get("type").asText()));
                if (exists(field) && (condition.test(field) || (inner != null && anyField(inner, condition)))) {
                    return true;
                }
            }
            return false;
        }

        ObjectNode message() {
            return struct(definition.get("fields"), definition.get("name").asText());
        }

        private ObjectNode struct(JsonNode fields, String path) {
            ObjectNode result = NODES.objectNode();
            for (JsonNode field : fields) {
                if (exists(field)) {
                    String name = field.get("name").asText();
                    result.set(Character.toLowerCase(name.charAt(0)) + name.substring(1), value(field, path + "." + name));
                }
            }
            return result;
        }

        private boolean exists(JsonNode field) {
            return Versions.of(field.path("versions").asText(field.path("taggedVersions").asText("0+"))).contains(version);
        }

        private boolean nullable(JsonNode field) {
            return field.has("nullableVersions") && Versions.of(field.get("nullableVersions").asText()).contains(version);
        }

        private JsonNode value(JsonNode field, String path) {
            if (variant == Variant.NULL && nullable(field)) {
                return NullNode.instance;
            }
            String type = field.get("type").asText();
            if (!type.startsWith("[]")) {
                return single(type, field.path("default").asText(""), path);
            }
            JsonNode element = single(type.substring(2), "", path);
            ArrayNode array = NODES.arrayNode().add(element);
            return isMap(type) ? array : array.add(element);
        }

        private boolean isMap(String type) {
            JsonNode fields = structs.get(elementType(type));
            if (fields != null) {
                for (JsonNode field : fields) {
                    if (field.path("mapKey").asBoolean(false)) {
                        return true;
                    }
                }
            }
            return false;
        }

        private JsonNode single(String type, String defaultText, String path) {
            CRC32 crc = new CRC32();
            crc.update(path.getBytes(StandardCharsets.UTF_8));
            long h = crc.getValue();
            return switch (type) {
                case "bool" -> NODES.booleanNode(!defaultText.equalsIgnoreCase("true"));
                case "int8" -> NODES.numberNode((short) other(h % 100 + 1, defaultText));
                case "int16", "uint16" -> NODES.numberNode((int) other(h % 30000 + 1, defaultText));
                case "int32" -> NODES.numberNode((int) other(h % 1000000000 + 1, defaultText));
                case "uint32" -> NODES.numberNode(other(h % 1000000000 + 1, defaultText));
                case "int64" -> NODES.numberNode(other(h + 1, defaultText));
                case "float64" -> NODES.numberNode(h % 1000 + 0.5);
                case "string" -> NODES.textNode(("s" + h % 1000).equals(defaultText) ? "s" + (h % 1000 + 1) : "s" + h % 1000);
                case "uuid" -> NODES.textNode(new Uuid(h, h + 1).toString());
                case "bytes" -> NODES.binaryNode(twoBytes(h));
                case "records" -> NODES.binaryNode(variant == Variant.RECORDS ? twoBytes(h) : new byte[0]);
                default -> struct(structs.get(type), path);
            };
        }

        private static byte[] twoBytes(long h) {
            return new byte[] {(byte) (h >> 8), (byte) h};
        }

        private static long other(long value, String defaultText) {
            if (defaultText.isEmpty() || defaultText.equals("null")) {
                return value;
            }
            return value == Long.decode(defaultText) ? value + 1 : value;
        }

        private static String elementType(String type) {
            return type.startsWith("[]") ? type.substring(2) : type;
        }
    }
}
