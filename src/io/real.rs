//! The operating system's files. Handles are opened when they are first used and closed again when too many are open, so that the
//! number of partitions is not bounded by the number of file descriptors.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::{DirEntry, Disk, DiskFile, DiskSpace, EntryKind, FileMetadata, LockFile, OpenMode, PinnedFile};

/// How many files may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleLimit(pub usize);

impl HandleLimit {
    /// A quarter of what the process may open, at most 8192: the rest is for connections.
    pub fn of_process() -> HandleLimit {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        HandleLimit((limit / 4).clamp(16, 8192) as usize)
    }
}

/// Files of the operating system.
#[derive(Clone, Debug)]
pub struct RealDisk {
    handles: Arc<OpenHandles>,
}

impl RealDisk {
    /// A disk that keeps at most so many files open. Files that are pinned or being used at the moment come on top.
    pub fn new(limit: HandleLimit) -> RealDisk {
        RealDisk { handles: Arc::new(OpenHandles { limit: limit.0.max(1), open: Mutex::new(VecDeque::new()) }) }
    }
}

/// The files whose descriptor is open, oldest first; a file that was used since it was last looked at gets a second chance.
#[derive(Debug)]
struct OpenHandles {
    limit: usize,
    open: Mutex<VecDeque<Weak<Handle>>>,
}

impl OpenHandles {
    fn opened(&self, handle: &Arc<Handle>) {
        let mut open = self.open.lock();
        // Two rounds suffice: in the second nobody has had a chance to be used again but those that really are in use.
        let mut tries = 2 * open.len();
        while open.len() >= self.limit && tries > 0 {
            tries -= 1;
            let Some(oldest) = open.pop_front() else { break };
            let Some(candidate) = oldest.upgrade() else { continue };
            if candidate.used.swap(false, Ordering::Relaxed) || Arc::ptr_eq(&candidate, handle) {
                open.push_back(oldest);
            } else {
                *candidate.descriptor.lock() = None;
            }
        }
        open.push_back(Arc::downgrade(handle));
    }
}

#[derive(Debug)]
struct Handle {
    path: PathBuf,
    used: AtomicBool,
    descriptor: Mutex<Option<Arc<PinnedFile>>>,
}

/// A file of [`RealDisk`].
#[derive(Debug)]
struct RealFile {
    handle: Arc<Handle>,
    handles: Arc<OpenHandles>,
}

impl RealFile {
    fn pinned(&self) -> io::Result<Arc<PinnedFile>> {
        if let Some(pinned) = &*self.handle.descriptor.lock() {
            self.handle.used.store(true, Ordering::Relaxed);
            return Ok(pinned.clone());
        }
        self.attach(open_file(&self.handle.path, OFlags::empty())?)
    }

    fn attach(&self, descriptor: OwnedFd) -> io::Result<Arc<PinnedFile>> {
        let pinned = {
            let mut slot = self.handle.descriptor.lock();
            match &*slot {
                // Another thread was faster.
                Some(pinned) => return Ok(pinned.clone()),
                None => slot.insert(Arc::new(PinnedFile::from_descriptor(descriptor))).clone(),
            }
        };
        self.handles.opened(&self.handle);
        Ok(pinned)
    }

    fn with_descriptor<T>(&self, operation: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>) -> io::Result<T> {
        let pinned = self.pinned()?;
        let descriptor = pinned.descriptor().expect("files of this disk have descriptors");
        operation(descriptor).map_err(|error| at(&self.handle.path, error))
    }
}

/// An error of the operating system says which file it is about.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), PathError { path: path.to_owned(), error })
}

/// An error together with its path. The operating system's error is the source.
#[derive(Debug)]
struct PathError {
    path: PathBuf,
    error: io::Error,
}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

fn open_file(path: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | extra;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)).map_err(|errno| at(path, errno.into()))
}

/// Reads until the buffer is full or the file ends.
pub(crate) fn read_full(descriptor: BorrowedFd<'_>, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match rustix::io::pread(descriptor, &mut buffer[read..], position + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(read)
}

