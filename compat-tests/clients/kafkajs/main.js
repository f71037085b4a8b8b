// The checks of kafkajs.
'use strict'
const { AssignerProtocol, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const { CODECS, RECORDS, LARGE, TOO_LARGE, unique, sampleRecords, expect, expectError, until, runSuite } = require('./checks')
const codecs = require('./codecs')

class Suite {
  constructor(address) {
    this.address = address
    this.kafka = new Kafka({ clientId: 'compat', brokers: [address], logLevel: logLevel.NOTHING, retry: { retries: 3 } })
    this.admin = this.kafka.admin()
  }

  async topic(name, numPartitions = 1, configEntries = []) {
    const topic = unique(`kafkajs-${name}`)
    await this.admin.createTopics({ topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }], waitForLeaders: true })
    return topic
  }

  async produce(topic, messages, compression = 'none', settings = {}) {
    const producer = this.kafka.producer(settings)
    await producer.connect()
    try {
      const placed = messages.map((message) => ({ partition: 0, ...message }))
      return await producer.send({ topic, messages: placed, acks: -1, compression: codecs.TYPES[compression] })
    } finally {
      await producer.disconnect()
    }
  }

  // A running group member. Its `messages` grow; `owned` is how many partitions it has.
  async member(topic, groupId, settings = {}) {
    const consumer = this.kafka.consumer({ groupId, sessionTimeout: 6000, rebalanceTimeout: 6000, heartbeatInterval: 300, maxWaitTimeInMs: 200, ...settings })
    const member = { consumer, messages: [], owned: 0 }
    consumer.on(consumer.events.GROUP_JOIN, (event) => { member.owned = (event.payload.memberAssignment[topic] || []).length })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ autoCommit: false, eachMessage: async ({ message }) => { member.messages.push(message) } })
    return member
  }

  async read(topic, count, settings = {}) {
    const member = await this.member(topic, unique('kafkajs-read'), settings)
    try {
      await until(() => member.messages.length >= count, `${count} messages`)
    } finally {
      await member.consumer.disconnect()
    }
    return member.messages
  }

  async partitions(topic) {
    const metadata = await this.admin.fetchTopicMetadata({ topics: [topic] })
    return metadata.topics[0].partitions.length
  }

  async createTopic() {
    const topic = await this.topic('create', 3)
    expect(await this.partitions(topic), 3, 'the number of partitions')
    expect(await this.admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }), false, 'the answer for an existing topic')
  }

  async codec(codec) {
    const topic = await this.topic(codec)
    const sent = sampleRecords(RECORDS)
    await this.produce(topic, sent, codec)
    const read = await this.read(topic, RECORDS)
    expect(read.length, RECORDS, 'the number of messages')
    read.forEach((message, number) => {
      expect([message.offset, message.key.toString()], [String(number), sent[number].key], 'offset and key')
      expect(message.value.equals(sent[number].value), true, 'whether the value is the same')
    })
  }

  async headers() {
    const topic = await this.topic('headers')
    await this.produce(topic, [{ value: 'v', headers: { one: '1', many: ['2', '3'] } }])
    const headers = (await this.read(topic, 1))[0].headers
    expect([headers.one.toString(), headers.many.map(String)], ['1', ['2', '3']], 'the headers')
  }

  async tombstones() {
    const topic = await this.topic('tombstones', 1, [{ name: 'cleanup.policy', value: 'compact' }])
    await this.produce(topic, [{ key: 'k', value: 'v' }, { key: 'k', value: null }])
    expect((await this.read(topic, 2))[1].value, null, 'the tombstone')
    // kafkajs does not know the error's number, 87.
    await expectError('87', () => this.produce(topic, [{ value: 'no key' }]))
  }

  async largeRecord() {
    const topic = await this.topic('large')
    await this.produce(topic, [{ value: Buffer.alloc(LARGE) }])
    expect((await this.read(topic, 1))[0].value.length, LARGE, 'the length')
  }

  async tooLargeRecord() {
    const topic = await this.topic('too-large')
    await expectError('MESSAGE_TOO_LARGE', () => this.produce(topic, [{ value: Buffer.alloc(TOO_LARGE) }]))
  }

  async idempotence() {
    const topic = await this.topic('idempotence')
    const producer = this.kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (let batch = 0; batch < 10; batch++) {
      const messages = Array.from({ length: 20 }, (_, number) => ({ partition: 0, value: String(batch * 20 + number) }))
      await producer.send({ topic, messages, acks: -1 })
    }
    await producer.disconnect()
    const values = (await this.read(topic, 200)).map((message) => Number(message.value))
    expect(values, Array.from({ length: 200 }, (_, number) => number), 'the values')
  }

  async groupRebalance() {
    const topic = await this.topic('rebalance', 4)
    const group = unique('kafkajs-rebalance')
    const first = await this.member(topic, group)
    await until(() => first.owned === 4, 'the first member owning all')
    const second = await this.member(topic, group)
    await until(() => first.owned === 2 && second.owned === 2, 'an even share')
    await second.consumer.disconnect()
    await until(() => first.owned === 4, 'the first member owning all again')
    await this.produce(topic, [0, 1, 2, 3].map((partition) => ({ partition, value: 'v' })))
    await until(() => first.messages.length === 4, 'four messages')
    await first.consumer.disconnect()
  }

  async commitResume() {
    const topic = await this.topic('resume')
    const group = unique('kafkajs-resume')
    await this.produce(topic, sampleRecords(100))
    const first = await this.member(topic, group)
    await until(() => first.messages.length === 100, 'all messages')
    await first.consumer.commitOffsets([{ topic, partition: 0, offset: '40' }])
    await first.consumer.disconnect()
    expect((await this.admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions[0].offset, '40', 'the committed offset')
    const second = await this.member(topic, group)
    await until(() => second.messages.length > 0, 'a message')
    expect(second.messages[0].offset, '40', 'the first offset after the restart')
    await second.consumer.disconnect()
  }

  async seekByTime() {
    const topic = await this.topic('time')
    const start = Date.now() - 100000
    await this.produce(topic, Array.from({ length: 50 }, (_, number) => ({ value: 'v', timestamp: String(start + 1000 * number) })))
    expect((await this.admin.fetchTopicOffsetsByTimestamp(topic, start + 20001))[0].offset, '21', 'the offset for a time between two records')
    const offsets = (await this.admin.fetchTopicOffsets(topic))[0]
    expect([offsets.low, offsets.high], ['0', '50'], 'earliest and latest')
    const reader = await this.member(topic, unique('kafkajs-time'))
    reader.consumer.seek({ topic, partition: 0, offset: '21' })
    await until(() => reader.messages.some((message) => message.timestamp === String(start + 21000)), 'the record of that time')
    await reader.consumer.disconnect()
  }

  async deleteRecords() {
    const topic = await this.topic('delete-records')
    await this.produce(topic, sampleRecords(50))
    // kafkajs deletes only in topics whose leaders it has looked up before.
    expect((await this.admin.fetchTopicOffsets(topic))[0].high, '50', 'the latest offset')
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '30' }] })
    expect((await this.admin.fetchTopicOffsets(topic))[0].low, '30', 'the earliest offset')
    expect((await this.read(topic, 20))[0].offset, '30', 'the first offset read')
  }

  async config(topic, name) {
    const answer = await this.admin.describeConfigs({ includeSynonyms: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: [name] }] })
    return answer.resources[0].configEntries[0]
  }

  async describeConfigs() {
    const topic = await this.topic('configs', 1, [{ name: 'retention.ms', value: '123456' }])
    const entry = await this.config(topic, 'retention.ms')
    expect([entry.configValue, entry.configSource], ['123456', 1], 'value and source of retention.ms')
    expect((await this.config(topic, 'cleanup.policy')).configSource, 5, 'the source of cleanup.policy')
  }

  alter(topic, name, value) {
    return this.admin.alterConfigs({ validateOnly: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }] })
  }

  async alterConfigs() {
    const topic = await this.topic('alter')
    await this.alter(topic, 'max.message.bytes', '2000')
    await until(async () => this.produce(topic, [{ value: Buffer.alloc(3000) }]).then(() => false, (error) => String(error.type || error.cause.type) === 'MESSAGE_TOO_LARGE'), 'the smaller limit in force')
    await expectError('INVALID_CONFIG', () => this.alter(topic, 'retention.ms', 'soon'))
  }

  async createPartitions() {
    const topic = await this.topic('partitions')
    await this.admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] })
    await until(async () => (await this.partitions(topic)) === 5, 'five partitions')
    await expectError('INVALID_PARTITIONS', () => this.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] }))
  }

  async withMember(action) {
    const topic = await this.topic('groups')
    const group = unique('kafkajs-groups')
    const member = await this.member(topic, group)
    try {
      await until(() => member.owned === 1, 'an assignment')
      await action(topic, group)
    } finally {
      await member.consumer.disconnect()
    }
    return [topic, group]
  }

  listGroups() {
    return this.withMember(async (_, group) => {
      const listed = (await this.admin.listGroups()).groups.find((each) => each.groupId === group)
      expect(listed.protocolType, 'consumer', 'the type of the listed group')
    })
  }

  describeGroup() {
    return this.withMember(async (topic, group) => {
      const described = (await this.admin.describeGroups([group])).groups[0]
      expect([described.state, described.members.length], ['Stable', 1], 'state and number of members')
      expect(AssignerProtocol.MemberAssignment.decode(described.members[0].memberAssignment).assignment, { [topic]: [0] }, 'the assignment')
    })
  }

  async deleteGroup() {
    const [topic, group] = await this.withMember((_, group) => expectError('NON_EMPTY_GROUP', () => this.admin.deleteGroups([group])))
    await this.admin.setOffsets({ groupId: group, topic, partitions: [{ partition: 0, offset: '7' }] })
    expect((await this.admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions[0].offset, '7', 'the altered offset')
    await this.admin.deleteGroups([group])
    await expectError('GROUP_ID_NOT_FOUND', () => this.admin.deleteGroups([group]))
  }

  async describeCluster() {
    const cluster = await this.admin.describeCluster()
    expect(cluster.brokers.map((broker) => `${broker.host}:${broker.port}`), [this.address], 'the brokers')
    expect([cluster.controller, cluster.clusterId.length], [cluster.brokers[0].nodeId, 22], 'the controller and the length of the cluster id')
  }

  async unknownTopic() {
    const missing = unique('kafkajs-missing')
    await expectError('UNKNOWN_TOPIC_OR_PARTITION', () => this.admin.deleteTopics({ topics: [missing] }))
    await expectError('UNKNOWN_TOPIC_OR_PARTITION', () => this.config(missing, 'retention.ms'))
  }

  async invalidTopic() {
    await expectError('INVALID_TOPIC_EXCEPTION', () => this.admin.createTopics({ topics: [{ topic: 'no spaces' }] }))
    await expectError('INVALID_REPLICATION_FACTOR', () => this.admin.createTopics({ topics: [{ topic: 'factor', replicationFactor: 7 }] }))
  }

  async deleteTopic() {
    const topic = await this.topic('delete')
    await this.admin.deleteTopics({ topics: [topic] })
    await until(async () => !(await this.admin.listTopics()).includes(topic), "the topic's disappearance")
  }
}

async function main() {
  const [mode, address] = process.argv.slice(2)
  if (mode !== 'suite') throw new Error(`kafkajs has no mode ${mode}`)
  await codecs.install()
  const suite = new Suite(address)
  await suite.admin.connect()
  const checks = [['create-topic', () => suite.createTopic()], ...CODECS.map((codec) => [`codec-${codec}`, () => suite.codec(codec)])]
  const names = ['headers', 'tombstones', 'large-record', 'too-large-record', 'idempotence', 'group-rebalance', 'commit-resume', 'seek-by-time',
    'delete-records', 'describe-configs', 'alter-configs', 'create-partitions', 'list-groups', 'describe-group', 'delete-group', 'describe-cluster',
    'unknown-topic', 'invalid-topic', 'delete-topic']
  for (const name of names) checks.push([name, () => suite[name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())]()])
  await runSuite(checks)
  await suite.admin.disconnect()
  console.log('end')
}

main().catch((error) => {
  console.log(`# ${error.stack}`)
  process.exitCode = 1
})
