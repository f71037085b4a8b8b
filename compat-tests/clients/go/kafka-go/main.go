// The checks of segmentio's kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"ottla/clients/check"

	"github.com/segmentio/kafka-go"
)

var codecs = map[string]kafka.Compression{"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}

type suite struct {
	address string
	context context.Context
	client  *kafka.Client
}

func main() {
	unsupported := func(string, string) error { return errors.New("kafka-go's restarts are not tested") }
	check.Main(run, unsupported, unsupported)
}

func run(address string) error {
	s := &suite{address: address, context: context.Background(), client: &kafka.Client{Addr: kafka.TCP(address), Timeout: 10 * time.Second}}
	checks := []check.Check{check.Requiring("create-topic", s.createTopic)}
	for _, codec := range check.Codecs {
		checks = append(checks, check.Requiring("codec-"+codec, func() { s.codec(codec) }))
	}
	named := []struct {
		name   string
		action func()
	}{
		{"headers", s.headers}, {"tombstones", s.tombstones}, {"large-record", s.largeRecord}, {"too-large-record", s.tooLargeRecord},
		{"group-rebalance", s.groupRebalance}, {"commit-resume", s.commitResume}, {"seek-by-time", s.seekByTime},
		{"describe-configs", s.describeConfigs}, {"alter-configs", s.alterConfigs}, {"create-partitions", s.createPartitions},
		{"list-groups", s.listGroups}, {"describe-group", s.describeGroup}, {"delete-group", s.deleteGroup}, {"describe-cluster", s.describeCluster},
		{"unknown-topic", s.unknownTopic}, {"invalid-topic", s.invalidTopic}, {"delete-topic", s.deleteTopic},
	}
	for _, each := range named {
		checks = append(checks, check.Requiring(each.name, each.action))
	}
	check.Run(checks)
	return nil
}

func (s *suite) create(config kafka.TopicConfig) error {
	response, err := s.client.CreateTopics(s.context, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	if err != nil {
		return err
	}
	return response.Errors[config.Topic]
}

func (s *suite) topic(name string, partitions int, configs ...kafka.ConfigEntry) string {
	topic := check.Unique("kafka-go-" + name)
	check.Require(s.create(kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}))
	return topic
}

func (s *suite) writer(topic string) *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP(s.address), Topic: topic, BatchTimeout: 10 * time.Millisecond, RequiredAcks: kafka.RequireAll, MaxAttempts: 3}
}

func (s *suite) produce(topic string, messages []kafka.Message, change func(*kafka.Writer)) error {
	writer := s.writer(topic)
	if change != nil {
		change(writer)
	}
	err := writer.WriteMessages(s.context, messages...)
	closed := writer.Close()
	var failures kafka.WriteErrors
	if errors.As(err, &failures) {
		err = check.First(failures...)
	}
	return check.First(err, closed)
}

func samples(count int) []kafka.Message {
	var messages []kafka.Message
	for number, value := range check.SampleValues(count) {
		messages = append(messages, kafka.Message{Key: []byte("key-" + strconv.Itoa(number)), Value: value})
	}
	return messages
}

// read gives the next messages of partition 0 from an offset on.
func (s *suite) read(topic string, count int, offset int64) []kafka.Message {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.address}, Topic: topic, MaxWait: 200 * time.Millisecond})
	defer reader.Close()
	check.Require(reader.SetOffset(offset))
	return s.take(reader, count)
}

func (s *suite) take(reader *kafka.Reader, count int) []kafka.Message {
	limited, cancel := context.WithTimeout(s.context, check.Timeout)
	defer cancel()
	var messages []kafka.Message
	for len(messages) < count {
		message, err := reader.FetchMessage(limited)
		check.Require(err)
		messages = append(messages, message)
	}
	return messages
}

func (s *suite) partitions(topic string) int {
	metadata, err := s.client.Metadata(s.context, &kafka.MetadataRequest{Topics: []string{topic}})
	check.Require(err)
	return len(metadata.Topics[0].Partitions)
}

