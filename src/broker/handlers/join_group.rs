//! JoinGroup: enters a group, or begins a new generation with the others. The group's coordinator decides.

use std::sync::Arc;

use ottla_coordinator::group::GroupRequest;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::join_group_request::JoinGroupRequest;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct JoinGroup;

impl Handler for JoinGroup {
    type Request = JoinGroupRequest;
    const KEY: ApiKey = ApiKey::JoinGroup;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: JoinGroupRequest) {
        let group_id = request.group_id.clone();
        let new_member_uuid = broker.environment().random_uuid();
        let group_request = GroupRequest::JoinGroup { request, new_member_uuid };
        broker.groups().forward(broker, context, &group_id, group_request);
    }
}
