//! What compaction does with a segment's files: other names, and a second life under the usual ones.

use std::io;
use std::path::Path;

use ottla_io::Disk;

use super::{LogSegment, SegmentSizes, SegmentTimes};
use crate::cleaner::SourceSegment;
use crate::index::AbortedTransaction;
use crate::paths::{CLEANED_SUFFIX, LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_file};

impl LogSegment {
    /// A new segment in `.cleaned` files.
    pub(crate) fn create_cleaned(disk: &dyn Disk, dir: &Path, base_offset: i64, times: SegmentTimes) -> io::Result<LogSegment> {
        LogSegment::create_with_suffix(disk, dir, base_offset, CLEANED_SUFFIX, times)
    }

    /// The segment as a cleaning reads it.
    pub(crate) fn as_source(&self) -> SourceSegment {
        SourceSegment {
            base_offset: self.base_offset,
            size: self.size,
            file: self.file.clone(),
            offset_index_size: self.offset_index.size_in_bytes(),
            time_index_size: self.time_index.size_in_bytes(),
            times: self.times,
        }
    }

    /// Enters an aborted transaction into the `.cleaned` transaction index.
    pub(crate) fn append_aborted_cleaned(&mut self, disk: &dyn Disk, dir: &Path, aborted: &AbortedTransaction) -> io::Result<()> {
        let suffix = format!("{TRANSACTION_INDEX_SUFFIX}{CLEANED_SUFFIX}");
        self.transaction_index.append(disk, segment_file(dir, self.base_offset, &suffix), aborted)
    }

    /// Renames the files, the records first: while they have not got their final name, a restart clears the final names of all.
    pub(crate) fn change_suffix(&self, disk: &dyn Disk, dir: &Path, from: &str, to: &str) -> io::Result<()> {
        for kind in [LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX] {
            if kind == TRANSACTION_INDEX_SUFFIX && self.transaction_index.file().is_none() {
                continue;
            }
            let path = |suffix: &str| segment_file(dir, self.base_offset, &format!("{kind}{suffix}"));
            disk.rename(&path(from), &path(to))?;
        }
        Ok(())
    }

    /// The same segment, once its files have the usual names.
    pub(crate) fn reopen(&self, disk: &dyn Disk, dir: &Path) -> io::Result<LogSegment> {
        let sizes = SegmentSizes {
            log: u64::from(self.size),
            offset_index: Some(self.offset_index.size_in_bytes()),
            time_index: Some(self.time_index.size_in_bytes()),
            transaction_index: self.transaction_index.size_in_bytes(),
        };
        LogSegment::open(disk, dir, self.base_offset, sizes, self.times)
    }
}
