//! InitProducerId: hands out the id of an idempotent producer. Transactional producers are refused until there is a transaction coordinator.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use ottla_protocol::messages::init_producer_id_response::InitProducerIdResponse;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct InitProducerId;

impl Handler for InitProducerId {
    type Request = InitProducerIdRequest;
    const KEY: ApiKey = ApiKey::InitProducerId;
    const RIGHTS: Rights = Rights::Cluster(Operation::IdempotentWrite);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: InitProducerIdRequest) {
        let has_id = request.producer_id != -1;
        let has_epoch = request.producer_epoch != -1;
        let refused = if has_id != has_epoch || request.transactional_id.as_deref() == Some("") {
            Some(ErrorCode::InvalidRequest)
        } else {
            request.transactional_id.is_some().then_some(ErrorCode::CoordinatorNotAvailable)
        };
        if let Some(error) = refused {
            return context.reply(&failed(error));
        }
        broker.next_producer_id(move |result| {
            let response = match result {
                Ok(producer_id) => {
                    InitProducerIdResponse { producer_id: producer_id.0, producer_epoch: 0, ..InitProducerIdResponse::default() }
                }
                Err(error) => failed(error),
            };
            context.reply(&response);
        });
    }
}

fn failed(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: error.code(), producer_id: -1, producer_epoch: -1, ..InitProducerIdResponse::default() }
}
