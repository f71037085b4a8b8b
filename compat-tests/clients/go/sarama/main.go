// The checks of sarama.
package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"ottla/clients/check"

	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

type suite struct {
	addresses []string
	admin     sarama.ClusterAdmin
}

func main() {
	unsupported := func(string, string) error { return errors.New("sarama's restarts are not tested") }
	check.Main(run, unsupported, unsupported)
}

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 3
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	return config
}

func run(address string) error {
	admin, err := sarama.NewClusterAdmin([]string{address}, config())
	if err != nil {
		return err
	}
	defer admin.Close()
	s := &suite{addresses: []string{address}, admin: admin}
	checks := []check.Check{check.Requiring("create-topic", s.createTopic)}
	for _, codec := range check.Codecs {
		checks = append(checks, check.Requiring("codec-"+codec, func() { s.codec(codec) }))
	}
	named := []struct {
		name   string
		action func()
	}{
		{"headers", s.headers}, {"tombstones", s.tombstones}, {"large-record", s.largeRecord}, {"too-large-record", s.tooLargeRecord},
		{"idempotence", s.idempotence}, {"group-rebalance", s.groupRebalance}, {"commit-resume", s.commitResume}, {"seek-by-time", s.seekByTime},
		{"delete-records", s.deleteRecords}, {"describe-configs", s.describeConfigs}, {"alter-configs", s.alterConfigs},
		{"create-partitions", s.createPartitions}, {"list-groups", s.listGroups}, {"describe-group", s.describeGroup}, {"delete-group", s.deleteGroup},
		{"describe-cluster", s.describeCluster}, {"unknown-topic", s.unknownTopic}, {"invalid-topic", s.invalidTopic}, {"delete-topic", s.deleteTopic},
	}
	for _, each := range named {
		checks = append(checks, check.Requiring(each.name, each.action))
	}
	check.Run(checks)
	return nil
}

func (s *suite) topic(name string, partitions int32, configs map[string]*string) string {
	topic := check.Unique("sarama-" + name)
	check.Require(s.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}, false))
	return topic
}

func samples(topic string, count int) []*sarama.ProducerMessage {
	var messages []*sarama.ProducerMessage
	for number, value := range check.SampleValues(count) {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder("key-" + strconv.Itoa(number)), Value: sarama.ByteEncoder(value)})
	}
	return messages
}

// produce sends the messages and gives the first failure.
func (s *suite) produce(messages []*sarama.ProducerMessage, change func(*sarama.Config)) error {
	settings := config()
	if change != nil {
		change(settings)
	}
	producer, err := sarama.NewSyncProducer(s.addresses, settings)
	check.Require(err)
	defer producer.Close()
	err = producer.SendMessages(messages)
	var failures sarama.ProducerErrors
	if errors.As(err, &failures) {
		return failures[0].Err
	}
	return err
}

// read gives the next messages of partition 0 from an offset on.
func (s *suite) read(topic string, count int, offset int64) []*sarama.ConsumerMessage {
	settings := config()
	settings.Consumer.Fetch.Default = 2 * 1024 * 1024
	consumer, err := sarama.NewConsumer(s.addresses, settings)
	check.Require(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, offset)
	check.Require(err)
	defer partition.Close()
	return take(partition.Messages(), count)
}

func take(source <-chan *sarama.ConsumerMessage, count int) []*sarama.ConsumerMessage {
	var messages []*sarama.ConsumerMessage
	timeout := time.After(check.Timeout)
	for len(messages) < count {
		select {
		case message := <-source:
			messages = append(messages, message)
		case <-timeout:
			check.Require(check.Equal(len(messages), count, "the number of messages in time"))
		}
	}
	return messages
}

func (s *suite) createTopic() {
	topic := s.topic("create", 3, nil)
	described, err := s.admin.DescribeTopics([]string{topic})
	check.Require(err, check.Equal(len(described[0].Partitions), 3, "the number of partitions"))
	check.Require(check.Fails(s.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false), sarama.ErrTopicAlreadyExists))
}

