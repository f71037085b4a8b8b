//! CreatePartitions: adds partitions to topics; decided by the controller.

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::create_partitions_request::{CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::messages::create_partitions_response::{CreatePartitionsResponse, CreatePartitionsTopicResult};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct CreatePartitions;

impl Handler for CreatePartitions {
    type Request = CreatePartitionsRequest;
    const KEY: ApiKey = ApiKey::CreatePartitions;
    const RIGHTS: Rights = Rights::Topic(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: CreatePartitionsRequest) {
        let topics = request.topics.clone();
        broker.forward(
            context,
            move |controller, controller_context| controller.create_partitions(controller_context, &request, &|_| true),
            move |outcome| outcome.unwrap_or_else(|error| failed(&topics, &error)),
        );
    }
}

fn failed(topics: &[CreatePartitionsTopic], error: &ApiError) -> CreatePartitionsResponse {
    let results = topics.iter().map(|topic| CreatePartitionsTopicResult {
        name: topic.name.clone(),
        error_code: error.error.code(),
        error_message: error.message.clone(),
        ..CreatePartitionsTopicResult::default()
    });
    CreatePartitionsResponse { results: results.collect(), ..CreatePartitionsResponse::default() }
}
