//! The follower's side of replication: what came from the leader goes into the log, or the log is cut, or replaced by a snapshot.

use ottla_model::{BrokerId, ErrorCode};

use crate::core::RaftCore;
use crate::event::{Action, Anomaly};
use crate::log_view::ControlRecord;
use crate::message::{FetchAnswer, FetchOutcome, FetchSnapshotAnswer, SnapshotPart};
use crate::replica::OffsetAndEpoch;
use crate::role::{AppendingFetched, FetchingSnapshot, FollowerState, Role};

impl RaftCore {
    /// The leader of this epoch has answered a fetch from `asked_from`. Answers whether the connection is in order.
    pub(crate) fn handle_fetch_answer(&mut self, now_ms: i64, asked_from: OffsetAndEpoch, answer: FetchAnswer) -> bool {
        if asked_from != self.end_of_log() {
            // The log has changed since: the answer continues something that is no longer its end.
            return true;
        }
        match answer.outcome {
            FetchOutcome::Records(records) if !records.is_empty() => {
                let leader_high_watermark = answer.high_watermark;
                self.with_follower(|state| state.appending = Some(AppendingFetched { leader_high_watermark }));
                self.push(Action::AppendFetched { epoch: self.epoch, records });
            }
            FetchOutcome::Records(_) | FetchOutcome::NoRecords | FetchOutcome::FromLog { .. } => {
                self.follow_high_watermark(answer.high_watermark);
            }
            FetchOutcome::Diverging(end) => self.truncate_to(end),
            FetchOutcome::Snapshot(id) if id.offset < 0 || id.epoch.0 < 0 => return false,
            // A snapshot that is already here needs no fetching; the next fetch will show why the leader named it.
            FetchOutcome::Snapshot(id) if self.log.snapshot_size(id).is_some() => {}
            FetchOutcome::Snapshot(id) => self.with_follower(|state| {
                state.fetching_snapshot = Some(FetchingSnapshot { id, received: 0, installing: false });
            }),
        }
        self.fetch_succeeded(now_ms);
        true
    }

    fn truncate_to(&mut self, diverging: OffsetAndEpoch) {
        let offset = self.log.truncation_offset(diverging);
        if let Some(high_watermark) = self.high_watermark
            && offset < high_watermark
        {
            self.report(Anomaly::TruncationBelowHighWatermark { offset, high_watermark });
            return;
        }
        self.log.truncate(offset);
        self.history.truncate_from(offset);
        self.push(Action::Truncate { offset });
    }

    /// The fetched records are in the log. A voter makes them durable before it fetches on, for its next fetch says that it has them.
    pub(crate) fn fetched_records_appended(&mut self, now_ms: i64) {
        if self.is_voter() || self.config.can_become_voter {
            self.push(Action::Flush);
        }
        let Role::Follower(state) = &mut self.role else { return };
        if let Some(appending) = state.appending.take() {
            self.follow_high_watermark(appending.leader_high_watermark);
        }
        self.fetch_succeeded(now_ms);
    }

    /// They are damaged: the next fetch asks for them again.
    pub(crate) fn fetched_records_refused(&mut self, now_ms: i64) {
        self.with_follower(|state| state.appending = None);
        self.fetch_succeeded(now_ms);
    }

    fn follow_high_watermark(&mut self, leader_high_watermark: Option<i64>) {
        let Some(leader_high_watermark) = leader_high_watermark else { return };
        let high_watermark = leader_high_watermark.min(self.log.end_offset());
        self.high_watermark = self.high_watermark.max(Some(high_watermark));
    }

    /// The leader of this epoch has answered a request for a part of a snapshot.
    pub(crate) fn handle_fetch_snapshot_answer(
        &mut self,
        now_ms: i64,
        from: BrokerId,
        asked: (OffsetAndEpoch, i64),
        error: ErrorCode,
        answer: FetchSnapshotAnswer,
    ) -> bool {
        let Role::Follower(state) = &mut self.role else { return true };
        let current = state.fetching_snapshot.map(|snapshot| (snapshot.id, snapshot.received));
        if current != Some(asked) {
            return true;
        }
        if error == ErrorCode::SnapshotNotFound || (error.is_none() && answer.snapshot_id.is_none()) {
            // The leader has a newer one by now: a fetch will name it.
            state.fetching_snapshot = None;
            self.fetch_succeeded(now_ms);
            return true;
        }
        if !error.is_none() {
            self.report(Anomaly::UnexpectedError { from, error });
            return false;
        }
        let (id, position) = asked;
        let part = match answer.part {
            SnapshotPart::Bytes(part) if answer.snapshot_id == Some(id) && answer.position == position && !part.is_empty() => part,
            SnapshotPart::Bytes(_) | SnapshotPart::Empty | SnapshotPart::FromSnapshot { .. } => {
                self.report(Anomaly::UnexpectedAnswer { from });
                return false;
            }
        };
        let received = position + part.len() as i64;
        let is_complete = received >= answer.size;
        self.push(Action::StoreSnapshotPart { id, position, part });
        self.with_follower(|state| {
            state.fetching_snapshot = Some(FetchingSnapshot { id, received, installing: is_complete });
        });
        if is_complete {
            self.push(Action::InstallSnapshot { id });
        }
        self.fetch_succeeded(now_ms);
        true
    }

    pub(crate) fn snapshot_installed(&mut self, now_ms: i64, id: OffsetAndEpoch, size: u64, control_records: &[ControlRecord]) {
        self.log.add_snapshot(id, size);
        self.log.reset_to_snapshot(id);
        self.history.clear();
        for record in control_records {
            self.history.apply(id.offset - 1, record);
        }
        self.with_follower(|state| state.fetching_snapshot = None);
        // Only what is committed is ever in a snapshot.
        self.high_watermark = self.high_watermark.max(Some(id.offset));
        self.fetch_succeeded(now_ms);
    }

    pub(crate) fn fetch_succeeded(&mut self, now_ms: i64) {
        let fetch_deadline_ms = now_ms + self.config.fetch_timeout_ms;
        self.with_follower(|state| {
            state.fetch_deadline_ms = fetch_deadline_ms;
            state.has_fetched_from_leader = true;
        });
    }

    fn with_follower(&mut self, change: impl FnOnce(&mut FollowerState)) {
        if let Role::Follower(state) = &mut self.role {
            change(state);
        }
    }
}
