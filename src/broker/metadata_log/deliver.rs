//! Hands what is committed to the listener: the snapshot where it must begin with one, then batch by batch
//! (`KafkaRaftClient.updateListenersProgress`).

use ottla_raft::OffsetAndEpoch;

use super::batch::{Contents, DecodedBatch};
use super::error::MetadataLogError;
use super::host::MetadataLog;
use super::listener::{CommittedBatch, LoadedSnapshot, MetadataListener};

/// How far the listener is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The offset of the next batch; `None` until it is known whether it begins with a snapshot.
    pub(super) next_offset: Option<i64>,
    /// Bytes of records since the last snapshot.
    pub(super) uncompacted_bytes: u64,
    /// When that was made; of an earlier life, when this one has begun.
    pub(super) last_snapshot_ms: i64,
}

impl MetadataLog {
    /// Brings the listener up to `high_watermark`.
    pub(super) fn deliver(&mut self, high_watermark: i64, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        let mut next_offset = self.first_offset_to_deliver(listener)?;
        while next_offset < high_watermark {
            if let Some(batch) = self.uncommitted.pop_front_if(|batch| batch.base_offset == next_offset) {
                next_offset = batch.last_offset + 1;
                listener.on_commit(batch);
            } else {
                next_offset = self.deliver_from_log(next_offset, high_watermark, listener)?;
            }
            self.progress.next_offset = Some(next_offset);
        }
        Ok(())
    }

    /// Loads the latest snapshot if the listener is new, or needs records that only the snapshot still has.
    fn first_offset_to_deliver(&mut self, listener: &mut dyn MetadataListener) -> Result<i64, MetadataLogError> {
        let start_offset = self.files.log.log_start_offset();
        match (self.progress.next_offset, self.core.log().latest_snapshot()) {
            (Some(next_offset), _) if next_offset >= start_offset => Ok(next_offset),
            (_, Some(id)) => self.deliver_snapshot(id, listener),
            (_, None) if start_offset == 0 => {
                self.progress.next_offset = Some(0);
                Ok(0)
            }
            (_, None) => Err(MetadataLogError::MissingSnapshot { directory: self.files.directory.clone(), start_offset }),
        }
    }

    fn deliver_snapshot(&mut self, id: OffsetAndEpoch, listener: &mut dyn MetadataListener) -> Result<i64, MetadataLogError> {
        let content = self.files.read_snapshot(id)?;
        if id == OffsetAndEpoch::BOOTSTRAP_SNAPSHOT {
            // Formatting of Kafka before 4.3 wrote only the voters here.
            if !content.records.is_empty() {
                listener.on_bootstrap(content.records);
            }
        } else {
            listener.on_snapshot(LoadedSnapshot {
                id,
                last_contained_log_timestamp_ms: content.last_contained_log_timestamp_ms,
                records: content.records,
            });
        }
        self.progress.next_offset = Some(id.offset);
        Ok(id.offset)
    }

    fn deliver_from_log(&mut self, offset: i64, high_watermark: i64, listener: &mut dyn MetadataListener) -> Result<i64, MetadataLogError> {
        let mut next_offset = offset;
        for batch in self.files.read_batches(offset, high_watermark)? {
            next_offset = batch.last_offset + 1;
            self.progress.uncompacted_bytes += batch.size as u64;
            listener.on_commit(committed(batch));
        }
        Ok(next_offset)
    }
}

fn committed(batch: DecodedBatch) -> CommittedBatch {
    let records = match batch.contents {
        Contents::Records(records) => records,
        Contents::Control(_) => Vec::new(),
    };
    CommittedBatch {
        base_offset: batch.base_offset,
        last_offset: batch.last_offset,
        epoch: batch.epoch,
        append_timestamp_ms: batch.append_timestamp_ms,
        records,
    }
}
