//! AlterPartitionReassignments: moves replicas to other brokers; decided by the controller (KIP-455).

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::alter_partition_reassignments_request::AlterPartitionReassignmentsRequest;
use ottla_protocol::messages::alter_partition_reassignments_response::{
    AlterPartitionReassignmentsResponse, ReassignablePartitionResponse, ReassignableTopicResponse,
};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct AlterPartitionReassignments;

impl Handler for AlterPartitionReassignments {
    type Request = AlterPartitionReassignmentsRequest;
    const KEY: ApiKey = ApiKey::AlterPartitionReassignments;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: AlterPartitionReassignmentsRequest) {
        let asked = request.clone();
        broker.forward(
            context,
            move |controller, _| controller.alter_partition_reassignments(&request),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &AlterPartitionReassignmentsRequest, error: &ApiError) -> AlterPartitionReassignmentsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| ReassignablePartitionResponse {
            partition_index: partition.partition_index,
            error_code: error.error.code(),
            error_message: error.message.clone(),
            ..ReassignablePartitionResponse::default()
        });
        ReassignableTopicResponse { name: topic.name.clone(), partitions: partitions.collect(), ..ReassignableTopicResponse::default() }
    });
    AlterPartitionReassignmentsResponse {
        error_code: error.error.code(),
        error_message: error.message.clone(),
        responses: topics.collect(),
        ..AlterPartitionReassignmentsResponse::default()
    }
}
