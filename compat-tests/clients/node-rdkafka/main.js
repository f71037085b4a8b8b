// The checks of node-rdkafka, librdkafka's binding for Node.
'use strict'
const { promisify } = require('util')
const rdkafka = require('node-rdkafka')
const { CODECS, RECORDS, LARGE, TOO_LARGE, unique, sampleRecords, expect, expectError, until, runSuite } = require('../kafkajs/checks')

const TIMEOUT_MS = 10000

class Suite {
  constructor(address) {
    this.address = address
    this.admin = rdkafka.AdminClient.create({ 'metadata.broker.list': address })
    this.create = promisify(this.admin.createTopic).bind(this.admin)
    this.remove = promisify(this.admin.deleteTopic).bind(this.admin)
    this.grow = promisify(this.admin.createPartitions).bind(this.admin)
  }

  async topic(name, partitions = 1, config = {}) {
    const topic = unique(`node-rdkafka-${name}`)
    await this.create({ topic, num_partitions: partitions, replication_factor: 1, config }, TIMEOUT_MS)
    return topic
  }

  // Sends { key, value, headers, timestamp, partition } records; resolves to the delivery reports.
  async produce(topic, records, settings = {}) {
    const producer = new rdkafka.Producer({ 'metadata.broker.list': this.address, dr_cb: true, ...settings })
    await connect(producer)
    const reports = []
    producer.setPollInterval(10)
    producer.on('delivery-report', (error, report) => reports.push({ error, ...report }))
    for (const { key, value, headers, timestamp, partition } of records) producer.produce(topic, partition || 0, value, key, timestamp, null, headers)
    await until(() => reports.length === records.length, 'all delivery reports')
    await promisify(producer.disconnect).call(producer)
    const failed = reports.find((report) => report.error)
    if (failed) throw failed.error
    return reports
  }

  async consumer(group, settings = {}) {
    const consumer = new rdkafka.KafkaConsumer({ 'metadata.broker.list': this.address, 'group.id': group || unique('node-rdkafka'), 'enable.auto.commit': false,
      'session.timeout.ms': 6000, 'heartbeat.interval.ms': 300, ...settings }, { 'auto.offset.reset': 'earliest' })
    await connect(consumer)
    consumer.setDefaultConsumeTimeout(100)
    return consumer
  }

  async read(topic, count, offset = 0) {
    const consumer = await this.consumer()
    consumer.assign([{ topic, partition: 0, offset }])
    try {
      return await take(consumer, count)
    } finally {
      await close(consumer)
    }
  }

  async metadata() {
    const consumer = await this.consumer()
    try {
      return await promisify(consumer.getMetadata).call(consumer, { timeout: TIMEOUT_MS })
    } finally {
      await close(consumer)
    }
  }

  async partitions(topic) {
    const found = (await this.metadata()).topics.find((each) => each.name === topic)
    return found ? found.partitions.length : 0
  }

  async createTopic() {
    const topic = await this.topic('create', 3)
    await until(async () => (await this.partitions(topic)) === 3, 'three partitions')
    await expectError('already exists', () => this.create({ topic, num_partitions: 1, replication_factor: 1 }, TIMEOUT_MS))
  }

  async codec(codec) {
    const topic = await this.topic(codec)
    const sent = sampleRecords(RECORDS)
    await this.produce(topic, sent, { 'compression.codec': codec })
    const read = await this.read(topic, RECORDS)
    read.forEach((message, number) => {
      expect([message.offset, message.key.toString()], [number, sent[number].key], 'offset and key')
      // An empty value is sent as none.
      expect((message.value || Buffer.alloc(0)).equals(sent[number].value), true, 'whether the value is the same')
    })
  }

  async headers() {
    const topic = await this.topic('headers')
    await this.produce(topic, [{ value: Buffer.from('v'), headers: [{ first: '1' }, { first: 'again' }] }])
    expect((await this.read(topic, 1))[0].headers.map((header) => String(header.first)), ['1', 'again'], 'the headers')
  }

  async tombstones() {
    const topic = await this.topic('tombstones', 1, { 'cleanup.policy': 'compact' })
    await this.produce(topic, [{ key: 'k', value: Buffer.from('v') }, { key: 'k', value: null }])
    expect((await this.read(topic, 2))[1].value, null, 'the tombstone')
  }

  async largeRecord() {
    const topic = await this.topic('large')
    await this.produce(topic, [{ value: Buffer.alloc(LARGE) }])
    expect((await this.read(topic, 1))[0].value.length, LARGE, 'the length')
  }

  async tooLargeRecord() {
    const topic = await this.topic('too-large')
    await expectError('essage size too large', () => this.produce(topic, [{ value: Buffer.alloc(TOO_LARGE) }], { 'message.max.bytes': 4 * TOO_LARGE }))
  }

