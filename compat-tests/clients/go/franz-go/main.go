// The checks of franz-go.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"ottla/clients/check"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

type suite struct {
	address string
	context context.Context
	admin   *kadm.Client
}

func main() {
	check.Main(run, load, verify)
}

func newSuite(address string) (*suite, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return nil, err
	}
	return &suite{address: address, context: context.Background(), admin: kadm.NewClient(client)}, nil
}

func run(address string) error {
	s, err := newSuite(address)
	if err != nil {
		return err
	}
	defer s.admin.Close()
	checks := []check.Check{{Name: "create-topic", Action: s.createTopic}}
	for _, codec := range check.Codecs {
		checks = append(checks, check.Check{Name: "codec-" + codec, Action: func() error { return s.codec(codec) }})
	}
	check.Run(append(checks, []check.Check{
		{Name: "headers", Action: s.headers}, {Name: "tombstones", Action: s.tombstones},
		{Name: "large-record", Action: s.largeRecord}, {Name: "too-large-record", Action: s.tooLargeRecord},
		{Name: "idempotence", Action: s.idempotence}, {Name: "group-rebalance", Action: s.groupRebalance},
		{Name: "commit-resume", Action: s.commitResume}, {Name: "seek-by-time", Action: s.seekByTime},
		{Name: "delete-records", Action: s.deleteRecords}, {Name: "describe-configs", Action: s.describeConfigs},
		{Name: "alter-configs", Action: s.alterConfigs}, {Name: "create-partitions", Action: s.createPartitions},
		{Name: "list-groups", Action: s.listGroups}, {Name: "describe-group", Action: s.describeGroup},
		{Name: "delete-group", Action: s.deleteGroup}, {Name: "describe-cluster", Action: s.describeCluster},
		{Name: "unknown-topic", Action: s.unknownTopic}, {Name: "invalid-topic", Action: s.invalidTopic},
		{Name: "delete-topic", Action: s.deleteTopic},
	}...))
	return nil
}

func (s *suite) topic(name string, partitions int32, configs map[string]*string) (string, error) {
	topic := check.Unique("franz-go-" + name)
	_, err := s.admin.CreateTopic(s.context, partitions, 1, configs, topic)
	return topic, err
}

func (s *suite) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.address), kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
}

func samples(topic string, count int) []*kgo.Record {
	var records []*kgo.Record
	for number, value := range check.SampleValues(count) {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte("key-" + strconv.Itoa(number)), Value: value})
	}
	return records
}

func (s *suite) produce(records []*kgo.Record, options ...kgo.Opt) error {
	client, err := s.client(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(s.context, records...).FirstErr()
}

// read gives the next records of partition 0 from an offset on.
func (s *suite) read(topic string, count int, offset int64) ([]*kgo.Record, error) {
	start := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}
	client, err := s.client(kgo.ConsumePartitions(start), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records, err := s.take(client, count)
	check.Require(err)
	return records, nil
}

func (s *suite) take(client *kgo.Client, count int) ([]*kgo.Record, error) {
	limited, cancel := context.WithTimeout(s.context, check.Timeout)
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(limited)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("%d of %d records: %w", len(records), count, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, errs[0].Err
		}
		records = append(records, fetches.Records()...)
	}
	return records, nil
}

func (s *suite) createTopic() error {
	topic, err := s.topic("create", 3, nil)
	if err != nil {
		return err
	}
	details, err := s.admin.ListTopics(s.context, topic)
	_, again := s.admin.CreateTopic(s.context, 1, 1, nil, topic)
	return check.First(err, check.Equal(len(details[topic].Partitions), 3, "the number of partitions"), check.Fails(again, kerr.TopicAlreadyExists))
}