func (s *suite) codec(codec string) {
	topic := s.topic(codec, 1, nil)
	sent := samples(topic, check.Records)
	check.Require(s.produce(sent, func(config *sarama.Config) { config.Producer.Compression = codecs[codec] }))
	values := check.SampleValues(check.Records)
	for number, message := range s.read(topic, len(sent), 0) {
		check.Require(check.Equal(message.Offset, int64(number), "the offset"), check.Equal(string(message.Key), "key-"+strconv.Itoa(number), "the key"),
			check.Equal(string(message.Value), string(values[number]), "the value"))
	}
}

func (s *suite) headers() {
	topic := s.topic("headers", 1, nil)
	headers := []sarama.RecordHeader{{Key: []byte("first"), Value: []byte("1")}, {Key: []byte("first"), Value: []byte("again")}}
	check.Require(s.produce([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.StringEncoder("v"), Headers: headers}}, nil))
	read := s.read(topic, 1, 0)[0].Headers
	check.Require(check.Equal(len(read), 2, "the number of headers"), check.Equal(*read[0], headers[0], "the first"), check.Equal(*read[1], headers[1], "the second"))
}

func (s *suite) tombstones() {
	policy := "compact"
	topic := s.topic("tombstones", 1, map[string]*string{"cleanup.policy": &policy})
	key := sarama.StringEncoder("k")
	check.Require(s.produce([]*sarama.ProducerMessage{{Topic: topic, Key: key, Value: sarama.StringEncoder("v")}, {Topic: topic, Key: key}}, nil))
	check.Require(check.Equal(s.read(topic, 2, 0)[1].Value == nil, true, "whether the value is null"))
	check.Require(check.Fails(s.produce([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.StringEncoder("no key")}}, nil), sarama.ErrInvalidRecord))
}

func (s *suite) largeRecord() {
	topic := s.topic("large", 1, nil)
	check.Require(s.produce([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.ByteEncoder(make([]byte, check.Large))}}, nil))
	check.Require(check.Equal(len(s.read(topic, 1, 0)[0].Value), check.Large, "the length"))
}

func (s *suite) tooLargeRecord() {
	topic := s.topic("too-large", 1, nil)
	err := s.produce([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.ByteEncoder(make([]byte, check.TooLarge))}},
		func(config *sarama.Config) { config.Producer.MaxMessageBytes = 4 * check.TooLarge })
	check.Require(check.Fails(err, sarama.ErrMessageSizeTooLarge))
}

func (s *suite) idempotence() {
	topic := s.topic("idempotence", 1, nil)
	check.Require(s.produce(samples(topic, 1000), func(config *sarama.Config) {
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll
		config.Net.MaxOpenRequests = 1
		config.Producer.Flush.MaxMessages = 10
	}))
	last := s.read(topic, 1000, 0)[999]
	check.Require(check.Equal(string(last.Key), "key-999", "the last key"), check.Equal(last.Offset, int64(999), "the last offset"))
}

// member is a group member that consumes in the background until it is closed.
type member struct {
	group    sarama.ConsumerGroup
	cancel   context.CancelFunc
	done     chan struct{}
	messages chan *sarama.ConsumerMessage
	lock     sync.Mutex
	session  sarama.ConsumerGroupSession
	owned    int
}

func (s *suite) join(group, topic string) *member {
	client, err := sarama.NewConsumerGroup(s.addresses, group, config())
	check.Require(err)
	ending, cancel := context.WithCancel(context.Background())
	m := &member{group: client, cancel: cancel, done: make(chan struct{}), messages: make(chan *sarama.ConsumerMessage, 1000)}
	go func() {
		defer close(m.done)
		for ending.Err() == nil {
			if err := client.Consume(ending, []string{topic}, m); err != nil {
				check.Print("# consume: " + err.Error())
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return m
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session, m.owned = session, 0
	for _, partitions := range session.Claims() {
		m.owned += len(partitions)
	}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.owned = 0
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.messages <- message
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) owns(count int) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.owned == count
}

func (m *member) close() {
	m.cancel()
	<-m.done
	m.group.Close()
}

func (s *suite) groupRebalance() {
	topic, group := s.topic("rebalance", 4, nil), check.Unique("sarama-rebalance")
	first := s.join(group, topic)
	defer first.close()
	check.Require(check.Until(func() (bool, error) { return first.owns(4), nil }, "the first member owning all"))
	second := s.join(group, topic)
	shared := check.Until(func() (bool, error) { return first.owns(2) && second.owns(2), nil }, "an even share")
	second.close()
	check.Require(shared, check.Until(func() (bool, error) { return first.owns(4), nil }, "the first member owning all again"))
	var messages []*sarama.ProducerMessage
	for partition := range int32(4) {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder("v")})
	}
	check.Require(s.produce(messages, nil))
	take(first.messages, 4)
}

