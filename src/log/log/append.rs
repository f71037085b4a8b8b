//! Appending: producers are checked, offsets assigned, and the bytes written at once.

use std::io::IoSlice;

use ottla_record::{BATCH_OVERHEAD, BatchHeader, Batches, TimestampType};
use smallvec::SmallVec;

use super::producers::{ProducerOutcome, ProducerVerdict};
use super::{EpochEntry, Log};
use crate::append::{AppendError, AppendInfo, AppendOrigin, AppendRequest, BatchToAppend, TransactionContext};
use crate::producer::BatchMetadata;
use crate::segment::{Located, RollQuestion};

/// Nearly all appends are of one batch.
type Headers = SmallVec<[BatchHeader; 1]>;

impl Log {
    /// Appends validated batches as the partition's leader: they get the next offsets and the leader's epoch. A batch that a client
    /// repeats is not appended again, the answer is that of the first time. The bytes are written in one system call before this
    /// returns; they are durable once the recovery point is above them.
    pub fn append_as_leader(&mut self, request: &AppendRequest<'_>) -> Result<AppendInfo, AppendError> {
        debug_assert!(matches!(request.origin, AppendOrigin::Client | AppendOrigin::Coordinator));
        let mut next_offset = self.log_end_offset;
        let headers: Headers = request
            .batches
            .iter()
            .map(|batch| {
                let mut header = batch.header;
                header.base_offset = next_offset;
                header.partition_leader_epoch = request.leader_epoch;
                next_offset = header.next_offset();
                header
            })
            .collect();
        for header in &headers {
            let size = header.size_in_bytes();
            if size > self.config.max_message_bytes as usize {
                return Err(AppendError::RecordTooLarge { size, max: self.config.max_message_bytes });
            }
        }
        let origin = Origin { origin: request.origin, transaction: request.transaction, now_ms: request.now_ms };
        self.append(&headers, request.batches, &origin)
    }

    /// Appends what a leader has sent: offsets and epochs are in the batches. Batches of an epoch above `leader_epoch` are left out,
    /// with all behind them: they come from a leader that this replica does not follow yet.
    pub fn append_as_follower(&mut self, records: &[u8], leader_epoch: i32, now_ms: i64) -> Result<AppendInfo, AppendError> {
        self.append_with_offsets(records, AppendOrigin::Replication, leader_epoch, now_ms)
    }

    /// Appends batches that the leader of the metadata quorum has made, offsets and its epoch being in them.
    pub fn append_as_raft_leader(&mut self, records: &[u8], leader_epoch: i32, now_ms: i64) -> Result<AppendInfo, AppendError> {
        self.append_with_offsets(records, AppendOrigin::RaftLeader, leader_epoch, now_ms)
    }

