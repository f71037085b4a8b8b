//! Votes and pre-votes: who gets this replica's, and what answers mean (KIP-595, KIP-996).

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};

use crate::core::RaftCore;
use crate::event::{Anomaly, Caller};
use crate::message::{ResponseBody, VoteRequest};
use crate::replica::ReplicaKey;
use crate::role::Role;

impl RaftCore {
    pub(crate) fn handle_vote(&mut self, now_ms: i64, caller: Caller, request: VoteRequest) {
        let (error, granted) = match self.decide_vote(now_ms, request) {
            Ok(granted) => (ErrorCode::None, granted),
            Err(error) => (error, false),
        };
        self.reply(caller, error, ResponseBody::Vote { granted });
    }

    fn decide_vote(&mut self, now_ms: i64, request: VoteRequest) -> Result<bool, ErrorCode> {
        // A candidate has raised its epoch, so its log cannot have records of it; a prospective one has not.
        let last_epoch = request.last.epoch;
        let is_illegal = if request.pre_vote { last_epoch > request.epoch } else { last_epoch >= request.epoch };
        if request.last.offset < 0 || last_epoch < LeaderEpoch(0) || is_illegal {
            return Err(ErrorCode::InvalidRequest);
        }
        self.validate_voter_only_request(request.candidate.id, request.epoch)?;
        if request.epoch > self.epoch {
            self.become_unattached(request.epoch, None, now_ms);
        }
        self.validate_meant(request.voter)?;
        let is_up_to_date = request.last >= self.end_of_log();
        let granted = self.role.can_grant_vote(request.candidate, is_up_to_date, request.pre_vote);
        if granted && !request.pre_vote {
            self.grant_vote(request.candidate, now_ms);
        }
        Ok(granted)
    }

    /// Common to the requests that establish leadership.
    pub(crate) fn validate_voter_only_request(&self, sender: BrokerId, epoch: LeaderEpoch) -> Result<(), ErrorCode> {
        if epoch < self.epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else if sender.0 < 0 {
            Err(ErrorCode::InvalidRequest)
        } else {
            Ok(())
        }
    }

    /// Refuses a message that is meant for another replica, such as this node's before it lost its disk.
    pub(crate) fn validate_meant(&mut self, meant: Option<ReplicaKey>) -> Result<(), ErrorCode> {
        let local = self.config.local_key();
        match meant {
            Some(meant) if !meant.covers(local) => {
                self.report(Anomaly::NotThisReplica { meant, local });
                Err(ErrorCode::InvalidVoterKey)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The voter has answered a vote of this epoch and kind.
    pub(crate) fn handle_vote_answer(&mut self, now_ms: i64, voter: BrokerId, pre_vote: bool, granted: bool) {
        let was_rejected = match &mut self.role {
            Role::Prospective(state) if pre_vote => {
                state.election.record(voter, granted);
                state.election.is_rejected()
            }
            // A candidate that has lost waits for the rest of its timeout.
            Role::Candidate(state) if !pre_vote => {
                state.election.record(voter, granted);
                false
            }
            // The election that was asked for is over.
            Role::Prospective(_) | Role::Candidate(_) => return,
            Role::Unattached(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => return,
        };
        if was_rejected {
            self.give_up_prospect(now_ms);
        } else {
            self.advance_election(now_ms);
        }
    }
}
