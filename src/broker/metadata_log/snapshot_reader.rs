//! Reads snapshots (`RecordsSnapshotReader`). A snapshot that does not begin with its header and end with its footer is not one.

use std::path::{Path, PathBuf};

use ottla_io::{Disk, read_file};
use ottla_metadata::MetadataRecord;
use ottla_raft::{ControlRecord, OffsetAndEpoch};

use super::batch::{Contents, decode_batches};
use super::error::MetadataLogError;
use super::snapshot_name::snapshot_file_name;

/// `BootstrapMetadata.BINARY_BOOTSTRAP_FILENAME`
const LEGACY_BOOTSTRAP_FILE: &str = "bootstrap.checkpoint";

/// What a snapshot file holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SnapshotContent {
    pub(super) size: u64,
    pub(super) last_contained_log_timestamp_ms: i64,
    pub(super) control_records: Vec<ControlRecord>,
    pub(super) records: Vec<MetadataRecord>,
}

/// Reads the snapshot `id` in `directory` as a whole; `None` if it is not there.
pub(super) fn read_snapshot(disk: &dyn Disk, directory: &Path, id: OffsetAndEpoch) -> Result<Option<SnapshotContent>, MetadataLogError> {
    let path = directory.join(snapshot_file_name(id));
    match read_file(disk, &path) {
        Ok(Some(bytes)) => parse(&bytes, &path).map(Some),
        Ok(None) => Ok(None),
        Err(source) => Err(MetadataLogError::Io { path, source }),
    }
}

/// The records that formatting of Kafka before 4.3 has written beside the metadata log; `None` if there are none. The file need not be a
/// whole snapshot.
pub(super) fn read_legacy_bootstrap(disk: &dyn Disk, log_dir: &Path) -> Result<Option<Vec<MetadataRecord>>, MetadataLogError> {
    let path = log_dir.join(LEGACY_BOOTSTRAP_FILE);
    let bytes = match read_file(disk, &path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(source) => return Err(MetadataLogError::Io { path, source }),
    };
    let mut found = Vec::new();
    for batch in decode_batches(&bytes) {
        match batch.map_err(|error| MetadataLogError::Damaged { path: path.clone(), error })?.contents {
            Contents::Records(records) => found.extend(records),
            Contents::Control(_) => {}
        }
    }
    Ok(Some(found))
}

fn parse(bytes: &[u8], path: &Path) -> Result<SnapshotContent, MetadataLogError> {
    let incomplete = |reason| MetadataLogError::IncompleteSnapshot { path: path.to_path_buf(), reason };
    let mut content =
        SnapshotContent { size: bytes.len() as u64, last_contained_log_timestamp_ms: -1, control_records: Vec::new(), records: Vec::new() };
    let mut has_footer = false;
    for batch in decode_batches(bytes) {
        let batch = batch.map_err(|error| MetadataLogError::Damaged { path: PathBuf::from(path), error })?;
        if has_footer {
            return Err(incomplete("there are records after the footer"));
        }
        match batch.contents {
            Contents::Records(records) => content.records.extend(records),
            Contents::Control(control) => content.control_records.extend(control.into_iter().map(|(_, record)| record)),
        }
        has_footer = matches!(content.control_records.last(), Some(ControlRecord::SnapshotFooter(_)));
        let Some(ControlRecord::SnapshotHeader(header)) = content.control_records.first() else {
            return Err(incomplete("it does not begin with a header"));
        };
        content.last_contained_log_timestamp_ms = header.last_contained_log_timestamp;
    }
    if !has_footer {
        return Err(incomplete("it does not end with a footer"));
    }
    Ok(content)
}
