//! Activation, registration, heartbeats, fencing and shutdown.

use ottla_metadata::{LeaderRecoveryState, MetadataProvenance};
use ottla_protocol::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use ottla_protocol::messages::unregister_broker_request::UnregisterBrokerRequest;

use super::*;

fn names(records: &[MetadataRecord]) -> Vec<&'static str> {
    records.iter().map(MetadataRecord::name).collect()
}

#[test]
fn an_empty_log_gets_the_bootstrap_records_in_a_transaction() {
    let controller = Controller::new(options(), schema(), MetadataImage::default(), 0);
    let bootstrap = BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "test");
    let result = controller.activate(&bootstrap).unwrap();
    assert_eq!(
        names(&result.records),
        [
            "BeginTransactionRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "ConfigRecord",
            "EndTransactionRecord"
        ]
    );
    assert!(!result.is_atomic);
    let MetadataRecord::Config(config) = &result.records[4] else { panic!("a ConfigRecord") };
    assert_eq!(
        (config.resource_type, &*config.resource_name, &*config.name, config.value.as_deref()),
        (4, "", "min.insync.replicas", Some("1"))
    );

    // Before 3.6-IV1 there are no transactions.
    let old = BootstrapMetadata::from_versions(MetadataVersion::from_feature_level(12).unwrap(), &[], "test");
    let result = controller.activate(&old).unwrap();
    assert_eq!((names(&result.records), result.is_atomic), (vec!["FeatureLevelRecord"], true));
}

#[test]
fn a_log_with_records_gets_none() {
    let cluster = Cluster::new();
    let bootstrap = BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "test");
    assert!(cluster.controller.activate(&bootstrap).unwrap().records.is_empty());
}

#[test]
fn a_transaction_that_was_left_open_is_aborted() {
    let mut controller = Controller::new(options(), schema(), MetadataImage::default(), 0);
    let bootstrap = BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "test");
    let records = controller.activate(&bootstrap).unwrap().records;
    controller.replay(0, &records[0]).unwrap();
    controller.replay(1, &records[1]).unwrap();
    // The transaction's level counts for nothing: the log is as good as empty.
    let again = controller.activate(&bootstrap).unwrap().records;
    assert_eq!(again[0].name(), "AbortTransactionRecord");
    assert_eq!(again[1..], records);
}

#[test]
fn levels_beyond_what_is_served_are_kept_and_keep_only_others_out() {
    let mut cluster = Cluster::new();
    let level = ottla_protocol::messages::feature_level_record::FeatureLevelRecord {
        name: "group.version".into(),
        feature_level: 1,
        ..Default::default()
    };
    cluster.controller.replay(9, &level.into()).unwrap();
    let bootstrap = BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "test");
    assert_eq!(cluster.controller.activate(&bootstrap).unwrap().records, []);
    let mut random = || 7;
    let context = RequestContext { now_ms: 0, next_write_offset: 10, random: &mut random };
    let register = |origin| cluster.controller.register_broker(&context, &registration(1, 1), 4, origin).map(|_| ());
    assert_eq!(register(BrokerOrigin::ThisProcess), Ok(()));
    assert_eq!(register(BrokerOrigin::Remote).map_err(|error| error.error), Err(ErrorCode::UnsupportedVersion));
}

#[test]
fn a_broker_joins_fenced_and_is_unfenced_when_it_has_caught_up() {
    let mut cluster = Cluster::new();
    let next_offset = cluster.log.len() as i64;
    assert_eq!(cluster.register(&registration(1, 1)), Ok(next_offset));
    assert!(cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().fenced);
    let behind = cluster.heartbeat(1, |request| request.current_metadata_offset = next_offset - 1).unwrap();
    assert_eq!(
        behind,
        BrokerHeartbeatReply { is_caught_up: false, is_fenced: true, in_controlled_shutdown: false, should_shut_down: false }
    );
    let caught_up = cluster.heartbeat(1, |_| {}).unwrap();
    assert_eq!(
        caught_up,
        BrokerHeartbeatReply { is_caught_up: true, is_fenced: false, in_controlled_shutdown: false, should_shut_down: false }
    );
    assert!(!cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().fenced);
    let before = cluster.log.len();
    cluster.heartbeat(1, |_| {}).unwrap();
    assert_eq!(cluster.log.len(), before, "a heartbeat that changes nothing writes nothing");
}

