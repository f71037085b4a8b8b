//! The only places that touch files, the clock and randomness: small traits, their real implementations, and deterministic ones
//! for tests and the simulation.
//!
//! Nothing here knows of logs, records or the protocol. Everything blocks and nothing is retried: an error comes back with its path,
//! and whoever called decides what it means for the directory.

mod clock;
mod disk;
mod files;
mod memory;
mod pinned;
mod real;
mod rng;

pub use clock::{Clock, ManualClock, SystemClock};
pub use disk::{DirEntry, Disk, DiskFile, DiskSpace, EntryKind, FileMetadata, LockFile, OpenMode};
pub use files::{read_file, write_file, write_file_atomically};
pub use memory::{Crash, Fault, MemoryDisk};
pub use pinned::PinnedFile;
pub use real::{HandleLimit, RealDisk};
pub use rng::{Rng, SeededRng, SystemRng, random_uuid};
