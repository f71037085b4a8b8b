//! Whole-image tests: a snapshot gives its image again, and however records are cut into deltas, the image is the same.

use std::collections::BTreeSet;

use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_protocol::messages::{
    abort_transaction_record::AbortTransactionRecord, access_control_entry_record::AccessControlEntryRecord,
    begin_transaction_record::BeginTransactionRecord, broker_registration_change_record::BrokerRegistrationChangeRecord,
    clear_elr_record::ClearElrRecord, client_quota_record, config_record::ConfigRecord, delegation_token_record::DelegationTokenRecord,
    end_transaction_record::EndTransactionRecord, feature_level_record::FeatureLevelRecord, partition_change_record::PartitionChangeRecord,
    partition_record::PartitionRecord, producer_ids_record::ProducerIdsRecord, register_broker_record,
    register_broker_record::RegisterBrokerRecord, register_controller_record::RegisterControllerRecord,
    remove_topic_record::RemoveTopicRecord, topic_record::TopicRecord, user_scram_credential_record::UserScramCredentialRecord,
};
use proptest::prelude::*;

use crate::*;

fn topic_id(number: u64) -> Uuid {
    Uuid::from_u64_pair(0x1000, number)
}

fn feature(name: &str, feature_level: i16) -> MetadataRecord {
    FeatureLevelRecord { name: name.into(), feature_level, ..Default::default() }.into()
}

fn topic(number: u64) -> MetadataRecord {
    TopicRecord { name: format!("topic-{number}"), topic_id: topic_id(number), ..Default::default() }.into()
}

fn partition(topic: u64, partition_id: i32) -> MetadataRecord {
    PartitionRecord {
        partition_id,
        topic_id: topic_id(topic),
        replicas: vec![1, 2],
        isr: vec![1, 2],
        leader: 1,
        leader_epoch: 0,
        partition_epoch: 0,
        directories: vec![Uuid::from_u64_pair(5, 1), Uuid::from_u64_pair(5, 2)],
        ..Default::default()
    }
    .into()
}

fn partition_change(topic: u64, partition_id: i32, leader: i32, isr: &[i32]) -> MetadataRecord {
    PartitionChangeRecord { topic_id: topic_id(topic), partition_id, leader, isr: Some(isr.to_vec()), ..Default::default() }.into()
}

fn config(resource_type: i8, resource_name: &str, name: &str, value: Option<&str>) -> MetadataRecord {
    ConfigRecord {
        resource_type,
        resource_name: resource_name.into(),
        name: name.into(),
        value: value.map(Into::into),
        ..Default::default()
    }
    .into()
}

fn broker(broker_id: i32, broker_epoch: i64) -> MetadataRecord {
    RegisterBrokerRecord {
        broker_id,
        broker_epoch,
        incarnation_id: Uuid::from_u64_pair(8, broker_epoch as u64),
        end_points: vec![register_broker_record::BrokerEndpoint {
            name: "PLAINTEXT".into(),
            host: "localhost".into(),
            port: 9092,
            security_protocol: 0,
            ..Default::default()
        }],
        features: vec![register_broker_record::BrokerFeature {
            name: "metadata.version".into(),
            min_supported_version: 7,
            max_supported_version: 33,
            ..Default::default()
        }],
        rack: None,
        log_dirs: vec![Uuid::from_u64_pair(5, broker_id as u64)],
        cordoned_log_dirs: Some(Vec::new()),
        ..Default::default()
    }
    .into()
}

fn unfence(broker_id: i32, broker_epoch: i64) -> MetadataRecord {
    BrokerRegistrationChangeRecord { broker_id, broker_epoch, fenced: -1, ..Default::default() }.into()
}

fn quota(user: Option<&str>, value: Option<f64>) -> MetadataRecord {
    client_quota_record::ClientQuotaRecord {
        entity: vec![client_quota_record::EntityData {
            entity_type: "user".into(),
            entity_name: user.map(Into::into),
            ..Default::default()
        }],
        key: "producer_byte_rate".into(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
        ..Default::default()
    }
    .into()
}

/// One record of every kind that leaves a trace.
fn full_log() -> Vec<MetadataRecord> {
    vec![
        feature("metadata.version", 33),
        feature("eligible.leader.replicas.version", 1),
        broker(1, 10),
        broker(2, 11),
        unfence(1, 10),
        RegisterControllerRecord { controller_id: 1, incarnation_id: Uuid::from_u64_pair(8, 8), ..Default::default() }.into(),
        topic(1),
        partition(1, 0),
        partition(1, 1),
        PartitionChangeRecord {
            topic_id: topic_id(1),
            partition_id: 1,
            leader: 2,
            isr: Some(vec![2]),
            eligible_leader_replicas: Some(vec![1]),
            ..Default::default()
        }
        .into(),
        topic(2),
        partition(2, 0),
        config(2, "topic-1", "retention.ms", Some("1000")),
        config(4, "", "min.insync.replicas", Some("1")),
        quota(Some("alice"), Some(1024.0)),
        quota(None, Some(2048.0)),
        ProducerIdsRecord { broker_id: 1, broker_epoch: 10, next_producer_id: 1000, ..Default::default() }.into(),
        AccessControlEntryRecord {
            id: Uuid::from_u64_pair(3, 3),
            resource_type: 2,
            resource_name: "topic-1".into(),
            pattern_type: 3,
            principal: "User:*".into(),
            host: "*".into(),
            operation: 3,
            permission_type: 3,
            ..Default::default()
        }
        .into(),
        UserScramCredentialRecord { name: "alice".into(), mechanism: 1, iterations: 4096, ..Default::default() }.into(),
        DelegationTokenRecord {
            owner: "User:alice".into(),
            requester: "User:alice".into(),
            token_id: "token".into(),
            ..Default::default()
        }
        .into(),
    ]
}

fn replayed<'a>(records: impl IntoIterator<Item = &'a MetadataRecord>) -> MetadataImage {
    let mut image = MetadataImage::default();
    for record in records {
        image.replay(record).unwrap();
    }
    image
}

