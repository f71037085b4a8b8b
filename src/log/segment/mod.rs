//! One segment of a log: a file of record batches and its indexes (`LogSegment`). Knows nothing of other segments, of producers or of
//! the high watermark.

mod compaction;
mod lookup;
mod recover;

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile, OpenMode};
use ottla_record::BatchHeader;

pub(crate) use lookup::Located;
pub(crate) use recover::{RecoveredEnd, RecoveryBounds};

use crate::batch_reader::{BatchReader, READ_AHEAD_LOOKUP};
use crate::config::LogConfig;
use crate::index::{AbortedTransaction, OffsetIndex, TimeIndex, TimestampOffset, TransactionIndex};
use crate::paths::{DELETED_SUFFIX, LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_file};

/// Less than this is left to the operating system's own schedule.
const WRITEBACK_BYTES_MIN: u32 = 1024 * 1024;

/// The sizes of a segment's files when it is opened; `None` for an index that is missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentSizes {
    pub(crate) log: u64,
    pub(crate) offset_index: Option<u64>,
    pub(crate) time_index: Option<u64>,
    pub(crate) transaction_index: Option<u64>,
}

/// What a segment takes from the configuration when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentTimes {
    /// Taken off `segment.ms`.
    pub(crate) roll_jitter_ms: i64,
    /// When it was created, or last written if that is all that is known.
    pub(crate) created_ms: i64,
}

/// What the next append would make of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RollQuestion {
    pub(crate) bytes: usize,
    pub(crate) max_timestamp: i64,
    pub(crate) last_offset: i64,
    pub(crate) now_ms: i64,
}

/// A segment. Positions and sizes fit 31 bits, as Kafka's do.
#[derive(Debug)]
pub(crate) struct LogSegment {
    base_offset: i64,
    file: Arc<dyn DiskFile>,
    /// Bytes of whole batches; the file may be longer when it was allocated ahead.
    size: u32,
    file_len: u64,
    offset_index: OffsetIndex,
    time_index: TimeIndex,
    transaction_index: TransactionIndex,
    /// The largest timestamp and the last offset of its batch; read from the time index when first needed.
    max_timestamp: Cell<Option<TimestampOffset>>,
    /// The first batch's max timestamp, read when first needed: the segment's age counts from it.
    first_timestamp: Cell<Option<i64>>,
    bytes_since_index_entry: u32,
    /// Up to where the disk was asked to begin writing.
    writeback_position: u32,
    times: SegmentTimes,
}

/// A range of a file whose writing to the disk may begin.
#[derive(Debug)]
pub(crate) struct Writeback {
    file: Arc<dyn DiskFile>,
    position: u32,
    len: u32,
}

impl Writeback {
    /// Asks the disk to begin; may block while its queue is full.
    pub(crate) fn start(&self) -> io::Result<()> {
        self.file.start_writeback(u64::from(self.position), u64::from(self.len))
    }
}

impl LogSegment {
    /// A new segment with empty files.
    pub(crate) fn create(disk: &dyn Disk, dir: &Path, base_offset: i64, config: &LogConfig, times: SegmentTimes) -> io::Result<LogSegment> {
        let segment = LogSegment::create_with_suffix(disk, dir, base_offset, "", times)?;
        if config.preallocate {
            segment.file.set_len(u64::from(config.segment_bytes))?;
            return Ok(LogSegment { file_len: u64::from(config.segment_bytes), ..segment });
        }
        Ok(segment)
    }

    /// A new segment whose files have something behind their names.
    fn create_with_suffix(disk: &dyn Disk, dir: &Path, base_offset: i64, suffix: &str, times: SegmentTimes) -> io::Result<LogSegment> {
        let path = |kind: &str| segment_file(dir, base_offset, &format!("{kind}{suffix}"));
        Ok(LogSegment {
            base_offset,
            file: disk.open(&path(LOG_SUFFIX), OpenMode::CreateEmpty)?,
            size: 0,
            file_len: 0,
            offset_index: OffsetIndex::create(disk, path(OFFSET_INDEX_SUFFIX), base_offset)?,
            time_index: TimeIndex::create(disk, path(TIME_INDEX_SUFFIX), base_offset)?,
            transaction_index: TransactionIndex::empty(),
            max_timestamp: Cell::new(Some(TimestampOffset { timestamp: -1, offset: base_offset })),
            first_timestamp: Cell::new(None),
            bytes_since_index_entry: 0,
            writeback_position: 0,
            times,
        })
    }