func (s *suite) commitResume() {
	topic, group := s.topic("resume", 1, nil), check.Unique("sarama-resume")
	check.Require(s.produce(samples(topic, 100), nil))
	first := s.join(group, topic)
	last := take(first.messages, 40)[39]
	first.session.MarkMessage(last, "")
	first.session.Commit()
	first.close()
	check.Require(check.Equal(s.committed(group, topic), int64(40), "the committed offset"))
	second := s.join(group, topic)
	defer second.close()
	check.Require(check.Equal(take(second.messages, 1)[0].Offset, int64(40), "the first offset after the restart"))
}

func (s *suite) committed(group, topic string) int64 {
	offsets, err := s.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	check.Require(err)
	return offsets.GetBlock(topic, 0).Offset
}

func (s *suite) seekByTime() {
	topic := s.topic("time", 1, nil)
	start := time.Now().Add(-100 * time.Second).Truncate(time.Millisecond)
	var messages []*sarama.ProducerMessage
	for number := range 50 {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("v"), Timestamp: start.Add(time.Duration(number) * time.Second)})
	}
	check.Require(s.produce(messages, nil))
	client, err := sarama.NewClient(s.addresses, config())
	check.Require(err)
	defer client.Close()
	for _, each := range []struct{ time, offset int64 }{{start.UnixMilli() + 20_001, 21}, {sarama.OffsetOldest, 0}, {sarama.OffsetNewest, 50}, {start.UnixMilli() + 1_000_000, -1}} {
		offset, err := client.GetOffset(topic, 0, each.time)
		check.Require(err, check.Equal(offset, each.offset, "the offset for "+strconv.FormatInt(each.time, 10)))
	}
}

func (s *suite) deleteRecords() {
	topic := s.topic("delete-records", 1, nil)
	check.Require(s.produce(samples(topic, 50), nil), s.admin.DeleteRecords(topic, map[int32]int64{0: 30}))
	check.Require(check.Equal(s.read(topic, 1, sarama.OffsetOldest)[0].Offset, int64(30), "the first offset read"))
}

func (s *suite) config(topic, key string) (sarama.ConfigEntry, error) {
	entries, err := s.admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{key}})
	if err != nil {
		return sarama.ConfigEntry{}, err
	}
	check.Require(check.Equal(len(entries), 1, "the number of entries"))
	return entries[0], nil
}

func (s *suite) describeConfigs() {
	retention := "123456"
	topic := s.topic("configs", 1, map[string]*string{"retention.ms": &retention})
	own, ownError := s.config(topic, "retention.ms")
	inherited, inheritedError := s.config(topic, "cleanup.policy")
	check.Require(ownError, inheritedError, check.Equal(own.Value, "123456", "retention.ms"), check.Equal(own.Source, sarama.SourceTopic, "its source"),
		check.Equal(inherited.Source, sarama.SourceDefault, "the other source"))
}

func (s *suite) alter(topic, key, value string) error {
	change := map[string]sarama.IncrementalAlterConfigsEntry{key: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}
	return s.admin.IncrementalAlterConfig(sarama.TopicResource, topic, change, false)
}

func (s *suite) alterConfigs() {
	topic := s.topic("alter", 1, nil)
	check.Require(s.alter(topic, "max.message.bytes", "2000"))
	check.Require(check.Until(func() (bool, error) {
		err := s.produce([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.ByteEncoder(make([]byte, 3000))}}, nil)
		return check.Fails(err, sarama.ErrMessageSizeTooLarge) == nil, err
	}, "the smaller limit in force"))
	check.Require(check.Fails(s.alter(topic, "retention.ms", "soon"), sarama.ErrInvalidConfig))
}

