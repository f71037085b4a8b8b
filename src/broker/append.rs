//! A batch on its way from a produce request into a log: what was checked before the log's lock, and how the append ended.

use ottla_model::ErrorCode;

/// Where a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record; of a recognised duplicate, the one it got the first time.
    pub first_offset: i64,
    /// The offset after its last record.
    pub end_offset: i64,
    /// When it was appended, if the topic's timestamps are of that kind, else -1.
    pub log_append_time_ms: i64,
    /// The first offset of the log.
    pub log_start_offset: i64,
    /// Whether `flush.messages` asks for a flush before anyone is told.
    pub flush_due: bool,
}

/// One bad record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// The record's index within its batch.
    pub batch_index: i32,
    /// What is wrong with it.
    pub message: Option<String>,
}

/// Why nothing was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendError {
    /// What the client is told.
    pub code: ErrorCode,
    /// In words, where Kafka says more than its code does.
    pub message: Option<String>,
    /// The records at fault.
    pub record_errors: Vec<RecordError>,
    /// The first offset of the log, where Kafka tells it; else -1.
    pub log_start_offset: i64,
}

impl AppendError {
    /// An error that its code says all of.
    pub fn of(code: ErrorCode) -> AppendError {
        AppendError { code, message: None, record_errors: Vec::new(), log_start_offset: -1 }
    }
}

impl From<ErrorCode> for AppendError {
    fn from(code: ErrorCode) -> AppendError {
        AppendError::of(code)
    }
}