fn write_full(descriptor: BorrowedFd<'_>, mut parts: &mut [IoSlice<'_>], mut position: u64) -> io::Result<()> {
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match rustix::io::pwritev(descriptor, parts, position) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                position += count as u64;
                IoSlice::advance_slices(&mut parts, count);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.with_descriptor(|descriptor| read_full(descriptor, buffer, position))
    }

    fn write_all_at(&self, parts: &mut [IoSlice<'_>], position: u64) -> io::Result<()> {
        self.with_descriptor(|descriptor| write_full(descriptor, parts, position))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with_descriptor(|descriptor| Ok(rustix::fs::fdatasync(descriptor)?))
    }

    fn len(&self) -> io::Result<u64> {
        self.with_descriptor(|descriptor| Ok(rustix::fs::fstat(descriptor)?.st_size as u64))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with_descriptor(|descriptor| Ok(rustix::fs::ftruncate(descriptor, len)?))
    }

    fn start_writeback(&self, position: u64, len: u64) -> io::Result<()> {
        self.with_descriptor(|descriptor| start_writeback(descriptor, position, len))
    }

    fn pin(&self) -> io::Result<Arc<PinnedFile>> {
        self.pinned()
    }
}

#[cfg(target_os = "linux")]
fn start_writeback(descriptor: BorrowedFd<'_>, position: u64, len: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the call takes plain numbers and the descriptor is borrowed for its duration.
    let result = unsafe { libc::sync_file_range(descriptor.as_raw_fd(), position as i64, len as i64, libc::SYNC_FILE_RANGE_WRITE) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn start_writeback(_descriptor: BorrowedFd<'_>, _position: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Keeps the lock until it is dropped: closing the file releases it.
#[derive(Debug)]
struct RealLock {
    _file: File,
}

impl LockFile for RealLock {}

/// Takes a lock of the open file description: it meets the record locks that Java takes, and a second lock within this process too,
/// and goes when the file is closed. `false` when somebody else has it.
#[cfg(target_os = "linux")]
fn lock_exclusively(file: BorrowedFd<'_>) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    // SAFETY: all zeros is a valid `flock`, and the call only reads it.
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock)
    };
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// Takes a record lock, as Java does. `false` when another process has it.
#[cfg(not(target_os = "linux"))]
fn lock_exclusively(file: BorrowedFd<'_>) -> io::Result<bool> {
    match rustix::fs::fcntl_lock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn kind_of(file_type: fs::FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Directory
    } else {
        EntryKind::Other
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(elapsed) => elapsed.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let handle = Handle { path: path.to_owned(), used: AtomicBool::new(false), descriptor: Mutex::new(None) };
        let file = RealFile { handle: Arc::new(handle), handles: self.handles.clone() };
        match mode {
            OpenMode::Existing => {}
            OpenMode::CreateIfMissing => {
                file.attach(open_file(path, OFlags::CREATE)?)?;
            }
            OpenMode::CreateEmpty => {
                file.attach(open_file(path, OFlags::CREATE | OFlags::TRUNC)?)?;
            }
        }
        Ok(Arc::new(file))
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<FileMetadata>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(FileMetadata {
                kind: kind_of(metadata.file_type()),
                len: metadata.len(),
                modified_ms: milliseconds(metadata.modified()?),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(path, error)),
        }
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| at(path, error))? {
            let entry = entry.map_err(|error| at(path, error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let mut file_type = entry.file_type().map_err(|error| at(path, error))?;
            if file_type.is_symlink() {
                match fs::metadata(entry.path()) {
                    Ok(target) => file_type = target.file_type(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(at(&entry.path(), error)),
                }
            }
            entries.push(DirEntry { name, kind: kind_of(file_type) });
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to).map_err(|error| at(from, error))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path).map_err(|error| at(path, error))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path).map_err(|error| at(path, error))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path).map_err(|error| at(path, error))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // A relative path of one name has the empty path as its parent.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        File::open(path).and_then(|directory| directory.sync_all()).map_err(|error| at(path, error))
    }

    #[cfg(target_os = "linux")]
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        let directory = File::open(path).map_err(|error| at(path, error))?;
        rustix::fs::syncfs(&directory).map_err(|errno| at(path, errno.into()))
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_all(&self, _path: &Path) -> io::Result<()> {
        rustix::fs::sync();
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockFile>>> {
        let file: File = open_file(path, OFlags::CREATE)?.into();
        if lock_exclusively(file.as_fd()).map_err(|error| at(path, error))? {
            Ok(Some(Box::new(RealLock { _file: file })))
        } else {
            Ok(None)
        }
    }

    fn space(&self, path: &Path) -> io::Result<DiskSpace> {
        let stat = rustix::fs::statvfs(path).map_err(|errno| at(path, errno.into()))?;
        Ok(DiskSpace { total_bytes: stat.f_blocks * stat.f_frsize, usable_bytes: stat.f_bavail * stat.f_frsize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_file, write_file_atomically};

    fn disk(limit: usize) -> (RealDisk, tempfile::TempDir) {
        (RealDisk::new(HandleLimit(limit)), tempfile::tempdir().expect("a temporary directory"))
    }

    fn open_descriptors() -> usize {
        fs::read_dir("/proc/self/fd").expect("Linux lists descriptors").count()
    }

    #[test]
    fn many_files_with_few_handles() {
        let (disk, dir) = disk(4);
        let before = open_descriptors();
        let files: Vec<_> = (0..100u8)
            .map(|number| {
                let file = disk.open(&dir.path().join(number.to_string()), OpenMode::CreateIfMissing).unwrap();
                file.write_all_at(&mut [IoSlice::new(&[number; 10])], 0).unwrap();
                file
            })
            .collect();
        // Other tests of this process open files too, but not this many.
        assert!(open_descriptors() < before + 50, "handles are closed");
        for (number, file) in files.iter().enumerate() {
            let mut content = [0; 10];
            file.read_exact_at(&mut content, 0).unwrap();
            assert_eq!(content, [number as u8; 10]);
        }
    }

    #[test]
    fn a_pin_outlives_its_name_and_its_handle() {
        let (disk, dir) = disk(1);
        let path = dir.path().join("a");
        let file = disk.open(&path, OpenMode::CreateEmpty).unwrap();
        file.write_all_at(&mut [IoSlice::new(b"he"), IoSlice::new(b""), IoSlice::new(b"llo")], 0).unwrap();
        let pinned = file.pin().unwrap();
        disk.remove_file(&path).unwrap();
        disk.open(&dir.path().join("b"), OpenMode::CreateEmpty).unwrap();
        disk.open(&dir.path().join("c"), OpenMode::CreateEmpty).unwrap();
        let mut content = [0; 8];
        assert_eq!(pinned.read_at(&mut content, 1).unwrap(), 4);
        assert_eq!(&content[..4], b"ello");
        assert!(pinned.descriptor().is_some());
        assert_eq!(file.read_at(&mut content, 0).unwrap_err().kind(), io::ErrorKind::NotFound, "reopened by its name");
    }

    #[test]
    fn a_directory_is_locked_once() {
        let (disk, dir) = disk(4);
        let path = dir.path().join(".lock");
        let lock = disk.lock(&path).unwrap();
        assert!(lock.is_some());
        assert!(disk.lock(&path).unwrap().is_none());
        drop(lock);
        assert!(disk.lock(&path).unwrap().is_some());
    }

    #[test]
    fn files_are_replaced_as_a_whole() {
        let (disk, dir) = disk(4);
        let path = dir.path().join("checkpoint");
        assert_eq!(read_file(&disk, &path).unwrap(), None);
        write_file_atomically(&disk, &path, b"one").unwrap();
        write_file_atomically(&disk, &path, b"2").unwrap();
        assert_eq!(read_file(&disk, &path).unwrap().as_deref(), Some(&b"2"[..]));
        let names: Vec<String> = disk.read_dir(dir.path()).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["checkpoint"]);
    }

    #[test]
    fn errors_name_the_file() {
        let (disk, dir) = disk(4);
        let error = disk.open(&dir.path().join("missing/file"), OpenMode::CreateEmpty).unwrap_err();
        assert!(error.to_string().contains("missing/file"), "{error}");
    }
}
