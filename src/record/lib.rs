//! Kafka's record batches (message format v2) as bytes in memory: reading, checking, stamping, compressing and building them.
//!
//! Pure: no file, socket, clock, lock or thread. What a batch means for a partition's log (offsets, producer state, segments)
//! is decided by the layers below; this crate only knows what is inside the bytes.

mod attributes;
mod batches;
mod builder;
mod compression;
mod control;
mod header;
mod reader;
mod record;
mod stamp;
mod validation;
mod varint;

pub use attributes::{Attributes, CompressionType, TimestampType, UnknownCompressionType};
pub use batches::{Batch, Batches, BatchesError};
pub use builder::{BatchBuilder, BatchSettings, BuildError, NewRecord, ProducerFields};
pub use compression::{CompressError, Compression, DECOMPRESSED_SIZE_MAX, DecompressError, DecompressionBuffers};
pub use control::{ControlRecordError, ControlRecordType, EndTransactionMarker, TransactionResult};
pub use header::{
    BATCH_LENGTH_MIN, BATCH_OVERHEAD, BatchHeader, CURRENT_MAGIC, HeaderError, LEGACY_BATCH_LENGTH_MIN, LOG_OVERHEAD, MAGIC_END, NO_OFFSET,
    NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, increment_sequence,
};
pub use reader::{RecordReader, RecordsError};
pub use record::{Record, RecordError, RecordHeader, RecordHeaders};
pub use stamp::{CrcMismatch, check_crc, set_max_timestamp, stamp};
pub use validation::{
    AppendContext, AppendOrigin, ProducedBatchError, RECORD_REJECTIONS_MAX, RecordRejection, RejectionReason, ValidatedBatch,
    ValidationConfig, ValidationError, begins_transactional, produced_batch, validate,
};