    fn append_with_offsets(
        &mut self,
        records: &[u8],
        origin: AppendOrigin,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<AppendInfo, AppendError> {
        let mut headers = Headers::new();
        let mut batches: SmallVec<[BatchToAppend<'_>; 1]> = SmallVec::new();
        for batch in Batches::new(records) {
            let batch = batch.map_err(|error| AppendError::Corrupt { reason: error.to_string() })?;
            if origin == AppendOrigin::Replication && batch.header.partition_leader_epoch > leader_epoch {
                break;
            }
            check_brought_batch(&batch.header, batch.bytes, origin, leader_epoch, headers.last())?;
            headers.push(batch.header);
            batches.push(BatchToAppend { header: batch.header, records: &batch.bytes[BATCH_OVERHEAD..] });
        }
        if let Some(first) = headers.first() {
            let (first_offset, log_end_offset) = (first.base_offset, self.log_end_offset);
            if first_offset < log_end_offset {
                return Err(AppendError::UnexpectedOffset { first_offset, log_end_offset });
            }
        }
        self.append(&headers, &batches, &Origin { origin, transaction: TransactionContext::default(), now_ms })
    }

    /// `headers` are those of `batches` with their final offsets and epochs.
    fn append(&mut self, headers: &Headers, batches: &[BatchToAppend<'_>], origin: &Origin) -> Result<AppendInfo, AppendError> {
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else {
            return Ok(self.append_info(self.log_end_offset, self.log_end_offset - 1));
        };
        let (first_offset, last_offset) = (first.base_offset, last.last_offset());
        let verdict = self.check_producers(headers, batches, origin.origin, &origin.transaction)?;
        let producers = match verdict {
            ProducerVerdict::Append(outcome) => outcome,
            ProducerVerdict::Duplicate(duplicate) => return Ok(self.duplicate_info(&duplicate)),
        };
        let size: usize = headers.iter().map(BatchHeader::size_in_bytes).sum();
        if size > self.config.segment_bytes as usize {
            return Err(AppendError::RecordListTooLarge { size, max: self.config.segment_bytes });
        }
        self.guard_mut("append records", |log| log.write(headers, batches, producers, origin.now_ms))?;
        let mut info = self.append_info(first_offset, last_offset);
        if first.timestamp_type() == TimestampType::LogAppendTime {
            info.log_append_time_ms = last.max_timestamp;
        }
        info.flush_due = self.log_end_offset - self.recovery_point >= self.config.flush_messages;
        Ok(info)
    }

    fn write(&mut self, headers: &Headers, batches: &[BatchToAppend<'_>], producers: ProducerOutcome, now_ms: i64) -> std::io::Result<()> {
        let size: usize = headers.iter().map(BatchHeader::size_in_bytes).sum();
        let last_offset = headers.last().map_or(self.log_end_offset, BatchHeader::last_offset);
        let first_offset = headers.first().map_or(self.log_end_offset, |header| header.base_offset);
        let question = RollQuestion {
            bytes: size,
            max_timestamp: headers.iter().map(|header| header.max_timestamp).max().unwrap_or(-1),
            last_offset,
            now_ms,
        };
        if self.active().should_roll(&question, &self.config)? {
            self.roll_to(first_offset, now_ms)?;
        }
        let encoded: SmallVec<[[u8; BATCH_OVERHEAD]; 1]> = headers.iter().map(BatchHeader::to_bytes).collect();
        let mut parts: SmallVec<[IoSlice<'_>; 2]> = SmallVec::new();
        for (header, batch) in encoded.iter().zip(batches) {
            parts.push(IoSlice::new(header));
            parts.push(IoSlice::new(batch.records));
        }
        let mut position = self.active().size();
        let active = self.segments.last_mut().expect("a log has a segment");
        active.append(&mut parts, headers, &self.config)?;
        for header in headers {
            let size = header.size_in_bytes() as u32;
            self.recent.push(Located { base_offset: header.base_offset, position, size });
            position += size;
            self.leader_epochs.assign(EpochEntry { epoch: header.partition_leader_epoch, start_offset: header.base_offset });
        }
        self.mark_dirty();
        self.log_end_offset = last_offset + 1;
        self.apply_producers(headers, producers)
    }

    fn append_info(&self, first_offset: i64, last_offset: i64) -> AppendInfo {
        AppendInfo {
            first_offset,
            last_offset,
            log_append_time_ms: -1,
            log_start_offset: self.log_start_offset,
            duplicate: false,
            flush_due: false,
        }
    }

    fn duplicate_info(&self, duplicate: &BatchMetadata) -> AppendInfo {
        AppendInfo {
            log_append_time_ms: duplicate.timestamp,
            duplicate: true,
            ..self.append_info(duplicate.first_offset(), duplicate.last_offset)
        }
    }
}

/// What the steps of an append have in common.
struct Origin {
    origin: AppendOrigin,
    transaction: TransactionContext,
    now_ms: i64,
}

/// Checks a batch that brings its offsets: its order, epoch and CRC.
fn check_brought_batch(
    header: &BatchHeader,
    bytes: &[u8],
    origin: AppendOrigin,
    leader_epoch: i32,
    previous: Option<&BatchHeader>,
) -> Result<(), AppendError> {
    let offset = header.base_offset;
    if origin == AppendOrigin::RaftLeader && header.partition_leader_epoch != leader_epoch {
        return Err(AppendError::InvalidBatch { offset, reason: "is not of the leader's epoch" });
    }
    if previous.is_some_and(|previous| header.last_offset() <= previous.last_offset()) {
        return Err(AppendError::InvalidBatch { offset, reason: "is out of order" });
    }
    if crc32c::crc32c(&bytes[crate::batch_reader::CRC_COVERS_FROM..]) != header.crc {
        return Err(AppendError::Corrupt { reason: format!("wrong CRC at offset {offset}") });
    }
    Ok(())
}
