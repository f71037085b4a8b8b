//! Leaders, ISRs, reassignments and directories of partitions.

use ottla_protocol::messages::alter_partition_reassignments_request::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::alter_partition_request::{AlterPartitionRequest, BrokerState, PartitionData, TopicData};
use ottla_protocol::messages::assign_replicas_to_dirs_request as assign;
use ottla_protocol::messages::elect_leaders_request::{ElectLeadersRequest, TopicPartitions};
use ottla_protocol::messages::elect_leaders_response::ElectLeadersResponse;
use ottla_protocol::messages::list_partition_reassignments_request::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics};
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;

use super::*;

/// Number, replicas, added and removed ones.
type Reassigning = (i32, Vec<i32>, Vec<i32>, Vec<i32>);

impl Cluster {
    fn fence(&mut self, broker: i32) {
        self.heartbeat(broker, |request| request.want_fence = true).unwrap();
    }

    fn broker_epoch(&self, broker: i32) -> i64 {
        self.controller.image().cluster.broker(BrokerId(broker)).unwrap().epoch
    }

    /// An AlterPartition of partition 0 by its leader, with the present epochs.
    fn alter_request(&self, topic: &str, isr: &[i32]) -> AlterPartitionRequest {
        let topic_id = self.controller.image().topics.id_of(topic).unwrap();
        let partition = self.partition(topic, 0);
        let member = |&broker_id: &i32| BrokerState { broker_id, broker_epoch: -1, ..Default::default() };
        let data = PartitionData {
            leader_epoch: partition.leader_epoch.0,
            partition_epoch: partition.partition_epoch,
            new_isr_with_epochs: isr.iter().map(member).collect(),
            ..Default::default()
        };
        let broker_epoch = self.broker_epoch(partition.leader.0);
        let topics = vec![TopicData { topic_id, partitions: vec![data], ..Default::default() }];
        AlterPartitionRequest { broker_id: partition.leader.0, broker_epoch, topics, ..Default::default() }
    }

    fn alter(&mut self, request: &AlterPartitionRequest) -> Result<ErrorCode, ApiError> {
        let result = self.controller.alter_partition(request, 3)?;
        let response = self.commit(result);
        Ok(ErrorCode::from_code(response.topics[0].partitions[0].error_code).unwrap())
    }

    fn elect(&mut self, election_type: i8, topics: Option<&[(&str, &[i32])]>) -> Vec<(String, i32, i16, Option<String>)> {
        let asked = |&(topic, partitions): &(&str, &[i32])| TopicPartitions {
            topic: topic.into(),
            partitions: partitions.to_vec(),
            ..Default::default()
        };
        let topic_partitions = topics.map(|topics| topics.iter().map(asked).collect());
        let result = self.controller.elect_leaders(&ElectLeadersRequest { election_type, topic_partitions, ..Default::default() }).unwrap();
        let response = self.commit(result);
        let mut answers = Vec::new();
        for topic in response.replica_election_results {
            answers.extend(
                topic
                    .partition_result
                    .into_iter()
                    .map(|answer| (topic.topic.clone(), answer.partition_id, answer.error_code, answer.error_message)),
            );
        }
        answers
    }

    fn reassign(
        &mut self,
        topic: &str,
        allow_replication_factor_change: bool,
        targets: &[(i32, Option<&[i32]>)],
    ) -> Vec<(i32, i16, Option<String>)> {
        let target = |&(partition_index, replicas): &(i32, Option<&[i32]>)| ReassignablePartition {
            partition_index,
            replicas: replicas.map(<[i32]>::to_vec),
            ..Default::default()
        };
        let topics = vec![ReassignableTopic { name: topic.into(), partitions: targets.iter().map(target).collect(), ..Default::default() }];
        let request = AlterPartitionReassignmentsRequest { topics, allow_replication_factor_change, ..Default::default() };
        let result = self.controller.alter_partition_reassignments(&request).unwrap();
        let response = self.commit(result);
        assert_eq!(
            (response.error_code, response.error_message, response.allow_replication_factor_change),
            (0, None, allow_replication_factor_change)
        );
        let answers = response.responses.into_iter().flat_map(|topic| topic.partitions);
        answers.map(|answer| (answer.partition_index, answer.error_code, answer.error_message)).collect()
    }

