//! The leader's side of replication: fetches of records and of snapshots.

use ottla_model::{ErrorCode, LeaderEpoch};

use crate::core::RaftCore;
use crate::event::Caller;
use crate::log_view::OffsetValidation;
use crate::message::{FetchAnswer, FetchOutcome, FetchRequest, FetchSnapshotAnswer, FetchSnapshotRequest, ResponseBody, SnapshotPart};
use crate::parked::ParkedFetch;
use crate::replica::OffsetAndEpoch;
use crate::role::Role;

impl RaftCore {
    pub(crate) fn handle_fetch(&mut self, now_ms: i64, caller: Caller, request: FetchRequest) {
        let OffsetAndEpoch { offset, epoch } = request.position;
        if request.max_wait_ms < 0 || offset < 0 || epoch < LeaderEpoch(0) || epoch > request.epoch {
            return self.reply_fetch(caller, ErrorCode::InvalidRequest, FetchOutcome::NoRecords);
        }
        let outcome = match self.fetch_outcome(now_ms, &request) {
            Ok(outcome) => outcome,
            Err(error) => return self.reply_fetch(caller, error, FetchOutcome::NoRecords),
        };
        let Role::Leader(leader) = &mut self.role else { return };
        // A higher high watermark is worth an answer: with it the replica's own listeners can go on.
        let knows_high_watermark = request.high_watermark.unwrap_or(-1) >= leader.high_watermark.unwrap_or(-1);
        if outcome == FetchOutcome::NoRecords && request.max_wait_ms > 0 && knows_high_watermark {
            let deadline_ms = now_ms + i64::from(request.max_wait_ms);
            if let Err(fetch) = leader.parked_fetches.park(ParkedFetch { caller, request, deadline_ms }) {
                self.reply_fetch(fetch.caller, ErrorCode::None, FetchOutcome::NoRecords);
            }
            return;
        }
        self.reply_fetch(caller, ErrorCode::None, outcome);
    }

    /// What a replica gets, and what its fetch says of it: it has everything before its position.
    fn fetch_outcome(&mut self, now_ms: i64, request: &FetchRequest) -> Result<FetchOutcome, ErrorCode> {
        self.validate_leader_only_request(request.epoch)?;
        let position = request.position;
        let snapshot = self.log.latest_snapshot().filter(|id| *id != OffsetAndEpoch::BOOTSTRAP_SNAPSHOT);
        if let (0, Some(snapshot)) = (position.offset, snapshot) {
            // An empty log is filled fastest by a snapshot.
            return Ok(FetchOutcome::Snapshot(snapshot));
        }
        match self.log.validate(position) {
            OffsetValidation::Diverging(end) => return Ok(FetchOutcome::Diverging(end)),
            OffsetValidation::Snapshot(id) => return Ok(FetchOutcome::Snapshot(id)),
            OffsetValidation::Valid => {}
        }
        let end_offset = self.log.end_offset();
        if let Role::Leader(leader) = &mut self.role
            && leader.replica_fetched(request.replica, position.offset, end_offset, now_ms)
        {
            self.leader_high_watermark_advanced(now_ms);
        }
        Ok(if position.offset < end_offset {
            FetchOutcome::FromLog { offset: position.offset, max_bytes: request.max_bytes }
        } else {
            FetchOutcome::NoRecords
        })
    }

    /// The leader has committed more: every waiting replica wants to know.
    pub(crate) fn leader_high_watermark_advanced(&mut self, now_ms: i64) {
        let Role::Leader(leader) = &mut self.role else { return };
        self.high_watermark = leader.high_watermark;
        let waiting = leader.parked_fetches.take_all();
        self.answer_parked(now_ms, waiting);
        self.voter_change_committed();
    }

    pub(crate) fn answer_parked(&mut self, now_ms: i64, fetches: Vec<ParkedFetch>) {
        for ParkedFetch { caller, request, .. } in fetches {
            match self.fetch_outcome(now_ms, &request) {
                Ok(outcome) => self.reply_fetch(caller, ErrorCode::None, outcome),
                Err(error) => self.reply_fetch(caller, error, FetchOutcome::NoRecords),
            }
        }
    }

    /// The node leads no more: the replicas have to ask elsewhere.
    pub(crate) fn refuse_parked(&mut self, fetches: Vec<ParkedFetch>) {
        for ParkedFetch { caller, .. } in fetches {
            self.reply_fetch(caller, ErrorCode::NotLeaderOrFollower, FetchOutcome::NoRecords);
        }
    }

    fn reply_fetch(&mut self, caller: Caller, error: ErrorCode, outcome: FetchOutcome) {
        let high_watermark = match &self.role {
            Role::Leader(leader) if error.is_none() => leader.high_watermark,
            Role::Leader(_) | Role::Follower(_) | Role::Candidate(_) => None,
            Role::Prospective(_) | Role::Unattached(_) | Role::Resigned(_) => None,
        };
        let answer = FetchAnswer { high_watermark, log_start_offset: self.log.start_offset(), outcome };
        self.reply(caller, error, ResponseBody::Fetch(answer));
    }

    /// Common to the requests that only the leader answers.
    pub(crate) fn validate_leader_only_request(&self, epoch: LeaderEpoch) -> Result<(), ErrorCode> {
        if epoch < self.epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else if epoch > self.epoch {
            Err(ErrorCode::UnknownLeaderEpoch)
        } else if !matches!(self.role, Role::Leader(_)) {
            // Those who look for the leader by fetching do send this node's own epoch.
            Err(ErrorCode::NotLeaderOrFollower)
        } else if self.shutting_down {
            Err(ErrorCode::BrokerNotAvailable)
        } else {
            Ok(())
        }
    }

    pub(crate) fn handle_fetch_snapshot(&mut self, now_ms: i64, caller: Caller, request: FetchSnapshotRequest) {
        let (error, answer) = match self.snapshot_part(now_ms, &request) {
            Ok(answer) => (ErrorCode::None, answer),
            Err(error) => (error, FetchSnapshotAnswer { snapshot_id: None, size: 0, position: 0, part: SnapshotPart::Empty }),
        };
        self.reply(caller, error, ResponseBody::FetchSnapshot(answer));
    }

    fn snapshot_part(&mut self, now_ms: i64, request: &FetchSnapshotRequest) -> Result<FetchSnapshotAnswer, ErrorCode> {
        self.validate_leader_only_request(request.epoch)?;
        // The first leader writes into the log what the bootstrap snapshot has; the snapshot itself is every node's own.
        let id = request.snapshot_id;
        let size = self.log.snapshot_size(id).filter(|_| id != OffsetAndEpoch::BOOTSTRAP_SNAPSHOT);
        let size = size.ok_or(ErrorCode::SnapshotNotFound)? as i64;
        if !(0..size).contains(&request.position) {
            return Err(ErrorCode::PositionOutOfRange);
        }
        if let Role::Leader(leader) = &mut self.role {
            leader.voter_is_alive(request.replica, now_ms);
        }
        let part = SnapshotPart::FromSnapshot { max_bytes: request.max_bytes };
        Ok(FetchSnapshotAnswer { snapshot_id: Some(id), size, position: request.position, part })
    }
}
