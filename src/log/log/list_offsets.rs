//! Offsets by time, and the special ones of ListOffsets (`UnifiedLog.fetchOffsetByTimestamp`).

use std::io;

use ottla_record::{Batch, CURRENT_MAGIC, DECOMPRESSED_SIZE_MAX, DecompressionBuffers, Record, RecordReader, RecordsError};

use super::Log;
use crate::batch_reader::{BatchReader, FileBatch};
use crate::errors::StorageError;
use crate::segment::LogSegment;

/// Timestamps of ListOffsets that ask for something else than a time.
pub mod special_timestamp {
    /// The end of the log.
    pub const LATEST: i64 = -1;
    /// The start of the log.
    pub const EARLIEST: i64 = -2;
    /// The record with the largest timestamp (KIP-734).
    pub const MAX_TIMESTAMP: i64 = -3;
    /// The start of what is on local disks (KIP-405).
    pub const EARLIEST_LOCAL: i64 = -4;
    /// The last offset in tiered storage (KIP-1005); without that, -1.
    pub const LATEST_TIERED: i64 = -5;
    /// The first offset that is not in tiered storage yet (KIP-1023); without that, -1.
    pub const EARLIEST_PENDING_UPLOAD: i64 = -6;
}

/// An offset and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampedOffset {
    /// The record's timestamp; -1 where a place is meant rather than a record.
    pub timestamp: i64,
    /// The offset; -1 for none.
    pub offset: i64,
    /// The leader epoch at that offset, where it is known.
    pub leader_epoch: Option<i32>,
}

impl Log {
    /// The first offset whose record is not earlier than a timestamp, or what a negative timestamp asks for. `None` when no record is
    /// that late. [`special_timestamp::LATEST`] gives the log end offset: who asks for a consumer bounds it by the high watermark or
    /// the last stable offset.
    pub fn fetch_offset_by_timestamp(&self, timestamp: i64) -> Result<Option<TimestampedOffset>, StorageError> {
        let place = |offset, leader_epoch| Ok(Some(TimestampedOffset { timestamp: -1, offset, leader_epoch }));
        match timestamp {
            special_timestamp::LATEST => place(self.log_end_offset, self.latest_epoch()),
            special_timestamp::EARLIEST | special_timestamp::EARLIEST_LOCAL => {
                let earliest = self.leader_epochs.earliest().filter(|entry| entry.start_offset <= self.log_start_offset);
                place(self.log_start_offset, earliest.map(|entry| entry.epoch))
            }
            special_timestamp::LATEST_TIERED | special_timestamp::EARLIEST_PENDING_UPLOAD => place(-1, Some(-1)),
            special_timestamp::MAX_TIMESTAMP => self.guard("look for the largest timestamp", || self.max_timestamp_offset()),
            timestamp => self.guard("look for a timestamp", || self.search_timestamp(timestamp)),
        }
    }

    fn max_timestamp_offset(&self) -> io::Result<Option<TimestampedOffset>> {
        let mut latest: Option<(&LogSegment, i64)> = None;
        for segment in &self.segments {
            let timestamp = segment.max_timestamp()?.timestamp;
            if latest.is_none_or(|(_, largest)| timestamp > largest) {
                latest = Some((segment, timestamp));
            }
        }
        let Some((segment, timestamp)) = latest else { return Ok(None) };
        let Some((mut reader, batch)) = segment.batch_with_max_timestamp()? else { return Ok(None) };
        find_record(&mut reader, &batch, |record| record.timestamp == timestamp)
    }

    fn search_timestamp(&self, timestamp: i64) -> io::Result<Option<TimestampedOffset>> {
        let first = self.floor_segment(self.log_start_offset).unwrap_or(0);
        for segment in &self.segments[first..] {
            if segment.largest_timestamp()? < timestamp {
                continue;
            }
            // What is late enough in the first segment may lie before the log start.
            if let Some(found) = search_segment(segment, timestamp, self.log_start_offset)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The leader epoch that wrote an offset.
    pub fn epoch_for_offset(&self, offset: i64) -> Option<i32> {
        self.leader_epochs.epoch_for_offset(offset)
    }
}

fn search_segment(segment: &LogSegment, timestamp: i64, log_start_offset: i64) -> io::Result<Option<TimestampedOffset>> {
    let mut reader = segment.batches_from_timestamp(timestamp, log_start_offset)?;
    while let Some(batch) = reader.next()? {
        if batch.header.max_timestamp < timestamp {
            continue;
        }
        let found = find_record(&mut reader, &batch, |record| record.timestamp >= timestamp && record.offset >= log_start_offset)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The first record of a batch that is looked for.
fn find_record(reader: &mut BatchReader, batch: &FileBatch, wanted: impl Fn(&Record<'_>) -> bool) -> io::Result<Option<TimestampedOffset>> {
    let header = batch.header;
    let leader_epoch = (header.partition_leader_epoch >= 0).then_some(header.partition_leader_epoch);
    if header.magic < CURRENT_MAGIC {
        // Messages of before format v2 are not looked into: theirs is the time and offset of the whole.
        return Ok(Some(TimestampedOffset { timestamp: header.max_timestamp, offset: header.last_offset(), leader_epoch }));
    }
    let bytes = reader.bytes_of(batch)?;
    let batch = Batch { position: 0, header, bytes };
    let mut buffers = DecompressionBuffers::new(DECOMPRESSED_SIZE_MAX);
    let corrupt = |error: RecordsError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut records = RecordReader::new(&batch, &mut buffers).map_err(corrupt)?;
    while let Some(record) = records.next_record().map_err(corrupt)? {
        if wanted(&record) {
            return Ok(Some(TimestampedOffset { timestamp: record.timestamp, offset: record.offset, leader_epoch }));
        }
    }
    Ok(None)
}