func (s *suite) createPartitions() {
	topic := s.topic("partitions", 1, nil)
	check.Require(s.admin.CreatePartitions(topic, 5, nil, false), check.Until(func() (bool, error) {
		described, err := s.admin.DescribeTopics([]string{topic})
		return err == nil && len(described[0].Partitions) == 5, err
	}, "five partitions"))
	check.Require(check.Fails(s.admin.CreatePartitions(topic, 2, nil, false), sarama.ErrInvalidPartitions))
}

// withMember runs an action while a group has one member that owns its topic.
func (s *suite) withMember(action func(topic, group string)) {
	topic, group := s.topic("groups", 1, nil), check.Unique("sarama-groups")
	m := s.join(group, topic)
	defer m.close()
	check.Require(check.Until(func() (bool, error) { return m.owns(1), nil }, "an assignment"))
	action(topic, group)
}

func (s *suite) listGroups() {
	s.withMember(func(_, group string) {
		listed, err := s.admin.ListConsumerGroups()
		check.Require(err, check.Equal(listed[group], "consumer", "the type of the listed group"))
	})
}

func (s *suite) describeGroup() {
	s.withMember(func(topic, group string) {
		described, err := s.admin.DescribeConsumerGroups([]string{group})
		check.Require(err, check.Equal(described[0].State, "Stable", "the state"), check.Equal(described[0].Protocol, "range", "the protocol"),
			check.Equal(len(described[0].Members), 1, "the number of members"))
		for _, member := range described[0].Members {
			assignment, err := member.GetMemberAssignment()
			check.Require(err, check.Equal(assignment.Topics, map[string][]int32{topic: {0}}, "the assignment"))
		}
	})
}

func (s *suite) deleteGroup() {
	var topic, group string
	s.withMember(func(itsTopic, itsGroup string) {
		topic, group = itsTopic, itsGroup
		check.Require(check.Fails(s.admin.DeleteConsumerGroup(group), sarama.ErrNonEmptyGroup))
	})
	_, err := s.admin.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{topic: {0: {Offset: 7, LeaderEpoch: -1}}}, nil)
	check.Require(err, check.Equal(s.committed(group, topic), int64(7), "the altered offset"))
	check.Require(s.admin.DeleteConsumerGroupOffset(group, topic, 0), check.Equal(s.committed(group, topic), int64(-1), "the deleted offset"))
	_, err = s.admin.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{topic: {0: {Offset: 8, LeaderEpoch: -1}}}, nil)
	check.Require(err, s.admin.DeleteConsumerGroup(group), check.Fails(s.admin.DeleteConsumerGroup(group), sarama.ErrGroupIDNotFound))
}

func (s *suite) describeCluster() {
	brokers, controller, err := s.admin.DescribeCluster()
	check.Require(err, check.Equal(len(brokers), 1, "the number of brokers"), check.Equal(brokers[0].Addr(), s.addresses[0], "the broker"),
		check.Equal(controller, brokers[0].ID(), "the controller"))
	directories, err := s.admin.DescribeLogDirs([]int32{controller})
	check.Require(err, check.Equal(len(directories[controller]), 1, "the number of log directories"))
}

func (s *suite) unknownTopic() {
	missing := check.Unique("sarama-missing")
	_, described := s.config(missing, "retention.ms")
	check.Require(check.Fails(s.admin.DeleteTopic(missing), sarama.ErrUnknownTopicOrPartition), check.Fails(described, sarama.ErrUnknownTopicOrPartition))
}

func (s *suite) invalidTopic() {
	name := s.admin.CreateTopic("no spaces", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	factor := s.admin.CreateTopic("factor", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 7}, false)
	check.Require(check.Fails(name, sarama.ErrInvalidTopic), check.Fails(factor, sarama.ErrInvalidReplicationFactor))
}

func (s *suite) deleteTopic() {
	topic := s.topic("delete", 1, nil)
	check.Require(s.admin.DeleteTopic(topic), check.Until(func() (bool, error) {
		listed, err := s.admin.ListTopics()
		_, found := listed[topic]
		return err == nil && !found, err
	}, "the topic's disappearance"))
}
