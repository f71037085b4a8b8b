//! AlterPartition: a leader says which replicas are in sync (`ReplicationControlManager.alterPartition`).

use ottla_metadata::{LeaderRecoveryState, MetadataRecord, NO_LEADER_CHANGE, PartitionRegistration, TopicImage, broker_numbers};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::alter_partition_request::{AlterPartitionRequest, BrokerState, PartitionData};
use ottla_protocol::messages::alter_partition_response;
use ottla_protocol::messages::alter_partition_response::AlterPartitionResponse;

use crate::api_error::ApiError;
use crate::controller_result::ControllerResult;
use crate::leader_updates::{can_lead, change_rules};
use crate::partition_change::{Election, PartitionChange};
use crate::partition_index::TopicIdPartition;
use crate::state::ControllerState;

pub(crate) fn alter_partition(
    state: &ControllerState,
    request: &AlterPartitionRequest,
    version: i16,
) -> Result<ControllerResult<AlterPartitionResponse>, ApiError> {
    state.check_broker_epoch(BrokerId(request.broker_id), request.broker_epoch)?;
    let mut records = Vec::new();
    let mut response = AlterPartitionResponse::default();
    for asked in &request.topics {
        let topic = state.image.topics.by_id(asked.topic_id);
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for data in &asked.partitions {
            let outcome = match topic {
                None => Err(ErrorCode::UnknownTopicId),
                Some(topic) => alter_one(state, topic, BrokerId(request.broker_id), data, version, &mut records),
            };
            partitions.push(outcome.unwrap_or_else(|error| alter_partition_response::PartitionData {
                partition_index: data.partition_index,
                error_code: error.code(),
                ..Default::default()
            }));
        }
        response.topics.push(alter_partition_response::TopicData { topic_id: asked.topic_id, partitions, ..Default::default() });
    }
    Ok(ControllerResult::of(records, response))
}

fn alter_one(
    state: &ControllerState,
    topic: &TopicImage,
    leader: BrokerId,
    data: &PartitionData,
    version: i16,
    records: &mut Vec<MetadataRecord>,
) -> Result<alter_partition_response::PartitionData, ErrorCode> {
    let partition = topic.partitions.get(&data.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let isr = new_isr(data, version);
    let recovery = validate(state, partition, leader, data, &isr)?;
    let is_acceptable_leader = |broker| can_lead(state, partition, broker);
    let key = TopicIdPartition { topic_id: topic.id, partition: data.partition_index };
    let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
    if state.unclean_leader_election_enabled(topic) {
        change.election = Election::Unclean;
    }
    change.isr = isr.iter().map(|member| BrokerId(member.broker_id)).collect();
    change.leader_recovery_state = recovery;
    let mut merged = None;
    if let Some(record) = change.build(state) {
        merged = Some(partition.merge(&record).map_err(|_| ErrorCode::UnknownServerError)?);
        let new_leader = record.leader != leader.0 && record.leader != NO_LEADER_CHANGE;
        records.push(record.into());
        if new_leader {
            return Err(ErrorCode::NewLeaderElected);
        }
    }
    let altered = merged.as_ref().unwrap_or(partition);
    Ok(alter_partition_response::PartitionData {
        partition_index: data.partition_index,
        leader_id: altered.leader.0,
        leader_epoch: altered.leader_epoch.0,
        isr: broker_numbers(&altered.isr),
        leader_recovery_state: altered.leader_recovery_state as i8,
        partition_epoch: altered.partition_epoch,
        ..Default::default()
    })
}

/// Before version 3 the members come without their epochs.
fn new_isr(data: &PartitionData, version: i16) -> Vec<BrokerState> {
    if version >= 3 {
        return data.new_isr_with_epochs.clone();
    }
    data.new_isr.iter().map(|&broker_id| BrokerState { broker_id, ..Default::default() }).collect()
}

/// A request from the future is one of another controller's time; one from the past is stale.
fn validate(
    state: &ControllerState,
    partition: &PartitionRegistration,
    leader: BrokerId,
    data: &PartitionData,
    isr: &[BrokerState],
) -> Result<LeaderRecoveryState, ErrorCode> {
    if data.leader_epoch > partition.leader_epoch.0 || data.partition_epoch > partition.partition_epoch {
        return Err(ErrorCode::NotController);
    }
    if data.leader_epoch < partition.leader_epoch.0 {
        return Err(ErrorCode::FencedLeaderEpoch);
    }
    if leader != partition.leader {
        return Err(ErrorCode::InvalidRequest);
    }
    if data.partition_epoch < partition.partition_epoch {
        return Err(ErrorCode::InvalidUpdateVersion);
    }
    let members: Vec<BrokerId> = isr.iter().map(|member| BrokerId(member.broker_id)).collect();
    if !is_valid_isr(partition, &members) || !members.contains(&partition.leader) {
        return Err(ErrorCode::InvalidRequest);
    }
    let recovery = match data.leader_recovery_state {
        0 => LeaderRecoveryState::Recovered,
        1 => LeaderRecoveryState::Recovering,
        _ => return Err(ErrorCode::InvalidRequest),
    };
    let recovering_again = recovery > partition.leader_recovery_state;
    if recovery == LeaderRecoveryState::Recovering && members.len() > 1 || recovering_again {
        return Err(ErrorCode::InvalidRequest);
    }
    if isr.iter().any(|member| !is_eligible(state, member)) {
        return Err(ErrorCode::IneligibleReplica);
    }
    Ok(recovery)
}

/// The ISR is not empty and has each member once, all of them replicas.
fn is_valid_isr(partition: &PartitionRegistration, isr: &[BrokerId]) -> bool {
    let mut sorted = isr.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    !isr.is_empty() && sorted.len() == isr.len() && isr.iter().all(|broker| partition.replicas.contains(broker))
}

fn is_eligible(state: &ControllerState, member: &BrokerState) -> bool {
    state.broker(BrokerId(member.broker_id)).is_some_and(|broker| {
        let same_epoch = member.broker_epoch == -1 || member.broker_epoch == broker.epoch;
        !broker.in_controlled_shutdown && !broker.fenced && same_epoch
    })
}
