//! Heartbeat: keeps a member in its group and tells it of rebalances. The group's coordinator decides.

use std::sync::Arc;

use ottla_coordinator::group::GroupRequest;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct Heartbeat;

impl Handler for Heartbeat {
    type Request = HeartbeatRequest;
    const KEY: ApiKey = ApiKey::Heartbeat;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: HeartbeatRequest) {
        let group_id = request.group_id.clone();
        let group_request = GroupRequest::Heartbeat(request);
        broker.groups().forward(broker, context, &group_id, group_request);
    }
}
