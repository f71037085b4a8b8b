//! ListGroups: the groups that this broker coordinates (KIP-518 state filter, KIP-848 type filter).

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::list_groups_response::{ListGroupsResponse, ListedGroup};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::gather::Gather;
use crate::request::RequestContext;

/// The API.
pub struct ListGroups;

impl Handler for ListGroups {
    type Request = ListGroupsRequest;
    const KEY: ApiKey = ApiKey::ListGroups;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListGroupsRequest) {
        let partitions = broker.groups().partitions();
        let origin = context.origin();
        let gather = Gather::new(partitions.len(), move |parts| context.reply(&join(parts)));
        for (place, partition) in partitions.into_iter().enumerate() {
            let gather = gather.clone();
            let then = move |response| match response {
                Response::ListGroups(listed) => gather.put(place, listed),
                other => unreachable!("{other:?} answers ListGroups"),
            };
            broker.groups().call(broker, partition, origin.caller(), GroupRequest::ListGroups(request.clone()), Box::new(then));
        }
    }
}

/// A coordinator that moved away meanwhile is left out; any other error is the answer.
fn join(parts: Vec<Result<Vec<ListedGroup>, ErrorCode>>) -> ListGroupsResponse {
    let mut groups = Vec::new();
    for part in parts {
        match part {
            Ok(listed) => groups.extend(listed),
            Err(ErrorCode::NotCoordinator) => {}
            Err(error) => return ListGroupsResponse { error_code: error.code(), ..ListGroupsResponse::default() },
        }
    }
    ListGroupsResponse { groups, ..ListGroupsResponse::default() }
}
