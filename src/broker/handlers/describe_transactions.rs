//! DescribeTransactions: the state of transactional ids that are coordinated here (KIP-664).

use std::sync::Arc;

use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_transactions_request::DescribeTransactionsRequest;
use ottla_protocol::messages::describe_transactions_response::{DescribeTransactionsResponse, TransactionState};

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeTransactions;

impl Handler for DescribeTransactions {
    type Request = DescribeTransactionsRequest;
    const KEY: ApiKey = ApiKey::DescribeTransactions;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeTransactionsRequest) {
        let states = request.transactional_ids.into_iter().map(|transactional_id| {
            let described = broker.transactions().describe(broker, &transactional_id);
            described.unwrap_or_else(|error| TransactionState { error_code: error.code(), transactional_id, ..TransactionState::default() })
        });
        context.reply(&DescribeTransactionsResponse { transaction_states: states.collect(), ..DescribeTransactionsResponse::default() });
    }
}
