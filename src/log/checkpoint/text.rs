//! The frame that Kafka's checkpoint files share (`CheckpointFile`): a version, a count, one entry a line.

use std::fmt::{self, Write};
use std::io;
use std::path::{Path, PathBuf};

use ottla_io::{Disk, read_file};

/// Why a checkpoint could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The disk failed.
    #[error("checkpoint file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The content is not what the format demands.
    #[error("checkpoint file {path}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl CheckpointError {
    pub(crate) fn io(path: &Path, source: io::Error) -> CheckpointError {
        CheckpointError::Io { path: path.to_owned(), source }
    }

    pub(crate) fn malformed(path: &Path, reason: impl Into<String>) -> CheckpointError {
        CheckpointError::Malformed { path: path.to_owned(), reason: reason.into() }
    }
}

/// The only version of these files so far.
const VERSION: u32 = 0;

/// The content of a checkpoint file.
pub(super) fn format<E: fmt::Display>(entries: impl ExactSizeIterator<Item = E>) -> String {
    let mut text = format!("{VERSION}\n{}\n", entries.len());
    for entry in entries {
        writeln!(text, "{entry}").expect("writing to a string succeeds");
    }
    text
}

/// The entries of a checkpoint file; none when it is missing or empty.
pub(super) fn read<E>(disk: &dyn Disk, path: &Path, parse: impl Fn(&str) -> Option<E>) -> Result<Vec<E>, CheckpointError> {
    let content = read_file(disk, path).map_err(|error| CheckpointError::io(path, error))?.unwrap_or_default();
    let text = std::str::from_utf8(&content).map_err(|_| CheckpointError::malformed(path, "not UTF-8"))?;
    let mut lines = text.lines();
    let Some(version) = lines.next() else { return Ok(Vec::new()) };
    if version.parse() != Ok(VERSION) {
        return Err(CheckpointError::malformed(path, format!("unrecognised version '{version}', expected {VERSION}")));
    }
    let Some(count) = lines.next() else { return Ok(Vec::new()) };
    let count: usize = count.parse().map_err(|_| CheckpointError::malformed(path, format!("malformed count '{count}'")))?;
    let entries: Option<Vec<E>> = lines.clone().map(&parse).collect();
    let Some(entries) = entries else {
        let line = lines.find(|line| parse(line).is_none()).unwrap_or_default();
        return Err(CheckpointError::malformed(path, format!("malformed line '{line}'")));
    };
    if entries.len() != count {
        return Err(CheckpointError::malformed(path, format!("expected {count} entries, found {}", entries.len())));
    }
    Ok(entries)
}
