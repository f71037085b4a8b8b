//! CreateTopics: decided by the controller.

use std::sync::Arc;

use ottla_controller::{ApiError, CreateTopicsRights};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::create_topics_response::{CreatableTopicResult, CreateTopicsResponse};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct CreateTopics;

impl Handler for CreateTopics {
    type Request = CreateTopicsRequest;
    const KEY: ApiKey = ApiKey::CreateTopics;
    const RIGHTS: Rights = Rights::Topic(Operation::Create);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: CreateTopicsRequest) {
        let topics = request.topics.clone();
        broker.forward(
            context,
            move |controller, controller_context| {
                controller.create_topics(
                    controller_context,
                    &request,
                    CreateTopicsRights { create: &|_| true, describe_configs: &|_| true },
                )
            },
            move |outcome| outcome.unwrap_or_else(|error| failed(&topics, &error)),
        );
    }
}

fn failed(topics: &[CreatableTopic], error: &ApiError) -> CreateTopicsResponse {
    let results = topics.iter().map(|topic| CreatableTopicResult {
        name: topic.name.clone(),
        error_code: error.error.code(),
        error_message: error.message.clone(),
        ..CreatableTopicResult::default()
    });
    CreateTopicsResponse { topics: results.collect(), ..CreateTopicsResponse::default() }
}
