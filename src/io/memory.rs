//! A disk in memory that forgets what a real one may forget: bytes that were not synced and names whose directory was not synced.
//! Everything it does is determined by what it is asked and by the seeds it is given.

mod content;
mod names;

use std::collections::HashSet;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

pub(crate) use content::Content;
use names::{Names, Node};

use crate::{DirEntry, Disk, DiskFile, DiskSpace, EntryKind, FileMetadata, LockFile, OpenMode, PinnedFile, SeededRng};

/// What a crash leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Only what was synced.
    LoseUnsynced,
    /// What was synced, and of the rest whatever this seed chooses: some names, some writes, some of them torn.
    KeepSome(u64),
    /// Everything, as after a `kill -9` of the process on a machine that goes on.
    KeepAll,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `EIO`.
    InputOutput,
    /// `ENOSPC`.
    DiskFull,
}

impl Fault {
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::InputOutput => libc::EIO,
            Fault::DiskFull => libc::ENOSPC,
        })
    }
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    names: Names,
    locks: HashSet<PathBuf>,
    /// Fails every changing operation once so many have succeeded.
    fault: Option<(u64, Fault)>,
    capacity_bytes: u64,
    now_ms: i64,
}

impl Default for State {
    fn default() -> State {
        State { names: Names::default(), locks: HashSet::new(), fault: None, capacity_bytes: 1 << 40, now_ms: 0 }
    }
}

impl State {
    /// Counts a changing operation and fails it when its time has come.
    fn change(&mut self) -> io::Result<()> {
        match &mut self.fault {
            None => Ok(()),
            Some((0, fault)) => Err(fault.error()),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
        }
    }
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// The time that files written from now on carry.
    pub fn set_time_ms(&self, now_ms: i64) {
        self.state.lock().now_ms = now_ms;
    }

    /// Lets so many more changing operations (writes, syncs, creations, renames, removals) succeed and fails all later ones.
    pub fn fail_after(&self, operations: u64, fault: Fault) {
        self.state.lock().fault = Some((operations, fault));
    }

    /// Ends what [`MemoryDisk::fail_after`] began.
    pub fn heal(&self) {
        self.state.lock().fault = None;
    }

    /// Bounds the bytes of all files: a write beyond is `ENOSPC`.
    pub fn set_capacity_bytes(&self, capacity_bytes: u64) {
        self.state.lock().capacity_bytes = capacity_bytes;
    }

    /// Crashes: locks are gone, and of what was not synced only what `crash` says is left. Handles from before must not be used again.
    pub fn crash(&self, crash: Crash) {
        let mut state = self.state.lock();
        state.locks.clear();
        state.fault = None;
        match crash {
            Crash::LoseUnsynced => state.names.crash(None),
            Crash::KeepSome(seed) => state.names.crash(Some(&mut SeededRng::new(seed))),
            Crash::KeepAll => {}
        }
    }

    /// Changes bytes of a file behind everybody's back.
    pub fn corrupt(&self, path: &Path, position: u64, bytes: &[u8]) -> io::Result<()> {
        self.state.lock().names.file(path)?.corrupt(position, bytes);
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryFile {
    content: Arc<Content>,
    disk: MemoryDisk,
}

impl DiskFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.content.read_at(buffer, position)
    }

