//! LeaveGroup: takes members out of a group at once. The group's coordinator decides.

use std::sync::Arc;

use ottla_coordinator::group::GroupRequest;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::leave_group_request::LeaveGroupRequest;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct LeaveGroup;

impl Handler for LeaveGroup {
    type Request = LeaveGroupRequest;
    const KEY: ApiKey = ApiKey::LeaveGroup;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: LeaveGroupRequest) {
        let group_id = request.group_id.clone();
        let group_request = GroupRequest::LeaveGroup(request);
        broker.groups().forward(broker, context, &group_id, group_request);
    }
}
