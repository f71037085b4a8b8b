//! AlterPartitionReassignments and ListPartitionReassignments (`ReplicationControlManager.alterPartitionReassignments`).

use std::collections::BTreeSet;

use ottla_metadata::{MetadataRecord, PartitionRegistration, TopicImage, broker_numbers};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::alter_partition_reassignments_request::{AlterPartitionReassignmentsRequest, ReassignablePartition};
use ottla_protocol::messages::alter_partition_reassignments_response::{
    AlterPartitionReassignmentsResponse, ReassignablePartitionResponse, ReassignableTopicResponse,
};
use ottla_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use ottla_protocol::messages::list_partition_reassignments_response::{
    ListPartitionReassignmentsResponse, OngoingPartitionReassignment, OngoingTopicReassignment,
};
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;

use crate::api_error::{ApiError, response_error};
use crate::assignment::{Assignment, validate_assignment};
use crate::controller_result::ControllerResult;
use crate::leader_updates::{can_lead, change_rules};
use crate::partition_change::{Election, PartitionChange};
use crate::partition_index::TopicIdPartition;
use crate::reassignment::{Reassignment, Revert};
use crate::state::ControllerState;

pub(crate) fn alter_partition_reassignments(
    state: &ControllerState,
    request: &AlterPartitionReassignmentsRequest,
) -> Result<ControllerResult<AlterPartitionReassignmentsResponse>, ApiError> {
    if request.topics.is_empty() {
        // Kafka does not even look at such a request, and leaves the text empty rather than null.
        return Ok(ControllerResult::of(Vec::new(), AlterPartitionReassignmentsResponse::default()));
    }
    let may_change = request.allow_replication_factor_change;
    let mut records: Vec<MetadataRecord> = Vec::new();
    let mut responses = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for target in &topic.partitions {
            let outcome = alter_one(state, &topic.name, target, may_change).map(|record| records.extend(record.map(MetadataRecord::from)));
            let (error_code, error_message) = response_error(&outcome);
            let partition_index = target.partition_index;
            partitions.push(ReassignablePartitionResponse { partition_index, error_code, error_message, ..Default::default() });
        }
        responses.push(ReassignableTopicResponse { name: topic.name.clone(), partitions, ..Default::default() });
    }
    let response = AlterPartitionReassignmentsResponse {
        error_message: None,
        allow_replication_factor_change: may_change,
        responses,
        ..Default::default()
    };
    ControllerResult::atomic_of(records, response).bounded()
}

fn alter_one(
    state: &ControllerState,
    topic_name: &str,
    target: &ReassignablePartition,
    may_change_replication_factor: bool,
) -> Result<Option<PartitionChangeRecord>, ApiError> {
    let unknown = |message| ApiError::new(ErrorCode::UnknownTopicOrPartition, message);
    let number = target.partition_index;
    let topic = state.topic(topic_name).ok_or_else(|| unknown(format!("Unable to find a topic named {topic_name}.")))?;
    let partition = topic.partitions.get(&number);
    let partition = partition.ok_or_else(|| unknown(format!("Unable to find partition {topic_name}:{number}.")))?;
    let key = TopicIdPartition { topic_id: topic.id, partition: number };
    match &target.replicas {
        None => cancel(state, topic, key, partition),
        Some(replicas) => {
            let assignment = Assignment::from_numbers(replicas);
            validate_assignment(state, &assignment, None)?;
            if !may_change_replication_factor {
                check_replication_factor(partition, assignment.replicas.len())?;
            }
            Ok(reassign(state, topic, key, partition, &assignment.replicas))
        }
    }
}

fn reassign(
    state: &ControllerState,
    topic: &TopicImage,
    key: TopicIdPartition,
    partition: &PartitionRegistration,
    target: &[BrokerId],
) -> Option<PartitionChangeRecord> {
    let reassignment = Reassignment::new(&partition.replicas, target);
    let is_acceptable_leader = |broker| can_lead(state, partition, broker);
    let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
    change.replicas = reassignment.replicas;
    if !reassignment.removing.is_empty() {
        change.removing = reassignment.removing;
    }
    if !reassignment.adding.is_empty() {
        change.adding = reassignment.adding;
    }
    change.build(state)
}

fn cancel(
    state: &ControllerState,
    topic: &TopicImage,
    key: TopicIdPartition,
    partition: &PartitionRegistration,
) -> Result<Option<PartitionChangeRecord>, ApiError> {
    if !partition.is_reassigning() {
        return Err(ApiError::bare(ErrorCode::NoReassignmentInProgress));
    }
    let revert = Revert::new(partition)?;
    let unclean_allowed = state.unclean_leader_election_enabled(topic);
    if revert.unclean && !unclean_allowed {
        let message = format!(
            "Unable to revert partition assignment for {}:{} because it would require an unclean leader election.",
            topic.name, key.partition
        );
        return Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, message));
    }
    let is_acceptable_leader = |broker| can_lead(state, partition, broker);
    let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
    if unclean_allowed {
        change.election = Election::Unclean;
    }
    change.isr = revert.isr;
    change.replicas = revert.replicas;
    change.removing.clear();
    change.adding.clear();
    Ok(change.build(state))
}

/// A reassignment that goes on counts with the replicas that it is to end with.
fn check_replication_factor(partition: &PartitionRegistration, target: usize) -> Result<(), ApiError> {
    let mut current: BTreeSet<BrokerId> = partition.replicas.iter().chain(&partition.adding_replicas).copied().collect();
    current.retain(|broker| !partition.removing_replicas.contains(broker));
    if current.len() == target {
        return Ok(());
    }
    let message = format!("The replication factor is changed from {} to {target}", current.len());
    Err(ApiError::new(ErrorCode::InvalidReplicationFactor, message))
}

/// The reassignments that go on, of the partitions asked for or of all.
pub(crate) fn list_partition_reassignments(
    state: &ControllerState,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let mut response = ListPartitionReassignmentsResponse { error_message: None, ..Default::default() };
    match &request.topics {
        Some(topics) => {
            let known = topics.iter().filter_map(|asked| Some((state.topic(&asked.name)?, &asked.partition_indexes)));
            response.topics.extend(known.filter_map(|(topic, partitions)| ongoing(topic, partitions.iter().copied())));
        }
        None => {
            let ids: BTreeSet<_> = state.partitions.reassigning().map(|key| key.topic_id).collect();
            let topics = ids.into_iter().filter_map(|id| state.image.topics.by_id(id));
            response.topics.extend(topics.filter_map(|topic| ongoing(topic, topic.partitions.keys().copied())));
        }
    }
    response
}

fn ongoing(topic: &TopicImage, partitions: impl Iterator<Item = i32>) -> Option<OngoingTopicReassignment> {
    let reassigning = partitions.filter_map(|number| Some((number, topic.partitions.get(&number)?)));
    let reassigning = reassigning.filter(|(_, partition)| partition.is_reassigning());
    let partitions: Vec<_> = reassigning
        .map(|(partition_index, partition)| OngoingPartitionReassignment {
            partition_index,
            replicas: broker_numbers(&partition.replicas),
            adding_replicas: broker_numbers(&partition.adding_replicas),
            removing_replicas: broker_numbers(&partition.removing_replicas),
            ..Default::default()
        })
        .collect();
    (!partitions.is_empty()).then(|| OngoingTopicReassignment { name: topic.name.to_string(), partitions, ..Default::default() })
}
