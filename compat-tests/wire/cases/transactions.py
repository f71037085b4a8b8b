"""Transactions: the coordinator's answers, markers in partitions, offsets of groups within transactions."""
from wire.cases import Area
from wire.cases.produce import batch, fetch, produce

AREA = Area("transactions", {"transaction.max.timeout.ms": "60000"})


class Producer:
    """A transactional producer that keeps its own books."""

    def __init__(self, wire, name):
        self.wire, self.name = wire, wire.full(name)
        wire.until(lambda: wire.must("FindCoordinator", 4, {"keyType": 1, "coordinatorKeys": [self.name]})["coordinators"][0]["errorCode"] == 0, "the coordinator is found")
        self.begin()

    def begin(self):
        """Becomes the newest instance."""
        request = {"transactionalId": self.name, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1}
        self.wire.until(lambda: self.take(self.wire.must("InitProducerId", 5, request)), "the producer gets its epoch")

    def take(self, answer):
        if answer["errorCode"] == 0:
            self.id, self.epoch = answer["producerId"], answer["producerEpoch"]
        return answer["errorCode"] == 0

    def named(self, epoch=0, **fields):
        return {"transactionalId": self.name, "producerId": self.id, "producerEpoch": self.epoch + epoch, **fields}

    def init(self, version, epoch=None, **fields):
        request = {"transactionalId": self.name, "transactionTimeoutMs": 60000, **fields}
        if epoch is not None:
            request.update(producerId=self.id, producerEpoch=self.epoch + epoch)
        return self.wire.call("InitProducerId", version, request)

    def add(self, version, topic, *indexes, epoch=0, verify=False):
        topics = [{"name": topic, "partitions": list(indexes)}]
        if version >= 4:
            return self.wire.call("AddPartitionsToTxn", version, {"transactions": [self.named(epoch, verifyOnly=verify, topics=topics)]})
        return self.wire.call("AddPartitionsToTxn", version, {
            "v3AndBelowTransactionalId": self.name, "v3AndBelowProducerId": self.id, "v3AndBelowProducerEpoch": self.epoch + epoch, "v3AndBelowTopics": topics})

    def end(self, version, committed, epoch=0):
        answer = self.wire.call("EndTxn", version, self.named(epoch, committed=committed))
        self.settled()
        return answer

    def settled(self):
        """Until the markers are written, and the end with them."""
        describe = lambda: self.wire.must("DescribeTransactions", 0, {"transactionalIds": [self.name]})["transactionStates"][0]
        self.wire.until(lambda: not describe()["transactionState"].startswith("Prepare"), "the transaction is complete")

    def send(self, version, topic, sequence, epoch=0):
        produce(self.wire, version, topic, batch(1, transactional=True, producerId=self.id, producerEpoch=self.epoch + epoch, baseSequence=sequence), transactional_id=self.name)

    def describe(self):
        self.wire.call("DescribeTransactions", 0, {"transactionalIds": [self.name, self.wire.full("absent"), ""]})


def committed(wire, topic):
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000000}
    wire.call("Fetch", 12, {"maxWaitMs": 0, "minBytes": 0, "isolationLevel": 1, "topics": [{"topic": topic, "partitions": [partition]}]})


@AREA.sweep("InitProducerId", "InitProducerId", highest=5)
def init_producer_id(wire, version):
    one = Producer(wire, "one")
    one.init(version)
    for timeout in (0, -1, 60000, 60001):
        one.init(version, transactionTimeoutMs=timeout)
    if version >= 3:
        one.begin()
        for epoch in (0, 0, 1, -1, 5):
            one.init(version, epoch)
        for producer, epoch in ((-1, 5), (5, -1), (5, 5)):
            one.init(version, producerId=producer, producerEpoch=epoch)


@AREA.sweep("EndTxn without a transaction", "EndTxn")
def end_nothing(wire, version):
    for result in (True, False):
        one = Producer(wire, f"one{result}")
        one.end(version, result, epoch=-1)
        one.end(version, result, epoch=1)
        one.end(version, result)
        one.end(version, result)
        one.describe()
        wire.call("EndTxn", version, {**one.named(), "committed": result, "producerId": 123456})
        wire.call("EndTxn", version, {**one.named(), "committed": result, "transactionalId": wire.full("absent")})
        wire.call("EndTxn", version, {**one.named(), "committed": result, "transactionalId": ""})


@AREA.sweep("EndTxn", "EndTxn")
def end(wire, version):
    for result in (True, False):
        topic = wire.topic(f"t{result}", partitions=2)
        one = Producer(wire, f"one{result}")
        one.add(5 if version >= 5 else 3, topic, 0)
        one.describe()
        one.add(5 if version >= 5 else 3, topic, 0, 1)
        one.send(12 if version >= 5 else 9, topic, 0)
        committed(wire, topic)
        one.end(version, result)
        one.describe()
        for again in (result, not result):
            one.end(version, again)
            one.end(version, again, epoch=1)
        one.describe()
        fetch(wire, topic)
        committed(wire, topic)


