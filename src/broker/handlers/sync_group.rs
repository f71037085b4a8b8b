//! SyncGroup: hands in the leader's assignment and brings each member its own. The group's coordinator decides.

use std::sync::Arc;

use ottla_coordinator::group::GroupRequest;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::sync_group_request::SyncGroupRequest;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct SyncGroup;

impl Handler for SyncGroup {
    type Request = SyncGroupRequest;
    const KEY: ApiKey = ApiKey::SyncGroup;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: SyncGroupRequest) {
        let group_id = request.group_id.clone();
        let group_request = GroupRequest::SyncGroup(request);
        broker.groups().forward(broker, context, &group_id, group_request);
    }
}