#[test]
fn registrations_that_cannot_be_are_told_why() {
    let mut cluster = Cluster::of(&[1]);
    let error = |cluster: &mut Cluster, change: fn(&mut BrokerRegistrationRequest)| {
        let mut request = registration(2, 1);
        change(&mut request);
        let error = cluster.register(&request).unwrap_err();
        (error.error, error.message.unwrap())
    };
    let mut check = |change: fn(&mut BrokerRegistrationRequest), code: ErrorCode, message: &str| {
        assert_eq!(error(&mut cluster, change), (code, message.to_owned()))
    };
    check(
        |request| request.cluster_id = "other".into(),
        ErrorCode::InconsistentClusterId,
        "Expected cluster ID test-cluster, but got cluster ID other",
    );
    check(
        |request| request.is_migrating_zk_broker = true,
        ErrorCode::BrokerIdNotRegistered,
        "Controller does not support registering ZK brokers.",
    );
    check(|request| request.log_dirs.clear(), ErrorCode::InvalidRegistration, "No directories specified in request");
    check(
        |request| request.log_dirs = vec![ottla_metadata::directory_id::LOST],
        ErrorCode::InvalidRegistration,
        "Reserved directory ID in request",
    );
    check(|request| request.log_dirs = vec![directory(2); 2], ErrorCode::InvalidRegistration, "Duplicate directory ID in request");
    let message = format!("Broker 1 is already registered with directory {}", directory(1));
    check(|request| request.log_dirs = vec![directory(1)], ErrorCode::InvalidRegistration, &message);
    check(|request| request.features.clear(), ErrorCode::InvalidRegistration, "Request features do not contain 'metadata.version'");
    check(
        |request| {
            request
                .features
                .iter_mut()
                .filter(|feature| feature.name == "metadata.version")
                .for_each(|feature| feature.max_supported_version = 32)
        },
        ErrorCode::UnsupportedVersion,
        "Unable to register because the broker does not support finalized version 33 of metadata.version. The broker wants a version between 7 and 32, inclusive.",
    );
}

#[test]
fn a_second_process_waits_for_the_first_ones_session() {
    let mut cluster = Cluster::of(&[1]);
    let epoch = cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().epoch;
    let error = cluster.register(&registration(1, 2)).unwrap_err();
    assert_eq!(error.error, ErrorCode::DuplicateBrokerRegistration);
    // The same process may change its registration, and keeps its epoch.
    assert_eq!(cluster.register(&registration(1, 1)), Ok(epoch));
    assert!(!cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().fenced);
    cluster.heartbeat(1, |_| {}).unwrap();
    cluster.now_ms = 9_001;
    assert!(cluster.register(&registration(1, 2)).unwrap() > epoch);
}

#[test]
fn the_broker_of_this_process_does_not_wait() {
    let mut cluster = Cluster::of(&[1]);
    let request = registration(1, 2);
    let result = cluster.with_context(|controller, context| controller.register_broker(context, &request, 4, BrokerOrigin::ThisProcess));
    cluster.commit(result.unwrap());
    assert!(cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().fenced);
}

#[test]
fn a_single_broker_gives_up_its_leaderships_and_takes_them_again() {
    for elr in [false, true] {
        let mut cluster = Cluster::at(33, elr);
        cluster.start_brokers(&[1]);
        cluster.create(topic("foo", 2, 1));
        let epoch = cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().epoch;
        let reply = cluster.heartbeat(1, |request| request.want_shut_down = true).unwrap();
        assert!(reply.in_controlled_shutdown && !reply.should_shut_down);
        // Without eligible leader replicas the last member stays in the ISR.
        assert_eq!(cluster.leader_and_isr("foo", 0), (-1, if elr { vec![] } else { vec![1] }));
        cluster.controller.controlled_shutdown_recorded(BrokerId(1), cluster.log.len() as i64 - 1);
        let reply = cluster.heartbeat(1, |request| request.want_shut_down = true).unwrap();
        assert!(reply.should_shut_down && reply.is_fenced);

        cluster.now_ms += 20_000;
        cluster.register(&BrokerRegistrationRequest { previous_broker_epoch: epoch, ..registration(1, 2) }).unwrap();
        cluster.heartbeat(1, |_| {}).unwrap();
        assert_eq!(cluster.leader_and_isr("foo", 1), (1, vec![1]));
        let partition = cluster.partition("foo", 1);
        assert_eq!((partition.leader_epoch.0, partition.leader_recovery_state), (2, LeaderRecoveryState::Recovered));
        assert!(partition.elr.is_empty() && partition.last_known_elr.is_empty());
    }
}

