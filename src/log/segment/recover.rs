//! Making a segment sound after a crash: batches are checked from a known good place on, the file is cut behind the last good one, and
//! the indexes are rebuilt along the way.

use std::io;

use ottla_record::{BatchHeader, CURRENT_MAGIC};

use super::LogSegment;
use crate::batch_reader::{BatchReader, READ_AHEAD_SCAN, Step};
use crate::config::LogConfig;
use crate::errors::is_corruption;
use crate::index::TimestampOffset;

/// Within what a segment is recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecoveryBounds {
    /// What lies below was durable before the crash.
    pub(crate) trusted_offset: i64,
    /// Where the next segment begins: no batch may reach there.
    pub(crate) end_offset: i64,
}

/// Where a segment ends after its recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecoveredEnd {
    /// The offset behind its last batch.
    pub(crate) next_offset: i64,
    /// What was cut off.
    pub(crate) truncated_bytes: u32,
    /// Offsets are missing within, or records within a batch: the segment was compacted once.
    pub(crate) was_compacted: bool,
}

impl LogSegment {
    /// Checks the segment from its first byte, or from the last index entry below the trusted offset when index and file agree there:
    /// what lies below that offset was durable before the crash. Calls `visit` for each checked batch. Returns where the segment ends now.
    pub(crate) fn recover(
        &mut self,
        bounds: RecoveryBounds,
        config: &LogConfig,
        mut visit: impl FnMut(&BatchHeader),
    ) -> io::Result<RecoveredEnd> {
        let (start, mut next_offset) = self.trusted_position(bounds.trusted_offset)?;
        let mut reader = BatchReader::new(&self.file, start, self.size, READ_AHEAD_SCAN);
        let file_size = self.size;
        let mut was_compacted = false;
        self.bytes_since_index_entry = 0;
        while let Step::Batch(batch) = reader.step()? {
            let follows = batch.header.base_offset >= next_offset && batch.header.last_offset() < bounds.end_offset;
            let sound = follows && self.holds_offset(batch.header.last_offset()) && reader.is_valid(&batch)?;
            if !sound {
                self.size = batch.position;
                break;
            }
            was_compacted |= batch.header.base_offset > next_offset || lacks_records(&batch.header);
            next_offset = batch.header.next_offset();
            self.size = batch.end_position();
            self.note_batch(batch.position, &batch.header, config.index_interval_bytes)?;
            visit(&batch.header);
        }
        self.size = self.size.min(reader.position());
        let truncated = file_size - self.size;
        if self.cut_file()? {
            self.file.sync_data()?;
        }
        let largest = self.max_timestamp()?;
        self.time_index.maybe_append(largest)?;
        self.write_index_tails()?;
        self.offset_index.cut_file()?;
        self.time_index.cut_file()?;
        Ok(RecoveredEnd { next_offset, truncated_bytes: truncated, was_compacted })
    }

    /// Where checking may begin, as a position and an offset; the indexes are cut to what lies before.
    fn trusted_position(&mut self, trusted_offset: i64) -> io::Result<(u32, i64)> {
        let trusted = self.base_offset < trusted_offset && self.indexes_are_sane()?;
        if trusted {
            let entry = self.offset_index.lookup(trusted_offset - 1)?;
            let agrees = entry.position > 0
                && self.header_at(entry.position).ok().flatten().is_some_and(|header| header.last_offset() == entry.offset);
            if agrees {
                match self.keep_indexes_before(entry.position) {
                    Err(error) if is_corruption(&error) => {}
                    kept => return kept,
                }
            }
        }
        self.offset_index.clear()?;
        self.time_index.clear()?;
        self.transaction_index.clear()?;
        self.max_timestamp.set(Some(TimestampOffset { timestamp: -1, offset: self.base_offset }));
        Ok((0, self.base_offset))
    }

    /// Cuts the indexes to the batches before a position, where an index entry points to.
    fn keep_indexes_before(&mut self, position: u32) -> io::Result<(u32, i64)> {
        let Some(header) = self.header_at(position)? else { return Err(io::ErrorKind::InvalidData.into()) };
        self.offset_index.truncate_to(header.base_offset)?;
        self.time_index.truncate_to(header.base_offset)?;
        self.transaction_index.truncate_to(header.base_offset)?;
        let size = std::mem::replace(&mut self.size, position);
        let largest = self.read_largest_timestamp();
        self.size = size;
        self.max_timestamp.set(Some(largest?));
        Ok((position, header.base_offset))
    }

    /// Whether the indexes look as if they belonged to this segment.
    pub(crate) fn indexes_are_sane(&self) -> io::Result<bool> {
        Ok(self.offset_index.is_sane(self.size)? && self.time_index.is_sane()? && self.transaction_index.is_sane(self.base_offset)?)
    }
}

/// Whether records that the batch had when it was produced are gone.
fn lacks_records(header: &BatchHeader) -> bool {
    header.magic == CURRENT_MAGIC && i64::from(header.records_count) <= i64::from(header.last_offset_delta)
}