func (s *suite) createTopic() {
	topic := s.topic("create", 3)
	check.Require(check.Until(func() (bool, error) { return s.partitions(topic) == 3, nil }, "three partitions"))
	check.Require(check.Fails(s.create(kafka.TopicConfig{Topic: topic, NumPartitions: 1, ReplicationFactor: 1}), kafka.TopicAlreadyExists))
}

func (s *suite) codec(codec string) {
	topic := s.topic(codec, 1)
	sent := samples(check.Records)
	check.Require(s.produce(topic, sent, func(writer *kafka.Writer) { writer.Compression = codecs[codec] }))
	for number, message := range s.read(topic, len(sent), 0) {
		check.Require(check.Equal(message.Offset, int64(number), "the offset"), check.Equal(string(message.Key), string(sent[number].Key), "the key"),
			check.Equal(string(message.Value), string(sent[number].Value), "the value"))
	}
}

func (s *suite) headers() {
	topic := s.topic("headers", 1)
	headers := []kafka.Header{{Key: "first", Value: []byte("1")}, {Key: "first", Value: []byte("again")}}
	check.Require(s.produce(topic, []kafka.Message{{Value: []byte("v"), Headers: headers}}, nil))
	check.Require(check.Equal(s.read(topic, 1, 0)[0].Headers, headers, "the headers"))
}

func (s *suite) tombstones() {
	topic := s.topic("tombstones", 1, kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"})
	check.Require(s.produce(topic, []kafka.Message{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("k")}}, nil))
	check.Require(check.Equal(len(s.read(topic, 2, 0)[1].Value), 0, "the length of the tombstone"))
	check.Require(check.Fails(s.produce(topic, []kafka.Message{{Value: []byte("no key")}}, nil), kafka.InvalidRecord))
}

func (s *suite) largeRecord() {
	topic := s.topic("large", 1)
	check.Require(s.produce(topic, []kafka.Message{{Value: make([]byte, check.Large)}}, nil))
	check.Require(check.Equal(len(s.read(topic, 1, 0)[0].Value), check.Large, "the length"))
}

func (s *suite) tooLargeRecord() {
	topic := s.topic("too-large", 1)
	err := s.produce(topic, []kafka.Message{{Value: make([]byte, check.TooLarge)}}, func(writer *kafka.Writer) { writer.BatchBytes = 4 * check.TooLarge })
	check.Require(check.Fails(err, kafka.MessageSizeTooLarge))
}

func (s *suite) member(group, topic string) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.address}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: 300 * time.Millisecond, SessionTimeout: 6 * time.Second, RebalanceTimeout: 6 * time.Second, JoinGroupBackoff: 200 * time.Millisecond,
		MaxWait: 200 * time.Millisecond})
}

