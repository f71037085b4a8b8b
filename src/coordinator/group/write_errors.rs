//! What clients are told when a write fails: the log's errors in the words of the coordinator, in the shape of the answer that the
//! request would have got.

use ottla_model::ErrorCode;
use ottla_protocol::messages::heartbeat_response::HeartbeatResponse;
use ottla_protocol::messages::leave_group_response::LeaveGroupResponse;
use ottla_protocol::messages::offset_delete_response::OffsetDeleteResponse;
use ottla_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;

use super::classic::{join_group_error, join_group_response_at, sync_group_error};
use super::outcome::{Reply, Response};

/// The coordinator's word for an error of its partition (`CoordinatorOperationExceptionHelper`). Others are passed on.
pub fn append_error_to_response_error(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::UnknownTopicOrPartition | ErrorCode::NotEnoughReplicas | ErrorCode::RequestTimedOut => {
            ErrorCode::CoordinatorNotAvailable
        }
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidFetchSize => ErrorCode::UnknownServerError,
        // Verifying a transaction failed; old producers only know to retry when the coordinator is loading.
        ErrorCode::NetworkException => ErrorCode::CoordinatorLoadInProgress,
        error => error,
    }
}

/// The first version of OffsetFetch in which a group as a whole can fail.
const FIRST_OFFSET_FETCH_VERSION_WITH_GROUP_ERROR: i16 = 2;

/// The reply in place of one that waited for a write that failed with `error`.
pub(super) fn failed_reply(reply: Reply, error: ErrorCode) -> Reply {
    let response = failed_response(reply.response, error, reply.api_version);
    Reply { response, ..reply }
}

fn failed_response(response: Response, append_error: ErrorCode, api_version: i16) -> Response {
    let error = append_error_to_response_error(append_error);
    let error_code = error as i16;
    match response {
        Response::JoinGroup(_) => Response::JoinGroup(join_group_response_at(join_group_error("", error), api_version)),
        Response::SyncGroup(_) => Response::SyncGroup(sync_group_error(error)),
        Response::Heartbeat(_) => Response::Heartbeat(HeartbeatResponse { error_code, ..Default::default() }),
        Response::LeaveGroup(_) => Response::LeaveGroup(LeaveGroupResponse { error_code, ..Default::default() }),
        Response::OffsetDelete(_) => Response::OffsetDelete(OffsetDeleteResponse { error_code, ..Default::default() }),
        Response::OffsetCommit(mut response) => {
            let partitions = response.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
            partitions.for_each(|partition| partition.error_code = error_code);
            Response::OffsetCommit(response)
        }
        Response::TxnOffsetCommit(mut response) => {
            let partitions = response.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
            partitions.for_each(|partition| partition.error_code = error_code);
            Response::TxnOffsetCommit(response)
        }
        Response::OffsetFetch(group) => Response::OffsetFetch(failed_fetch(group, append_error, api_version)),
        // Never wait for a write.
        response @ (Response::DescribeGroups(_) | Response::ListGroups(_)) => response,
        Response::DeleteGroups(mut groups) => {
            groups.iter_mut().for_each(|group| group.error_code = error_code);
            Response::DeleteGroups(groups)
        }
    }
}

/// Consumers older than 3.9 do not know COORDINATOR_NOT_AVAILABLE here, so they are sent to look for the coordinator.
fn failed_fetch(mut group: OffsetFetchResponseGroup, append_error: ErrorCode, api_version: i16) -> OffsetFetchResponseGroup {
    let error = match append_error_to_response_error(append_error) {
        ErrorCode::CoordinatorNotAvailable => ErrorCode::NotCoordinator,
        error => error,
    };
    if api_version >= FIRST_OFFSET_FETCH_VERSION_WITH_GROUP_ERROR {
        return OffsetFetchResponseGroup { group_id: group.group_id, error_code: error as i16, ..Default::default() };
    }
    for partition in group.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        partition.error_code = error as i16;
        partition.committed_offset = -1;
        partition.committed_leader_epoch = -1;
        partition.metadata = Some(String::new());
    }
    group
}
