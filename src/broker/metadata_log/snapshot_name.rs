//! How snapshots are called on disk (`org.apache.kafka.snapshot.Snapshots`): `<end offset>-<epoch>.checkpoint`, while they are written
//! with `-<anything>.checkpoint.part`, and between mark and removal with `.checkpoint.deleted`.

use ottla_model::LeaderEpoch;
use ottla_raft::OffsetAndEpoch;

const SUFFIX: &str = ".checkpoint";
const PARTIAL_SUFFIX: &str = ".checkpoint.part";
const DELETED_SUFFIX: &str = ".checkpoint.deleted";
const OFFSET_WIDTH: usize = 20;
const EPOCH_WIDTH: usize = 10;

/// A name in the directory of the metadata log that belongs to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotName {
    /// A whole snapshot.
    Whole(OffsetAndEpoch),
    /// What a crash has left of one that was being written, or one that was to be deleted.
    Leftover,
}

impl SnapshotName {
    /// What the name says; `None` if it is not a snapshot's.
    pub fn parse(name: &str) -> Option<SnapshotName> {
        if let Some(stem) = name.strip_suffix(SUFFIX) {
            return parse_stem(stem).map(SnapshotName::Whole);
        }
        let stem = name.strip_suffix(PARTIAL_SUFFIX).or_else(|| name.strip_suffix(DELETED_SUFFIX))?;
        parse_stem(stem.get(..OFFSET_WIDTH + 1 + EPOCH_WIDTH)?).map(|_| SnapshotName::Leftover)
    }
}

fn parse_stem(stem: &str) -> Option<OffsetAndEpoch> {
    let (offset, epoch) = stem.split_once('-')?;
    if offset.len() != OFFSET_WIDTH || epoch.len() != EPOCH_WIDTH {
        return None;
    }
    Some(OffsetAndEpoch::new(offset.parse().ok()?, LeaderEpoch(epoch.parse().ok()?)))
}

/// The name of a whole snapshot.
pub fn snapshot_file_name(id: OffsetAndEpoch) -> String {
    format!("{}{SUFFIX}", stem(id))
}

/// The name of a snapshot that is being written.
pub fn partial_file_name(id: OffsetAndEpoch) -> String {
    format!("{}-0{PARTIAL_SUFFIX}", stem(id))
}

fn stem(id: OffsetAndEpoch) -> String {
    format!("{:0OFFSET_WIDTH$}-{:0EPOCH_WIDTH$}", id.offset, id.epoch.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        let id = OffsetAndEpoch::new(42, LeaderEpoch(7));
        assert_eq!(snapshot_file_name(id), "00000000000000000042-0000000007.checkpoint");
        assert_eq!(SnapshotName::parse(&snapshot_file_name(id)), Some(SnapshotName::Whole(id)));
        assert_eq!(SnapshotName::parse(&partial_file_name(id)), Some(SnapshotName::Leftover));
        assert_eq!(SnapshotName::parse("00000000000000000042-0000000007-8713.checkpoint.part"), Some(SnapshotName::Leftover));
        assert_eq!(SnapshotName::parse("00000000000000000042-0000000007.checkpoint.deleted"), Some(SnapshotName::Leftover));
        for other in ["00000000000000000000.log", "quorum-state", "bootstrap.checkpoint", "42-7.checkpoint"] {
            assert_eq!(SnapshotName::parse(other), None, "{other}");
        }
    }
}
