"""Makes two brokers' transcripts comparable: what differs by nature is replaced by a symbol, everything else stays.

Ids become `id#1`, `id#2` ... in the order in which a transcript first shows them, so that "the same id as before" is
still compared. Texts for people become `<text>`: that there is one is compared, its wording is not.
"""
import re
import time

DAY_MS = 24 * 3600 * 1000
# Among them trailingBytes: the beginning of a further batch, which Kafka may send and every client throws away.
ANYTHING = {"trailingBytes", "throttleTimeMs", "clusterId", "brokerEpoch", "finalizedFeaturesEpoch", "totalBytes", "usableBytes",
            "lastCaughtUpTimestamp", "lastFetchTimestamp", "subscriptionId"}
TEXTS = re.compile(r"message$|documentation$", re.IGNORECASE)
UUIDS = re.compile(r"(topic|directory|incarnation|clientInstance)Id$", re.IGNORECASE)
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ORDER_KEYS = ("groupInstanceId", "memberId", "name", "topic", "topicName", "groupId", "resourceName", "resource", "configName",
              "apiKey", "transactionalId", "key", "host", "feature", "entityType")
PARTITION_KEYS = ("partitionIndex", "partition", "partitionId", "index")
KEPT_IN_ORDER = {"batches", "records", "headers"}


class Masker:
    def __init__(self, broker):
        self.symbols = {}
        self.counts = {}
        self.texts = [(str(broker.log_dir), "LOGDIR"), (str(broker.folder), "FOLDER")]
        self.ports = {broker.port: "PORT", broker.controller_port: "CONTROLLER_PORT"}
        self.now_ms = time.time() * 1000

    def mask(self, value, field=""):
        if isinstance(value, dict):
            return {key: self.mask(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.mask(each, field) for each in ordered(value, field)]
        if field in ANYTHING:
            return "*"
        if isinstance(value, str):
            return self.text(value, field)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.number(value, field)
        return value

    def text(self, value, field):
        if TEXTS.search(field):
            return "<text>" if value else value
        if UUIDS.search(field) and value != ZERO_UUID:
            return self.symbol("id", value)
        value = UUID_TEXT.sub(lambda match: self.symbol("uuid", match.group()), value)
        for real, symbol in self.texts:
            value = value.replace(real, symbol)
        for port, symbol in self.ports.items():
            value = re.sub(rf"\b{port}\b", symbol, value)
        return value

    def number(self, value, field):
        if field == "port" and value in self.ports:
            return self.ports[value]
        if field == "sessionId" and value != 0:
            return self.symbol("session", value)
        if field == "producerId" and value >= 0:
            return self.symbol("producer", value)
        if re.search("timestamp|TimeMs$", field, re.IGNORECASE) and abs(value - self.now_ms) < DAY_MS:
            return "now"
        return value

    def symbol(self, kind, value):
        if (kind, value) not in self.symbols:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.symbols[kind, value] = f"{kind}#{self.counts[kind]}"
        return self.symbols[kind, value]


def ordered(elements, field):
    """Structs that carry a name or a partition are put in its order: no client relies on the order of Kafka's hash maps."""
    if field in KEPT_IN_ORDER or not all(isinstance(each, dict) for each in elements):
        return elements
    return sorted(elements, key=rank)


def rank(element):
    names = [str(element.get(key, "")) for key in ORDER_KEYS]
    entity = sorted((each["entityType"], str(each["entityName"])) for each in element.get("entity", []))
    return names, [element.get(key, 0) for key in PARTITION_KEYS], entity