@AREA.sweep("AddPartitionsToTxn", "AddPartitionsToTxn")
def add_partitions(wire, version):
    topic, one = wire.topic(partitions=2), Producer(wire, "one")
    one.add(version, topic, 0, 7)
    one.add(version, wire.full("absent"), 0)
    for epoch in (-1, 1, 0, 0):
        one.add(version, topic, 0, epoch=epoch)
    one.add(version, topic)
    one.describe()
    if version >= 4:
        for epoch in (0, 1):
            one.add(version, topic, 0, 1, epoch=epoch, verify=True)
    one.name = wire.full("absent")
    one.add(version, topic, 0)
    one.name = ""
    one.add(version, topic, 0)


@AREA.sweep("Produce", "Produce", lowest=3)
def transactional_produce(wire, version):
    topic, one = wire.topic(), Producer(wire, "one")
    one.send(version, topic, 0)
    if version < 12:
        one.add(3, topic, 0)
    one.send(version, topic, 0)
    one.send(version, topic, 1)
    produce(wire, version, topic, batch(1, producerId=one.id, producerEpoch=one.epoch, baseSequence=2))
    one.describe()
    one.end(3, True)
    one.send(version, topic, 2, epoch=-1)
    one.send(version, topic, 2)
    one.begin()
    one.send(version, topic, 0, epoch=-1)
    committed(wire, topic)


@AREA.sweep("TxnOffsetCommit", "TxnOffsetCommit")
def offsets(wire, version):
    topic, group, one = wire.topic(), wire.group(), Producer(wire, "one")

    def commit(offset, epoch=0, index=0, **fields):
        where = {"topicId": wire.topic_id(topic)} if version >= 6 else {"name": topic}
        request = one.named(epoch, groupId=group, topics=[{**where, "partitions": [{"partitionIndex": index, "committedOffset": offset, "committedMetadata": "m"}]}], **fields)
        wire.call("TxnOffsetCommit", version, request)

    def stored():
        for stable in (True, False):
            wire.call("OffsetFetch", 8, {"groups": [{"groupId": group, "topics": [{"name": topic, "partitionIndexes": [0]}]}], "requireStable": stable})

    commit(3)
    if version < 5:
        wire.call("AddOffsetsToTxn", 3, one.named(groupId=group))
    for epoch in (-1, 1):
        commit(4, epoch)
    commit(5, index=7)
    commit(5)
    stored()
    one.end(5 if version >= 5 else 3, True)
    stored()
    one.begin()
    if version < 5:
        wire.call("AddOffsetsToTxn", 3, one.named(groupId=group))
    commit(9)
    stored()
    one.end(5 if version >= 5 else 3, False)
    stored()
    if version >= 3:
        one.begin()
        if version < 5:
            wire.call("AddOffsetsToTxn", 3, one.named(groupId=group))
        commit(9, generationIdOrMemberEpoch=5, memberId="nobody")


@AREA.sweep("AddOffsetsToTxn", "AddOffsetsToTxn")
def add_offsets(wire, version):
    group, one = wire.group(), Producer(wire, "one")
    for epoch in (-1, 1, 0, 0):
        wire.call("AddOffsetsToTxn", version, one.named(epoch, groupId=group))
    wire.call("AddOffsetsToTxn", version, {**one.named(groupId=group), "transactionalId": ""})
    wire.call("AddOffsetsToTxn", version, {**one.named(groupId=group), "producerId": 123456})


@AREA.sweep("ListTransactions", "ListTransactions")
def listed(wire, version):
    topic, one = wire.topic(), Producer(wire, "one")
    one.add(3, topic, 0)
    pattern = {"transactionalIdPattern": one.name} if version >= 2 else {}
    for states in ([], ["Ongoing"], ["Empty", "CompleteAbort"], ["ongoing", "Nonsense", "Nonsense"]):
        wire.call("ListTransactions", version, {"stateFilters": states, "producerIdFilters": [one.id], **pattern})
    wire.call("ListTransactions", version, {"producerIdFilters": [987654]})
    if version >= 1:
        for duration in (-1, 1000000):
            wire.call("ListTransactions", version, {"producerIdFilters": [one.id], "durationFilter": duration})
    if version >= 2:
        for expression in ("", one.name[:-1], one.name[:-1] + ".", "(", ".*absent"):
            wire.call("ListTransactions", version, {"producerIdFilters": [one.id], "transactionalIdPattern": expression})


@AREA.sweep("WriteTxnMarkers", "WriteTxnMarkers")
def markers(wire, version):
    topic, one = wire.topic(partitions=2), Producer(wire, "one")
    one.add(3, topic, 0)
    one.send(9, topic, 0)

    def write(coordinator_epoch, epoch=0, **fields):
        marker = {"producerId": one.id, "producerEpoch": one.epoch + epoch, "transactionResult": False, "coordinatorEpoch": coordinator_epoch,
                  "topics": [{"name": topic, "partitionIndexes": [0, 1, 7]}, {"name": wire.full("absent"), "partitionIndexes": [0]}], **fields}
        wire.call("WriteTxnMarkers", version, {"markers": [marker]})

    write(5, epoch=-1)
    write(5)
    write(4)
    write(5)
    if version >= 2:
        for epoch in (0, 1, 1, 0):
            write(5, epoch, transactionVersion=2)
    wire.call("WriteTxnMarkers", version, {"markers": []})
    fetch(wire, topic)
    committed(wire, topic)
