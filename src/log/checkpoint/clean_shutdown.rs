//! `.kafka_cleanshutdown`: the marker that says a log directory needs no recovery (`CleanShutdownFileHandler`).

use std::path::{Path, PathBuf};

use ottla_io::{Disk, read_file, write_file};

use super::CheckpointError;

/// The marker file of one log directory. Its content is `{"version":0,"brokerEpoch":<n>}`.
#[derive(Clone, Debug)]
pub struct CleanShutdownFile {
    path: PathBuf,
}

impl CleanShutdownFile {
    /// The marker of a log directory.
    pub fn new(log_dir: &Path) -> CleanShutdownFile {
        CleanShutdownFile { path: log_dir.join(".kafka_cleanshutdown") }
    }

    /// Whether the marker is there, whatever is in it: older brokers left it empty.
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool, CheckpointError> {
        Ok(disk.metadata(&self.path).map_err(|error| CheckpointError::io(&self.path, error))?.is_some())
    }

    /// The broker epoch that was written at the last clean stop; `None` when there is no marker or no epoch in it.
    pub fn read_broker_epoch(&self, disk: &dyn Disk) -> Result<Option<i64>, CheckpointError> {
        let content = read_file(disk, &self.path).map_err(|error| CheckpointError::io(&self.path, error))?;
        Ok(content.as_deref().and_then(parse_broker_epoch))
    }

    /// Writes the marker and makes it durable.
    pub fn write(&self, disk: &dyn Disk, broker_epoch: i64) -> Result<(), CheckpointError> {
        let content = format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}");
        write_file(disk, &self.path, content.as_bytes()).map_err(|error| CheckpointError::io(&self.path, error))
    }

    /// Removes the marker; returns whether it was there.
    pub fn take(&self, disk: &dyn Disk) -> Result<bool, CheckpointError> {
        let existed = self.exists(disk)?;
        if existed {
            disk.remove_file(&self.path).map_err(|error| CheckpointError::io(&self.path, error))?;
        }
        Ok(existed)
    }
}

fn parse_broker_epoch(content: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(content).ok()?;
    let (_, rest) = text.split_once("\"brokerEpoch\"")?;
    let number = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = number.find(|character: char| !(character.is_ascii_digit() || character == '-')).unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::MemoryDisk;

    #[test]
    fn remembers_the_broker_epoch() {
        let disk = MemoryDisk::new();
        let dir = Path::new("/d");
        disk.create_dir_all(dir).unwrap();
        let marker = CleanShutdownFile::new(dir);
        assert_eq!(marker.read_broker_epoch(&disk).unwrap(), None);
        marker.write(&disk, 42).unwrap();
        assert_eq!(read_file(&disk, &dir.join(".kafka_cleanshutdown")).unwrap().unwrap(), br#"{"version":0,"brokerEpoch":42}"#);
        assert_eq!(marker.read_broker_epoch(&disk).unwrap(), Some(42));
        assert!(marker.take(&disk).unwrap());
        assert!(!marker.take(&disk).unwrap());
    }

    #[test]
    fn reads_other_json() {
        assert_eq!(parse_broker_epoch(br#"{ "brokerEpoch" : -1, "version": 0 }"#), Some(-1));
        assert_eq!(parse_broker_epoch(b""), None);
        assert_eq!(parse_broker_epoch(br#"{"brokerEpoch":null}"#), None);
    }
}
