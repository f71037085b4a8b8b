//! `leader-epoch-checkpoint`: at which offset each leader epoch of a partition began (`LeaderEpochCheckpointFile`).

use std::fmt;
use std::path::Path;

use ottla_io::Disk;

use super::{CheckpointError, text};

pub(crate) const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";

/// A leader epoch and its first offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEntry {
    /// The epoch.
    pub epoch: i32,
    /// The log end offset when the epoch began.
    pub start_offset: i64,
}

impl fmt::Display for EpochEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.epoch, self.start_offset)
    }
}

pub(crate) fn read_leader_epochs(disk: &dyn Disk, dir: &Path) -> Result<Vec<EpochEntry>, CheckpointError> {
    text::read(disk, &dir.join(LEADER_EPOCH_CHECKPOINT), |line| {
        let (epoch, start_offset) = line.split_once(' ')?;
        Some(EpochEntry { epoch: epoch.parse().ok()?, start_offset: start_offset.trim().parse().ok()? })
    })
}

pub(crate) fn format_leader_epochs(entries: &[EpochEntry]) -> String {
    text::format(entries.iter())
}
