//! EndTxn: commits or aborts a transaction. From version 5 on the answer names the producer's next epoch (KIP-890).

use std::sync::Arc;

use ottla_coordinator::group::TransactionResult;
use ottla_coordinator::transaction::{ProducerIdAndEpoch, TransactionRequest};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::end_txn_request::EndTxnRequest;
use ottla_protocol::messages::end_txn_response::EndTxnResponse;

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// From this version on a client speaks of transactions whose epoch is bumped at each end.
const FIRST_VERSION_WITH_EPOCH_BUMP: i16 = 5;

/// From this version on a client knows PRODUCER_FENCED.
const FIRST_VERSION_WITH_FENCED: i16 = 2;

/// The API.
pub struct EndTxn;

impl Handler for EndTxn {
    type Request = EndTxnRequest;
    const KEY: ApiKey = ApiKey::EndTxn;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: EndTxnRequest) {
        let end = TransactionRequest::End {
            transactional_id: request.transactional_id,
            producer: ProducerIdAndEpoch { producer_id: request.producer_id, producer_epoch: request.producer_epoch },
            result: if request.committed { TransactionResult::Commit } else { TransactionResult::Abort },
            client_transaction_version: if context.api_version >= FIRST_VERSION_WITH_EPOCH_BUMP { 2 } else { 0 },
        };
        let now_ms = context.now_ms;
        broker.transactions().call(broker, end, now_ms, move |answer| {
            let error = match answer {
                Err(ErrorCode::ProducerFenced) if context.api_version < FIRST_VERSION_WITH_FENCED => ErrorCode::InvalidProducerEpoch,
                Err(error) => error,
                Ok(_) => ErrorCode::None,
            };
            let producer = answer.unwrap_or(ProducerIdAndEpoch::NONE);
            context.reply(&EndTxnResponse {
                error_code: error.code(),
                producer_id: producer.producer_id,
                producer_epoch: producer.producer_epoch,
                ..EndTxnResponse::default()
            });
        });
    }
}
