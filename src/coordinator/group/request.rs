//! The requests that a shard handles, what is wrong with one before any group is looked at, and the answers that say an error.

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::delete_groups_response::DeletableGroupResult;
use ottla_protocol::messages::describe_groups_response::DescribedGroup;
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;
use ottla_protocol::messages::heartbeat_response::HeartbeatResponse;
use ottla_protocol::messages::join_group_request::JoinGroupRequest;
use ottla_protocol::messages::leave_group_request::LeaveGroupRequest;
use ottla_protocol::messages::leave_group_response::LeaveGroupResponse;
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::offset_commit_request::OffsetCommitRequest;
use ottla_protocol::messages::offset_delete_request::OffsetDeleteRequest;
use ottla_protocol::messages::offset_delete_response::OffsetDeleteResponse;
use ottla_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use ottla_protocol::messages::sync_group_request::SyncGroupRequest;
use ottla_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequest;

use super::classic::{join_group_error, join_group_response_at, sync_group_error};
use super::config::GroupCoordinatorConfig;
use super::offsets::{offset_commit_error, offset_fetch_error, txn_offset_commit_error};
use super::outcome::Response;

/// The first version of SyncGroup that must say which protocol it is about (KIP-559).
const FIRST_SYNC_VERSION_WITH_PROTOCOL: i16 = 5;

/// A request to a group coordinator, authorized, and with its topics resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupRequest {
    /// A member wants to be in the next generation.
    JoinGroup {
        /// The request.
        request: JoinGroupRequest,
        /// Random: becomes part of the member's id if it gets one.
        new_member_uuid: Uuid,
    },
    /// A member brings or fetches the assignment.
    SyncGroup(SyncGroupRequest),
    /// A member is alive.
    Heartbeat(HeartbeatRequest),
    /// Members go.
    LeaveGroup(LeaveGroupRequest),
    /// Offsets are committed. Topics carry both name and id, and only partitions that exist.
    OffsetCommit(OffsetCommitRequest),
    /// Offsets are committed as part of a transaction. Topics as in `OffsetCommit`.
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// Offsets are read. Topics carry names, and ids from version 10 on.
    OffsetFetch {
        /// One group of the request.
        group: OffsetFetchRequestGroup,
        /// Whether offsets of open transactions are to be reported.
        require_stable: bool,
    },
    /// Offsets are deleted. Only partitions that exist.
    OffsetDelete(OffsetDeleteRequest),
    /// The groups of the request that live in this shard.
    DescribeGroups(Vec<String>),
    /// All groups of this shard that pass the filters.
    ListGroups(ListGroupsRequest),
    /// The groups of the request that live in this shard, each once.
    DeleteGroups(Vec<String>),
}

impl GroupRequest {
    /// What Kafka checks before it looks for the coordinator; the error is the answer.
    pub fn validate(&self, config: &GroupCoordinatorConfig, api_version: i16) -> Result<(), Box<Response>> {
        let error = match self {
            GroupRequest::JoinGroup { request, .. } => join_error(request, config),
            GroupRequest::SyncGroup(request) => sync_error(request, api_version),
            GroupRequest::Heartbeat(request) => group_id_error(&request.group_id),
            GroupRequest::LeaveGroup(request) => group_id_error(&request.group_id),
            GroupRequest::TxnOffsetCommit(request) => group_id_error(&request.group_id),
            GroupRequest::OffsetDelete(request) => group_id_error(&request.group_id),
            // For these, the empty group id has always been a group like any other.
            GroupRequest::OffsetCommit(_)
            | GroupRequest::OffsetFetch { .. }
            | GroupRequest::DescribeGroups(_)
            | GroupRequest::ListGroups(_)
            | GroupRequest::DeleteGroups(_) => None,
        };
        match (error, self) {
            (None, _) => Ok(()),
            (Some(error), GroupRequest::JoinGroup { request, .. }) => {
                let response = join_group_error(&request.member_id, error);
                Err(Box::new(Response::JoinGroup(join_group_response_at(response, api_version))))
            }
            (Some(error), _) => Err(Box::new(self.error_answer(error, api_version))),
        }
    }

    /// The answer that says that the coordinator cannot serve the request: it is not here, it is loading, it failed.
    pub fn error_answer(&self, error: ErrorCode, api_version: i16) -> Response {
        let error_code = error as i16;
        match self {
            GroupRequest::JoinGroup { .. } => Response::JoinGroup(join_group_response_at(join_group_error("", error), api_version)),
            GroupRequest::SyncGroup(_) => Response::SyncGroup(sync_group_error(error)),
            GroupRequest::Heartbeat(_) => {
                // While the group is loading, the member is believed.
                let error = if error == ErrorCode::CoordinatorLoadInProgress { ErrorCode::None } else { error };
                Response::Heartbeat(HeartbeatResponse { error_code: error as i16, ..Default::default() })
            }
            GroupRequest::LeaveGroup(_) => Response::LeaveGroup(LeaveGroupResponse { error_code, ..Default::default() }),
            GroupRequest::OffsetCommit(request) => Response::OffsetCommit(offset_commit_error(request, error)),
            GroupRequest::TxnOffsetCommit(request) => Response::TxnOffsetCommit(txn_offset_commit_error(request, error)),
            GroupRequest::OffsetFetch { group, .. } => Response::OffsetFetch(offset_fetch_error(group, error, api_version)),
            GroupRequest::OffsetDelete(_) => Response::OffsetDelete(OffsetDeleteResponse { error_code, ..Default::default() }),
            GroupRequest::DescribeGroups(group_ids) => {
                let describe = |group_id: &String| DescribedGroup { group_id: group_id.clone(), error_code, ..Default::default() };
                Response::DescribeGroups(group_ids.iter().map(describe).collect())
            }
            GroupRequest::ListGroups(_) => Response::ListGroups(Err(error)),
            GroupRequest::DeleteGroups(group_ids) => {
                let delete = |group_id: &String| DeletableGroupResult { group_id: group_id.clone(), error_code, ..Default::default() };
                Response::DeleteGroups(group_ids.iter().map(delete).collect())
            }
        }
    }
}

fn group_id_error(group_id: &str) -> Option<ErrorCode> {
    group_id.is_empty().then_some(ErrorCode::InvalidGroupId)
}

fn join_error(request: &JoinGroupRequest, config: &GroupCoordinatorConfig) -> Option<ErrorCode> {
    let session_timeouts_ms = config.classic_group_min_session_timeout_ms..=config.classic_group_max_session_timeout_ms;
    let session_error = (!session_timeouts_ms.contains(&request.session_timeout_ms)).then_some(ErrorCode::InvalidSessionTimeout);
    group_id_error(&request.group_id).or(session_error)
}

fn sync_error(request: &SyncGroupRequest, api_version: i16) -> Option<ErrorCode> {
    let names_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
    let must_name_protocol = api_version >= FIRST_SYNC_VERSION_WITH_PROTOCOL;
    let protocol_error = (must_name_protocol && !names_protocol).then_some(ErrorCode::InconsistentGroupProtocol);
    protocol_error.or(group_id_error(&request.group_id))
}