func (s *suite) codec(codec string) error {
	topic, err := s.topic(codec, 1, nil)
	if err != nil {
		return err
	}
	sent := samples(topic, check.Records)
	if err := s.produce(sent, kgo.ProducerBatchCompression(codecs[codec]), kgo.ProducerLinger(20*time.Millisecond)); err != nil {
		return err
	}
	read, err := s.read(topic, len(sent), 0)
	if err != nil {
		return err
	}
	for number, record := range read {
		err := check.First(check.Equal(record.Offset, int64(number), "the offset"), check.Equal(record.Key, sent[number].Key, "the key"),
			check.Equal(string(record.Value), string(sent[number].Value), "the value"))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) headers() error {
	topic, err := s.topic("headers", 1, nil)
	if err != nil {
		return err
	}
	headers := []kgo.RecordHeader{{Key: "first", Value: []byte("1")}, {Key: "none"}, {Key: "first", Value: []byte("again")}}
	err = s.produce([]*kgo.Record{{Topic: topic, Value: []byte("v"), Headers: headers}})
	read, readError := s.read(topic, 1, 0)
	return check.First(err, readError, check.Equal(read[0].Headers, headers, "the headers"))
}

func (s *suite) tombstones() error {
	policy := "compact"
	topic, err := s.topic("tombstones", 1, map[string]*string{"cleanup.policy": &policy})
	if err != nil {
		return err
	}
	err = s.produce([]*kgo.Record{{Topic: topic, Key: []byte("k"), Value: []byte("v")}, {Topic: topic, Key: []byte("k")}})
	read, readError := s.read(topic, 2, 0)
	if err := check.First(err, readError, check.Equal(read[1].Value == nil, true, "whether the value is null")); err != nil {
		return err
	}
	return check.Fails(s.produce([]*kgo.Record{{Topic: topic, Value: []byte("no key")}}), kerr.InvalidRecord)
}

func (s *suite) largeRecord() error {
	topic, err := s.topic("large", 1, nil)
	if err != nil {
		return err
	}
	err = s.produce([]*kgo.Record{{Topic: topic, Value: make([]byte, check.Large)}}, kgo.ProducerBatchCompression(kgo.NoCompression()))
	read, readError := s.read(topic, 1, 0)
	return check.First(err, readError, check.Equal(len(read[0].Value), check.Large, "the length"))
}

func (s *suite) tooLargeRecord() error {
	topic, err := s.topic("too-large", 1, nil)
	if err != nil {
		return err
	}
	err = s.produce([]*kgo.Record{{Topic: topic, Value: make([]byte, check.TooLarge)}}, kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(4*check.TooLarge))
	return check.Fails(err, kerr.MessageTooLarge)
}

// franz-go produces idempotently unless told otherwise.
func (s *suite) idempotence() error {
	topic, err := s.topic("idempotence", 1, nil)
	if err != nil {
		return err
	}
	err = s.produce(samples(topic, 1000), kgo.ProducerBatchMaxBytes(1000))
	read, readError := s.read(topic, 1000, 0)
	return check.First(err, readError, check.Equal(string(read[999].Key), "key-999", "the last key"), check.Equal(read[999].Offset, int64(999), "the last offset"))
}

// member is a group member that polls by itself and remembers what it has.
func (s *suite) member(group, topic string, options ...kgo.Opt) (*kgo.Client, error) {
	return s.client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(300 * time.Millisecond), kgo.SessionTimeout(6 * time.Second)}, options...)...)
}

func polled(client *kgo.Client) []*kgo.Record {
	limited, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	return client.PollFetches(limited).Records()
}

func (s *suite) groupRebalance() error {
	return check.First(s.rebalance(kgo.CooperativeStickyBalancer()), s.rebalance(kgo.RangeBalancer()))
}

// rebalance: two members share four partitions; one leaves, and the other has them all.
func (s *suite) rebalance(balancer kgo.GroupBalancer) error {
	topic, err := s.topic("rebalance", 4, nil)
	if err != nil {
		return err
	}
	group := check.Unique("franz-go-rebalance")
	owned := [2]map[int32]bool{{}, {}}
	var lock sync.Mutex
	track := func(member int) []kgo.Opt {
		assigned := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			lock.Lock()
			defer lock.Unlock()
			for _, partition := range parts[topic] {
				owned[member][partition] = true
			}
		}
		revoked := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			lock.Lock()
			defer lock.Unlock()
			for _, partition := range parts[topic] {
				delete(owned[member], partition)
			}
		}
		return []kgo.Opt{kgo.OnPartitionsAssigned(assigned), kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked), kgo.BlockRebalanceOnPoll(), kgo.Balancers(balancer)}
	}
	first, err := s.member(group, topic, track(0)...)
	if err != nil {
		return err
	}
	defer first.CloseAllowingRebalance()
	owns := func(member, count int) bool {
		lock.Lock()
		defer lock.Unlock()
		return len(owned[member]) == count
	}
	poll := func(clients ...*kgo.Client) (records int) {
		for _, client := range clients {
			records += len(polled(client))
			client.AllowRebalance()
			time.Sleep(20 * time.Millisecond)
		}
		return records
	}
	if err := check.Until(func() (bool, error) { poll(first); return owns(0, 4), nil }, "the first member owning all"); err != nil {
		return err
	}
	second, err := s.member(group, topic, track(1)...)
	if err != nil {
		return err
	}
	shared := check.Until(func() (bool, error) { poll(first, second); return owns(0, 2) && owns(1, 2), nil }, "an even share")
	second.CloseAllowingRebalance()
	again := check.Until(func() (bool, error) { poll(first); return owns(0, 4), nil }, "the first member owning all again")
	var records []*kgo.Record
	for partition := range int32(4) {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")})
	}
	sent := s.produce(records)
	count := 0
	consumed := check.Until(func() (bool, error) { count += poll(first); return count == 4, nil }, "four records")
	return check.First(shared, again, sent, consumed)
}

