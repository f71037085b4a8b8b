//! Reading: finds where records are; the bytes themselves go from the file to whoever asked.

use std::io;
use std::sync::Arc;

use ottla_io::PinnedFile;
use ottla_model::ErrorCode;
use ottla_protocol::{FileRange, RecordsPart};

use super::Log;
use crate::errors::StorageError;
use crate::index::AbortedTransaction;
use crate::segment::{Located, LogSegment};

/// What to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The first offset wanted.
    pub offset: i64,
    /// The most bytes wanted.
    pub max_bytes: usize,
    /// Batches that reach this offset are not given: the high watermark, the last stable offset or the log end offset.
    pub end_offset: i64,
    /// Whether the first batch is given even if it exceeds `max_bytes`.
    pub at_least_one_batch: bool,
    /// Whether the aborted transactions within what is read are wanted.
    pub include_aborted: bool,
}

/// Bytes of an open file, readable whatever happens to the file's name.
#[derive(Clone, Debug)]
pub struct FileSlice {
    /// The file.
    pub file: Arc<PinnedFile>,
    /// The first byte.
    pub position: u64,
    /// How many bytes; at least one.
    pub len: usize,
}

impl FileSlice {
    /// The bytes. A file that ends early is an `UnexpectedEof` error.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.len];
        let read = self.file.read_at(&mut bytes, self.position)?;
        if read < self.len {
            let message = format!("{read} of {} bytes at position {}", self.len, self.position);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        Ok(bytes)
    }
}

impl From<FileSlice> for RecordsPart {
    fn from(slice: FileSlice) -> RecordsPart {
        RecordsPart::File(FileRange { file: slice.file, position: slice.position, length: slice.len })
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct FetchedRecords {
    /// Whole batches, the first of which holds the offset or is the first one behind it; `None` when there are none to give.
    pub records: Option<FileSlice>,
    /// The size of the first batch that was found, even if it is too large to be given; 0 when there is none.
    pub first_batch_size: usize,
    /// The log start offset.
    pub log_start_offset: i64,
    /// The high watermark.
    pub high_watermark: i64,
    /// The last stable offset.
    pub last_stable_offset: i64,
    /// The log end offset.
    pub log_end_offset: i64,
    /// Aborted transactions that overlap what was read, if they were asked for.
    pub aborted_transactions: Vec<AbortedTransaction>,
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The log does not hold the offset, nor will it be the next.
    #[error("offset {offset} is out of range {log_start_offset}..={log_end_offset}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: i64,
        /// The log start offset.
        log_start_offset: i64,
        /// The log end offset.
        log_end_offset: i64,
    },
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ReadError {
    /// The code that clients get.
    pub fn code(&self) -> ErrorCode {
        match self {
            ReadError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            ReadError::Storage(error) => error.code(),
        }
    }
}

impl Log {
    /// Finds batches from an offset on, within one segment. Reads only what is needed to find their boundaries; at the end of the log
    /// that is nothing.
    pub fn read(&self, request: ReadRequest) -> Result<FetchedRecords, ReadError> {
        let (log_start_offset, log_end_offset) = (self.log_start_offset, self.log_end_offset);
        if !(log_start_offset..=log_end_offset).contains(&request.offset) {
            return Err(ReadError::OffsetOutOfRange { offset: request.offset, log_start_offset, log_end_offset });
        }
        let mut fetched = FetchedRecords {
            records: None,
            first_batch_size: 0,
            log_start_offset,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable_offset(),
            log_end_offset,
            aborted_transactions: Vec::new(),
        };
        if request.offset < request.end_offset.min(log_end_offset) {
            self.guard("read records", || self.find_records(&request, &mut fetched))?;
        }
        Ok(fetched)
    }

    fn find_records(&self, request: &ReadRequest, fetched: &mut FetchedRecords) -> io::Result<()> {
        let Some((index, first)) = self.locate(request.offset)? else { return Ok(()) };
        let segment = &self.segments[index];
        let limit = self.end_position(index, request.end_offset)?;
        if limit < first.position + first.size {
            return Ok(());
        }
        fetched.first_batch_size = first.size as usize;
        let available = (limit - first.position) as usize;
        let len = if available <= request.max_bytes {
            available
        } else if first.size as usize > request.max_bytes {
            if !request.at_least_one_batch {
                return Ok(());
            }
            first.size as usize
        } else {
            let cut = first.position + request.max_bytes as u32;
            (segment.last_boundary(first.position, cut)? - first.position) as usize
        };
        fetched.records = Some(FileSlice { file: segment.file().pin()?, position: u64::from(first.position), len });
        if request.include_aborted {
            let end_position = first.position + len as u32;
            fetched.aborted_transactions = self.aborted_transactions(index, request.offset, end_position)?;
        }
        Ok(())
    }

    /// The segment and batch that hold an offset, or the first batch behind it.
    fn locate(&self, offset: i64) -> io::Result<Option<(usize, Located)>> {
        if let Some(recent) = self.recent.find(offset) {
            return Ok(Some((self.segments.len() - 1, recent)));
        }
        let first = self.floor_segment(offset).unwrap_or(0);
        for index in first..self.segments.len() {
            if let Some(located) = self.segments[index].locate(offset)? {
                return Ok(Some((index, located)));
            }
        }
        Ok(None)
    }

    /// Up to where a segment's batches lie below an offset.
    fn end_position(&self, index: usize, end_offset: i64) -> io::Result<u32> {
        let segment: &LogSegment = &self.segments[index];
        let segment_end = self.segments.get(index + 1).map_or(self.log_end_offset, LogSegment::base_offset);
        if end_offset >= segment_end {
            return Ok(segment.size());
        }
        if let Some(recent) = self.recent.find(end_offset).filter(|_| index + 1 == self.segments.len()) {
            return Ok(recent.position);
        }
        Ok(segment.locate(end_offset)?.map_or(segment.size(), |located| located.position))
    }

    /// The aborted transactions that overlap what lies from an offset up to a position of a segment. May name some that lie behind.
    fn aborted_transactions(&self, index: usize, offset: i64, end_position: u32) -> io::Result<Vec<AbortedTransaction>> {
        let upper_bound = match self.segments[index].upper_bound_offset(end_position)? {
            Some(entry) => entry.offset,
            None => self.segments.get(index + 1).map_or(self.log_end_offset, LogSegment::base_offset),
        };
        let mut aborted = Vec::new();
        for segment in &self.segments[index..] {
            if segment.transaction_index().collect(offset, upper_bound, &mut aborted)? {
                break;
            }
        }
        Ok(aborted)
    }
}