    /// The partitions that are being reassigned.
    fn reassigning(&self, asked: Option<&[(&str, &[i32])]>) -> Vec<Reassigning> {
        let topic = |&(name, partitions): &(&str, &[i32])| ListPartitionReassignmentsTopics {
            name: name.into(),
            partition_indexes: partitions.to_vec(),
            ..Default::default()
        };
        let topics = asked.map(|asked| asked.iter().map(topic).collect());
        let response = self.controller.list_partition_reassignments(&ListPartitionReassignmentsRequest { topics, ..Default::default() });
        assert_eq!(response.error_message, None);
        let partitions = response.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions
            .map(|partition| (partition.partition_index, partition.replicas, partition.adding_replicas, partition.removing_replicas))
            .collect()
    }
}

fn answer(topic: &str, partition: i32, error: ErrorCode, message: Option<&str>) -> (String, i32, i16, Option<String>) {
    (topic.to_owned(), partition, error.code(), message.map(Into::into))
}

#[test]
fn an_isr_shrinks_and_grows() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(assigned_topic("foo", &[&[1, 2, 3]]));
    let shrink = cluster.alter_request("foo", &[1, 2]);
    let response = cluster.controller.alter_partition(&shrink, 3).unwrap().response;
    let partition = &response.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.leader_epoch, &*partition.isr, partition.partition_epoch), (1, 0, &[1, 2][..], 1));
    assert_eq!(cluster.alter(&shrink), Ok(ErrorCode::None));
    assert_eq!(cluster.alter(&shrink), Ok(ErrorCode::InvalidUpdateVersion), "it names the partition epoch of before");
    let grow = cluster.alter_request("foo", &[3, 1, 2]);
    assert_eq!(cluster.alter(&grow), Ok(ErrorCode::None));
    assert_eq!(cluster.leader_and_isr("foo", 0), (1, vec![3, 1, 2]));
}

#[test]
fn alterations_that_cannot_be_are_refused() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.register(&registration(4, 1)).unwrap();
    cluster.create(assigned_topic("foo", &[&[1, 2, 3, 4]]));
    let good = cluster.alter_request("foo", &[1, 2]);
    let mut check = |change: fn(&mut AlterPartitionRequest), expected: ErrorCode| {
        let mut request = good.clone();
        change(&mut request);
        assert_eq!(cluster.alter(&request), Ok(expected));
    };
    fn data(request: &mut AlterPartitionRequest) -> &mut PartitionData {
        &mut request.topics[0].partitions[0]
    }
    check(|request| request.topics[0].topic_id = Uuid::ZERO, ErrorCode::UnknownTopicId);
    check(|request| data(request).partition_index = 1, ErrorCode::UnknownTopicOrPartition);
    check(|request| data(request).leader_epoch = 1, ErrorCode::NotController);
    check(|request| data(request).partition_epoch = 1, ErrorCode::NotController);
    check(|request| data(request).leader_epoch = -1, ErrorCode::FencedLeaderEpoch);
    check(|request| data(request).partition_epoch = -1, ErrorCode::InvalidUpdateVersion);
    check(|request| data(request).new_isr_with_epochs.clear(), ErrorCode::InvalidRequest);
    check(|request| data(request).new_isr_with_epochs[1].broker_id = 1, ErrorCode::InvalidRequest);
    check(|request| data(request).new_isr_with_epochs[0].broker_id = 3, ErrorCode::InvalidRequest);
    check(|request| data(request).new_isr_with_epochs[1].broker_id = 9, ErrorCode::InvalidRequest);
    check(|request| data(request).leader_recovery_state = 1, ErrorCode::InvalidRequest);
    check(|request| data(request).new_isr_with_epochs[1].broker_id = 4, ErrorCode::IneligibleReplica);
    check(|request| data(request).new_isr_with_epochs[1].broker_epoch = 1, ErrorCode::IneligibleReplica);
    let not_leader = AlterPartitionRequest { broker_id: 2, broker_epoch: cluster.broker_epoch(2), ..good.clone() };
    assert_eq!(cluster.alter(&not_leader), Ok(ErrorCode::InvalidRequest));
    let stale = AlterPartitionRequest { broker_epoch: 0, ..good.clone() };
    assert_eq!(cluster.alter(&stale).unwrap_err().error, ErrorCode::StaleBrokerEpoch);
    // Before version 3 the members come without epochs.
    let mut old = good.clone();
    data(&mut old).new_isr_with_epochs.clear();
    data(&mut old).new_isr = vec![1, 3];
    let result = cluster.controller.alter_partition(&old, 2).unwrap();
    assert_eq!(result.response.topics[0].partitions[0].isr, [1, 3]);
}