func (s *suite) commitResume() error {
	topic, err := s.topic("resume", 1, nil)
	if err != nil {
		return err
	}
	group := check.Unique("franz-go-resume")
	if err := s.produce(samples(topic, 100)); err != nil {
		return err
	}
	first, err := s.member(group, topic)
	if err != nil {
		return err
	}
	records, err := s.take(first, 40)
	if err == nil {
		err = first.CommitRecords(s.context, records[39])
	}
	first.Close()
	if err != nil {
		return err
	}
	committed, err := s.admin.FetchOffsets(s.context, group)
	at, _ := committed.Lookup(topic, 0)
	if err := check.First(err, check.Equal(at.At, int64(40), "the committed offset")); err != nil {
		return err
	}
	second, err := s.member(group, topic)
	if err != nil {
		return err
	}
	defer second.Close()
	records, err = s.take(second, 1)
	return check.First(err, check.Equal(records[0].Offset, int64(40), "the first offset after the restart"))
}

func (s *suite) seekByTime() error {
	topic, err := s.topic("time", 1, nil)
	if err != nil {
		return err
	}
	start := time.Now().Add(-100 * time.Second).Truncate(time.Millisecond)
	var records []*kgo.Record
	for number := range 50 {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte("v"), Timestamp: start.Add(time.Duration(number) * time.Second)})
	}
	if err := s.produce(records); err != nil {
		return err
	}
	found, err := s.admin.ListOffsetsAfterMilli(s.context, start.UnixMilli()+20_001, topic)
	at, _ := found.Lookup(topic, 0)
	ends, endsError := s.admin.ListEndOffsets(s.context, topic)
	end, _ := ends.Lookup(topic, 0)
	latest, latestError := s.admin.ListMaxTimestampOffsets(s.context, topic)
	max, _ := latest.Lookup(topic, 0)
	return check.First(err, endsError, latestError, check.Equal(at.Offset, int64(21), "the offset for a time between two records"),
		check.Equal(at.Timestamp, start.UnixMilli()+21_000, "its timestamp"), check.Equal(end.Offset, int64(50), "the end offset"),
		check.Equal(max.Offset, int64(49), "the offset of the largest timestamp"))
}

func (s *suite) deleteRecords() error {
	topic, err := s.topic("delete-records", 1, nil)
	if err != nil {
		return err
	}
	err = s.produce(samples(topic, 50))
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, 30, -1)
	deleted, deleteError := s.admin.DeleteRecords(s.context, offsets)
	answer, _ := deleted.Lookup(topic, 0)
	starts, startsError := s.admin.ListStartOffsets(s.context, topic)
	start, _ := starts.Lookup(topic, 0)
	if err := check.First(err, deleteError, startsError, answer.Err, check.Equal(answer.LowWatermark, int64(30), "the low watermark"),
		check.Equal(start.Offset, int64(30), "the earliest offset")); err != nil {
		return err
	}
	read, err := s.read(topic, 1, 5)
	return check.First(err, check.Equal(read[0].Offset, int64(30), "the first offset read"))
}

func (s *suite) config(topic, key string) (kadm.Config, error) {
	described, err := s.admin.DescribeTopicConfigs(s.context, topic)
	if err != nil {
		return kadm.Config{}, err
	}
	resource, err := described.On(topic, nil)
	if err := check.First(err, resource.Err); err != nil {
		return kadm.Config{}, err
	}
	at := slices.IndexFunc(resource.Configs, func(each kadm.Config) bool { return each.Key == key })
	if at < 0 {
		return kadm.Config{}, fmt.Errorf("%s is not described", key)
	}
	return resource.Configs[at], nil
}

func (s *suite) describeConfigs() error {
	retention := "123456"
	topic, err := s.topic("configs", 1, map[string]*string{"retention.ms": &retention})
	if err != nil {
		return err
	}
	own, ownError := s.config(topic, "retention.ms")
	inherited, inheritedError := s.config(topic, "cleanup.policy")
	return check.First(ownError, inheritedError, check.Equal(own.MaybeValue(), "123456", "retention.ms"),
		check.Equal(own.Source.String(), "DYNAMIC_TOPIC_CONFIG", "its source"), check.Equal(inherited.Source.String(), "DEFAULT_CONFIG", "the other source"))
}