#[test]
fn a_single_broker_that_was_killed_leads_again() {
    let mut cluster = Cluster::at(33, true);
    cluster.start_brokers(&[1]);
    cluster.create(topic("foo", 1, 1));
    cluster.now_ms += 20_000;
    // It does not name the epoch of its last registration: that was no clean stop.
    cluster.register(&registration(1, 2)).unwrap();
    let partition = cluster.partition("foo", 0);
    assert_eq!((partition.leader, partition.elr.len(), &*partition.last_known_elr), (BrokerId::NONE, 0, &[BrokerId(1)][..]));
    cluster.heartbeat(1, |_| {}).unwrap();
    assert_eq!(cluster.leader_and_isr("foo", 0), (1, vec![1]));
    assert_eq!(cluster.partition("foo", 0).leader_recovery_state, LeaderRecoveryState::Recovering);
}

#[test]
fn an_expired_session_moves_the_leaderships() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned_topic("foo", &[&[1, 2], &[2, 1]]));
    cluster.now_ms = 5_000;
    cluster.heartbeat(2, |_| {}).unwrap();
    assert_eq!(cluster.controller.next_deadline_ms(), Some(9_001));
    assert_eq!(cluster.controller.fence_expired_broker(9_000), None);
    let result = cluster.controller.fence_expired_broker(9_001).unwrap();
    assert_eq!(cluster.commit(result), BrokerId(1));
    assert_eq!(cluster.leader_and_isr("foo", 0), (2, vec![2]));
    assert_eq!(cluster.leader_and_isr("foo", 1), (2, vec![2]));
    assert!(cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().fenced);
    assert_eq!(cluster.controller.fence_expired_broker(9_001), None);
}

#[test]
fn an_offline_directory_loses_its_leaderships() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.register(&BrokerRegistrationRequest { log_dirs: vec![directory(1), directory(11)], ..registration(1, 1) }).unwrap();
    cluster.create(assigned_topic("foo", &[&[1, 2]]));
    let topic_id = cluster.controller.image().topics.id_of("foo").unwrap();
    let directories = vec![directory(11), directory(2)];
    let change = ottla_protocol::messages::partition_change_record::PartitionChangeRecord {
        topic_id,
        partition_id: 0,
        directories: Some(directories),
        ..Default::default()
    };
    cluster.commit(ControllerResult::of(vec![change.into()], ()));
    cluster.heartbeat(1, |request| request.offline_log_dirs = vec![directory(11)]).unwrap();
    assert_eq!(cluster.leader_and_isr("foo", 0), (2, vec![2]));
    assert_eq!(cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().directories, [directory(1)]);
}

#[test]
fn an_unregistered_broker_is_gone() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned_topic("foo", &[&[2, 1]]));
    let result = cluster.controller.unregister_broker(&UnregisterBrokerRequest { broker_id: 2, ..Default::default() }).unwrap();
    cluster.commit(result);
    assert!(cluster.controller.image().cluster.broker(BrokerId(2)).is_none());
    assert_eq!(cluster.leader_and_isr("foo", 0), (1, vec![1]));
    let error = cluster.controller.unregister_broker(&UnregisterBrokerRequest { broker_id: 2, ..Default::default() }).unwrap_err();
    assert_eq!(error, ApiError::new(ErrorCode::BrokerIdNotRegistered, "Broker ID 2 is not currently registered"));
    assert_eq!(cluster.heartbeat(2, |_| {}).unwrap_err().error, ErrorCode::StaleBrokerEpoch);
}

#[test]
fn producer_ids_are_given_out_once() {
    let mut cluster = Cluster::of(&[1]);
    let broker_epoch = cluster.controller.image().cluster.broker(BrokerId(1)).unwrap().epoch;
    let request = AllocateProducerIdsRequest { broker_id: 1, broker_epoch, ..Default::default() };
    for first_producer_id in [0, 1000, 2000] {
        let result = cluster.controller.allocate_producer_ids(&request).unwrap();
        assert_eq!(cluster.commit(result), ProducerIdsBlock { first_producer_id, size: 1000 });
    }
    let stale = AllocateProducerIdsRequest { broker_epoch: broker_epoch + 1, ..request };
    let message = format!("Expected broker epoch {broker_epoch}, but got broker epoch {}", broker_epoch + 1);
    assert_eq!(cluster.controller.allocate_producer_ids(&stale).unwrap_err(), ApiError::new(ErrorCode::StaleBrokerEpoch, message));
    assert_eq!(cluster.controller.image().provenance, MetadataProvenance::default());
}
