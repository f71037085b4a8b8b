//! One cleaning of one log: reading its segments, building the offset map, writing new segments as `.cleaned` files. The log itself is not
//! touched, and may go on meanwhile.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Disk, DiskFile};
use ottla_record::{BATCH_OVERHEAD, Batch, BatchHeader, CURRENT_MAGIC, DecompressionBuffers};

use super::grouping::{GroupMember, group};
use super::offset_map::OffsetMap;
use super::retention::{LastRecord, Retained, Retention, for_each_record};
use super::selection::Selection;
use super::transactions::Transactions;
use super::{CleanError, CleanerConfig, Pace};
use crate::batch_reader::{BatchReader, READ_AHEAD_SCAN};
use crate::config::LogConfig;
use crate::control::transaction_marker;
use crate::index::{AbortedTransaction, TransactionIndex};
use crate::segment::{LogSegment, SegmentTimes};

/// So much is collected before it is written.
const WRITE_BYTES: usize = 1024 * 1024;

/// A segment that is read.
#[derive(Clone, Debug)]
pub(crate) struct SourceSegment {
    pub(crate) base_offset: i64,
    pub(crate) size: u32,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) offset_index_size: u64,
    pub(crate) time_index_size: u64,
    pub(crate) times: SegmentTimes,
}

/// What a log hands over for its cleaning.
#[derive(Debug)]
pub(crate) struct CleaningSource {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) selection: Selection,
    /// Those below the end of the selection, ascending.
    pub(crate) segments: Vec<SourceSegment>,
    /// Of all segments of the log: a transaction is entered where it ends.
    pub(crate) transaction_indexes: Vec<TransactionIndex>,
    pub(crate) last_records: HashMap<i64, LastRecord>,
    pub(crate) high_watermark: i64,
}

impl CleaningSource {
    /// The exclusive end of the segment at an index.
    fn segment_end(&self, index: usize) -> i64 {
        self.segments.get(index + 1).map_or(self.selection.end_offset, |next| next.base_offset)
    }

    fn aborted_transactions(&self, from: i64) -> io::Result<Vec<AbortedTransaction>> {
        let mut aborted = Vec::new();
        for index in &self.transaction_indexes {
            let entries = index.entries()?.into_iter();
            aborted.extend(entries.filter(|entry| entry.last_offset >= from && entry.first_offset < self.selection.end_offset));
        }
        Ok(aborted)
    }
}

/// A new segment, durable but for its names, and the files of those whose place it takes.
#[derive(Debug)]
pub(crate) struct CleanedSegment {
    pub(crate) segment: LogSegment,
    pub(crate) replaces: Vec<Arc<dyn DiskFile>>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Cleaning {
    source: CleaningSource,
    offset_map: OffsetMap,
    transactions: Transactions,
    groups: VecDeque<Range<usize>>,
    now_ms: i64,
}

impl Cleaning {
    /// Reads the dirty part and notes the last offset of each of its keys, as far as the map has room.
    pub(crate) fn begin(source: CleaningSource, config: &CleanerConfig, now_ms: i64, pace: &mut Pace<'_>) -> Result<Cleaning, CleanError> {
        let offset_map = build_offset_map(&source, config, pace)?;
        let transactions = Transactions::new(source.aborted_transactions(0)?);
        let end_offset = offset_map.latest_offset() + 1;
        let member = |segment: &SourceSegment| GroupMember {
            base_offset: segment.base_offset,
            size: u64::from(segment.size),
            offset_index_size: segment.offset_index_size,
            time_index_size: segment.time_index_size,
        };
        let members: Vec<GroupMember> = source.segments.iter().take_while(|segment| segment.base_offset < end_offset).map(member).collect();
        let groups = group(&members, &source.config, source.selection.end_offset).into();
        Ok(Cleaning { source, offset_map, transactions, groups, now_ms })
    }

    /// Where the next cleaning begins, once all new segments are in place.
    pub(crate) fn end_offset(&self) -> i64 {
        self.offset_map.latest_offset() + 1
    }