    fn write_all_at(&self, parts: &mut [IoSlice<'_>], position: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        let len: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let growth = (position + len).saturating_sub(self.content.len());
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let room = state.capacity_bytes.saturating_sub(state.names.used_bytes());
        if growth > room {
            // As much as fits is written before the error, which is what file systems do.
            bytes.truncate((len - (growth - room).min(len)) as usize);
            self.content.write(position, bytes, state.now_ms);
            return Err(Fault::DiskFull.error());
        }
        self.content.write(position, bytes, state.now_ms);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.state.lock().change()?;
        self.content.sync();
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.change()?;
        self.content.set_len(len, state.now_ms);
        Ok(())
    }

    fn start_writeback(&self, _position: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn pin(&self) -> io::Result<Arc<PinnedFile>> {
        Ok(Arc::new(PinnedFile::from_memory(self.content.clone())))
    }
}

#[derive(Debug)]
struct MemoryLock {
    path: PathBuf,
    disk: MemoryDisk,
}

impl LockFile for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.disk.state.lock().locks.remove(&self.path);
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        let content = match (mode, state.names.get(path)) {
            (OpenMode::Existing | OpenMode::CreateIfMissing, Some(Node::File(content))) => content.clone(),
            (OpenMode::CreateEmpty, Some(Node::File(content))) => {
                let content = content.clone();
                state.change()?;
                content.set_len(0, state.now_ms);
                content
            }
            (OpenMode::CreateIfMissing | OpenMode::CreateEmpty, None) => {
                state.change()?;
                let content = Arc::new(Content::new(state.now_ms));
                state.names.create(path, Node::File(content.clone()))?;
                content
            }
            (_, Some(Node::Directory)) => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
            (OpenMode::Existing, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Arc::new(MemoryFile { content, disk: self.clone() }))
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<FileMetadata>> {
        Ok(match self.state.lock().names.get(path) {
            None => None,
            Some(Node::Directory) => Some(FileMetadata { kind: EntryKind::Directory, len: 0, modified_ms: 0 }),
            Some(Node::File(content)) => {
                Some(FileMetadata { kind: EntryKind::File, len: content.len(), modified_ms: content.modified_ms() })
            }
        })
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.state.lock().names.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.change()?;
        state.names.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.change()?;
        state.names.file(path)?;
        state.names.remove(path);
        Ok(())
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.change()?;
        state.names.list(path)?;
        state.names.remove(path);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|ancestor| state.names.get(ancestor).is_none()).map(Path::to_owned).collect();
        for directory in missing.iter().rev() {
            state.change()?;
            state.names.create(directory, Node::Directory)?;
        }
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.change()?;
        state.names.list(path)?;
        state.names.sync(path);
        Ok(())
    }

    fn sync_all(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.change()?;
        state.names.sync_all();
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockFile>>> {
        self.open(path, OpenMode::CreateIfMissing)?;
        let fresh = self.state.lock().locks.insert(path.to_owned());
        Ok(fresh.then(|| Box::new(MemoryLock { path: path.to_owned(), disk: self.clone() }) as Box<dyn LockFile>))
    }

    fn space(&self, _path: &Path) -> io::Result<DiskSpace> {
        let state = self.state.lock();
        let used_bytes = state.names.used_bytes();
        Ok(DiskSpace { total_bytes: state.capacity_bytes, usable_bytes: state.capacity_bytes.saturating_sub(used_bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_file, write_file, write_file_atomically};

    fn disk() -> (MemoryDisk, &'static Path) {
        let disk = MemoryDisk::new();
        let dir = Path::new("/data/topic-0");
        disk.create_dir_all(dir).unwrap();
        for ancestor in dir.ancestors().skip(1) {
            disk.sync_dir(ancestor).unwrap();
        }
        (disk, dir)
    }

    #[test]
    fn a_crash_loses_bytes_that_were_not_synced() {
        let (disk, dir) = disk();
        let path = dir.join("log");
        let file = disk.open(&path, OpenMode::CreateEmpty).unwrap();
        file.write_all_at(&mut [IoSlice::new(b"kept")], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir(dir).unwrap();
        file.write_all_at(&mut [IoSlice::new(b" lost")], 4).unwrap();
        assert_eq!(read_file(&disk, &path).unwrap().as_deref(), Some(&b"kept lost"[..]));
        disk.crash(Crash::LoseUnsynced);
        assert_eq!(read_file(&disk, &path).unwrap().as_deref(), Some(&b"kept"[..]));
    }

    #[test]
    fn a_crash_loses_names_that_were_not_synced() {
        let (disk, dir) = disk();
        write_file(&disk, &dir.join("a"), b"a").unwrap();
        disk.sync_dir(dir).unwrap();
        write_file(&disk, &dir.join("b"), b"b").unwrap();
        disk.rename(&dir.join("a"), &dir.join("c")).unwrap();
        disk.crash(Crash::LoseUnsynced);
        let names: Vec<String> = disk.read_dir(dir).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn a_replaced_file_is_old_or_new_after_a_crash_at_any_point() {
        for operations in 0..20 {
            for seed in 0..8 {
                let (disk, dir) = disk();
                let path = dir.join("checkpoint");
                write_file_atomically(&disk, &path, b"old").unwrap();
                disk.fail_after(operations, Fault::InputOutput);
                let done = write_file_atomically(&disk, &path, b"new").is_ok();
                disk.crash(Crash::KeepSome(seed));
                let content = read_file(&disk, &path).unwrap();
                let allowed: &[&[u8]] = if done { &[b"new"] } else { &[b"old", b"new"] };
                assert!(allowed.contains(&content.as_deref().unwrap()), "{content:?} after {operations} operations, seed {seed}");
            }
        }
    }

    #[test]
    fn a_full_disk_takes_what_fits() {
        let (disk, dir) = disk();
        disk.set_capacity_bytes(6);
        let file = disk.open(&dir.join("log"), OpenMode::CreateEmpty).unwrap();
        file.write_all_at(&mut [IoSlice::new(b"1234")], 0).unwrap();
        let error = file.write_all_at(&mut [IoSlice::new(b"5678")], 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.len().unwrap(), 6);
    }

    #[test]
    fn directories_move_with_what_is_in_them() {
        let (disk, dir) = disk();
        write_file(&disk, &dir.join("log"), b"x").unwrap();
        disk.sync_dir(dir).unwrap();
        disk.rename(dir, Path::new("/data/topic-0.1-delete")).unwrap();
        assert!(disk.metadata(dir).unwrap().is_none());
        assert_eq!(read_file(&disk, Path::new("/data/topic-0.1-delete/log")).unwrap().as_deref(), Some(&b"x"[..]));
        disk.crash(Crash::LoseUnsynced);
        assert_eq!(read_file(&disk, &dir.join("log")).unwrap().as_deref(), Some(&b"x"[..]));
    }
}
