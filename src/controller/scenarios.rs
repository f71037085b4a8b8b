//! Tests of the controller as a whole: requests in, records and answers out. The right values are those of Kafka 4.4's own tests and of
//! its sources. This file holds the cluster that the tests work on.

mod brokers;
mod configs;
mod features;
mod invariants;
mod partition_changes;
mod partitions;
mod quotas;
mod topics;

use std::sync::Arc;

use ottla_config::BrokerConfig;
use ottla_metadata::{
    BootstrapMetadata, ConfigResource, ConfigurationImage, MetadataImage, MetadataRecord, MetadataVersion, PartitionRegistration,
};
use ottla_model::{BrokerId, ErrorCode, Uuid};
use ottla_protocol::messages::abort_transaction_record::AbortTransactionRecord;
use ottla_protocol::messages::begin_transaction_record::BeginTransactionRecord;
use ottla_protocol::messages::broker_heartbeat_request::BrokerHeartbeatRequest;
use ottla_protocol::messages::broker_registration_request::{BrokerRegistrationRequest, Feature, Listener};
use ottla_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::create_topics_response::CreateTopicsResponse;

use ottla_protocol::messages::remove_topic_record::RemoveTopicRecord;

use crate::partition_index::PartitionIndex;
use crate::*;

/// Kafka's keys, on a node that sets none of them.
fn schema() -> Arc<dyn ConfigSchema> {
    let originals = [
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
        ("controller.listener.names", "CONTROLLER"),
        ("controller.quorum.voters", "1@localhost:9093"),
    ];
    let originals = originals.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Arc::new(KafkaConfigSchema::new(Arc::new(BrokerConfig::new(originals).unwrap())))
}

const EVERYBODY: CreateTopicsRights<'static> = CreateTopicsRights { create: &|_| true, describe_configs: &|_| true };

/// A controller and the log that it writes.
struct Cluster {
    controller: Controller,
    log: Vec<MetadataRecord>,
    now_ms: i64,
    seed: u64,
}

fn options() -> ControllerOptions {
    ControllerOptions {
        node_id: BrokerId(1),
        cluster_id: "test-cluster".to_owned(),
        num_partitions: 1,
        default_replication_factor: 1,
        broker_session_timeout_ms: 9_000,
        delete_topic_enable: true,
        quorum_node_ids: vec![BrokerId(1)],
    }
}

fn directory(broker: i32) -> Uuid {
    Uuid::from_u64_pair(0x5000, 1000 + broker as u64)
}

fn registration(broker: i32, incarnation: u64) -> BrokerRegistrationRequest {
    BrokerRegistrationRequest {
        broker_id: broker,
        cluster_id: "test-cluster".to_owned(),
        incarnation_id: Uuid::from_u64_pair(0x6000 + broker as u64, incarnation),
        listeners: vec![Listener {
            name: "PLAINTEXT".into(),
            host: "localhost".into(),
            port: 9092,
            security_protocol: 0,
            ..Default::default()
        }],
        features: ottla_metadata::feature::supported_features()
            .map(|(name, range)| Feature {
                name: name.into(),
                min_supported_version: range.min,
                max_supported_version: range.max,
                ..Default::default()
            })
            .collect(),
        rack: None,
        log_dirs: vec![directory(broker)],
        previous_broker_epoch: -1,
        ..Default::default()
    }
}

fn topic(name: &str, num_partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic { name: name.into(), num_partitions, replication_factor, ..Default::default() }
}

/// A topic whose partitions are on these brokers.
fn assigned_topic(name: &str, assignments: &[&[i32]]) -> CreatableTopic {
    let assignments = assignments.iter().zip(0..).map(|(brokers, partition_index)| CreatableReplicaAssignment {
        partition_index,
        broker_ids: brokers.to_vec(),
        ..Default::default()
    });
    CreatableTopic { assignments: assignments.collect(), ..topic(name, -1, -1) }
}

impl Cluster {
    /// An empty cluster at a metadata.version, with or without eligible leader replicas.
    fn at(level: i16, elr: bool) -> Cluster {
        let controller = Controller::new(options(), schema(), MetadataImage::default(), 0);
        let mut cluster = Cluster { controller, log: Vec::new(), now_ms: 0, seed: 1 };
        let version = MetadataVersion::from_feature_level(level).unwrap();
        let levels = [("eligible.leader.replicas.version", i16::from(elr))];
        let records = cluster.controller.activate(&BootstrapMetadata::from_versions(version, &levels, "test")).unwrap();
        cluster.commit(records);
        cluster
    }

