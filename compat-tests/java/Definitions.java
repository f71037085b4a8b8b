import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Kafka's message definitions, as they lie in the clients' jar: completes a short JSON form of a message to the full one
 * which Kafka's converters want, and finds the `records` fields of a decoded one. Knows no bytes of messages.
 */
final class Definitions {
    private static final ObjectMapper JSON = new ObjectMapper().enable(JsonParser.Feature.ALLOW_COMMENTS);
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private final Map<String, Definition> loaded = new HashMap<>();

    /** What becomes of a leaf value: called with its type and the value. */
    interface LeafFunction {
        JsonNode apply(String type, JsonNode value) throws IOException;
    }

    private record Definition(JsonNode root, Map<String, JsonNode> structs) { }

    private Definition load(String name) throws IOException {
        Definition known = loaded.get(name);
        if (known != null) {
            return known;
        }
        try (InputStream stream = Definitions.class.getResourceAsStream("/common/message/" + name + ".json")) {
            if (stream == null) {
                throw new IllegalArgumentException("no message is called " + name);
            }
            JsonNode root = JSON.readTree(stream);
            Map<String, JsonNode> structs = new HashMap<>();
            collect(root, structs);
            for (JsonNode common : root.path("commonStructs")) {
                structs.put(common.get("name").asText(), common.get("fields"));
                collect(common, structs);
            }
            Definition definition = new Definition(root, structs);
            loaded.put(name, definition);
            return definition;
        }
    }

    private static void collect(JsonNode owner, Map<String, JsonNode> structs) {
        for (JsonNode field : owner.path("fields")) {
            if (field.has("fields")) {
                structs.put(elementType(field), field.get("fields"));
                collect(field, structs);
            }
        }
    }

    /** The full form of a message at a version: absent fields get their default, unknown names are an error. */
    ObjectNode complete(String name, int version, JsonNode given, LeafFunction leaves) throws IOException {
        Definition definition = load(name);
        return complete(definition, definition.root().get("fields"), version, given, leaves, name);
    }

    private ObjectNode complete(Definition definition, JsonNode fields, int version, JsonNode given, LeafFunction leaves, String path)
            throws IOException {
        ObjectNode result = NODES.objectNode();
        for (JsonNode field : fields) {
            if (!within(field, "versions", version) && !within(field, "taggedVersions", version)) {
                continue;
            }
            JsonNode value = given.get(jsonName(field));
            if (value != null) {
                result.set(jsonName(field), completeField(definition, field, version, value, leaves, path));
            } else if (!field.has("tag")) {
                result.set(jsonName(field), defaultValue(definition, field, version, leaves, path));
            }
        }
        rejectUnknown(fields, given, path);
        return result;
    }

    private static void rejectUnknown(JsonNode fields, JsonNode given, String path) {
        for (Iterator<String> names = given.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            boolean known = false;
            for (JsonNode field : fields) {
                known |= jsonName(field).equals(name);
            }
            if (!known) {
                throw new IllegalArgumentException(path + " has no field " + name);
            }
        }
    }

    private JsonNode completeField(Definition definition, JsonNode field, int version, JsonNode value, LeafFunction leaves, String path)
            throws IOException {
        if (value.isNull()) {
            return value;
        }
        if (!field.get("type").asText().startsWith("[]")) {
            return completeElement(definition, field, version, value, leaves, path);
        }
        ArrayNode array = NODES.arrayNode();
        for (JsonNode element : value) {
            array.add(completeElement(definition, field, version, element, leaves, path));
        }
        return array;
    }

    private JsonNode completeElement(Definition definition, JsonNode field, int version, JsonNode value, LeafFunction leaves, String path)
            throws IOException {
        JsonNode struct = definition.structs().get(elementType(field));
        if (struct == null) {
            return leaves.apply(elementType(field), value);
        }
        return complete(definition, struct, version, value, leaves, path + "." + field.get("name").asText());
    }

    private JsonNode defaultValue(Definition definition, JsonNode field, int version, LeafFunction leaves, String path) throws IOException {
        String type = field.get("type").asText();
        String text = field.path("default").asText("");
        if (text.equals("null") && within(field, "nullableVersions", version)) {
            return NullNode.instance;
        }
        if (type.startsWith("[]")) {
            return NODES.arrayNode();
        }
        return switch (type) {
            case "bool" -> NODES.booleanNode(text.equalsIgnoreCase("true"));
            case "int8", "int16", "uint16", "int32" -> NODES.numberNode(text.isEmpty() ? 0 : Integer.decode(text));
            case "uint32", "int64" -> NODES.numberNode(text.isEmpty() ? 0 : Long.decode(text));
            case "float64" -> NODES.numberNode(text.isEmpty() ? 0.0 : Double.parseDouble(text));
            case "string" -> NODES.textNode(text.equals("null") ? "" : text);
            case "uuid" -> NODES.textNode(Uuid.ZERO_UUID.toString());
            case "bytes" -> NODES.binaryNode(new byte[0]);
            case "records" -> within(field, "nullableVersions", version) ? NullNode.instance : NODES.binaryNode(new byte[0]);
            default -> complete(definition, definition.structs().get(type), version, NODES.objectNode(), leaves, path + "." + type);
        };
    }

    /** Describes the `records` fields of a decoded message in its JSON form, where Kafka's converters leave them empty. */
    void describeRecords(String name, JsonNode json, Object message) throws ReflectiveOperationException, IOException {
        Definition definition = load(name);
        describeRecords(definition, definition.root().get("fields"), (ObjectNode) json, message);
    }

    private void describeRecords(Definition definition, JsonNode fields, ObjectNode json, Object message)
            throws ReflectiveOperationException {
        for (JsonNode field : fields) {
            JsonNode value = json.get(jsonName(field));
            JsonNode struct = definition.structs().get(elementType(field));
            boolean isRecords = elementType(field).equals("records");
            if (value == null || value.isNull() || (struct == null && !isRecords)) {
                continue;
            }
            Object real = message.getClass().getMethod(jsonName(field)).invoke(message);
            if (isRecords) {
                json.set(jsonName(field), Batches.describe((MemoryRecords) real));
            } else if (value.isArray()) {
                Iterator<?> elements = ((Iterable<?>) real).iterator();
                for (JsonNode element : value) {
                    describeRecords(definition, struct, (ObjectNode) element, elements.next());
                }
            } else {
                describeRecords(definition, struct, (ObjectNode) value, real);
            }
        }
    }

    private static boolean within(JsonNode field, String key, int version) {
        String text = field.path(key).asText(key.equals("versions") && !field.has("taggedVersions") ? "0+" : "none");
        if (text.equals("none")) {
            return false;
        }
        if (text.endsWith("+")) {
            return version >= Integer.parseInt(text.substring(0, text.length() - 1));
        }
        String[] ends = text.split("-");
        return Integer.parseInt(ends[0]) <= version && version <= Integer.parseInt(ends[ends.length - 1]);
    }

    private static String jsonName(JsonNode field) {
        String name = field.get("name").asText();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    private static String elementType(JsonNode field) {
        String type = field.get("type").asText();
        return type.startsWith("[]") ? type.substring(2) : type;
    }
}
