//! Requests: which group each is about, and how its answer finds back.

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;
use ottla_protocol::messages::heartbeat_response::HeartbeatResponse;
use ottla_protocol::messages::join_group_request::JoinGroupRequest;
use ottla_protocol::messages::leave_group_request::LeaveGroupRequest;
use ottla_protocol::messages::leave_group_response::LeaveGroupResponse;
use ottla_protocol::messages::offset_commit_request::OffsetCommitRequest;
use ottla_protocol::messages::offset_delete_request::OffsetDeleteRequest;
use ottla_protocol::messages::offset_delete_response::OffsetDeleteResponse;
use ottla_protocol::messages::sync_group_request::SyncGroupRequest;
use ottla_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequest;

use super::classic::{
    JoinAttempt, ParkedJoin, ParkedSync, join_group_error, leave_group_answer, leaving_members, member_answer, sync_group_error,
};
use super::effects::Effects;
use super::group_map::Group;
use super::offsets::{offset_commit_error, txn_offset_commit_error};
use super::outcome::{Outcome, Reply, RequestContext, Response};
use super::request::GroupRequest;
use super::shard::GroupCoordinatorShard;
use super::writes::WriteEffect;

impl GroupCoordinatorShard {
    /// Handles a request. Its reply, under the context's token, is in this outcome or in a later one.
    pub fn handle(&mut self, context: &RequestContext<'_>, request: GroupRequest) -> Outcome {
        if let Err(response) = request.validate(&self.config, context.api_version) {
            return GroupCoordinatorShard::immediate(context.token, context.api_version, *response);
        }
        let mut effects = Effects::default();
        let response = match request {
            GroupRequest::JoinGroup { request, new_member_uuid } => {
                self.join_group(context, request, new_member_uuid, &mut effects);
                None
            }
            GroupRequest::SyncGroup(request) => {
                self.sync_group(context, &request, &mut effects);
                None
            }
            GroupRequest::Heartbeat(request) => Some(Response::Heartbeat(self.heartbeat(context, &request, &mut effects))),
            GroupRequest::LeaveGroup(request) => Some(Response::LeaveGroup(self.leave_group(context, request, &mut effects))),
            GroupRequest::OffsetCommit(request) => Some(self.commit_offsets(context, &request, &mut effects)),
            GroupRequest::TxnOffsetCommit(request) => Some(self.commit_transactional_offsets(context, &request, &mut effects)),
            GroupRequest::OffsetFetch { group, require_stable } => Some(Response::OffsetFetch(self.fetch(&group, require_stable))),
            GroupRequest::OffsetDelete(request) => Some(Response::OffsetDelete(self.delete_offsets_of(&request, &mut effects))),
            // These show what is, not what is safe, so no write holds them up.
            GroupRequest::DescribeGroups(group_ids) => {
                let groups = self.describe_groups(&group_ids, context.api_version);
                return GroupCoordinatorShard::immediate(context.token, context.api_version, Response::DescribeGroups(groups));
            }
            GroupRequest::ListGroups(request) => {
                let groups = self.list_groups(&request);
                return GroupCoordinatorShard::immediate(context.token, context.api_version, Response::ListGroups(Ok(groups)));
            }
            GroupRequest::DeleteGroups(group_ids) => Some(Response::DeleteGroups(self.delete_groups(group_ids, &mut effects))),
        };
        let reply = response.map(|response| Reply { token: context.token, api_version: context.api_version, response });
        self.finish(context.now_ms, effects, reply)
    }

    /// Joins find or make their group. A join that made one writes it, so that it is there after a restart for the id that it gave.
    fn join_group(&mut self, context: &RequestContext<'_>, mut request: JoinGroupRequest, new_member_uuid: Uuid, effects: &mut Effects) {
        let parked = ParkedJoin { token: context.token, api_version: context.api_version };
        if context.api_version == 0 {
            // Version 0 has no rebalance timeout.
            request.rebalance_timeout_ms = request.session_timeout_ms;
        }
        let is_new_group = match self.groups.get(&request.group_id) {
            Some(Group::Classic(_)) => false,
            Some(Group::NotServed(_)) => {
                return effects.reply_join(parked, join_group_error("", ErrorCode::InconsistentGroupProtocol));
            }
            None if request.member_id.is_empty() => true,
            None => return effects.reply_join(parked, join_group_error(&request.member_id, ErrorCode::UnknownMemberId)),
        };
        self.groups.ensure(&request.group_id, context.now_ms);
        let attempt =
            JoinAttempt { request: &request, parked, client_id: context.client_id, client_host: context.client_host, new_member_uuid };
        self.with_classic_group(&request.group_id, context.now_ms, effects, |operation| {
            let empty_record = operation.group.to_empty_record();
            operation.join(&attempt);
            if is_new_group && operation.effects.write.is_none() {
                let group_id = operation.group.group_id.clone();
                operation.effects.write_group(empty_record, WriteEffect::GroupCreated { group_id, join: parked });
            }
        });
    }

    fn sync_group(&mut self, context: &RequestContext<'_>, request: &SyncGroupRequest, effects: &mut Effects) {
        let parked = ParkedSync { token: context.token, api_version: context.api_version };
        let step = self.with_classic_group(&request.group_id, context.now_ms, effects, |operation| operation.sync(request, parked));
        if step.is_none() {
            effects.reply_sync(parked, sync_group_error(ErrorCode::UnknownMemberId));
        }
    }

    fn heartbeat(&mut self, context: &RequestContext<'_>, request: &HeartbeatRequest, effects: &mut Effects) -> HeartbeatResponse {
        let result = self.with_classic_group(&request.group_id, context.now_ms, effects, |operation| operation.heartbeat(request));
        let error = result.unwrap_or(Err(ErrorCode::UnknownMemberId)).err().unwrap_or(ErrorCode::None);
        HeartbeatResponse { error_code: error as i16, ..HeartbeatResponse::default() }
    }

    fn leave_group(&mut self, context: &RequestContext<'_>, request: LeaveGroupRequest, effects: &mut Effects) -> LeaveGroupResponse {
        let group_id = request.group_id.clone();
        let members = leaving_members(request, context.api_version);
        let answers = self.with_classic_group(&group_id, context.now_ms, effects, |operation| operation.leave(&members));
        let nobody = || members.iter().map(|member| member_answer(member, Err(ErrorCode::UnknownMemberId))).collect();
        leave_group_answer(answers.unwrap_or_else(nobody), context.api_version)
    }

    fn commit_offsets(&mut self, context: &RequestContext<'_>, request: &OffsetCommitRequest, effects: &mut Effects) -> Response {
        let response = self.commit(context, request, effects);
        Response::OffsetCommit(response.unwrap_or_else(|error| offset_commit_error(request, error)))
    }

    fn commit_transactional_offsets(
        &mut self,
        context: &RequestContext<'_>,
        request: &TxnOffsetCommitRequest,
        effects: &mut Effects,
    ) -> Response {
        let response = self.commit_in_transaction(context, request, effects);
        Response::TxnOffsetCommit(response.unwrap_or_else(|error| txn_offset_commit_error(request, error)))
    }

    fn delete_offsets_of(&self, request: &OffsetDeleteRequest, effects: &mut Effects) -> OffsetDeleteResponse {
        let refused = |error| OffsetDeleteResponse { error_code: error as i16, ..OffsetDeleteResponse::default() };
        self.delete_offsets(request, effects).unwrap_or_else(|error: ErrorCode| refused(error))
    }
}
