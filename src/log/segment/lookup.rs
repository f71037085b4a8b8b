//! Finding things in a segment: offsets, timestamps, batch boundaries, the end.

use std::io;

use ottla_record::BatchHeader;

use super::LogSegment;
use crate::batch_reader::{BatchReader, FileBatch, READ_AHEAD_LOOKUP};
use crate::errors::is_corruption;
use crate::index::OffsetPosition;

/// The batch that holds an offset, or the first one behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) base_offset: i64,
    pub(crate) position: u32,
    pub(crate) size: u32,
}

impl Located {
    fn of(batch: &FileBatch) -> Located {
        let header = &batch.header;
        Located { base_offset: header.base_offset, position: batch.position, size: header.size_in_bytes() as u32 }
    }
}

impl LogSegment {
    /// The batch that holds the offset, else the first one behind it; `None` when the segment ends before.
    pub(crate) fn locate(&self, offset: i64) -> io::Result<Option<Located>> {
        let from = self.offset_index.lookup(offset)?.position;
        match self.search_from(offset, from) {
            Ok(found) => Ok(found),
            // The index may be what is wrong.
            Err(error) if from > 0 && is_corruption(&error) => {
                tracing::warn!(base_offset = self.base_offset, offset, %error, "offset index leads nowhere, searching the segment");
                self.search_from(offset, 0)
            }
            Err(error) => Err(error),
        }
    }

    fn search_from(&self, offset: i64, position: u32) -> io::Result<Option<Located>> {
        let mut reader = BatchReader::new(&self.file, position, self.size, READ_AHEAD_LOOKUP);
        while let Some(batch) = reader.next()? {
            if batch.header.last_offset() >= offset {
                return Ok(Some(Located::of(&batch)));
            }
        }
        Ok(None)
    }

    /// The end of the last batch that ends at or before `limit`, walking from a batch boundary.
    pub(crate) fn last_boundary(&self, from: u32, limit: u32) -> io::Result<u32> {
        let indexed = self.offset_index.lookup_position(limit)?.position;
        let mut boundary = indexed.max(from);
        let mut reader = BatchReader::new(&self.file, boundary, self.size, READ_AHEAD_LOOKUP);
        while let Some(batch) = reader.next()? {
            if batch.end_position() > limit {
                break;
            }
            boundary = batch.end_position();
        }
        Ok(boundary)
    }

    /// An offset that no batch before the position reaches (`fetchUpperBoundOffset`).
    pub(crate) fn upper_bound_offset(&self, position: u32) -> io::Result<Option<OffsetPosition>> {
        self.offset_index.first_from_position(position)
    }

    /// The offset behind the last batch.
    pub(crate) fn read_next_offset(&self) -> io::Result<i64> {
        let from = self.offset_index.last()?.position;
        let mut reader = BatchReader::new(&self.file, from, self.size, READ_AHEAD_LOOKUP);
        let mut next_offset = self.base_offset;
        while let Some(batch) = reader.next()? {
            next_offset = batch.header.next_offset();
        }
        Ok(next_offset)
    }

    /// The first batch, from `starting_offset` on, that may hold a record as late as the timestamp, and the reader that stands behind
    /// it: its max timestamp is not smaller.
    pub(crate) fn batches_from_timestamp(&self, timestamp: i64, starting_offset: i64) -> io::Result<BatchReader> {
        let indexed = self.time_index.lookup(timestamp)?;
        let from = self.offset_index.lookup(indexed.offset.max(starting_offset))?.position;
        Ok(BatchReader::new(&self.file, from, self.size, READ_AHEAD_LOOKUP))
    }

    /// The first batch that has the segment's largest timestamp, and the reader that stands behind it.
    pub(crate) fn batch_with_max_timestamp(&self) -> io::Result<Option<(BatchReader, FileBatch)>> {
        let largest = self.max_timestamp()?;
        let from = self.offset_index.lookup(largest.offset)?.position;
        let mut reader = BatchReader::new(&self.file, from, self.size, READ_AHEAD_LOOKUP);
        while let Some(batch) = reader.next()? {
            if batch.header.max_timestamp == largest.timestamp {
                return Ok(Some((reader, batch)));
            }
        }
        Ok(None)
    }

    /// Whether the batch at a position is what the header says.
    pub(crate) fn header_at(&self, position: u32) -> io::Result<Option<BatchHeader>> {
        Ok(BatchReader::new(&self.file, position, self.size, READ_AHEAD_LOOKUP).next()?.map(|batch| batch.header))
    }
}