// shares are the numbers of partitions that the members of a stable group have.
func (s *suite) shares(group string) []int {
	described, err := s.client.DescribeGroups(s.context, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	check.Require(err, described.Groups[0].Error)
	var shares []int
	if described.Groups[0].GroupState == "Stable" {
		for _, member := range described.Groups[0].Members {
			owned := 0
			for _, topic := range member.MemberAssignments.Topics {
				owned += len(topic.Partitions)
			}
			shares = append(shares, owned)
		}
	}
	return shares
}

func (s *suite) untilShares(group, shares string) error {
	return check.Until(func() (bool, error) { return fmt.Sprint(s.shares(group)) == shares, nil }, "shares of "+shares)
}

func (s *suite) groupRebalance() {
	topic, group := s.topic("rebalance", 4), check.Unique("kafka-go-rebalance")
	first := s.member(group, topic)
	defer first.Close()
	check.Require(s.untilShares(group, "[4]"))
	second := s.member(group, topic)
	shared := s.untilShares(group, "[2 2]")
	check.Require(second.Close(), shared, s.untilShares(group, "[4]"))
	var messages []kafka.Message
	for number := range 4 {
		messages = append(messages, kafka.Message{Value: []byte(strconv.Itoa(number))})
	}
	check.Require(s.produce(topic, messages, func(writer *kafka.Writer) { writer.Balancer = &kafka.RoundRobin{} }))
	s.take(first, 4)
}

func (s *suite) commitResume() {
	topic, group := s.topic("resume", 1), check.Unique("kafka-go-resume")
	check.Require(s.produce(topic, samples(100), nil))
	first := s.member(group, topic)
	last := s.take(first, 40)[39]
	committed := first.CommitMessages(s.context, last)
	check.Require(first.Close(), committed, check.Equal(s.committed(group, topic), int64(40), "the committed offset"))
	second := s.member(group, topic)
	defer second.Close()
	check.Require(check.Equal(s.take(second, 1)[0].Offset, int64(40), "the first offset after the restart"))
}

func (s *suite) committed(group, topic string) int64 {
	offsets, err := s.client.OffsetFetch(s.context, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0}}})
	check.Require(err, offsets.Error)
	return offsets.Topics[topic][0].CommittedOffset
}

func (s *suite) seekByTime() {
	topic := s.topic("time", 1)
	start := time.Now().Add(-100 * time.Second).Truncate(time.Millisecond)
	var messages []kafka.Message
	for number := range 50 {
		messages = append(messages, kafka.Message{Value: []byte("v"), Time: start.Add(time.Duration(number) * time.Second)})
	}
	check.Require(s.produce(topic, messages, nil))
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.address}, Topic: topic, MaxWait: 200 * time.Millisecond})
	defer reader.Close()
	check.Require(reader.SetOffsetAt(s.context, start.Add(20_001*time.Millisecond)))
	found := s.take(reader, 1)[0]
	check.Require(check.Equal(found.Offset, int64(21), "the offset for a time between two records"),
		check.Equal(found.Time.UnixMilli(), start.UnixMilli()+21_000, "its timestamp"))
	ends, err := s.client.ListOffsets(s.context, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}}})
	check.Require(err, check.Equal([]int64{ends.Topics[topic][0].FirstOffset, ends.Topics[topic][0].LastOffset}, []int64{0, 50}, "the first and the last offset"))
}

func (s *suite) config(topic, key string) (kafka.DescribeConfigResponseConfigEntry, error) {
	resource := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{key}}
	response, err := s.client.DescribeConfigs(s.context, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{resource}})
	check.Require(err)
	if err := response.Resources[0].Error; err != nil {
		return kafka.DescribeConfigResponseConfigEntry{}, err
	}
	return response.Resources[0].ConfigEntries[0], nil
}

func (s *suite) describeConfigs() {
	topic := s.topic("configs", 1, kafka.ConfigEntry{ConfigName: "retention.ms", ConfigValue: "123456"})
	entry, err := s.config(topic, "retention.ms")
	check.Require(err, check.Equal(entry.ConfigValue, "123456", "retention.ms"), check.Equal(entry.ConfigSource, int8(1), "its source"))
}

func (s *suite) alter(topic, key, value string) error {
	resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: key, Value: value, ConfigOperation: kafka.ConfigOperationSet}}}
	response, err := s.client.IncrementalAlterConfigs(s.context, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
	if err != nil {
		return err
	}
	return response.Resources[0].Error
}

func (s *suite) alterConfigs() {
	topic := s.topic("alter", 1)
	check.Require(s.alter(topic, "max.message.bytes", "2000"))
	check.Require(check.Until(func() (bool, error) {
		err := s.produce(topic, []kafka.Message{{Value: make([]byte, 3000)}}, nil)
		return check.Fails(err, kafka.MessageSizeTooLarge) == nil, err
	}, "the smaller limit in force"))
	check.Require(check.Fails(s.alter(topic, "retention.ms", "soon"), kafka.InvalidConfiguration))
}

