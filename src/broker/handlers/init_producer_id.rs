//! InitProducerId: hands out the id of an idempotent producer, and the id and epoch of a transactional one.

use std::sync::Arc;

use ottla_coordinator::transaction::{ProducerIdAndEpoch, TransactionRequest};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use ottla_protocol::messages::init_producer_id_response::InitProducerIdResponse;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// From this version on a client knows PRODUCER_FENCED.
const FIRST_VERSION_WITH_FENCED: i16 = 4;

/// The API.
pub struct InitProducerId;

impl Handler for InitProducerId {
    type Request = InitProducerIdRequest;
    const KEY: ApiKey = ApiKey::InitProducerId;
    const RIGHTS: Rights = Rights::Cluster(Operation::IdempotentWrite);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: InitProducerIdRequest) {
        let expected = match (request.producer_id, request.producer_epoch) {
            (-1, -1) => None,
            (-1, _) | (_, -1) => return context.reply(&failed(ErrorCode::InvalidRequest)),
            (producer_id, producer_epoch) => Some(ProducerIdAndEpoch { producer_id, producer_epoch }),
        };
        let Some(transactional_id) = request.transactional_id else {
            return broker.next_producer_id(move |supplied| {
                answer(context, supplied.map(|producer_id| ProducerIdAndEpoch { producer_id: producer_id.0, producer_epoch: 0 }));
            });
        };
        let transaction_timeout_ms = request.transaction_timeout_ms;
        let init = TransactionRequest::InitProducerId { transactional_id, transaction_timeout_ms, expected };
        let now_ms = context.now_ms;
        broker.transactions().call(broker, init, now_ms, move |result| answer(context, result));
    }
}

fn answer(context: RequestContext, result: Result<ProducerIdAndEpoch, ErrorCode>) {
    let response = match result {
        Ok(ProducerIdAndEpoch { producer_id, producer_epoch }) => {
            InitProducerIdResponse { producer_id, producer_epoch, ..InitProducerIdResponse::default() }
        }
        Err(ErrorCode::ProducerFenced) if context.api_version < FIRST_VERSION_WITH_FENCED => failed(ErrorCode::InvalidProducerEpoch),
        Err(error) => failed(error),
    };
    context.reply(&response);
}

fn failed(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: error.code(), producer_id: -1, producer_epoch: -1, ..InitProducerIdResponse::default() }
}
