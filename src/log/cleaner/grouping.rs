//! Which segments become one (`Cleaner.groupSegmentsBySize`). Pure.

use std::ops::Range;

use crate::config::LogConfig;

/// The sizes of a segment's files.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupMember {
    pub(super) base_offset: i64,
    pub(super) size: u64,
    pub(super) offset_index_size: u64,
    pub(super) time_index_size: u64,
}

/// Ranges of segments that fit one segment each. `end_offset` is where the last one ends.
pub(super) fn group(segments: &[GroupMember], config: &LogConfig, end_offset: i64) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < segments.len() {
        let mut end = start + 1;
        let GroupMember { base_offset, mut size, mut offset_index_size, mut time_index_size } = segments[start];
        while let Some(next) = segments.get(end) {
            let next_end = segments.get(end + 1).map_or(end_offset, |after| after.base_offset);
            size += next.size;
            offset_index_size += next.offset_index_size;
            time_index_size += next.time_index_size;
            let index_max = u64::from(config.segment_index_bytes);
            let fits = size <= u64::from(config.segment_bytes) && offset_index_size <= index_max && time_index_size <= index_max;
            if !fits || next_end - 1 - base_offset > i64::from(i32::MAX) {
                break;
            }
            end += 1;
        }
        groups.push(start..end);
        start = end;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(base_offset: i64, size: u64) -> GroupMember {
        GroupMember { base_offset, size, offset_index_size: 8, time_index_size: 12 }
    }

    #[test]
    fn groups_fill_a_segment() {
        let config = LogConfig { segment_bytes: 100, ..LogConfig::default() };
        let segments = [member(0, 60), member(10, 40), member(20, 90), member(30, 20), member(40, 200), member(50, 0)];
        assert_eq!(group(&segments, &config, 60), [0..2, 2..3, 3..4, 4..5, 5..6]);
        let small_index = LogConfig { segment_index_bytes: 20, ..LogConfig::default() };
        assert_eq!(group(&segments, &small_index, 60).len(), 6);
    }

    #[test]
    fn offsets_must_fit_the_indexes() {
        let far = i64::from(i32::MAX);
        let segments = [member(0, 1), member(10, 1), member(far, 1)];
        assert_eq!(group(&segments, &LogConfig::default(), far + 1), vec![Range { start: 0, end: 3 }]);
        assert_eq!(group(&segments, &LogConfig::default(), far + 2), [0..2, 2..3]);
    }
}
