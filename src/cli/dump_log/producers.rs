//! Producer snapshots: the producers that a log knew at an offset.

use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use ottla_io::Disk;
use ottla_protocol::Message;
use ottla_protocol::messages::producer_snapshot::ProducerSnapshot;

use super::{DumpError, read_whole};

pub(super) fn dump(disk: &dyn Disk, path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    let damaged = |reason: String| DumpError::ProducerSnapshot { path: path.to_path_buf(), reason };
    let content = read_whole(disk, path)?;
    let Some((version, rest)) = content.split_first_chunk() else { return Err(damaged("it is too short".to_owned())) };
    let version = i16::from_be_bytes(*version);
    let snapshot = ProducerSnapshot::from_bytes(Bytes::copy_from_slice(rest), version);
    let snapshot = snapshot.map_err(|error| damaged(error.to_string()))?;
    for entry in snapshot.producer_entries {
        write!(
            out,
            "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {} lastTimestamp: {}",
            entry.producer_id,
            entry.epoch,
            entry.coordinator_epoch,
            if entry.current_txn_first_offset < 0 {
                "OptionalLong.empty".to_owned()
            } else {
                format!("OptionalLong[{}]", entry.current_txn_first_offset)
            },
            entry.timestamp,
        )?;
        if entry.last_offset >= 0 {
            write!(
                out,
                " firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                entry.last_sequence.wrapping_sub(entry.offset_delta),
                entry.last_sequence,
                entry.last_offset,
                entry.offset_delta,
                entry.timestamp,
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
