//! AssignReplicasToDirs: a broker says in which directories its replicas are (`ReplicationControlManager.handleAssignReplicasToDirs`).

use ottla_metadata::{BrokerRegistration, MetadataRecord, TopicImage};
use ottla_model::{BrokerId, ErrorCode, Uuid};
use ottla_protocol::messages::assign_replicas_to_dirs_request::AssignReplicasToDirsRequest;
use ottla_protocol::messages::assign_replicas_to_dirs_response::{AssignReplicasToDirsResponse, DirectoryData, PartitionData, TopicData};

use crate::api_error::ApiError;
use crate::controller_result::ControllerResult;
use crate::leader_updates::{can_lead, change_rules, replicas_moved_offline};
use crate::partition_change::PartitionChange;
use crate::partition_index::TopicIdPartition;
use crate::state::ControllerState;

pub(crate) fn assign_replicas_to_dirs(
    state: &ControllerState,
    request: &AssignReplicasToDirsRequest,
) -> Result<ControllerResult<AssignReplicasToDirsResponse>, ApiError> {
    if !state.metadata_version().is_directory_assignment_supported() {
        return Err(ApiError::new(ErrorCode::UnsupportedVersion, "Directory assignment is not supported yet."));
    }
    let id = BrokerId(request.broker_id);
    state.check_broker_epoch(id, request.broker_epoch)?;
    let Some(broker) = state.broker(id) else {
        return Err(ApiError::bare(ErrorCode::BrokerIdNotRegistered));
    };
    let mut records = Vec::new();
    let mut moved_offline = Vec::new();
    let mut response = AssignReplicasToDirsResponse::default();
    for directory in &request.directories {
        let is_offline = !broker.has_online_dir(directory.id);
        let mut topics = Vec::with_capacity(directory.topics.len());
        for asked in &directory.topics {
            let topic = state.image.topics.by_id(asked.topic_id);
            let mut partitions = Vec::with_capacity(asked.partitions.len());
            for partition in &asked.partitions {
                let key = TopicIdPartition { topic_id: asked.topic_id, partition: partition.partition_index };
                let outcome = assign_one(state, broker, topic.map(|topic| &**topic), key, directory.id, &mut records);
                if outcome.is_ok() && is_offline {
                    moved_offline.push(key);
                }
                let error_code = outcome.err().unwrap_or(ErrorCode::None).code();
                partitions.push(PartitionData { partition_index: key.partition, error_code, ..Default::default() });
            }
            topics.push(TopicData { topic_id: asked.topic_id, partitions, ..Default::default() });
        }
        response.directories.push(DirectoryData { id: directory.id, topics, ..Default::default() });
    }
    replicas_moved_offline(state, id, moved_offline, &mut records);
    Ok(ControllerResult::of(records, response))
}

fn assign_one(
    state: &ControllerState,
    broker: &BrokerRegistration,
    topic: Option<&TopicImage>,
    key: TopicIdPartition,
    directory: Uuid,
    records: &mut Vec<MetadataRecord>,
) -> Result<(), ErrorCode> {
    let topic = topic.ok_or(ErrorCode::UnknownTopicId)?;
    let partition = topic.partitions.get(&key.partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if !partition.replicas.contains(&broker.id) {
        return Err(ErrorCode::NotLeaderOrFollower);
    }
    let is_acceptable_leader = |broker| can_lead(state, partition, broker);
    let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
    change.directories.push((broker.id, directory));
    records.extend(change.build(state).map(MetadataRecord::from));
    Ok(())
}
