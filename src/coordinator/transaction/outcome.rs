//! What goes into a transaction coordinator with every request and what comes out of every call: plain data, for the runtime to act upon.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition};

use crate::group::{CoordinatorRecord, RequestToken, TransactionResult, WriteId};

/// A producer's id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdAndEpoch {
    /// The id.
    pub producer_id: i64,
    /// The epoch.
    pub producer_epoch: i16,
}

impl ProducerIdAndEpoch {
    /// What answers carry that name no producer.
    pub const NONE: ProducerIdAndEpoch = ProducerIdAndEpoch { producer_id: -1, producer_epoch: -1 };
}

/// A request that may change a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// A producer begins, or begins again.
    InitProducerId {
        /// Its name.
        transactional_id: String,
        /// How long its transactions may stay open, in milliseconds.
        transaction_timeout_ms: i32,
        /// Who it believes to be, if it goes on after an error (KIP-360).
        expected: Option<ProducerIdAndEpoch>,
    },
    /// Partitions become part of the transaction, which begins with the first of them.
    AddPartitions {
        /// The producer's name.
        transactional_id: String,
        /// Its id and epoch.
        producer: ProducerIdAndEpoch,
        /// The partitions; they exist.
        partitions: BTreeSet<TopicPartition>,
        /// The transactions that the client speaks of: 0, or 2 where the server bumps the epoch at each end.
        client_transaction_version: i16,
    },
    /// The transaction ends.
    End {
        /// The producer's name.
        transactional_id: String,
        /// Its id and epoch.
        producer: ProducerIdAndEpoch,
        /// How.
        result: TransactionResult,
        /// As in `AddPartitions`.
        client_transaction_version: i16,
    },
}

impl TransactionRequest {
    /// Whose transaction it is about.
    pub fn transactional_id(&self) -> &str {
        match self {
            TransactionRequest::InitProducerId { transactional_id, .. }
            | TransactionRequest::AddPartitions { transactional_id, .. }
            | TransactionRequest::End { transactional_id, .. } => transactional_id,
        }
    }
}

/// What a coordinator needs to know beside the request.
#[derive(Clone, Copy, Debug)]
pub struct TransactionContext {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// The cluster's level of `transaction.version`.
    pub transaction_version: i16,
}

/// The answer to a [`TransactionRequest`]. The producer is the new one after InitProducerId, and after an End of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionReply {
    /// The request.
    pub token: RequestToken,
    /// Who the producer is from now on, or what went wrong.
    pub result: Result<ProducerIdAndEpoch, ErrorCode>,
}

/// Records to append to the coordinator's partition, in one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionWrite {
    /// What the runtime reports back with.
    pub id: WriteId,
    /// At least one record.
    pub records: Vec<CoordinatorRecord>,
}

/// Markers to write into the partitions of a transaction. The runtime reports those partitions back that it could not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionMarkers {
    /// The transaction.
    pub transactional_id: Arc<str>,
    /// The producer whose transaction ends; of version 2, with the epoch after the bump.
    pub producer: ProducerIdAndEpoch,
    /// How it ends.
    pub result: TransactionResult,
    /// The leader epoch of the coordinator's partition.
    pub coordinator_epoch: i32,
    /// The transactions that the client speaks of.
    pub transaction_version: i16,
    /// Where.
    pub partitions: BTreeSet<TopicPartition>,
}

/// What a call to a coordinator brings about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// Answers to send.
    pub replies: Vec<TransactionReply>,
    /// Records to append, in order, before the coordinator is called again.
    pub writes: Vec<TransactionWrite>,
    /// Markers to write.
    pub markers: Vec<TransactionMarkers>,
    /// Nothing was decided: the runtime is to supply a producer id and to call again.
    pub needs_producer_id: bool,
}

impl TransactionOutcome {
    /// Takes over what `other` brings about, after what is here already.
    pub fn append(&mut self, mut other: TransactionOutcome) {
        self.replies.append(&mut other.replies);
        self.writes.append(&mut other.writes);
        self.markers.append(&mut other.markers);
        self.needs_producer_id |= other.needs_producer_id;
    }
}
