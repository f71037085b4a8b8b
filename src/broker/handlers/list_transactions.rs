//! ListTransactions: the transactional ids that are coordinated here, by state, producer, duration and name (KIP-664, KIP-994, KIP-1152).

use std::collections::HashSet;
use std::sync::Arc;

use ottla_coordinator::transaction::{TransactionFilter, TransactionState};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_transactions_request::ListTransactionsRequest;
use ottla_protocol::messages::list_transactions_response::ListTransactionsResponse;
use regex::Regex;

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct ListTransactions;

impl Handler for ListTransactions {
    type Request = ListTransactionsRequest;
    const KEY: ApiKey = ApiKey::ListTransactions;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListTransactionsRequest) {
        let response = respond(broker, &request, context.now_ms)
            .unwrap_or_else(|error| ListTransactionsResponse { error_code: error.code(), ..ListTransactionsResponse::default() });
        context.reply(&response);
    }
}

fn respond(broker: &Broker, request: &ListTransactionsRequest, now_ms: i64) -> Result<ListTransactionsResponse, ErrorCode> {
    let mut states = Vec::new();
    let mut unknown: Vec<String> = Vec::new();
    for name in &request.state_filters {
        match TransactionState::from_name(name) {
            Some(state) => states.push(state),
            None if !unknown.contains(name) => unknown.push(name.clone()),
            None => {}
        }
    }
    let pattern = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty()).map(compile).transpose()?;
    let matches = |transactional_id: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(transactional_id));
    let producer_ids: HashSet<i64> = request.producer_id_filters.iter().copied().collect();
    let filter = TransactionFilter {
        producer_ids: &producer_ids,
        states: &states,
        has_states: !request.state_filters.is_empty(),
        duration_ms: request.duration_filter,
        matches_id: Some(&matches),
    };
    let transaction_states = broker.transactions().list(&filter, now_ms)?;
    Ok(ListTransactionsResponse { unknown_state_filters: unknown, transaction_states, ..ListTransactionsResponse::default() })
}

/// The whole name has to match, as with Java's `Matcher.matches`.
fn compile(pattern: &str) -> Result<Regex, ErrorCode> {
    Regex::new(&format!("^(?:{pattern})$")).map_err(|_| ErrorCode::InvalidRegularExpression)
}
