//! The answers to commits that fail as a whole: every partition says why.

use ottla_model::ErrorCode;
use ottla_protocol::messages::offset_commit_request::OffsetCommitRequest;
use ottla_protocol::messages::offset_commit_response::{OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use ottla_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequest;
use ottla_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

/// `error` for every partition of the request (`OffsetCommitRequest.getErrorResponse`).
pub fn offset_commit_error(request: &OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| OffsetCommitResponsePartition {
            partition_index: partition.partition_index,
            error_code: error as i16,
            ..OffsetCommitResponsePartition::default()
        });
        let partitions = partitions.collect();
        OffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions, ..Default::default() }
    });
    OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() }
}

/// `error` for every partition of the request (`TxnOffsetCommitRequest.getErrorResponse`).
pub fn txn_offset_commit_error(request: &TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| TxnOffsetCommitResponsePartition {
            partition_index: partition.partition_index,
            error_code: error as i16,
            ..TxnOffsetCommitResponsePartition::default()
        });
        let partitions = partitions.collect();
        TxnOffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions, ..Default::default() }
    });
    TxnOffsetCommitResponse { topics: topics.collect(), ..TxnOffsetCommitResponse::default() }
}
