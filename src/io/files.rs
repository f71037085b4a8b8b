//! Small files as a whole: read, written, replaced.

use std::io::{self, IoSlice};
use std::path::Path;

use crate::{Disk, OpenMode};

/// The whole content of a file; `None` when there is none.
pub fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(metadata) = disk.metadata(path)? else {
        return Ok(None);
    };
    let mut content = vec![0; metadata.len as usize];
    let read = disk.open(path, OpenMode::Existing)?.read_at(&mut content, 0)?;
    content.truncate(read);
    Ok(Some(content))
}

/// Writes a file and makes its content durable; a crash meanwhile may leave a part of it.
pub fn write_file(disk: &dyn Disk, path: &Path, content: &[u8]) -> io::Result<()> {
    let file = disk.open(path, OpenMode::CreateEmpty)?;
    file.write_all_at(&mut [IoSlice::new(content)], 0)?;
    file.sync_data()
}

/// Replaces a file so that a crash leaves either the old or the new content: a temporary file `<path>.tmp` is written, made
/// durable, renamed, and the directory made durable.
pub fn write_file_atomically(disk: &dyn Disk, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    write_file(disk, temporary, content)?;
    disk.rename(temporary, path)?;
    match path.parent() {
        Some(directory) => disk.sync_dir(directory),
        None => Ok(()),
    }
}