#[test]
fn preferred_leaders_are_elected_again() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(assigned_topic("foo", &[&[1, 2, 3], &[2, 3, 1]]));
    cluster.fence(2);
    assert_eq!(cluster.leader_and_isr("foo", 1), (3, vec![3, 1]));
    let not_needed = Some("Leader election not needed for topic partition.");
    let unavailable = Some("The preferred leader was not available.");
    assert_eq!(
        cluster.elect(0, Some(&[("foo", &[0, 1, 7]), ("bar", &[0])])),
        [
            answer("foo", 0, ErrorCode::ElectionNotNeeded, not_needed),
            answer("foo", 1, ErrorCode::PreferredLeaderNotAvailable, unavailable),
            answer("foo", 7, ErrorCode::UnknownTopicOrPartition, Some("No such partition as foo-7")),
            answer("bar", 0, ErrorCode::UnknownTopicOrPartition, Some("No such topic as bar")),
        ]
    );
    assert_eq!(cluster.elect(0, None), [answer("foo", 1, ErrorCode::PreferredLeaderNotAvailable, unavailable)]);
    assert!(cluster.controller.balance_partition_leaders().records.is_empty());
    cluster.heartbeat(2, |_| {}).unwrap();
    let isr = {
        let topic_id = cluster.controller.image().topics.id_of("foo").unwrap();
        PartitionChangeRecord { topic_id, partition_id: 1, isr: Some(vec![3, 1, 2]), ..Default::default() }
    };
    cluster.commit(ControllerResult::of(vec![isr.into()], ()));
    assert_eq!(cluster.controller.balance_partition_leaders().records.len(), 1);
    assert_eq!(cluster.elect(0, None), [answer("foo", 1, ErrorCode::None, None)]);
    assert_eq!(cluster.leader_and_isr("foo", 1), (2, vec![3, 1, 2]));
    let unknown = ElectLeadersRequest { election_type: 5, topic_partitions: None, ..Default::default() };
    assert_eq!(cluster.controller.elect_leaders(&unknown).unwrap_err(), ApiError::invalid_request("Unknown election type 5"));
    let of_nothing = ElectLeadersRequest { topic_partitions: Some(Vec::new()), ..unknown };
    assert_eq!(cluster.controller.elect_leaders(&of_nothing).unwrap().response, ElectLeadersResponse::default());
}

#[test]
fn an_unclean_election_takes_who_is_there() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned_topic("foo", &[&[1, 2]]));
    cluster.fence(2);
    cluster.fence(1);
    assert_eq!(cluster.leader_and_isr("foo", 0), (-1, vec![1]));
    let unavailable = Some("Eligible topic partition leaders are not available.");
    assert_eq!(cluster.elect(1, None), [answer("foo", 0, ErrorCode::EligibleLeadersNotAvailable, unavailable)]);
    cluster.heartbeat(2, |_| {}).unwrap();
    assert_eq!(cluster.leader_and_isr("foo", 0), (-1, vec![1]), "broker 2 is not in sync");
    assert!(cluster.controller.elect_unclean_leaders().records.is_empty(), "the topic does not allow it");
    assert_eq!(cluster.elect(1, Some(&[("foo", &[0])])), [answer("foo", 0, ErrorCode::None, None)]);
    assert_eq!(cluster.leader_and_isr("foo", 0), (2, vec![2]));
    assert_eq!(cluster.partition("foo", 0).leader_recovery_state as i8, 1);
}

