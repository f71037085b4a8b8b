//! Files that hold one offset per partition of a log directory (`OffsetCheckpointFile`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ottla_io::{Disk, write_file_atomically};
use ottla_model::TopicPartition;

use super::{CheckpointError, text};

/// Up to where each log is durable: recovery begins there.
pub const RECOVERY_POINT_CHECKPOINT: &str = "recovery-point-offset-checkpoint";
/// The first offset of each log, where it is not that of its first segment.
pub const LOG_START_OFFSET_CHECKPOINT: &str = "log-start-offset-checkpoint";
/// The high watermark of each log.
pub const REPLICATION_OFFSET_CHECKPOINT: &str = "replication-offset-checkpoint";

/// Up to where each log was cleaned.
pub const CLEANER_OFFSET_CHECKPOINT: &str = "cleaner-offset-checkpoint";

/// One of the offset checkpoint files of a log directory.
#[derive(Clone, Debug)]
pub struct OffsetCheckpoint {
    path: PathBuf,
}

impl OffsetCheckpoint {
    /// The checkpoint of this name in a log directory.
    pub fn new(log_dir: &Path, name: &str) -> OffsetCheckpoint {
        OffsetCheckpoint { path: log_dir.join(name) }
    }

    /// The offsets; none when the file is missing.
    pub fn read(&self, disk: &dyn Disk) -> Result<HashMap<TopicPartition, i64>, CheckpointError> {
        Ok(text::read(disk, &self.path, parse_entry)?.into_iter().collect())
    }

    /// Replaces the file.
    pub fn write(&self, disk: &dyn Disk, offsets: &[(TopicPartition, i64)]) -> Result<(), CheckpointError> {
        let lines = offsets.iter().map(|(partition, offset)| format!("{} {} {offset}", partition.topic, partition.partition));
        write_file_atomically(disk, &self.path, text::format(lines).as_bytes()).map_err(|error| CheckpointError::io(&self.path, error))
    }
}

fn parse_entry(line: &str) -> Option<(TopicPartition, i64)> {
    let mut words = line.split_ascii_whitespace();
    let partition = TopicPartition::new(words.next()?, words.next()?.parse().ok()?);
    let offset = words.next()?.parse().ok()?;
    words.next().is_none().then_some((partition, offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::{MemoryDisk, read_file, write_file};

    fn checkpoint() -> (MemoryDisk, OffsetCheckpoint) {
        let disk = MemoryDisk::new();
        disk.create_dir_all(Path::new("/d")).unwrap();
        (disk, OffsetCheckpoint::new(Path::new("/d"), RECOVERY_POINT_CHECKPOINT))
    }

    #[test]
    fn has_kafkas_text() {
        let (disk, checkpoint) = checkpoint();
        assert_eq!(checkpoint.read(&disk).unwrap(), HashMap::new());
        let offsets = [(TopicPartition::new("a-b", 0), 17), (TopicPartition::new("c", 12), 0)];
        checkpoint.write(&disk, &offsets).unwrap();
        let text = read_file(&disk, Path::new("/d/recovery-point-offset-checkpoint")).unwrap().unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "0\n2\na-b 0 17\nc 12 0\n");
        assert_eq!(checkpoint.read(&disk).unwrap(), offsets.into_iter().collect());
    }

    #[test]
    fn malformed_files_are_refused() {
        for (content, complaint) in [
            ("1\n0\n", "unrecognised version '1'"),
            ("0\nx\n", "malformed count 'x'"),
            ("0\n2\na 0 1\n", "expected 2 entries, found 1"),
            ("0\n1\na 0\n", "malformed line 'a 0'"),
            ("0\n1\na 0 1 2\n", "malformed line 'a 0 1 2'"),
        ] {
            let (disk, checkpoint) = checkpoint();
            write_file(&disk, Path::new("/d/recovery-point-offset-checkpoint"), content.as_bytes()).unwrap();
            let error = checkpoint.read(&disk).unwrap_err().to_string();
            assert!(error.contains(complaint), "{content:?}: {error}");
        }
    }
}
