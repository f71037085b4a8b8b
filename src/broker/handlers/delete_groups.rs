//! DeleteGroups: removes empty groups and their offsets. Each group's coordinator decides.

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::delete_groups_request::DeleteGroupsRequest;
use ottla_protocol::messages::delete_groups_response::{DeletableGroupResult, DeleteGroupsResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::gather::Gather;
use crate::request::RequestContext;

/// The API.
pub struct DeleteGroups;

impl Handler for DeleteGroups {
    type Request = DeleteGroupsRequest;
    const KEY: ApiKey = ApiKey::DeleteGroups;
    const RIGHTS: Rights = Rights::Group(Operation::Delete);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DeleteGroupsRequest) {
        let mut group_ids: Vec<String> = Vec::new();
        for group_id in request.groups_names {
            if !group_ids.contains(&group_id) {
                group_ids.push(group_id);
            }
        }
        let origin = context.origin();
        let gather = Gather::new(group_ids.len(), move |parts: Vec<Vec<DeletableGroupResult>>| {
            let results = parts.into_iter().flatten().collect();
            context.reply(&DeleteGroupsResponse { results, ..DeleteGroupsResponse::default() });
        });
        for (place, group_id) in group_ids.into_iter().enumerate() {
            let partition = broker.groups().partition_of(broker, &group_id);
            let gather = gather.clone();
            let then = move |response| match response {
                Response::DeleteGroups(results) => gather.put(place, results),
                other => unreachable!("{other:?} answers DeleteGroups"),
            };
            broker.groups().call(broker, partition, origin.caller(), GroupRequest::DeleteGroups(vec![group_id]), Box::new(then));
        }
    }
}