  async idempotence() {
    const topic = await this.topic('idempotence')
    await this.produce(topic, sampleRecords(1000), { 'enable.idempotence': true, 'batch.num.messages': 10 })
    expect((await this.read(topic, 1000))[999].key.toString(), 'key-999', 'the last key')
  }

  async groupRebalance() {
    const topic = await this.topic('rebalance', 4)
    const group = unique('node-rdkafka-rebalance')
    const owned = async (...members) => {
      for (const member of members) await consume(member, 10)
      return members.map((member) => member.assignments().length)
    }
    const first = await this.consumer(group)
    first.subscribe([topic])
    await until(async () => (await owned(first))[0] === 4, 'the first member owning all')
    const second = await this.consumer(group)
    second.subscribe([topic])
    await until(async () => String(await owned(first, second)) === '2,2', 'an even share')
    await close(second)
    await until(async () => (await owned(first))[0] === 4, 'the first member owning all again')
    await this.produce(topic, [0, 1, 2, 3].map((partition) => ({ partition, value: Buffer.from('v') })))
    await take(first, 4)
    await close(first)
  }

  async commitResume() {
    const topic = await this.topic('resume')
    const group = unique('node-rdkafka-resume')
    await this.produce(topic, sampleRecords(100))
    const first = await this.consumer(group)
    first.subscribe([topic])
    await take(first, 40)
    first.commitSync({ topic, partition: 0, offset: 40 })
    await close(first)
    const second = await this.consumer(group)
    expect((await promisify(second.committed).call(second, [{ topic, partition: 0 }], TIMEOUT_MS))[0].offset, 40, 'the committed offset')
    second.subscribe([topic])
    expect((await take(second, 1))[0].offset, 40, 'the first offset after the restart')
    await close(second)
  }

  async seekByTime() {
    const topic = await this.topic('time')
    const start = Date.now() - 100000
    await this.produce(topic, Array.from({ length: 50 }, (_, number) => ({ value: Buffer.from('v'), timestamp: start + 1000 * number })))
    const consumer = await this.consumer()
    const found = await promisify(consumer.offsetsForTimes).call(consumer, [{ topic, partition: 0, offset: start + 20001 }], TIMEOUT_MS)
    expect(found[0].offset, 21, 'the offset for a time between two records')
    const ends = await promisify(consumer.queryWatermarkOffsets).call(consumer, topic, 0, TIMEOUT_MS)
    expect([ends.lowOffset, ends.highOffset], [0, 50], 'earliest and latest')
    await close(consumer)
    expect((await this.read(topic, 1, 21))[0].timestamp, start + 21000, 'the timestamp')
  }

  async createPartitions() {
    const topic = await this.topic('partitions')
    await this.grow(topic, 5, TIMEOUT_MS)
    await until(async () => (await this.partitions(topic)) === 5, 'five partitions')
  }

  async describeCluster() {
    const metadata = await this.metadata()
    expect(metadata.brokers.map((broker) => `${broker.host}:${broker.port}`), [this.address], 'the brokers')
  }

  unknownTopic() {
    return expectError('Unknown topic or partition', () => this.remove(unique('node-rdkafka-missing'), TIMEOUT_MS))
  }

  invalidTopic() {
    return expectError('nvalid', () => this.create({ topic: 'no spaces', num_partitions: 1, replication_factor: 1 }, TIMEOUT_MS))
  }

  async deleteTopic() {
    const topic = await this.topic('delete')
    await this.remove(topic, TIMEOUT_MS)
    await until(async () => !(await this.metadata()).topics.some((each) => each.name === topic), "the topic's disappearance")
  }
}

function connect(client) {
  return promisify(client.connect).call(client, { timeout: TIMEOUT_MS })
}

function close(client) {
  return promisify(client.disconnect).call(client)
}

function consume(consumer, count) {
  return promisify(consumer.consume).call(consumer, count)
}

async function take(consumer, count) {
  const messages = []
  await until(async () => {
    messages.push(...(await consume(consumer, count - messages.length)))
    return messages.length >= count
  }, `${count} messages`)
  return messages
}

async function main() {
  const [mode, address] = process.argv.slice(2)
  if (mode !== 'suite') throw new Error(`node-rdkafka has no mode ${mode}`)
  const suite = new Suite(address)
  const checks = [['create-topic', () => suite.createTopic()], ...CODECS.map((codec) => [`codec-${codec}`, () => suite.codec(codec)])]
  const names = ['headers', 'tombstones', 'large-record', 'too-large-record', 'idempotence', 'group-rebalance', 'commit-resume', 'seek-by-time',
    'create-partitions', 'describe-cluster', 'unknown-topic', 'invalid-topic', 'delete-topic']
  for (const name of names) checks.push([name, () => suite[name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())]()])
  await runSuite(checks)
  suite.admin.disconnect()
  console.log('end')
}

main().then(() => process.exit(0), (error) => {
  console.log(`# ${error.stack}`)
  process.exit(1)
})