    /// The segment in existing files. Missing indexes are created empty: the caller recovers the segment then.
    pub(crate) fn open(disk: &dyn Disk, dir: &Path, base_offset: i64, sizes: SegmentSizes, times: SegmentTimes) -> io::Result<LogSegment> {
        let path = |suffix| segment_file(dir, base_offset, suffix);
        let offset_index = match sizes.offset_index {
            Some(len) => OffsetIndex::open(disk, path(OFFSET_INDEX_SUFFIX), base_offset, len)?,
            None => OffsetIndex::create(disk, path(OFFSET_INDEX_SUFFIX), base_offset)?,
        };
        let time_index = match sizes.time_index {
            Some(len) => TimeIndex::open(disk, path(TIME_INDEX_SUFFIX), base_offset, len)?,
            None => TimeIndex::create(disk, path(TIME_INDEX_SUFFIX), base_offset)?,
        };
        let transaction_index = match sizes.transaction_index {
            Some(len) => TransactionIndex::open(disk, path(TRANSACTION_INDEX_SUFFIX), len)?,
            None => TransactionIndex::empty(),
        };
        Ok(LogSegment {
            base_offset,
            file: disk.open(&path(LOG_SUFFIX), OpenMode::Existing)?,
            size: u32::try_from(sizes.log).unwrap_or(u32::MAX),
            file_len: sizes.log,
            offset_index,
            time_index,
            transaction_index,
            max_timestamp: Cell::new(None),
            first_timestamp: Cell::new(None),
            bytes_since_index_entry: 0,
            // What was there before has been on its way for long.
            writeback_position: u32::try_from(sizes.log).unwrap_or(u32::MAX),
            times,
        })
    }

