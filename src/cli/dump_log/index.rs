//! Offset, time and transaction indexes: fixed-size entries, in preallocated files up to the first entry that is all zero.

use std::io::Write;
use std::path::Path;

use ottla_io::Disk;

use super::{DumpError, base_offset, read_whole};

const OFFSET_ENTRY: usize = 8;
const TIME_ENTRY: usize = 12;
const ABORTED_ENTRY: usize = 34;

pub(super) fn dump_offsets(disk: &dyn Disk, path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    let base_offset = base_offset(path);
    let content = read_whole(disk, path)?;
    if content.len() < OFFSET_ENTRY {
        writeln!(out, "{} is empty.", path.display())?;
    }
    for (index, entry) in content.as_chunks::<OFFSET_ENTRY>().0.iter().enumerate() {
        let &[a, b, c, d, e, f, g, h] = entry;
        let relative_offset = i32::from_be_bytes([a, b, c, d]);
        if relative_offset == 0 && index > 0 {
            break;
        }
        let position = i32::from_be_bytes([e, f, g, h]);
        writeln!(out, "offset: {} position: {position}", base_offset + i64::from(relative_offset))?;
    }
    Ok(())
}

pub(super) fn dump_times(disk: &dyn Disk, path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    let base_offset = base_offset(path);
    for (index, entry) in read_whole(disk, path)?.as_chunks::<TIME_ENTRY>().0.iter().enumerate() {
        let &[a, b, c, d, e, f, g, h, offset @ ..] = entry;
        let timestamp = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let relative_offset = i32::from_be_bytes(offset);
        if relative_offset == 0 && index > 0 {
            break;
        }
        writeln!(out, "timestamp: {timestamp} offset: {}", base_offset + i64::from(relative_offset))?;
    }
    Ok(())
}

pub(super) fn dump_aborted(disk: &dyn Disk, path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    for entry in read_whole(disk, path)?.as_chunks::<ABORTED_ENTRY>().0 {
        let version = [entry[0], entry[1]];
        let number = |at: usize| i64::from_be_bytes(*entry[at..].first_chunk().expect("four numbers follow the version"));
        writeln!(
            out,
            "version: {} producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
            i16::from_be_bytes(version),
            number(2),
            number(10),
            number(18),
            number(26),
        )?;
    }
    Ok(())
}
