//! DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).

use std::collections::{BTreeMap, HashSet};

use ottla_model::ErrorCode;
use ottla_protocol::messages::describe_transactions_response::{TopicData, TransactionState as DescribedTransaction};
use ottla_protocol::messages::list_transactions_response::TransactionState as ListedTransaction;

use super::metadata::TransactionMetadata;
use super::shard::TransactionCoordinatorShard;
use super::state::TransactionState;

/// Which transactions to list; what is empty or `None` lets all pass.
pub struct TransactionFilter<'a> {
    /// Only of these producers.
    pub producer_ids: &'a HashSet<i64>,
    /// Only in one of these states, if `has_states`; names that are not states were left out.
    pub states: &'a [TransactionState],
    /// Whether the request names states, known or not.
    pub has_states: bool,
    /// Only begun longer ago than this, in milliseconds; negative for all.
    pub duration_ms: i64,
    /// Only transactional ids that pass.
    pub matches_id: Option<&'a dyn Fn(&str) -> bool>,
}

impl TransactionCoordinatorShard {
    /// What is known of a transactional id.
    pub fn describe(&self, transactional_id: &str) -> DescribedTransaction {
        let answer = DescribedTransaction { transactional_id: transactional_id.to_owned(), ..DescribedTransaction::default() };
        let Some(transaction) = self.transactions.get(transactional_id) else {
            return DescribedTransaction { error_code: ErrorCode::TransactionalIdNotFound.code(), ..answer };
        };
        let metadata = &transaction.metadata;
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for partition in &metadata.partitions {
            topics.entry(&partition.topic).or_default().push(partition.partition);
        }
        let topic_data = |(topic, partitions): (&str, _)| TopicData { topic: topic.to_owned(), partitions, ..TopicData::default() };
        DescribedTransaction {
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            transaction_state: metadata.state.name().to_owned(),
            transaction_timeout_ms: metadata.timeout_ms,
            transaction_start_time_ms: metadata.start_timestamp_ms,
            topics: topics.into_iter().map(topic_data).collect(),
            ..answer
        }
    }

    /// The transactions that pass the filter.
    pub fn list(&self, filter: &TransactionFilter<'_>, now_ms: i64) -> Vec<ListedTransaction> {
        let passing = self.transactions.iter().filter(|(id, transaction)| filter.passes(id, &transaction.metadata, now_ms));
        passing
            .map(|(id, transaction)| ListedTransaction {
                transactional_id: id.to_string(),
                producer_id: transaction.metadata.producer_id,
                transaction_state: transaction.metadata.state.name().to_owned(),
                ..ListedTransaction::default()
            })
            .collect()
    }
}

impl TransactionFilter<'_> {
    fn passes(&self, transactional_id: &str, metadata: &TransactionMetadata, now_ms: i64) -> bool {
        (self.producer_ids.is_empty() || self.producer_ids.contains(&metadata.producer_id))
            && (!self.has_states || self.states.contains(&metadata.state))
            && (self.duration_ms < 0 || now_ms - metadata.start_timestamp_ms > self.duration_ms)
            && self.matches_id.is_none_or(|matches| matches(transactional_id))
    }
}
