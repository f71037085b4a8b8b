//! What is in a partition's directory, after leftovers of interrupted work are cleared away (`LogLoader`'s first passes).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ottla_io::{Disk, EntryKind};

use crate::checkpoint::{LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA};
use crate::paths::{
    CLEANED_SUFFIX, DELETED_SUFFIX, LOG_SUFFIX, OFFSET_INDEX_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX, SWAP_SUFFIX, TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX, offset_of_file,
};
use crate::segment::SegmentSizes;

/// A deleted snapshot of the metadata log, which the quorum clears away itself.
const METADATA_SNAPSHOT_DELETED_SUFFIX: &str = ".checkpoint.deleted";

/// The files of one segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentFiles {
    pub(crate) sizes: SegmentSizes,
    /// When the log file was last written.
    pub(crate) modified_ms: i64,
}

/// The files of a log.
#[derive(Debug, Default)]
pub(crate) struct DirectoryFiles {
    /// By base offset.
    pub(crate) segments: BTreeMap<i64, SegmentFiles>,
    /// The offsets of producer snapshots.
    pub(crate) snapshots: Vec<i64>,
    pub(crate) has_leader_epochs: bool,
    pub(crate) has_partition_metadata: bool,
}

impl DirectoryFiles {
    /// Clears leftovers away and lists what remains.
    pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> io::Result<DirectoryFiles> {
        let mut names = file_names(disk, dir)?;
        let is_leftover = |name: &String| [DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX].iter().any(|suffix| name.ends_with(suffix));
        if names.iter().any(is_leftover) {
            clear_leftovers(disk, dir, &names)?;
            names = file_names(disk, dir)?;
        }
        let mut files = DirectoryFiles::default();
        for name in &names {
            files.add(disk, dir, name)?;
        }
        files.remove_orphans(disk, dir, &names)?;
        Ok(files)
    }

