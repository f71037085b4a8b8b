//! Compaction (`LogCleaner`): the last record of each key survives. What to clean and what to keep is decided by pure parts
//! (`selection`, `grouping`, `transactions`, `retention`); `cleaning` reads and writes the files. Must not hold a log's lock while it
//! does: the log is asked for its segments, and later to take the new ones in their place.

mod cleaning;
mod grouping;
mod offset_map;
mod retention;
mod selection;
#[cfg(test)]
mod tests;
mod transactions;

use std::io;
use std::ops::ControlFlow;

use ottla_record::RecordsError;

use crate::errors::StorageError;

pub(crate) use cleaning::{CleanedSegment, Cleaning, CleaningSource, SourceSegment};
pub(crate) use retention::LastRecord;
pub(crate) use selection::{Cleanable, SegmentAges, Selection};

/// Settings of the cleaner. Field names are Kafka's keys without `log.cleaner.`; the defaults are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CleanerConfig {
    /// `enable`.
    pub enable: bool,
    /// `threads`: how many logs are cleaned at a time.
    pub threads: usize,
    /// `dedupe.buffer.size`: the bytes that all threads together spend on offset maps.
    pub dedupe_buffer_size: u64,
    /// `io.buffer.load.factor`: how full an offset map may get, above 0 and at most 1.
    pub io_buffer_load_factor: f64,
    /// `backoff.ms`: how long to wait when there is nothing to clean.
    pub backoff_ms: i64,
}

impl Default for CleanerConfig {
    fn default() -> CleanerConfig {
        CleanerConfig { enable: true, threads: 1, dedupe_buffer_size: 128 * 1024 * 1024, io_buffer_load_factor: 0.9, backoff_ms: 15_000 }
    }
}

/// Told of the bytes that were read or written; may sleep, for `log.cleaner.io.max.bytes.per.second`. `Break` ends the cleaning, which
/// leaves the log as it was.
pub type Pace<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// Why a log was not cleaned to the end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CleanError {
    /// The broker is stopping, or the segments are no longer the log's.
    #[error("the cleaning was abandoned")]
    Abandoned,
    /// The log's disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A batch does not have the CRC that it says it has.
    #[error("the batch at offset {offset} does not match its CRC")]
    Crc {
        /// Its base offset.
        offset: i64,
    },
    /// A batch cannot be read.
    #[error("the records of the batch at offset {offset} cannot be read: {source}")]
    Records {
        /// Its base offset.
        offset: i64,
        /// Why.
        source: RecordsError,
    },
    /// Messages from before format v2 cannot be rewritten.
    #[error("the message at offset {offset} has format v{magic}, which is not compacted")]
    OldFormat {
        /// Its offset.
        offset: i64,
        /// Its format.
        magic: i8,
    },
    /// A batch cannot be written again.
    #[error("the batch at offset {offset} cannot be rewritten: {source}")]
    Build {
        /// Its base offset.
        offset: i64,
        /// Why.
        source: ottla_record::BuildError,
    },
}
