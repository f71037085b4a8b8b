//! DeleteTopics: decided by the controller. Up to version 5 topics are named, from version 6 on they may be given by id.

use std::sync::Arc;

use ottla_controller::{ApiError, DeleteTopicsRights};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::delete_topics_request::DeleteTopicsRequest;
use ottla_protocol::messages::delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DeleteTopics;

impl Handler for DeleteTopics {
    type Request = DeleteTopicsRequest;
    const KEY: ApiKey = ApiKey::DeleteTopics;
    const RIGHTS: Rights = Rights::Topic(Operation::Delete);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DeleteTopicsRequest) {
        let version = context.api_version;
        let asked = request.clone();
        broker.forward(
            context,
            move |controller, _| controller.delete_topics(&request, version, DeleteTopicsRights { describe: &|_| true, delete: &|_| true }),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &DeleteTopicsRequest, error: &ApiError) -> DeleteTopicsResponse {
    let named = request.topic_names.iter().map(|name| (Some(name.clone()), Default::default()));
    let by_id = request.topics.iter().map(|topic| (topic.name.clone(), topic.topic_id));
    let responses = named.chain(by_id).map(|(name, topic_id)| DeletableTopicResult {
        name,
        topic_id,
        error_code: error.error.code(),
        ..DeletableTopicResult::default()
    });
    DeleteTopicsResponse { responses: responses.collect(), ..DeleteTopicsResponse::default() }
}
