//! DescribeGroups: state and members of classic groups. Each group's coordinator answers for it.

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_groups_request::DescribeGroupsRequest;
use ottla_protocol::messages::describe_groups_response::{DescribeGroupsResponse, DescribedGroup};

use crate::api::{Handler, Operation, Rights};
use crate::authorized_operations;
use crate::broker::Broker;
use crate::gather::Gather;
use crate::request::RequestContext;

/// The API.
pub struct DescribeGroups;

impl Handler for DescribeGroups {
    type Request = DescribeGroupsRequest;
    const KEY: ApiKey = ApiKey::DescribeGroups;
    const RIGHTS: Rights = Rights::Group(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeGroupsRequest) {
        let include_operations = request.include_authorized_operations && context.api_version >= 3;
        let origin = context.origin();
        let gather = Gather::new(request.groups.len(), move |parts: Vec<Vec<DescribedGroup>>| {
            let mut groups: Vec<_> = parts.into_iter().flatten().collect();
            for group in groups.iter_mut().filter(|group| include_operations && group.error_code == ErrorCode::None.code()) {
                group.authorized_operations = authorized_operations::GROUP;
            }
            context.reply(&DescribeGroupsResponse { groups, ..DescribeGroupsResponse::default() });
        });
        for (place, group_id) in request.groups.into_iter().enumerate() {
            let partition = broker.groups().partition_of(broker, &group_id);
            let gather = gather.clone();
            let then = move |response| match response {
                Response::DescribeGroups(groups) => gather.put(place, groups),
                other => unreachable!("{other:?} answers DescribeGroups"),
            };
            broker.groups().call(broker, partition, origin.caller(), GroupRequest::DescribeGroups(vec![group_id]), Box::new(then));
        }
    }
}