    /// Writes the next new segment.
    pub(crate) fn next_segment(&mut self, pace: &mut Pace<'_>) -> Result<Option<CleanedSegment>, CleanError> {
        let Some(range) = self.groups.pop_front() else { return Ok(None) };
        let sources = &self.source.segments[range];
        let first = sources.first().expect("a group has a segment");
        let last = sources.last().expect("a group has a segment");
        let (disk, dir) = (self.source.disk.as_ref(), self.source.dir.as_path());
        let times = SegmentTimes { created_ms: last.times.created_ms, ..first.times };
        let segment = LogSegment::create_cleaned(disk, dir, first.base_offset, times)?;
        let mut writer = Writer { disk, dir, config: &self.source.config, segment, buffer: Vec::new(), headers: Vec::new() };
        let retention = Retention {
            offset_map: &self.offset_map,
            last_records: &self.source.last_records,
            high_watermark: self.source.high_watermark,
            now_ms: self.now_ms,
            delete_retention_ms: self.source.config.delete_retention_ms,
        };
        let mut buffers = DecompressionBuffers::default();
        for source in sources {
            for_each_batch(source, pace, |batch| {
                let verdict = retention.decide(batch, &mut self.transactions, &mut buffers)?;
                writer.write(batch, verdict.retained)?;
                verdict.aborted.map_or(Ok(()), |aborted| writer.append_aborted(&aborted))?;
                Ok(true)
            })?;
        }
        let written = u64::from(writer.segment.size()) + writer.buffer.len() as u64;
        let segment = writer.finish()?;
        if pace(written).is_break() {
            return Err(CleanError::Abandoned);
        }
        Ok(Some(CleanedSegment { segment, replaces: sources.iter().map(|source| source.file.clone()).collect() }))
    }
}

fn build_offset_map(source: &CleaningSource, config: &CleanerConfig, pace: &mut Pace<'_>) -> Result<OffsetMap, CleanError> {
    let Selection { first_dirty_offset, end_offset, .. } = source.selection;
    let memory_bytes = config.dedupe_buffer_size / config.threads.max(1) as u64;
    let mut map = OffsetMap::new(memory_bytes, config.io_buffer_load_factor, end_offset.saturating_sub(first_dirty_offset).max(0) as u64);
    let mut transactions = Transactions::new(source.aborted_transactions(first_dirty_offset)?);
    let mut buffers = DecompressionBuffers::default();
    for (index, segment) in source.segments.iter().enumerate() {
        let segment_end = source.segment_end(index);
        if segment_end <= first_dirty_offset {
            continue;
        }
        let is_whole = for_each_batch(segment, pace, |batch| {
            let has_room = map_batch(batch, first_dirty_offset, &mut transactions, &mut map, &mut buffers)?;
            if has_room && batch.header.last_offset() >= first_dirty_offset {
                map.update_latest_offset(batch.header.last_offset());
            }
            Ok(has_room)
        })?;
        if !is_whole {
            break;
        }
        map.update_latest_offset(segment_end - 1);
    }
    Ok(map)
}

/// Notes the keys of a batch; `false` when the map is full.
fn map_batch(
    batch: &Batch<'_>,
    first_dirty_offset: i64,
    transactions: &mut Transactions,
    map: &mut OffsetMap,
    buffers: &mut DecompressionBuffers,
) -> Result<bool, CleanError> {
    if batch.header.is_control() {
        let is_abort = transaction_marker(&batch.header, &batch.bytes[BATCH_OVERHEAD..]).map(|marker| marker.is_abort);
        transactions.on_marker(&batch.header, is_abort);
        return Ok(true);
    }
    if transactions.on_data(&batch.header) {
        return Ok(true);
    }
    let mut has_room = true;
    for_each_record(batch, buffers, |record| {
        if let Some(key) = record.key.filter(|_| record.offset >= first_dirty_offset) {
            has_room = has_room && map.put(key, record.offset);
        }
        Ok(())
    })?;
    Ok(has_room)
}

/// Hands over the batches of a segment until told to stop; returns whether it came to the end.
fn for_each_batch(
    segment: &SourceSegment,
    pace: &mut Pace<'_>,
    mut each: impl FnMut(&Batch<'_>) -> Result<bool, CleanError>,
) -> Result<bool, CleanError> {
    let mut reader = BatchReader::new(&segment.file, 0, segment.size, READ_AHEAD_SCAN);
    while let Some(found) = reader.next()? {
        let header = found.header;
        if header.magic < CURRENT_MAGIC {
            return Err(CleanError::OldFormat { offset: header.base_offset, magic: header.magic });
        }
        if !reader.is_valid(&found)? {
            return Err(CleanError::Crc { offset: header.base_offset });
        }
        if pace(header.size_in_bytes() as u64).is_break() {
            return Err(CleanError::Abandoned);
        }
        if !each(&Batch { position: 0, header, bytes: reader.bytes_of(&found)? })? {
            return Ok(false);
        }
    }
    if reader.position() != segment.size {
        let message = format!("segment {} ends within a batch at position {}", segment.base_offset, reader.position());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message).into());
    }
    Ok(true)
}

/// Collects what stays and writes it in large pieces.
#[derive(Debug)]
struct Writer<'a> {
    disk: &'a dyn Disk,
    dir: &'a Path,
    config: &'a LogConfig,
    segment: LogSegment,
    buffer: Vec<u8>,
    headers: Vec<BatchHeader>,
}

impl Writer<'_> {
    fn write(&mut self, batch: &Batch<'_>, retained: Retained) -> Result<(), CleanError> {
        match retained {
            Retained::Nothing => return Ok(()),
            Retained::Whole => {
                self.buffer.extend_from_slice(batch.bytes);
                self.headers.push(batch.header);
            }
            Retained::Rewritten(bytes) => {
                self.headers.push(BatchHeader::parse(&bytes).expect("a batch that was just built has a header"));
                self.buffer.extend_from_slice(&bytes);
            }
        }
        if self.buffer.len() >= WRITE_BYTES { Ok(self.flush()?) } else { Ok(()) }
    }

    fn append_aborted(&mut self, aborted: &AbortedTransaction) -> io::Result<()> {
        self.segment.append_aborted_cleaned(self.disk, self.dir, aborted)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.headers.is_empty() {
            self.segment.append(&mut [IoSlice::new(&self.buffer)], &self.headers, self.config)?;
        }
        self.buffer.clear();
        self.headers.clear();
        Ok(())
    }

    /// Makes the content of all files durable.
    fn finish(mut self) -> io::Result<LogSegment> {
        self.flush()?;
        self.segment.become_inactive()?;
        for file in self.segment.files() {
            file.sync_data()?;
        }
        Ok(self.segment)
    }
}