#[test]
fn a_snapshot_gives_its_image_again() {
    let image = replayed(&full_log());
    let records = image.to_records();
    assert_eq!(replayed(&records), image);
    let through_bytes: Vec<_> =
        records.iter().map(|record| MetadataRecord::from_bytes(record.to_bytes(image.metadata_version()).unwrap()).unwrap()).collect();
    assert_eq!(through_bytes, records);
}

#[test]
fn a_snapshot_has_kafkas_order() {
    let names: Vec<_> = replayed(&full_log()).to_records().iter().map(MetadataRecord::name).collect();
    let expected = [
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "RegisterBrokerRecord",
        "RegisterBrokerRecord",
        "RegisterControllerRecord",
        "TopicRecord",
        "PartitionRecord",
        "PartitionRecord",
        "TopicRecord",
        "PartitionRecord",
        "ConfigRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
        "UserScramCredentialRecord",
        "DelegationTokenRecord",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_snapshot_at_an_old_version_can_be_written() {
    let mut records = full_log();
    records.push(feature("eligible.leader.replicas.version", 0));
    records.push(feature("metadata.version", 7));
    let image = replayed(&records);
    for record in image.to_records() {
        assert!(record.to_bytes(image.metadata_version()).is_ok(), "{}", record.name());
    }
}

#[test]
fn changes_name_what_is_different() {
    let base = replayed(&full_log());
    let mut delta = MetadataDelta::new(base.clone());
    for record in [
        topic(3),
        partition(3, 0),
        topic(4),
        partition(4, 0),
        RemoveTopicRecord { topic_id: topic_id(4), ..Default::default() }.into(),
        RemoveTopicRecord { topic_id: topic_id(1), ..Default::default() }.into(),
        partition_change(2, 0, 2, &[2]),
        config(2, "topic-2", "retention.ms", Some("5")),
    ] {
        delta.replay(&record).unwrap();
    }
    let (image, changes) =
        delta.apply(MetadataProvenance { last_contained_offset: 99, last_contained_epoch: 1, last_contained_log_time_ms: 5 });
    assert_eq!(changes.created_topics, BTreeSet::from([topic_id(3)]));
    assert_eq!(changes.deleted_topics.keys().copied().collect::<Vec<_>>(), [topic_id(1)]);
    assert_eq!(changes.partitions, BTreeSet::from([(topic_id(2), 0), (topic_id(3), 0)]));
    assert_eq!(changes.configs, BTreeSet::from([ConfigResource::topic("topic-1"), ConfigResource::topic("topic-2")]));
    assert_eq!(image.configs.resource(&ConfigResource::topic("topic-1")), None);
    assert_eq!(image.provenance.last_contained_offset, 99);
    assert!(base.topics.by_name("topic-1").is_some() && image.topics.by_name("topic-1").is_none());
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let base = replayed(&full_log());
    let mut delta = MetadataDelta::new(base.clone());
    delta.replay(&BeginTransactionRecord::default().into()).unwrap();
    delta.replay(&topic(9)).unwrap();
    assert!(delta.in_transaction());
    delta.replay(&AbortTransactionRecord::default().into()).unwrap();
    assert!(!delta.in_transaction() && delta.changes().is_empty());
    assert_eq!(delta.image(), &base);
    assert!(delta.replay(&EndTransactionRecord::default().into()).is_err());
}

#[test]
fn local_changes_tell_leaders_from_followers() {
    let base = replayed(&full_log());
    let mut delta = MetadataDelta::new(base.clone());
    for record in [
        partition_change(1, 0, -2, &[1]),
        partition_change(2, 0, 2, &[2]),
        topic(3),
        partition(3, 0),
        RemoveTopicRecord { topic_id: topic_id(2), ..Default::default() }.into(),
    ] {
        delta.replay(&record).unwrap();
    }
    let (image, changes) = delta.apply(MetadataProvenance::default());
    let names = |replicas: &[LocalReplica]| {
        replicas.iter().map(|replica| (replica.topic_partition.to_string(), replica.new_leader_epoch)).collect::<Vec<_>>()
    };
    let one = LocalReplicaChanges::new(BrokerId(1), &base, &image, &changes);
    assert_eq!(names(&one.leaders), [("topic-1-0".to_owned(), false), ("topic-3-0".to_owned(), true)]);
    assert!(one.followers.is_empty());
    assert_eq!(one.deletes.iter().map(|removed| removed.topic_partition.to_string()).collect::<Vec<_>>(), ["topic-2-0"]);
    let two = LocalReplicaChanges::new(BrokerId(2), &base, &image, &changes);
    assert_eq!(names(&two.followers), [("topic-1-0".to_owned(), false), ("topic-3-0".to_owned(), true)]);
    assert_eq!(LocalReplicaChanges::new(BrokerId(7), &base, &image, &changes), LocalReplicaChanges::default());
}

#[test]
fn clearing_elrs_counts_as_a_change_of_the_partition() {
    let mut image = replayed(&full_log());
    let change = image.replay(&ClearElrRecord { topic_name: String::new(), ..Default::default() }.into()).unwrap();
    assert_eq!(change, Change::ElrsCleared(vec![(topic_id(1), 1)]));
    let partition = image.topics.partition(topic_id(1), 1).unwrap();
    assert_eq!((partition.elr.len(), partition.partition_epoch, partition.leader_epoch), (0, 2, LeaderEpoch(1)));
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let image = replayed(&full_log());
    let refuse = |record: MetadataRecord| image.clone().replay(&record).unwrap_err();
    assert!(matches!(refuse(topic(1)), ReplayError::DuplicateTopic { .. }));
    assert!(matches!(refuse(partition(9, 0)), ReplayError::UnknownTopicId { .. }));
    assert!(matches!(refuse(partition_change(1, 7, 1, &[1])), ReplayError::UnknownPartition { .. }));
    assert!(matches!(refuse(unfence(1, 9)), ReplayError::BrokerEpoch { epoch: 9, current: 10, .. }));
    assert!(matches!(refuse(unfence(5, 9)), ReplayError::BrokerNotRegistered { .. }));
    assert!(matches!(refuse(feature("metadata.version", 3)), ReplayError::MetadataVersion(_)));
}

/// A record that fits the image, chosen by three numbers. A topic id is used once, as in a cluster.
fn fitting_record(image: &MetadataImage, used: &mut BTreeSet<u64>, kind: u8, which: u64, value: i32) -> Option<MetadataRecord> {
    let existing = image.topics.by_id(topic_id(which)).cloned();
    Some(match (kind % 8, existing) {
        (0, None) if used.insert(which) => topic(which),
        (1, Some(topic)) => partition(which, topic.partitions.len() as i32),
        (2, Some(topic)) if !topic.partitions.is_empty() => {
            partition_change(which, value.rem_euclid(topic.partitions.len() as i32), 1 + value % 2, &[1])
        }
        (3, Some(topic)) => RemoveTopicRecord { topic_id: topic.id, ..Default::default() }.into(),
        (4, _) => config(2, &format!("topic-{which}"), "retention.ms", (value % 3 != 0).then_some("7")),
        (5, _) => quota(Some(&format!("user-{which}")), (value % 3 != 0).then_some(f64::from(value))),
        (6, _) => broker(1 + (which as i32) % 3, i64::from(value)),
        (7, _) => feature("group.version", (value % 2) as i16),
        _ => return None,
    })
}

proptest! {
    #[test]
    fn however_records_are_cut_into_deltas_the_image_is_the_same(steps in proptest::collection::vec((any::<u8>(), 0u64..9, 0i32..100, any::<bool>()), 0..120)) {
        let mut rebuilt = replayed(&full_log());
        let mut used = BTreeSet::from([1, 2]);
        let first = rebuilt.clone();
        let mut published = rebuilt.clone();
        let mut delta = MetadataDelta::new(published.clone());
        for (kind, which, value, cut) in steps {
            let Some(record) = fitting_record(&rebuilt, &mut used, kind, which, value) else { continue };
            rebuilt.replay(&record).unwrap();
            delta.replay(&record).unwrap();
            if cut {
                published = delta.apply(MetadataProvenance::default()).0;
                delta = MetadataDelta::new(published.clone());
            }
        }
        prop_assert_eq!(delta.image(), &rebuilt);
        prop_assert_eq!(replayed(&rebuilt.to_records()), rebuilt.clone());

        // A snapshot that replaces an older image names exactly what is different, and a delta names no less.
        let mut snapshot = MetadataDelta::for_snapshot(published.clone());
        for record in rebuilt.to_records() {
            snapshot.replay(&record).unwrap();
        }
        snapshot.finish_snapshot();
        prop_assert_eq!(snapshot.changes().is_empty(), published == rebuilt);
        prop_assert!(snapshot.changes().partitions.is_subset(&delta.changes().partitions));
        prop_assert!(snapshot.changes().configs.is_subset(&delta.changes().configs));
        prop_assert_eq!(&snapshot.changes().created_topics, &delta.changes().created_topics);
        prop_assert_eq!(first, replayed(&full_log()));
    }
}