    pub(crate) fn base_offset(&self) -> i64 {
        self.base_offset
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn file(&self) -> &Arc<dyn DiskFile> {
        &self.file
    }

    /// Appends batches, given as the parts of one write and as their headers with final offsets.
    pub(crate) fn append(&mut self, parts: &mut [IoSlice<'_>], headers: &[BatchHeader], config: &LogConfig) -> io::Result<()> {
        self.file.write_all_at(parts, u64::from(self.size))?;
        for header in headers {
            self.note_batch(self.size, header, config.index_interval_bytes)?;
            self.size += header.size_in_bytes() as u32;
        }
        self.file_len = self.file_len.max(u64::from(self.size));
        Ok(())
    }

    /// Counts a batch that begins at a position into the indexes.
    fn note_batch(&mut self, position: u32, header: &BatchHeader, index_interval_bytes: u32) -> io::Result<()> {
        let mut largest = self.max_timestamp()?;
        if header.max_timestamp > largest.timestamp {
            largest = TimestampOffset { timestamp: header.max_timestamp, offset: header.last_offset() };
            self.max_timestamp.set(Some(largest));
        }
        if position == 0 {
            self.first_timestamp.set(Some(header.max_timestamp));
        }
        if self.bytes_since_index_entry > index_interval_bytes {
            self.offset_index.append(header.last_offset(), position)?;
            self.time_index.maybe_append(largest)?;
            self.bytes_since_index_entry = 0;
        }
        self.bytes_since_index_entry += header.size_in_bytes() as u32;
        Ok(())
    }

    /// Whether the next append must go to a new segment (`LogSegment.shouldRoll`).
    pub(crate) fn should_roll(&self, question: &RollQuestion, config: &LogConfig) -> io::Result<bool> {
        let is_full = u64::from(self.size) + question.bytes as u64 > u64::from(config.segment_bytes);
        let index_is_full = self.offset_index.is_full(config.segment_index_bytes) || self.time_index.is_full(config.segment_index_bytes);
        if is_full || index_is_full || !self.holds_offset(question.last_offset) {
            return Ok(true);
        }
        if self.size == 0 {
            return Ok(false);
        }
        let waited = self.time_waited_for_roll(question.now_ms, question.max_timestamp)?;
        Ok(waited > config.max_segment_ms() - self.times.roll_jitter_ms)
    }

    /// Whether the offset, relative to the base offset, fits the indexes.
    pub(crate) fn holds_offset(&self, offset: i64) -> bool {
        (0..=i64::from(i32::MAX)).contains(&(offset - self.base_offset))
    }

    /// How old the segment is: by record timestamps when it has some, else by the clock.
    fn time_waited_for_roll(&self, now_ms: i64, message_timestamp: i64) -> io::Result<i64> {
        match self.first_batch_timestamp()? {
            Some(first) if first >= 0 => Ok(message_timestamp - first),
            Some(_) | None => Ok(now_ms - self.times.created_ms),
        }
    }

    pub(crate) fn first_batch_timestamp(&self) -> io::Result<Option<i64>> {
        if self.first_timestamp.get().is_none() && self.size > 0 {
            let first = BatchReader::new(&self.file, 0, self.size, READ_AHEAD_LOOKUP).next()?;
            self.first_timestamp.set(first.map(|batch| batch.header.max_timestamp));
        }
        Ok(self.first_timestamp.get())
    }

    /// The largest timestamp so far and the last offset of its batch; timestamp -1 when no record has one.
    pub(crate) fn max_timestamp(&self) -> io::Result<TimestampOffset> {
        if let Some(known) = self.max_timestamp.get() {
            return Ok(known);
        }
        let last = self.time_index.last()?;
        self.max_timestamp.set(Some(last));
        Ok(last)
    }

    /// The time that retention goes by: the largest timestamp, else when the file was last written.
    pub(crate) fn largest_timestamp(&self) -> io::Result<i64> {
        let largest = self.max_timestamp()?.timestamp;
        Ok(if largest >= 0 { largest } else { self.times.created_ms })
    }

    /// Closes the indexes' books when no more is appended: the last timestamp is noted and everything written.
    pub(crate) fn become_inactive(&mut self) -> io::Result<()> {
        let largest = self.max_timestamp()?;
        self.time_index.maybe_append(largest)?;
        self.write_index_tails()?;
        self.offset_index.cut_file()?;
        self.time_index.cut_file()?;
        self.cut_file()?;
        Ok(())
    }

    /// Cuts the file to its batches; returns whether there was more.
    fn cut_file(&mut self) -> io::Result<bool> {
        let longer = self.file_len != u64::from(self.size);
        if longer {
            self.file.set_len(u64::from(self.size))?;
            self.file_len = u64::from(self.size);
        }
        Ok(longer)
    }

    /// Writes index entries that are only in memory.
    pub(crate) fn write_index_tails(&mut self) -> io::Result<()> {
        self.offset_index.write_tail()?;
        self.time_index.write_tail()
    }

    /// What was appended since the last call, if it is worth a write.
    pub(crate) fn take_writeback(&mut self) -> Option<Writeback> {
        let position = self.writeback_position.min(self.size);
        let len = self.size - position;
        if len < WRITEBACK_BYTES_MIN {
            return None;
        }
        self.writeback_position = self.size;
        Some(Writeback { file: self.file.clone(), position, len })
    }

    /// All files that must be durable for the segment to be.
    pub(crate) fn files(&self) -> impl Iterator<Item = Arc<dyn DiskFile>> + '_ {
        [&self.file, self.offset_index.file(), self.time_index.file()].into_iter().chain(self.transaction_index.file()).cloned()
    }

    pub(crate) fn transaction_index(&self) -> &TransactionIndex {
        &self.transaction_index
    }

    /// Enters an aborted transaction, unless it is there already.
    pub(crate) fn append_aborted(&mut self, disk: &dyn Disk, dir: &Path, aborted: &AbortedTransaction) -> io::Result<()> {
        let entries = self.transaction_index.entries()?;
        if entries.last().is_some_and(|last| last.last_offset >= aborted.last_offset) {
            return Ok(());
        }
        self.transaction_index.append(disk, segment_file(dir, self.base_offset, TRANSACTION_INDEX_SUFFIX), aborted)
    }

    /// Renames the files out of the way; returns their new names, for the removal.
    pub(crate) fn mark_deleted(&self, disk: &dyn Disk, dir: &Path) -> io::Result<Vec<std::path::PathBuf>> {
        let mut renamed = Vec::new();
        for suffix in [LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX] {
            if suffix == TRANSACTION_INDEX_SUFFIX && self.transaction_index.file().is_none() {
                continue;
            }
            // A response that is on its way keeps reading: the file is opened, if it is, before the name goes.
            let from = segment_file(dir, self.base_offset, suffix);
            let to = segment_file(dir, self.base_offset, &format!("{suffix}{DELETED_SUFFIX}"));
            match disk.rename(&from, &to) {
                Ok(()) => renamed.push(to),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(renamed)
    }

    /// Cuts the segment so that it ends before the batch that holds the offset.
    pub(crate) fn truncate_to(&mut self, offset: i64, now_ms: i64) -> io::Result<()> {
        let located = self.locate(offset)?;
        self.offset_index.truncate_to(offset)?;
        self.time_index.truncate_to(offset)?;
        self.transaction_index.truncate_to(offset)?;
        if let Some(located) = located {
            self.size = located.position;
            self.cut_file()?;
        }
        if self.size == 0 {
            self.times.created_ms = now_ms;
            self.first_timestamp.set(None);
        }
        self.bytes_since_index_entry = 0;
        self.max_timestamp.set(Some(self.read_largest_timestamp()?));
        Ok(())
    }

    /// The largest timestamp, by the time index and the batches behind its last entry.
    fn read_largest_timestamp(&self) -> io::Result<TimestampOffset> {
        let mut largest = self.time_index.last()?;
        let from = self.offset_index.lookup(largest.offset)?.position;
        let mut reader = BatchReader::new(&self.file, from, self.size, READ_AHEAD_LOOKUP);
        while let Some(batch) = reader.next()? {
            if batch.header.max_timestamp > largest.timestamp {
                largest = TimestampOffset { timestamp: batch.header.max_timestamp, offset: batch.header.last_offset() };
            }
        }
        Ok(largest)
    }
}
