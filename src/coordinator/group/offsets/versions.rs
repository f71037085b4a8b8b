//! OffsetFetch at its versions: up to version 7 a request is about one group and an answer is flat; since version 8 both are lists of
//! groups. The coordinator only knows groups; these functions are for the handler.

use ottla_model::ErrorCode;
use ottla_protocol::messages::offset_fetch_request::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::messages::offset_fetch_response::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};

use super::fetch::no_offset;

/// The first version with several groups.
const FIRST_VERSION_WITH_GROUPS: i16 = 8;
/// The first version in which a group as a whole can fail.
const FIRST_VERSION_WITH_GROUP_ERROR: i16 = 2;

/// The groups that a request is about. No topics at all (null) asks for every topic.
pub fn offset_fetch_groups(request: OffsetFetchRequest, api_version: i16) -> Vec<OffsetFetchRequestGroup> {
    if api_version >= FIRST_VERSION_WITH_GROUPS {
        return request.groups;
    }
    let topics = request.topics.map(|topics| {
        let topics = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            ..OffsetFetchRequestTopics::default()
        });
        topics.collect()
    });
    vec![OffsetFetchRequestGroup { group_id: request.group_id, topics, ..OffsetFetchRequestGroup::default() }]
}

/// The response out of the answers for the groups, of which there is exactly one before version 8.
pub fn offset_fetch_response(groups: Vec<OffsetFetchResponseGroup>, api_version: i16) -> OffsetFetchResponse {
    if api_version >= FIRST_VERSION_WITH_GROUPS {
        return OffsetFetchResponse { groups, ..OffsetFetchResponse::default() };
    }
    let Some(group) = groups.into_iter().next() else { return OffsetFetchResponse::default() };
    let topics = group.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter().map(|partition| OffsetFetchResponsePartition {
            partition_index: partition.partition_index,
            committed_offset: partition.committed_offset,
            committed_leader_epoch: partition.committed_leader_epoch,
            metadata: partition.metadata,
            error_code: partition.error_code,
            ..OffsetFetchResponsePartition::default()
        });
        OffsetFetchResponseTopic { name: topic.name, partitions: partitions.collect(), ..OffsetFetchResponseTopic::default() }
    });
    OffsetFetchResponse { topics: topics.collect(), error_code: group.error_code, ..OffsetFetchResponse::default() }
}

/// The answer for a group that failed as a whole (`OffsetFetchResponse.groupError`): before version 2 every partition says so.
pub fn offset_fetch_error(group: &OffsetFetchRequestGroup, error: ErrorCode, api_version: i16) -> OffsetFetchResponseGroup {
    if api_version >= FIRST_VERSION_WITH_GROUP_ERROR {
        return OffsetFetchResponseGroup { group_id: group.group_id.clone(), error_code: error as i16, ..Default::default() };
    }
    let topics = group.topics.iter().flatten().map(|topic| OffsetFetchResponseTopics {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(|&partition| no_offset(partition, error)).collect(),
        ..OffsetFetchResponseTopics::default()
    });
    OffsetFetchResponseGroup { group_id: group.group_id.clone(), topics: topics.collect(), ..OffsetFetchResponseGroup::default() }
}