func (s *suite) grow(topic string, count int32) error {
	response, err := s.client.CreatePartitions(s.context, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: count}}})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (s *suite) createPartitions() {
	topic := s.topic("partitions", 1)
	check.Require(s.grow(topic, 5), check.Until(func() (bool, error) { return s.partitions(topic) == 5, nil }, "five partitions"))
	check.Require(check.Fails(s.grow(topic, 2), kafka.InvalidPartitionNumber))
}

// withMember runs an action while a group has one member that owns its topic.
func (s *suite) withMember(action func(topic, group string)) {
	topic, group := s.topic("groups", 1), check.Unique("kafka-go-groups")
	reader := s.member(group, topic)
	defer reader.Close()
	check.Require(s.untilShares(group, "[1]"))
	action(topic, group)
}

func (s *suite) listGroups() {
	s.withMember(func(_, group string) {
		listed, err := s.client.ListGroups(s.context, &kafka.ListGroupsRequest{})
		check.Require(err, listed.Error)
		for _, each := range listed.Groups {
			if each.GroupID == group {
				return
			}
		}
		check.Require(errors.New("the group is not listed"))
	})
}

func (s *suite) describeGroup() {
	s.withMember(func(topic, group string) {
		described, err := s.client.DescribeGroups(s.context, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
		check.Require(err, described.Groups[0].Error)
		assigned := described.Groups[0].Members[0].MemberAssignments.Topics
		check.Require(check.Equal(assigned[0].Topic, topic, "the assigned topic"), check.Equal(assigned[0].Partitions, []int{0}, "its partitions"))
	})
}

func (s *suite) remove(group string) error {
	response, err := s.client.DeleteGroups(s.context, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return err
	}
	return response.Errors[group]
}

func (s *suite) deleteGroup() {
	var topic, group string
	s.withMember(func(itsTopic, itsGroup string) {
		topic, group = itsTopic, itsGroup
		check.Require(check.Fails(s.remove(group), kafka.NonEmptyGroup))
	})
	_, err := s.client.OffsetCommit(s.context, &kafka.OffsetCommitRequest{GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {{Offset: 7}}}})
	check.Require(err, check.Equal(s.committed(group, topic), int64(7), "the altered offset"))
	check.Require(s.remove(group), check.Fails(s.remove(group), kafka.GroupIdNotFound))
}

func (s *suite) describeCluster() {
	metadata, err := s.client.Metadata(s.context, &kafka.MetadataRequest{})
	check.Require(err, check.Equal(len(metadata.Brokers), 1, "the number of brokers"))
	broker := metadata.Brokers[0]
	check.Require(check.Equal(net.JoinHostPort(broker.Host, strconv.Itoa(broker.Port)), s.address, "the broker"),
		check.Equal(metadata.Controller.ID, broker.ID, "the controller"), check.Equal(len(metadata.ClusterID), 22, "the length of the cluster id"))
}

func (s *suite) unknownTopic() {
	missing := check.Unique("kafka-go-missing")
	_, described := s.config(missing, "retention.ms")
	check.Require(check.Fails(s.drop(missing), kafka.UnknownTopicOrPartition), check.Fails(described, kafka.UnknownTopicOrPartition))
}

func (s *suite) invalidTopic() {
	check.Require(check.Fails(s.create(kafka.TopicConfig{Topic: "no spaces", NumPartitions: 1, ReplicationFactor: 1}), kafka.InvalidTopic),
		check.Fails(s.create(kafka.TopicConfig{Topic: "factor", NumPartitions: 1, ReplicationFactor: 7}), kafka.InvalidReplicationFactor))
}

func (s *suite) drop(topic string) error {
	response, err := s.client.DeleteTopics(s.context, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (s *suite) deleteTopic() {
	topic := s.topic("delete", 1)
	check.Require(s.drop(topic), check.Until(func() (bool, error) { return s.partitions(topic) == 0, nil }, "the topic's disappearance"))
}