    fn new() -> Cluster {
        Cluster::at(33, false)
    }

    /// A cluster of brokers that take part.
    fn of(brokers: &[i32]) -> Cluster {
        let mut cluster = Cluster::new();
        cluster.start_brokers(brokers);
        cluster
    }

    fn start_brokers(&mut self, brokers: &[i32]) {
        for &broker in brokers {
            self.register(&registration(broker, 1)).unwrap();
            self.heartbeat(broker, |_| {}).unwrap();
        }
    }

    /// Appends and replays the records of a result.
    fn commit<R>(&mut self, result: ControllerResult<R>) -> R {
        for record in result.records {
            let offset = self.log.len() as i64;
            // What is appended can be written and read again.
            let bytes = record.to_bytes(self.controller.image().metadata_version()).unwrap();
            assert_eq!(MetadataRecord::from_bytes(bytes).unwrap(), record);
            self.controller.replay(offset, &record).unwrap();
            self.log.push(record);
        }
        assert_eq!(self.controller.state().partitions, PartitionIndex::new(self.controller.image()));
        result.response
    }

    fn with_context<T>(&mut self, run: impl FnOnce(&Controller, &mut RequestContext<'_>) -> T) -> T {
        let Cluster { controller, log, now_ms, seed } = self;
        let mut random = || {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *seed >> 1
        };
        run(controller, &mut RequestContext { now_ms: *now_ms, next_write_offset: log.len() as i64, random: &mut random })
    }

    fn register(&mut self, request: &BrokerRegistrationRequest) -> Result<i64, ApiError> {
        let result = self.with_context(|controller, context| controller.register_broker(context, request, 4, BrokerOrigin::Remote))?;
        Ok(self.commit(result).epoch)
    }

    fn heartbeat(&mut self, broker: i32, change: impl FnOnce(&mut BrokerHeartbeatRequest)) -> Result<BrokerHeartbeatReply, ApiError> {
        let broker_epoch = self.controller.image().cluster.broker(BrokerId(broker)).map_or(-1, |broker| broker.epoch);
        let current_metadata_offset = self.log.len() as i64 - 1;
        let mut request = BrokerHeartbeatRequest {
            broker_id: broker,
            broker_epoch,
            current_metadata_offset,
            cordoned_log_dirs: None,
            ..Default::default()
        };
        change(&mut request);
        let result = self.controller.process_broker_heartbeat(self.now_ms, &request)?;
        Ok(self.commit(result))
    }

    fn try_create(&mut self, topics: Vec<CreatableTopic>) -> Result<ControllerResult<CreateTopicsResponse>, ApiError> {
        let request = CreateTopicsRequest { topics, ..Default::default() };
        self.with_context(|controller, context| controller.create_topics(context, &request, EVERYBODY))
    }

    /// Creates one topic, which must work.
    fn create(&mut self, topic: CreatableTopic) -> Uuid {
        let result = self.try_create(vec![topic]).unwrap();
        let response = self.commit(result);
        assert_eq!((response.topics[0].error_code, &response.topics[0].error_message), (0, &None));
        response.topics[0].topic_id
    }

    fn partition(&self, topic: &str, partition: i32) -> &PartitionRegistration {
        self.controller.image().topics.by_name(topic).unwrap().partitions.get(&partition).unwrap()
    }

    fn leader_and_isr(&self, topic: &str, partition: i32) -> (i32, Vec<i32>) {
        let partition = self.partition(topic, partition);
        (partition.leader.0, ottla_metadata::broker_numbers(&partition.isr))
    }
}

#[test]
fn a_controller_that_begins_with_an_image_decides_as_the_one_that_wrote_it() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    let topic_id = cluster.create(topic("a.b", 3, 2));
    let image = cluster.controller.image().clone();
    let mut next = Controller::new(options(), schema(), image, 0);
    // What a transaction began with is there again after its abort.
    next.replay(100, &BeginTransactionRecord::default().into()).unwrap();
    next.replay(101, &RemoveTopicRecord { topic_id, ..Default::default() }.into()).unwrap();
    assert_eq!(next.state().colliding_topic("a_b"), None);
    next.replay(102, &AbortTransactionRecord::default().into()).unwrap();
    assert_eq!(next.state().partitions, cluster.controller.state().partitions);
    assert_eq!(next.state().colliding_topic("a_b"), Some("a.b"));
}
