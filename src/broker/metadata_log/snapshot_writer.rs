//! Writes snapshots: a header, the records of a state in batches, a footer, in a file that appears under its name only when it is whole
//! (`RecordsSnapshotWriter`, `FileRawSnapshotWriter`).

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ottla_io::{Disk, DiskFile, OpenMode};
use ottla_metadata::{MetadataRecord, MetadataVersion};
use ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use ottla_protocol::messages::snapshot_footer_record::SnapshotFooterRecord;
use ottla_protocol::messages::snapshot_header_record::SnapshotHeaderRecord;
use ottla_raft::{ControlRecord, OffsetAndEpoch, VoterSet};

use super::batch::{BatchFrame, control_batch, record_batch, size_in_batch};
use super::error::MetadataLogError;
use super::options::BATCH_BYTES_MAX;
use super::snapshot_name::{partial_file_name, snapshot_file_name};

/// A state of the cluster that is to become a snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The end offset of what the state contains, and the epoch of the last record in it.
    pub id: OffsetAndEpoch,
    /// When that record was written.
    pub last_contained_log_timestamp_ms: i64,
    /// Records that make the state.
    pub records: Vec<MetadataRecord>,
    /// The metadata version whose record versions are used.
    pub version: MetadataVersion,
}

/// What the quorum itself puts into a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotQuorum {
    /// `kraft.version` at the snapshot's end.
    pub kraft_version: i16,
    /// The voters there, if the log names them.
    pub voters: Option<VoterSet>,
}

/// Writes a snapshot into `directory`, durably, and returns its size in bytes. One that exists is replaced.
pub fn write_snapshot(
    disk: &dyn Disk,
    directory: &Path,
    snapshot: &Snapshot,
    quorum: &SnapshotQuorum,
    now_ms: i64,
) -> Result<u64, MetadataLogError> {
    let records: Vec<_> = snapshot.records.iter().map(|record| record.to_bytes(snapshot.version)).collect::<Result<_, _>>()?;
    let partial = directory.join(partial_file_name(snapshot.id));
    let at_partial = |source| MetadataLogError::Io { path: partial.clone(), source };
    let file = disk.open(&partial, OpenMode::CreateEmpty).map_err(at_partial)?;
    let mut writer = SnapshotFile { file, size: 0, next_offset: 0, id: snapshot.id, now_ms };
    writer.write_all(snapshot, quorum, &records).map_err(at_partial)?;
    finish_snapshot(disk, directory, snapshot.id)?;
    Ok(writer.size)
}

/// Gives a snapshot that is whole its name, durably.
pub(super) fn finish_snapshot(disk: &dyn Disk, directory: &Path, id: OffsetAndEpoch) -> Result<(), MetadataLogError> {
    let whole = directory.join(snapshot_file_name(id));
    let renamed = disk.rename(&directory.join(partial_file_name(id)), &whole).and_then(|()| disk.sync_dir(directory));
    renamed.map_err(|source| MetadataLogError::Io { path: whole, source })
}

struct SnapshotFile {
    file: Arc<dyn DiskFile>,
    size: u64,
    next_offset: i64,
    id: OffsetAndEpoch,
    now_ms: i64,
}

impl SnapshotFile {
    fn write_all(&mut self, snapshot: &Snapshot, quorum: &SnapshotQuorum, records: &[Bytes]) -> io::Result<()> {
        self.write_control(&header(snapshot.last_contained_log_timestamp_ms, quorum))?;
        let mut rest = records;
        while !rest.is_empty() {
            let (batch, remaining) = rest.split_at(records_in_batch(rest));
            let frame = self.frame();
            self.write(&record_batch(frame, batch), batch.len())?;
            rest = remaining;
        }
        self.write_control(&[ControlRecord::SnapshotFooter(SnapshotFooterRecord::default())])?;
        self.file.sync_data()
    }

    fn write_control(&mut self, records: &[ControlRecord]) -> io::Result<()> {
        let frame = self.frame();
        self.write(&control_batch(frame, records), records.len())
    }

    /// Offsets within a snapshot begin at 0: they are no offsets of the log.
    fn frame(&self) -> BatchFrame {
        BatchFrame { base_offset: self.next_offset, epoch: self.id.epoch, timestamp_ms: self.now_ms }
    }

    fn write(&mut self, batch: &[u8], records: usize) -> io::Result<()> {
        self.file.write_all_at(&mut [IoSlice::new(batch)], self.size)?;
        self.size += batch.len() as u64;
        self.next_offset += records as i64;
        Ok(())
    }
}

fn header(last_contained_log_timestamp: i64, quorum: &SnapshotQuorum) -> Vec<ControlRecord> {
    let header = SnapshotHeaderRecord { version: 0, last_contained_log_timestamp, ..SnapshotHeaderRecord::default() };
    let mut records = vec![ControlRecord::SnapshotHeader(header)];
    if quorum.kraft_version > 0 {
        let k_raft_version = quorum.kraft_version;
        records.push(ControlRecord::KRaftVersion(KRaftVersionRecord { k_raft_version, ..KRaftVersionRecord::default() }));
        records.extend(quorum.voters.as_ref().map(|voters| ControlRecord::Voters(voters.to_record())));
    }
    records
}

/// How many of the records, at least one, make a batch of no more than [`BATCH_BYTES_MAX`].
fn records_in_batch(records: &[Bytes]) -> usize {
    let mut bytes = 0;
    let fitting = records.iter().take_while(|record| {
        bytes += size_in_batch(record.len());
        bytes <= BATCH_BYTES_MAX
    });
    fitting.count().max(1)
}