func (s *suite) alter(topic, key, value string) error {
	altered, err := s.admin.AlterTopicConfigs(s.context, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err != nil {
		return err
	}
	return altered[0].Err
}

func (s *suite) alterConfigs() error {
	topic, err := s.topic("alter", 1, nil)
	if err != nil {
		return err
	}
	if err := s.alter(topic, "max.message.bytes", "2000"); err != nil {
		return err
	}
	inForce := check.Until(func() (bool, error) {
		err := s.produce([]*kgo.Record{{Topic: topic, Value: make([]byte, 3000)}}, kgo.ProducerBatchCompression(kgo.NoCompression()))
		return check.Fails(err, kerr.MessageTooLarge) == nil, err
	}, "the smaller limit in force")
	return check.First(inForce, check.Fails(s.alter(topic, "retention.ms", "soon"), kerr.InvalidConfig))
}

func (s *suite) createPartitions() error {
	topic, err := s.topic("partitions", 1, nil)
	if err != nil {
		return err
	}
	grown, err := s.admin.UpdatePartitions(s.context, 5, topic)
	if err := check.First(err, grown[topic].Err); err != nil {
		return err
	}
	counted := check.Until(func() (bool, error) {
		details, err := s.admin.ListTopics(s.context, topic)
		return len(details[topic].Partitions) == 5, err
	}, "five partitions")
	shrunk, err := s.admin.UpdatePartitions(s.context, 2, topic)
	return check.First(counted, err, check.Fails(shrunk[topic].Err, kerr.InvalidPartitions))
}

// withMember runs an action while a group has one member that owns its topic.
func (s *suite) withMember(action func(topic, group string) error) error {
	topic, err := s.topic("groups", 1, nil)
	if err != nil {
		return err
	}
	group := check.Unique("franz-go-groups")
	client, err := s.member(group, topic, kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		return err
	}
	defer client.Close()
	joined := check.Until(func() (bool, error) {
		polled(client)
		described, err := s.admin.DescribeGroups(s.context, group)
		return described[group].State == "Stable", err
	}, "a stable group")
	return check.First(joined, action(topic, group))
}

func (s *suite) listGroups() error {
	return s.withMember(func(_, group string) error {
		listed, err := s.admin.ListGroups(s.context)
		return check.First(err, check.Equal(listed[group].State, "Stable", "the state of the listed group"))
	})
}

func (s *suite) describeGroup() error {
	return s.withMember(func(topic, group string) error {
		described, err := s.admin.DescribeGroups(s.context, group)
		if err != nil {
			return err
		}
		found := described[group]
		assigned := slices.Collect(maps.Keys(found.AssignedPartitions()))
		return check.First(check.Equal(found.Protocol, "range", "the protocol"), check.Equal(len(found.Members), 1, "the number of members"),
			check.Equal(assigned, []string{topic}, "the assigned topics"))
	})
}

func (s *suite) deleteGroup() error {
	var group, topic string
	busy := s.withMember(func(itsTopic, itsGroup string) error {
		topic, group = itsTopic, itsGroup
		_, err := s.admin.DeleteGroup(s.context, group)
		return check.Fails(err, kerr.NonEmptyGroup)
	})
	if busy != nil {
		return busy
	}
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, 7, -1)
	if err := s.admin.CommitAllOffsets(s.context, group, offsets); err != nil {
		return err
	}
	committed, err := s.admin.FetchOffsets(s.context, group)
	at, _ := committed.Lookup(topic, 0)
	_, deleted := s.admin.DeleteGroup(s.context, group)
	_, again := s.admin.DeleteGroup(s.context, group)
	return check.First(err, check.Equal(at.At, int64(7), "the altered offset"), deleted, check.Fails(again, kerr.GroupIDNotFound))
}

func (s *suite) describeCluster() error {
	metadata, err := s.admin.BrokerMetadata(s.context)
	if err != nil {
		return err
	}
	broker := metadata.Brokers[0]
	return check.First(check.Equal(fmt.Sprintf("%s:%d", broker.Host, broker.Port), s.address, "the broker"),
		check.Equal(len(metadata.Cluster), 22, "the length of the cluster id"), check.Equal(metadata.Controller, broker.NodeID, "the controller"))
}

func (s *suite) unknownTopic() error {
	missing := check.Unique("franz-go-missing")
	_, deleted := s.admin.DeleteTopic(s.context, missing)
	_, described := s.config(missing, "retention.ms")
	return check.First(check.Fails(deleted, kerr.UnknownTopicOrPartition), check.Fails(described, kerr.UnknownTopicOrPartition))
}

func (s *suite) invalidTopic() error {
	_, name := s.admin.CreateTopic(s.context, 1, 1, nil, "no spaces")
	_, factor := s.admin.CreateTopic(s.context, 1, 7, nil, "factor")
	return check.First(check.Fails(name, kerr.InvalidTopicException), check.Fails(factor, kerr.InvalidReplicationFactor))
}

func (s *suite) deleteTopic() error {
	topic, err := s.topic("delete", 1, nil)
	if err != nil {
		return err
	}
	_, deleted := s.admin.DeleteTopic(s.context, topic)
	gone := check.Until(func() (bool, error) {
		details, err := s.admin.ListTopics(s.context)
		return !details.Has(topic), err
	}, "the topic's disappearance")
	return check.First(deleted, gone)
}
