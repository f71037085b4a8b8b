//! AddOffsetsToTxn: makes the partition of a group's offsets part of a transaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_coordinator::transaction::{ProducerIdAndEpoch, TransactionRequest};
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::add_offsets_to_txn_request::AddOffsetsToTxnRequest;
use ottla_protocol::messages::add_offsets_to_txn_response::AddOffsetsToTxnResponse;

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// From this version on a client knows PRODUCER_FENCED.
const FIRST_VERSION_WITH_FENCED: i16 = 2;

/// The API.
pub struct AddOffsetsToTxn;

impl Handler for AddOffsetsToTxn {
    type Request = AddOffsetsToTxnRequest;
    const KEY: ApiKey = ApiKey::AddOffsetsToTxn;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: AddOffsetsToTxnRequest) {
        let partition = broker.groups().partition_of(broker, &request.group_id);
        let add = TransactionRequest::AddPartitions {
            transactional_id: request.transactional_id,
            producer: ProducerIdAndEpoch { producer_id: request.producer_id, producer_epoch: request.producer_epoch },
            partitions: BTreeSet::from([TopicPartition::new(internal_topic::CONSUMER_OFFSETS, partition)]),
            // Clients of later transactions commit offsets without asking first.
            client_transaction_version: 0,
        };
        let now_ms = context.now_ms;
        broker.transactions().call(broker, add, now_ms, move |answer| {
            let error = match answer {
                Err(ErrorCode::ProducerFenced) if context.api_version < FIRST_VERSION_WITH_FENCED => ErrorCode::InvalidProducerEpoch,
                Err(error) => error,
                Ok(_) => ErrorCode::None,
            };
            context.reply(&AddOffsetsToTxnResponse { error_code: error.code(), ..AddOffsetsToTxnResponse::default() });
        });
    }
}
