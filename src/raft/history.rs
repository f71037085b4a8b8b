//! Values that control records set at offsets of the log: voter sets and `kraft.version`. What is truncated from the log is forgotten
//! here too, so that an uncommitted change disappears with its record.

use std::collections::BTreeMap;

use crate::log_view::ControlRecord;
use crate::replica::VoterSet;

/// Values by the offset at which they were set (`TreeMapLogHistory`).
#[derive(Clone, Debug)]
pub struct LogHistory<T> {
    entries: BTreeMap<i64, T>,
}

impl<T> Default for LogHistory<T> {
    fn default() -> LogHistory<T> {
        LogHistory { entries: BTreeMap::new() }
    }
}

impl<T> LogHistory<T> {
    /// The record at `offset` sets `value`.
    pub fn add(&mut self, offset: i64, value: T) {
        self.entries.insert(offset, value);
    }

    /// The latest value and its offset.
    pub fn last(&self) -> Option<(i64, &T)> {
        self.entries.last_key_value().map(|(&offset, value)| (offset, value))
    }

    /// The value that holds after the record at `offset`.
    pub fn at_or_before(&self, offset: i64) -> Option<&T> {
        self.entries.range(..=offset).next_back().map(|(_, value)| value)
    }

    /// Forgets what records at `end_offset` and later have set.
    pub fn truncate_from(&mut self, end_offset: i64) {
        self.entries.split_off(&end_offset);
    }

    /// Forgets what was replaced by `start_offset`; the value that holds there stays.
    pub fn truncate_before(&mut self, start_offset: i64) {
        if let Some((&first, _)) = self.entries.range(..=start_offset).next_back() {
            self.entries = self.entries.split_off(&first);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// What the control records of the snapshot and the log say (`KRaftControlRecordStateMachine`). Uncommitted records count: Raft's
/// configuration is the latest one in the log.
#[derive(Clone, Debug, Default)]
pub struct ControlHistory {
    static_voters: VoterSet,
    voters: LogHistory<VoterSet>,
    kraft_version: LogHistory<i16>,
}

impl ControlHistory {
    /// Nothing read yet; until a voters record is found, the voters are `static_voters` (`controller.quorum.voters`).
    pub fn new(static_voters: VoterSet) -> ControlHistory {
        ControlHistory { static_voters, voters: LogHistory::default(), kraft_version: LogHistory::default() }
    }

    /// Takes note of a control record at `offset`. The records of a snapshot count as set at its end offset - 1.
    pub fn apply(&mut self, offset: i64, record: &ControlRecord) {
        match record {
            ControlRecord::Voters(voters) => self.voters.add(offset, VoterSet::from_record(voters)),
            ControlRecord::KRaftVersion(version) => self.kraft_version.add(offset, version.k_raft_version),
            ControlRecord::LeaderChange(_) | ControlRecord::SnapshotHeader(_) | ControlRecord::SnapshotFooter(_) => {}
        }
    }

    /// The voters now.
    pub fn last_voters(&self) -> &VoterSet {
        self.voters.last().map_or(&self.static_voters, |(_, voters)| voters)
    }

    /// Where the voters now were set; `None` if no record names them, -1 if the snapshot of formatting does.
    pub fn last_voters_offset(&self) -> Option<i64> {
        self.voters.last().map(|(offset, _)| offset)
    }

    /// The voters that hold after the record at `offset`, if records name them.
    pub fn voters_at(&self, offset: i64) -> Option<&VoterSet> {
        self.voters.at_or_before(offset)
    }

    /// `kraft.version` now.
    pub fn last_kraft_version(&self) -> i16 {
        self.kraft_version.last().map_or(0, |(_, &version)| version)
    }

    /// `kraft.version` after the record at `offset`.
    pub fn kraft_version_at(&self, offset: i64) -> i16 {
        self.kraft_version.at_or_before(offset).copied().unwrap_or(0)
    }

    /// Whether voter sets are kept in the log and may change.
    pub fn supports_reconfiguration(&self) -> bool {
        self.last_kraft_version() > 0
    }

    /// The log now ends at `end_offset`.
    pub fn truncate_from(&mut self, end_offset: i64) {
        self.voters.truncate_from(end_offset);
        self.kraft_version.truncate_from(end_offset);
    }

    /// The log now begins at `start_offset`.
    pub fn truncate_before(&mut self, start_offset: i64) {
        self.voters.truncate_before(start_offset);
        self.kraft_version.truncate_before(start_offset);
    }

    /// A snapshot has taken the place of the log.
    pub fn clear(&mut self) {
        self.voters.clear();
        self.kraft_version.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_log() {
        let mut history = LogHistory::default();
        for (offset, value) in [(-1, 'a'), (10, 'b'), (20, 'c')] {
            history.add(offset, value);
        }
        assert_eq!(history.at_or_before(9), Some(&'a'));
        assert_eq!(history.at_or_before(10), Some(&'b'));
        history.truncate_from(20);
        assert_eq!(history.last(), Some((10, &'b')));
        history.truncate_before(9);
        assert_eq!(history.at_or_before(9), Some(&'a'));
        history.truncate_before(10);
        assert_eq!(history.at_or_before(9), None);
        assert_eq!(history.last(), Some((10, &'b')));
    }
}