#[test]
fn eligible_replicas_keep_what_was_committed() {
    let mut cluster = Cluster::at(33, true);
    cluster.start_brokers(&[1, 2, 3]);
    let min_isr = ottla_protocol::messages::config_record::ConfigRecord {
        resource_type: 4,
        resource_name: String::new(),
        name: "min.insync.replicas".into(),
        value: Some("2".into()),
        ..Default::default()
    };
    cluster.commit(ControllerResult::of(vec![min_isr.into()], ()));
    cluster.create(assigned_topic("foo", &[&[1, 2, 3]]));
    let ids = |ids: &[BrokerId]| ottla_metadata::broker_numbers(ids);
    cluster.fence(3);
    assert_eq!(
        (ids(&cluster.partition("foo", 0).isr), ids(&cluster.partition("foo", 0).elr)),
        (vec![1, 2], vec![]),
        "two in sync are enough"
    );
    cluster.fence(2);
    assert_eq!((ids(&cluster.partition("foo", 0).isr), ids(&cluster.partition("foo", 0).elr)), (vec![1], vec![2]));
    cluster.fence(1);
    let partition = cluster.partition("foo", 0);
    assert_eq!(
        (partition.leader.0, ids(&partition.isr), ids(&partition.elr), ids(&partition.last_known_elr)),
        (-1, vec![], vec![1, 2], vec![1])
    );
    // An eligible replica leads without loss.
    cluster.heartbeat(2, |_| {}).unwrap();
    let partition = cluster.partition("foo", 0);
    assert_eq!(
        (partition.leader.0, ids(&partition.isr), ids(&partition.elr), ids(&partition.last_known_elr)),
        (2, vec![2], vec![1], vec![])
    );
    assert_eq!(partition.leader_recovery_state as i8, 0);
    // One that may have lost something is no longer eligible.
    cluster.now_ms += 20_000;
    cluster.register(&registration(1, 2)).unwrap();
    assert_eq!(ids(&cluster.partition("foo", 0).elr), vec![]);
}

#[test]
fn a_reassignment_goes_on_until_the_new_replicas_are_in_sync() {
    let mut cluster = Cluster::of(&[4, 1, 2, 3]);
    cluster.create(assigned_topic("foo", &[&[3, 2, 1], &[1, 2, 3]]));
    assert_eq!(cluster.reassigning(None), []);
    assert_eq!(
        cluster.reassign("foo", true, &[(0, Some(&[4, 2, 1])), (1, Some(&[3, 2, 1])), (2, Some(&[4, 2, 1]))]),
        [(0, 0, None), (1, 0, None), (2, 3, Some("Unable to find partition foo:2.".to_owned()))]
    );
    let going_on = (0, vec![4, 2, 1, 3], vec![4], vec![3]);
    assert_eq!(cluster.reassigning(None), std::slice::from_ref(&going_on));
    assert_eq!(cluster.reassigning(Some(&[("bar", &[0]), ("foo", &[0, 1, 9])])), [going_on]);
    assert_eq!(cluster.leader_and_isr("foo", 0), (3, vec![3, 2, 1]));
    // The leader adds the last replica and thereby loses its own.
    let request = cluster.alter_request("foo", &[3, 4, 2, 1]);
    assert_eq!(cluster.alter(&request), Ok(ErrorCode::NewLeaderElected));
    assert_eq!(cluster.reassigning(None), []);
    let partition = cluster.partition("foo", 0);
    assert_eq!(ottla_metadata::broker_numbers(&partition.replicas), [4, 2, 1]);
    assert_eq!((&*partition.directories, partition.leader.0), (&[directory(4), directory(2), directory(1)][..], 4));
}

