import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Encodes requests and decodes responses with Kafka's own classes, for a caller that owns the sockets.
 *
 * One JSON object per line on standard input, one answer per line on standard output:
 *
 *   {"op": "versions"}                                            -> {"Fetch": [1, 4, 18], ...}: key, lowest, highest
 *   {"op": "encode", "api", "version", "correlationId", "clientId", "request"}  -> {"hex"}: header and body, no length
 *   {"op": "decode", "api", "version", "hex"}                      -> {"correlationId", "response", "left"}
 *   {"op": "message", "name", "version", "value"}                  -> {"hex"}: a message that is no request
 *   {"op": "parse", "name", "version", "hex"}                      -> {"value"}
 *   {"op": "batches", "value"}                                     -> {"hex"}: record batches as Batches describes them
 *
 * A failure is answered with {"error": text}. Requests may leave fields out. A bytes field is {"utf8": text}, {"hex": text} or
 * {"message": name, "version", "value"}; a records field is a list of batches; in a response it is their description.
 */
public final class WireTool {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private final Definitions definitions = new Definitions();

    public static void main(String[] arguments) throws IOException {
        WireTool tool = new WireTool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(tool.answer(line));
            out.flush();
        }
    }

    private String answer(String line) throws JsonProcessingException {
        try {
            return JSON.writeValueAsString(perform(JSON.readTree(line)));
        } catch (ReflectiveOperationException | IOException | RuntimeException error) {
            Throwable cause = error instanceof java.lang.reflect.InvocationTargetException ? error.getCause() : error;
            return JSON.writeValueAsString(NODES.objectNode().put("error", cause.toString()));
        }
    }

    private JsonNode perform(JsonNode call) throws ReflectiveOperationException, IOException {
        return switch (call.get("op").asText()) {
            case "versions" -> versions();
            case "encode" -> encode(call);
            case "decode" -> decode(call);
            case "message" -> hex(message(call));
            case "parse" -> parse(call);
            case "batches" -> hex(Batches.build(call.get("value")));
            default -> throw new IllegalArgumentException("no such op");
        };
    }

    private static JsonNode versions() {
        ObjectNode result = NODES.objectNode();
        for (ApiKeys key : ApiKeys.values()) {
            if (key.hasValidVersion()) {
                result.putArray(key.name).add(key.id).add(key.oldestVersion()).add(key.latestVersion(true));
            }
        }
        return result;
    }

    private JsonNode encode(JsonNode call) throws ReflectiveOperationException, IOException {
        ApiKeys key = key(call.get("api").asText());
        short version = (short) call.get("version").asInt();
        short headerVersion = key.requestHeaderVersion(version);
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(version)
            .setCorrelationId(call.get("correlationId").asInt()).setClientId(call.path("clientId").isNull() ? null : call.get("clientId").asText());
        byte[] head = bytes(header, headerVersion);
        byte[] body = bytes(read(key.name + "Request", key.messageType.newRequest().getClass(), version, call.get("request")), version);
        byte[] both = Arrays.copyOf(head, head.length + body.length);
        System.arraycopy(body, 0, both, head.length, body.length);
        return hex(both);
    }

    private JsonNode decode(JsonNode call) throws ReflectiveOperationException, IOException {
        ApiKeys key = key(call.get("api").asText());
        short version = (short) call.get("version").asInt();
        ByteBufferAccessor in = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(call.get("hex").asText())));
        ResponseHeaderData header = new ResponseHeaderData(in, key.responseHeaderVersion(version));
        ApiMessage message = key.messageType.newResponse();
        message.read(in, version);
        ObjectNode result = NODES.objectNode().put("correlationId", header.correlationId()).put("left", in.remaining());
        result.set("response", write(key.name + "Response", message, version));
        return result;
    }

    private static ApiKeys key(String name) {
        for (ApiKeys key : ApiKeys.values()) {
            if (key.name.equals(name)) {
                return key;
            }
        }
        throw new IllegalArgumentException("no API is called " + name);
    }

    private byte[] message(JsonNode call) throws ReflectiveOperationException, IOException {
        String name = call.get("name").asText();
        short version = (short) call.get("version").asInt();
        return bytes(read(name, Class.forName("org.apache.kafka.common.message." + name), version, call.get("value")), version);
    }

    private JsonNode parse(JsonNode call) throws ReflectiveOperationException, IOException {
        String name = call.get("name").asText();
        short version = (short) call.get("version").asInt();
        Message message = (Message) Class.forName("org.apache.kafka.common.message." + name).getConstructor().newInstance();
        message.read(new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(call.get("hex").asText()))), version);
        ObjectNode result = NODES.objectNode();
        result.set("value", write(name, message, version));
        return result;
    }

    private Message read(String name, Class<?> type, short version, JsonNode given) throws ReflectiveOperationException, IOException {
        JsonNode full = definitions.complete(name, version, given, this::toBytes);
        return (Message) Class.forName(type.getName() + "JsonConverter").getMethod("read", JsonNode.class, short.class).invoke(null, full, version);
    }

    private JsonNode write(String name, Message message, short version) throws ReflectiveOperationException, IOException {
        JsonNode json = (JsonNode) Class.forName(message.getClass().getName() + "JsonConverter")
            .getMethod("write", message.getClass(), short.class, boolean.class).invoke(null, message, version, true);
        definitions.describeRecords(name, json, message);
        return json;
    }

    private JsonNode toBytes(String type, JsonNode value) throws IOException {
        if (type.equals("records")) {
            return NODES.binaryNode(Batches.build(value));
        }
        if (!type.equals("bytes") || value.isTextual()) {
            return value;
        }
        if (value.has("utf8")) {
            return NODES.binaryNode(value.get("utf8").asText().getBytes(StandardCharsets.UTF_8));
        }
        if (value.has("hex")) {
            return NODES.binaryNode(HexFormat.of().parseHex(value.get("hex").asText()));
        }
        try {
            byte[] body = message(((ObjectNode) value).put("name", value.get("message").asText()));
            ByteBuffer prefixed = ByteBuffer.allocate(2 + body.length).putShort((short) value.get("version").asInt()).put(body);
            return NODES.binaryNode(prefixed.array());
        } catch (ReflectiveOperationException error) {
            throw new IOException(error);
        }
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static JsonNode hex(byte[] bytes) {
        return NODES.objectNode().put("hex", HexFormat.of().formatHex(bytes));
    }
}
