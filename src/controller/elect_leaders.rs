//! ElectLeaders, and the elections that the controller holds by itself: back to the preferred leader, and unclean ones where nobody
//! leads (`ReplicationControlManager.electLeaders` and the `maybe...` methods beside it).

use ottla_metadata::MetadataRecord;
use ottla_model::ErrorCode;
use ottla_protocol::messages::elect_leaders_request::ElectLeadersRequest;
use ottla_protocol::messages::elect_leaders_response::{ElectLeadersResponse, PartitionResult, ReplicaElectionResult};

use crate::api_error::{ApiError, response_error};
use crate::controller_result::ControllerResult;
use crate::leader_updates::{can_lead, change_rules};
use crate::partition_change::{Election, PartitionChange};
use crate::partition_index::TopicIdPartition;
use crate::state::ControllerState;

/// The most elections of one round that the controller holds by itself.
const ELECTIONS_PER_IMBALANCE_MAX: usize = 1_000;

const NOT_NEEDED: &str = "Leader election not needed for topic partition.";

/// `ElectionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElectionType {
    Preferred,
    Unclean,
}

pub(crate) fn elect_leaders(
    state: &ControllerState,
    request: &ElectLeadersRequest,
) -> Result<ControllerResult<ElectLeadersResponse>, ApiError> {
    if request.topic_partitions.as_ref().is_some_and(Vec::is_empty) {
        return Ok(ControllerResult::of(Vec::new(), ElectLeadersResponse::default()));
    }
    let election = match request.election_type {
        0 => ElectionType::Preferred,
        1 => ElectionType::Unclean,
        other => return Err(ApiError::invalid_request(format!("Unknown election type {other}"))),
    };
    let mut records = Vec::new();
    let replica_election_results = match &request.topic_partitions {
        Some(topics) => {
            let results = topics.iter().map(|topic| ReplicaElectionResult {
                topic: topic.topic.clone(),
                partition_result: elect_partitions(state, &topic.topic, &topic.partitions, election, &mut records),
                ..Default::default()
            });
            results.collect()
        }
        None => elect_everywhere(state, election, &mut records),
    };
    ControllerResult::of(records, ElectLeadersResponse { replica_election_results, ..Default::default() }).bounded()
}

fn elect_partitions(
    state: &ControllerState,
    topic: &str,
    partitions: &[i32],
    election: ElectionType,
    records: &mut Vec<MetadataRecord>,
) -> Vec<PartitionResult> {
    let mut elect = |&partition_id: &i32| {
        let (error_code, error_message) = response_error(&elect_leader(state, topic, partition_id, election, records));
        PartitionResult { partition_id, error_code, error_message, ..Default::default() }
    };
    partitions.iter().map(&mut elect).collect()
}

/// All partitions of all topics; those that need no election are not answered.
fn elect_everywhere(state: &ControllerState, election: ElectionType, records: &mut Vec<MetadataRecord>) -> Vec<ReplicaElectionResult> {
    let mut results = Vec::new();
    for topic in state.image.topics.iter() {
        let partitions: Vec<i32> = topic.partitions.keys().copied().collect();
        let mut partition_result = elect_partitions(state, &topic.name, &partitions, election, records);
        partition_result.retain(|result| result.error_code != ErrorCode::ElectionNotNeeded.code());
        results.push(ReplicaElectionResult { topic: topic.name.to_string(), partition_result, ..Default::default() });
    }
    results
}

fn elect_leader(
    state: &ControllerState,
    topic_name: &str,
    number: i32,
    election: ElectionType,
    records: &mut Vec<MetadataRecord>,
) -> Result<(), ApiError> {
    let unknown = |message| ApiError::new(ErrorCode::UnknownTopicOrPartition, message);
    let topic = state.topic(topic_name).ok_or_else(|| unknown(format!("No such topic as {topic_name}")))?;
    let partition = topic.partitions.get(&number).ok_or_else(|| unknown(format!("No such partition as {topic_name}-{number}")))?;
    let needed = match election {
        ElectionType::Preferred => !partition.has_preferred_leader(),
        ElectionType::Unclean => !partition.has_leader(),
    };
    if !needed {
        return Err(ApiError::new(ErrorCode::ElectionNotNeeded, NOT_NEEDED));
    }
    let key = TopicIdPartition { topic_id: topic.id, partition: number };
    let (kind, unavailable) = match election {
        ElectionType::Preferred => {
            (Election::Preferred, ApiError::new(ErrorCode::PreferredLeaderNotAvailable, "The preferred leader was not available."))
        }
        ElectionType::Unclean => (
            Election::Unclean,
            ApiError::new(ErrorCode::EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available."),
        ),
    };
    records.push(election_record(state, key, kind).ok_or(unavailable)?);
    Ok(())
}

fn election_record(state: &ControllerState, key: TopicIdPartition, election: Election) -> Option<MetadataRecord> {
    let topic = state.image.topics.by_id(key.topic_id)?;
    let partition = topic.partitions.get(&key.partition)?;
    let is_acceptable_leader = |broker| can_lead(state, partition, broker);
    let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
    change.election = election;
    change.build(state).map(MetadataRecord::from)
}

/// Gives leaderships back to the preferred replicas; answers whether there is more to do
/// (`auto.leader.rebalance.enable`).
pub(crate) fn balance_partition_leaders(state: &ControllerState) -> ControllerResult<bool> {
    let records = state.partitions.imbalanced().filter_map(|key| election_record(state, key, Election::Preferred));
    round(records.take(ELECTIONS_PER_IMBALANCE_MAX).collect())
}

/// Elects leaders from outside the ISR where nobody leads and the topic allows it; answers whether there is more to do.
pub(crate) fn elect_unclean_leaders(state: &ControllerState) -> ControllerResult<bool> {
    let allowed =
        |key: &TopicIdPartition| state.image.topics.by_id(key.topic_id).is_some_and(|topic| state.unclean_leader_election_enabled(topic));
    let leaderless = state.partitions.leaderless().into_iter().filter(allowed);
    let records = leaderless.filter_map(|key| election_record(state, key, Election::Unclean));
    round(records.take(ELECTIONS_PER_IMBALANCE_MAX).collect())
}

fn round(records: Vec<MetadataRecord>) -> ControllerResult<bool> {
    let more = records.len() >= ELECTIONS_PER_IMBALANCE_MAX;
    ControllerResult::of(records, more)
}
