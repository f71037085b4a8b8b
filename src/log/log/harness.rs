//! A log on a disk in memory, for the tests of this folder.

use std::path::Path;
use std::sync::Arc;

use ottla_io::{Crash, Disk, MemoryDisk};
use ottla_model::TopicPartition;
use ottla_record::Batches;

use super::{FetchedRecords, Log, LogOpen, ReadError, ReadRequest};
use crate::append::{AppendError, AppendInfo, AppendOrigin, AppendRequest, TransactionContext, VerificationGuard};
use crate::config::LogConfig;
use crate::producer::TransactionStart;
use crate::test_batches::{TestBatch, to_append};

pub(super) const DIR: &str = "/data/t-0";

/// A log and its disk.
pub(super) struct Harness {
    pub(super) disk: MemoryDisk,
    pub(super) config: Arc<LogConfig>,
    pub(super) log: Log,
    pub(super) now_ms: i64,
}

impl Harness {
    pub(super) fn new(config: LogConfig) -> Harness {
        let disk = MemoryDisk::new();
        let config = Arc::new(config);
        disk.create_dir_all(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let log = open(&disk, &LogOpen::new(TopicPartition::new("t", 0), config.clone()), 0);
        Harness { disk, config, log, now_ms: 0 }
    }

    /// Small segments and an index entry for each batch.
    pub(super) fn small() -> Harness {
        Harness::new(LogConfig { segment_bytes: 1000, index_interval_bytes: 100, ..LogConfig::default() })
    }

    pub(super) fn append(&mut self, batch: &TestBatch) -> Result<AppendInfo, AppendError> {
        self.append_as(batch, AppendOrigin::Client)
    }

    pub(super) fn append_as(&mut self, batch: &TestBatch, origin: AppendOrigin) -> Result<AppendInfo, AppendError> {
        let bytes = batch.bytes();
        let header = ottla_record::BatchHeader::parse(&bytes).unwrap();
        let verification_guard = if header.is_transactional() && !header.is_control() { self.verify(&header)? } else { None };
        let request = AppendRequest {
            batches: &[to_append(&bytes)],
            origin,
            leader_epoch: header.partition_leader_epoch,
            now_ms: self.now_ms,
            transaction: TransactionContext { verification_guard, transaction_version: 0 },
        };
        self.log.append_as_leader(&request)
    }

    fn verify(&mut self, header: &ottla_record::BatchHeader) -> Result<Option<VerificationGuard>, AppendError> {
        let start = TransactionStart {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
            supports_epoch_bump: false,
        };
        Ok(self.log.start_transaction_verification(&start, self.now_ms)?)
    }

    /// Appends so many batches of one record each.
    pub(super) fn append_many(&mut self, count: usize) {
        for _ in 0..count {
            self.append(&TestBatch::at(0)).unwrap();
        }
    }

    pub(super) fn flush(&mut self) {
        if let Some(task) = self.log.prepare_flush().unwrap() {
            task.run().unwrap();
            self.log.flushed(&task, self.now_ms);
        }
    }

    /// Opens the log again, as a broker does after a crash or a clean stop.
    pub(super) fn reopen(&mut self, clean: bool) {
        if !clean {
            // The manager does this for all logs of a directory.
            self.disk.sync_dir(Path::new("/data")).unwrap();
        }
        let open_with = LogOpen {
            clean,
            recovery_point: self.log.recovery_point(),
            log_start_offset: self.log.log_start_offset(),
            ..LogOpen::new(TopicPartition::new("t", 0), self.config.clone())
        };
        self.log = open(&self.disk, &open_with, self.now_ms);
    }

    /// Opens the log again when the checkpoint says that it begins at an offset.
    pub(super) fn reopen_from(&mut self, log_start_offset: i64) {
        let open_with = LogOpen { log_start_offset, ..LogOpen::new(TopicPartition::new("t", 0), self.config.clone()) };
        self.log = open(&self.disk, &open_with, self.now_ms);
    }

    pub(super) fn crash(&mut self, crash: Crash) {
        self.disk.crash(crash);
        self.reopen(false);
    }

    pub(super) fn read(&self, offset: i64, max_bytes: usize) -> Result<FetchedRecords, ReadError> {
        self.log.read(ReadRequest { offset, max_bytes, end_offset: i64::MAX, at_least_one_batch: true, include_aborted: true })
    }

    /// The base offsets of the batches that a read gives.
    pub(super) fn offsets(&self, offset: i64, max_bytes: usize) -> Vec<i64> {
        base_offsets(&self.read(offset, max_bytes).unwrap())
    }

    /// The base offsets of all batches from the log start on.
    pub(super) fn all_offsets(&self) -> Vec<i64> {
        let mut all = Vec::new();
        let mut offset = self.log.log_start_offset();
        while offset < self.log.log_end_offset() {
            let fetched = self.read(offset, usize::MAX).unwrap();
            let bytes = fetched.records.expect("there are records before the end").read().unwrap();
            for batch in Batches::new(&bytes) {
                let batch = batch.unwrap();
                ottla_record::check_crc(&batch.header, batch.bytes).unwrap();
                all.push(batch.header.base_offset);
                offset = batch.header.next_offset();
            }
        }
        all
    }
}

fn open(disk: &MemoryDisk, open_with: &LogOpen, now_ms: i64) -> Log {
    Log::open(Arc::new(disk.clone()), Path::new(DIR), open_with.clone(), now_ms).unwrap()
}

pub(super) fn base_offsets(fetched: &FetchedRecords) -> Vec<i64> {
    let Some(slice) = &fetched.records else { return Vec::new() };
    Batches::new(&slice.read().unwrap()).map(|batch| batch.unwrap().header.base_offset).collect()
}
