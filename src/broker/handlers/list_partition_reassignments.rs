//! ListPartitionReassignments: the moves of replicas that are under way; told by the controller (KIP-455).

use std::sync::Arc;

use ottla_controller::{ApiError, ControllerResult};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use ottla_protocol::messages::list_partition_reassignments_response::{
    ListPartitionReassignmentsResponse, OngoingPartitionReassignment, OngoingTopicReassignment,
};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct ListPartitionReassignments;

impl Handler for ListPartitionReassignments {
    type Request = ListPartitionReassignmentsRequest;
    const KEY: ApiKey = ApiKey::ListPartitionReassignments;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListPartitionReassignmentsRequest) {
        let asked = request.clone();
        broker.forward(
            context,
            move |controller, _| Ok(ControllerResult::of(Vec::new(), controller.list_partition_reassignments(&request))),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &ListPartitionReassignmentsRequest, error: &ApiError) -> ListPartitionReassignmentsResponse {
    let topics = request.topics.iter().flatten().map(|topic| {
        let partitions = topic
            .partition_indexes
            .iter()
            .map(|&partition_index| OngoingPartitionReassignment { partition_index, ..OngoingPartitionReassignment::default() });
        OngoingTopicReassignment { name: topic.name.clone(), partitions: partitions.collect(), ..OngoingTopicReassignment::default() }
    });
    ListPartitionReassignmentsResponse {
        error_code: error.error.code(),
        error_message: error.message.clone(),
        topics: topics.collect(),
        ..ListPartitionReassignmentsResponse::default()
    }
}