#[test]
fn a_reassignment_can_be_taken_back() {
    let mut cluster = Cluster::of(&[4, 1, 2, 3]);
    cluster.create(assigned_topic("foo", &[&[3, 2, 1]]));
    assert_eq!(cluster.reassign("foo", true, &[(0, None)]), [(0, 85, None)]);
    cluster.reassign("foo", true, &[(0, Some(&[4, 2, 1]))]);
    assert_eq!(cluster.reassign("foo", true, &[(0, None)]), [(0, 0, None)]);
    let partition = cluster.partition("foo", 0);
    assert_eq!(ottla_metadata::broker_numbers(&partition.replicas), [2, 1, 3]);
    assert_eq!((partition.leader.0, partition.leader_epoch.0), (3, 1), "a replica that was to come is gone: fetches are fenced");
    assert_eq!(cluster.reassigning(None), []);
}

#[test]
fn reassignments_that_cannot_be_are_told_why() {
    let mut cluster = Cluster::of(&[1, 2, 3, 4]);
    cluster.create(assigned_topic("foo", &[&[4, 1, 2], &[4, 1, 2], &[4, 1, 2]]));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        cluster.reassign("foo", false, &[(0, Some(&[1, 2, 3])), (1, Some(&[4, 1])), (2, Some(&[4, 1, 2, 3]))]),
        [
            (0, 0, None),
            (1, 38, text("The replication factor is changed from 3 to 2")),
            (2, 38, text("The replication factor is changed from 3 to 4"))
        ]
    );
    assert_eq!(cluster.reassign("foo", false, &[(0, Some(&[4, 1]))]), [(0, 38, text("The replication factor is changed from 3 to 2"))]);
    assert_eq!(cluster.reassign("foo", false, &[(0, Some(&[4, 2, 3]))]), [(0, 0, None)]);
    assert_eq!(
        cluster.reassign("foo", true, &[(1, Some(&[9])), (2, Some(&[]))]),
        [
            (1, 39, text("The manual partition assignment includes broker 9, but no such broker is registered.")),
            (2, 39, text("The manual partition assignment includes an empty replica list.")),
        ]
    );
    assert_eq!(cluster.reassign("bar", true, &[(0, None)]), [(0, 3, text("Unable to find a topic named bar."))]);
}

#[test]
fn replicas_are_assigned_to_directories() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.register(&BrokerRegistrationRequest { log_dirs: vec![directory(1), directory(11)], ..registration(1, 1) }).unwrap();
    let topic_id = cluster.create(assigned_topic("foo", &[&[1], &[2]]));
    assert_eq!(&*cluster.partition("foo", 0).directories, &[ottla_metadata::directory_id::UNASSIGNED]);
    let assign_to = |topic_id, id, partitions: &[i32]| {
        let partitions =
            partitions.iter().map(|&partition_index| assign::PartitionData { partition_index, ..Default::default() }).collect();
        let topics = vec![assign::TopicData { topic_id, partitions, ..Default::default() }];
        assign::DirectoryData { id, topics, ..Default::default() }
    };
    let directories = vec![assign_to(topic_id, directory(11), &[0, 1, 2]), assign_to(Uuid::ZERO, directory(11), &[0])];
    let request =
        assign::AssignReplicasToDirsRequest { broker_id: 1, broker_epoch: cluster.broker_epoch(1), directories, ..Default::default() };
    let result = cluster.controller.assign_replicas_to_dirs(&request).unwrap();
    let response = cluster.commit(result);
    let codes =
        |index: usize| response.directories[index].topics[0].partitions.iter().map(|partition| partition.error_code).collect::<Vec<_>>();
    assert_eq!((codes(0), codes(1)), (vec![0, 6, 3], vec![100]));
    assert_eq!(&*cluster.partition("foo", 0).directories, &[directory(11)]);
}