    fn add(&mut self, disk: &dyn Disk, dir: &Path, name: &str) -> io::Result<()> {
        match name {
            LEADER_EPOCH_CHECKPOINT => self.has_leader_epochs = true,
            PARTITION_METADATA => self.has_partition_metadata = true,
            _ => {
                let Some(offset) = offset_of_file(name) else { return Ok(()) };
                let suffix = &name[name.find('.').unwrap_or(name.len())..];
                match suffix {
                    PRODUCER_SNAPSHOT_SUFFIX => self.snapshots.push(offset),
                    LOG_SUFFIX | OFFSET_INDEX_SUFFIX | TIME_INDEX_SUFFIX | TRANSACTION_INDEX_SUFFIX => {
                        let Some(metadata) = disk.metadata(&dir.join(name))? else { return Ok(()) };
                        let segment = self.segments.entry(offset).or_default();
                        match suffix {
                            LOG_SUFFIX => {
                                segment.sizes.log = metadata.len;
                                segment.modified_ms = metadata.modified_ms;
                            }
                            OFFSET_INDEX_SUFFIX => segment.sizes.offset_index = Some(metadata.len),
                            TIME_INDEX_SUFFIX => segment.sizes.time_index = Some(metadata.len),
                            _ => segment.sizes.transaction_index = Some(metadata.len),
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Removes indexes without a log file.
    fn remove_orphans(&mut self, disk: &dyn Disk, dir: &Path, names: &[String]) -> io::Result<()> {
        let with_log: Vec<i64> = names.iter().filter(|name| name.ends_with(LOG_SUFFIX)).filter_map(|name| offset_of_file(name)).collect();
        for name in names {
            let is_index = [OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX].iter().any(|suffix| name.ends_with(suffix));
            let Some(offset) = offset_of_file(name).filter(|offset| is_index && !with_log.contains(offset)) else { continue };
            tracing::warn!(dir = %dir.display(), name, "removing an index without a log file");
            disk.remove_file(&dir.join(name))?;
            self.segments.remove(&offset);
        }
        Ok(())
    }
}

fn file_names(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<String>> {
    let entries = disk.read_dir(dir)?;
    Ok(entries.into_iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.name).collect())
}

/// Removes files that were being deleted or written when the broker went down, and completes a compaction that had come to swapping its
/// segments in.
fn clear_leftovers(disk: &dyn Disk, dir: &Path, names: &[String]) -> io::Result<()> {
    let remove = |name: &str| {
        tracing::info!(dir = %dir.display(), name, "removing a leftover file");
        disk.remove_file(&dir.join(name))
    };
    let with_suffix = |suffix: &'static str| names.iter().filter(move |name| name.ends_with(suffix));
    for name in with_suffix(DELETED_SUFFIX).filter(|name| !name.ends_with(METADATA_SNAPSHOT_DELETED_SUFFIX)) {
        remove(name)?;
    }
    // Segments above one that is still being written belong to a split that cannot be completed.
    let first_cleaned = with_suffix(CLEANED_SUFFIX).filter_map(|name| offset_of_file(name)).min().unwrap_or(i64::MAX);
    for name in with_suffix(CLEANED_SUFFIX) {
        remove(name)?;
    }
    let (swapped, invalid): (Vec<&String>, Vec<&String>) =
        with_suffix(SWAP_SUFFIX).partition(|name| offset_of_file(name).is_some_and(|offset| offset < first_cleaned));
    for name in invalid {
        remove(name)?;
    }
    if swapped.is_empty() {
        return Ok(());
    }
    remove_replaced(disk, dir, names, &swapped)?;
    for name in swapped {
        tracing::info!(dir = %dir.display(), name, "completing an interrupted swap");
        disk.rename(&dir.join(name), &dir.join(name.trim_end_matches(SWAP_SUFFIX)))?;
    }
    disk.sync_dir(dir)
}

/// Removes the segments whose offsets the swapped ones cover.
fn remove_replaced(disk: &dyn Disk, dir: &Path, names: &[String], swapped: &[&String]) -> io::Result<()> {
    let (mut start, mut end) = (i64::MAX, i64::MIN);
    for name in swapped.iter().filter(|name| name.trim_end_matches(SWAP_SUFFIX).ends_with(LOG_SUFFIX)) {
        let Some(base_offset) = offset_of_file(name) else { continue };
        start = start.min(base_offset);
        end = end.max(next_offset(disk, &dir.join(name), base_offset)?);
    }
    for name in names {
        let replaced = offset_of_file(name).is_some_and(|offset| (start..end).contains(&offset));
        let is_marked = [SWAP_SUFFIX, CLEANED_SUFFIX, DELETED_SUFFIX].iter().any(|suffix| name.ends_with(suffix));
        if replaced && !is_marked {
            tracing::info!(dir = %dir.display(), name, "removing a file that compaction has replaced");
            disk.remove_file(&dir.join(name))?;
        }
    }
    Ok(())
}

/// The offset behind the last batch of a log file.
fn next_offset(disk: &dyn Disk, path: &Path, base_offset: i64) -> io::Result<i64> {
    use crate::batch_reader::{BatchReader, READ_AHEAD_LOOKUP, Step};
    let file = disk.open(path, ottla_io::OpenMode::Existing)?;
    let size = u32::try_from(file.len()?).unwrap_or(u32::MAX);
    let mut reader = BatchReader::new(&file, 0, size, READ_AHEAD_LOOKUP);
    let mut next_offset = base_offset;
    while let Step::Batch(batch) = reader.step()? {
        next_offset = batch.header.next_offset();
    }
    Ok(next_offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_batches::TestBatch;
    use ottla_io::{MemoryDisk, write_file};

    fn load(files: &[(&str, Vec<u8>)]) -> (Vec<String>, DirectoryFiles) {
        let disk = MemoryDisk::new();
        let dir = Path::new("/d");
        disk.create_dir_all(dir).unwrap();
        for (name, content) in files {
            write_file(&disk, &dir.join(name), content).unwrap();
        }
        let loaded = DirectoryFiles::load(&disk, dir).unwrap();
        let mut names = file_names(&disk, dir).unwrap();
        names.sort();
        (names, loaded)
    }

    fn name(offset: i64, suffix: &str) -> String {
        format!("{offset:020}{suffix}")
    }

    #[test]
    fn lists_segments_and_drops_orphans() {
        let (log, index, orphan, snapshot) = (name(0, ".log"), name(0, ".index"), name(5, ".timeindex"), name(7, ".snapshot"));
        let (names, files) = load(&[
            (&log, vec![1, 2, 3]),
            (&index, vec![0; 8]),
            (&orphan, vec![]),
            (&snapshot, vec![]),
            ("leader-epoch-checkpoint", vec![]),
            ("something else", vec![]),
        ]);
        assert!(!names.contains(&orphan));
        assert_eq!(files.segments.keys().copied().collect::<Vec<_>>(), [0]);
        assert_eq!(files.segments[&0].sizes.log, 3);
        assert_eq!((files.segments[&0].sizes.offset_index, files.segments[&0].sizes.time_index), (Some(8), None));
        assert_eq!(files.snapshots, [7]);
        assert!(files.has_leader_epochs && !files.has_partition_metadata);
    }

    #[test]
    fn an_interrupted_swap_is_completed() {
        let compacted = TestBatch::at(0).records(20).bytes();
        let (names, _) = load(&[
            (&name(0, ".log"), vec![1]),
            (&name(10, ".log"), vec![1]),
            (&name(20, ".log"), vec![1]),
            (&name(0, ".log.swap"), compacted),
            (&name(0, ".index.swap"), vec![]),
            (&name(3, ".log.deleted"), vec![]),
        ]);
        assert_eq!(names, [name(0, ".index"), name(0, ".log"), name(20, ".log")]);
    }

    #[test]
    fn an_unfinished_compaction_is_forgotten() {
        let (names, _) = load(&[
            (&name(0, ".log"), vec![1]),
            (&name(0, ".log.cleaned"), vec![]),
            (&name(10, ".log.swap"), vec![]),
            ("00000000000000000005-0000000001.checkpoint.deleted", vec![]),
        ]);
        assert_eq!(names, [name(0, ".log"), "00000000000000000005-0000000001.checkpoint.deleted".to_owned()]);
    }
}
