//! Changes of the voter set, at the leader (KIP-853): one at a time, by one voter at a time, and each one committed before the next.
//! Whether one is under way is seen from the log: as long as the latest voters record is not committed, nothing else is begun.

use ottla_model::ErrorCode;

use crate::connections::AskedWhat;
use crate::core::RaftCore;
use crate::event::{Action, Caller, Peer};
use crate::log_view::ControlRecord;
use crate::message::{AddVoterRequest, RemoveVoterRequest, Request, Response, ResponseBody, UpdateVoterRequest};
use crate::replica::{Endpoints, ReplicaKey, SupportedKRaftVersions, VoterNode, VoterSet};
use crate::role::Role;

/// A change that somebody waits for.
#[derive(Debug)]
pub(crate) enum VoterChange {
    /// The new voter is asked what it can do.
    AskingNewVoter { caller: Caller, voter: ReplicaKey, endpoints: Endpoints, ack_when_committed: bool, deadline_ms: i64 },
    /// The record with the new voter is in the log; without a caller, it was answered already.
    Adding { caller: Option<Caller>, offset: i64, deadline_ms: i64 },
    /// The record without the old voter is in the log.
    Removing { caller: Caller, offset: i64, deadline_ms: i64 },
}

impl VoterChange {
    pub(crate) fn deadline_ms(&self) -> i64 {
        match self {
            VoterChange::AskingNewVoter { deadline_ms, .. }
            | VoterChange::Adding { deadline_ms, .. }
            | VoterChange::Removing { deadline_ms, .. } => *deadline_ms,
        }
    }
}

/// An error and what to tell the operator.
type Refusal = (ErrorCode, String);

fn timed_out(waiting_for: &str) -> Refusal {
    (ErrorCode::RequestTimedOut, format!("Request timed out waiting for {waiting_for}"))
}

impl RaftCore {
    pub(crate) fn handle_add_voter(&mut self, now_ms: i64, caller: Caller, request: AddVoterRequest) {
        match self.check_new_voter(&request) {
            Ok(peer) => self.ask_new_voter(now_ms, caller, request, peer),
            Err((error, message)) => self.reply(caller, error, ResponseBody::AddVoter { message: Some(message) }),
        }
    }

    fn check_new_voter(&self, request: &AddVoterRequest) -> Result<Peer, Refusal> {
        self.validate_leader_only_request(self.epoch).map_err(|error| (error, error.name().to_owned()))?;
        let invalid = |message: &str| (ErrorCode::InvalidRequest, message.to_owned());
        if request.voter.id.0 < 0 || request.voter.directory_id.is_none() {
            return Err(invalid("Add voter request didn't include a valid voter"));
        }
        let listener = &self.config.listener;
        let endpoint = request
            .endpoints
            .get(listener)
            .cloned()
            .ok_or_else(|| invalid(&format!("Add voter request didn't include the endpoint for the default listener {listener}")))?;
        let voters = self.changeable_voters("adding")?;
        if voters.get(request.voter.id).is_some() {
            let message = format!("The voter id for {} is already part of the set of voters {voters}.", request.voter);
            return Err((ErrorCode::DuplicateVoter, message));
        }
        Ok(Peer { id: request.voter.id, endpoint })
    }

    /// The voters, if nothing stands in the way of changing them.
    fn changeable_voters(&self, change: &str) -> Result<&VoterSet, Refusal> {
        let Role::Leader(leader) = &self.role else { return Err((ErrorCode::NotLeaderOrFollower, String::new())) };
        if leader.voter_change.is_some() {
            return Err(timed_out("leader to handle previous voter change request"));
        }
        let Some(high_watermark) = leader.high_watermark else {
            return Err(timed_out("leader to establish HWM and fence previous voter changes"));
        };
        if !self.history.supports_reconfiguration() {
            let message = format!("Cluster doesn't support {change} voter because the kraft.version feature is 0");
            return Err((ErrorCode::UnsupportedVersion, message));
        }
        match self.history.last_voters_offset() {
            Some(offset) if offset < high_watermark => Ok(self.history.last_voters()),
            _ => Err(timed_out("voters to commit the latest voter change")),
        }
    }

    fn ask_new_voter(&mut self, now_ms: i64, caller: Caller, request: AddVoterRequest, peer: Peer) {
        let voter = request.voter;
        if !self.connections.is_ready(peer.id, now_ms) {
            let message = Some(format!("New voter {voter} is not ready to receive requests"));
            return self.reply(caller, ErrorCode::RequestTimedOut, ResponseBody::AddVoter { message });
        }
        self.send_if_ready(now_ms, peer, AskedWhat::ApiVersions { voter }, |_| Request::ApiVersions);
        let deadline_ms = now_ms + self.config.request_timeout_ms;
        if let Role::Leader(leader) = &mut self.role {
            let AddVoterRequest { endpoints, ack_when_committed, .. } = request;
            leader.voter_change = Some(VoterChange::AskingNewVoter { caller, voter, endpoints, ack_when_committed, deadline_ms });
        }
    }

    /// Takes the change out if it is this voter that was asked.
    fn take_asked(&mut self, voter: ReplicaKey) -> Option<VoterChange> {
        let Role::Leader(leader) = &mut self.role else { return None };
        leader.voter_change.take_if(|change| matches!(change, VoterChange::AskingNewVoter { voter: asked, .. } if *asked == voter))
    }

    pub(crate) fn new_voter_unreachable(&mut self, voter: ReplicaKey) {
        let change = self.take_asked(voter);
        self.end_voter_change(change, ErrorCode::RequestTimedOut, "Aborted add voter operation since the new voter cannot be reached");
    }

    pub(crate) fn handle_api_versions_answer(&mut self, now_ms: i64, voter: ReplicaKey, response: &Response) {
        let Some(change) = self.take_asked(voter) else { return };
        let kraft_versions = match &response.body {
            ResponseBody::ApiVersions { kraft_versions } if response.error.is_none() => *kraft_versions,
            _ => {
                let message = "Aborted add voter operation since API_VERSIONS returned an error";
                return self.end_voter_change(Some(change), ErrorCode::RequestTimedOut, message);
            }
        };
        let finalized = self.history.last_kraft_version();
        let Some(kraft_versions) = kraft_versions.filter(|versions| versions.contains(finalized)) else {
            let message = format!("Aborted add voter operation for {voter} since it doesn't support kraft.version {finalized}");
            return self.end_voter_change(Some(change), ErrorCode::InvalidRequest, &message);
        };
        let Role::Leader(leader) = &self.role else { return };
        if !leader.is_caught_up(voter, now_ms) {
            let message = format!("Aborted add voter operation for {voter} since it is lagging behind");
            return self.end_voter_change(Some(change), ErrorCode::RequestTimedOut, &message);
        }
        self.add_voter(change, voter, kraft_versions);
    }

    fn add_voter(&mut self, change: VoterChange, voter: ReplicaKey, kraft_versions: SupportedKRaftVersions) {
        let VoterChange::AskingNewVoter { caller, endpoints, ack_when_committed, deadline_ms, .. } = change else { return };
        let Some(voters) = self.voters().with_added(VoterNode { key: voter, endpoints, kraft_versions }) else { return };
        let offset = self.append_voters(&voters);
        let caller = if ack_when_committed {
            Some(caller)
        } else {
            self.reply(caller, ErrorCode::None, ResponseBody::AddVoter { message: None });
            None
        };
        if let Role::Leader(leader) = &mut self.role {
            leader.voter_change = Some(VoterChange::Adding { caller, offset, deadline_ms });
        }
    }

    /// Has the voters written, and answers the offset that the record gets: nothing else is appended before.
    fn append_voters(&mut self, voters: &VoterSet) -> i64 {
        let records = vec![ControlRecord::Voters(voters.to_record())];
        self.push(Action::AppendControlRecords { epoch: self.epoch, records });
        self.log.end_offset()
    }

    pub(crate) fn handle_remove_voter(&mut self, now_ms: i64, caller: Caller, request: RemoveVoterRequest) {
        match self.check_old_voter(request.voter) {
            Ok(voters) => {
                let offset = self.append_voters(&voters);
                let deadline_ms = now_ms + self.config.request_timeout_ms;
                if let Role::Leader(leader) = &mut self.role {
                    leader.voter_change = Some(VoterChange::Removing { caller, offset, deadline_ms });
                }
            }
            Err((error, message)) => self.reply(caller, error, ResponseBody::RemoveVoter { message: Some(message) }),
        }
    }

    fn check_old_voter(&self, voter: ReplicaKey) -> Result<VoterSet, Refusal> {
        self.validate_leader_only_request(self.epoch).map_err(|error| (error, error.name().to_owned()))?;
        if voter.id.0 < 0 || voter.directory_id.is_none() {
            return Err((ErrorCode::InvalidRequest, "Remove voter request didn't include a valid voter".to_owned()));
        }
        let voters = self.changeable_voters("removing")?;
        let not_found = || (ErrorCode::VoterNotFound, format!("Cannot remove voter {voter} from the set of voters {voters}"));
        voters.with_removed(voter).ok_or_else(not_found)
    }

    pub(crate) fn handle_update_voter(&mut self, now_ms: i64, caller: Caller, request: UpdateVoterRequest) {
        let error = self.update_voter(now_ms, request).err().unwrap_or(ErrorCode::None);
        self.reply(caller, error, ResponseBody::UpdateVoter);
    }

    fn update_voter(&mut self, now_ms: i64, request: UpdateVoterRequest) -> Result<(), ErrorCode> {
        self.validate_leader_only_request(request.epoch)?;
        let UpdateVoterRequest { voter: key, endpoints, kraft_versions, .. } = request;
        let is_valid = key.id.0 >= 0
            && key.directory_id.is_some()
            && endpoints.get(&self.config.listener).is_some()
            && (0..=kraft_versions.max).contains(&kraft_versions.min);
        if !is_valid || !kraft_versions.contains(self.history.last_kraft_version()) {
            return Err(ErrorCode::InvalidRequest);
        }
        let voter = VoterNode { key, endpoints, kraft_versions };
        if self.history.supports_reconfiguration() {
            let voters = self.changeable_voters("updating").map_err(|(error, _)| error)?;
            let updated = voters.with_updated(voter).ok_or(ErrorCode::VoterNotFound)?;
            self.append_voters(&updated);
        } else {
            self.note_voter(voter)?;
        }
        if let Role::Leader(leader) = &mut self.role {
            leader.voter_is_alive(key, now_ms);
        }
        Ok(())
    }

    /// Below `kraft.version` 1 the log cannot hold what voters say of themselves: the leader remembers it.
    fn note_voter(&mut self, voter: VoterNode) -> Result<(), ErrorCode> {
        let Role::Leader(leader) = &mut self.role else { return Err(ErrorCode::NotLeaderOrFollower) };
        if leader.voter_change.is_some() || leader.high_watermark.is_none() {
            return Err(ErrorCode::RequestTimedOut);
        }
        let known = leader.volatile_voters.as_ref().ok_or(ErrorCode::RequestTimedOut)?;
        leader.volatile_voters = Some(known.with_updated_ignoring_directory(voter).ok_or(ErrorCode::VoterNotFound)?);
        Ok(())
    }

    /// The leader has committed more. A leader that was removed leads no longer than it takes to commit that.
    pub(crate) fn voter_change_committed(&mut self) {
        let is_voter = self.is_voter();
        let voters_offset = self.history.last_voters_offset();
        let Role::Leader(leader) = &mut self.role else { return };
        let high_watermark = leader.high_watermark;
        leader.resign_requested |= !is_voter && high_watermark > voters_offset;
        let committed = |change: &mut VoterChange| match change {
            VoterChange::Adding { offset, .. } | VoterChange::Removing { offset, .. } => high_watermark > Some(*offset),
            VoterChange::AskingNewVoter { .. } => false,
        };
        match leader.voter_change.take_if(committed) {
            Some(VoterChange::Adding { caller: Some(caller), .. }) => {
                self.reply(caller, ErrorCode::None, ResponseBody::AddVoter { message: None });
            }
            Some(VoterChange::Removing { caller, .. }) => {
                self.reply(caller, ErrorCode::None, ResponseBody::RemoveVoter { message: None });
            }
            Some(VoterChange::Adding { caller: None, .. } | VoterChange::AskingNewVoter { .. }) | None => {}
        }
    }

    pub(crate) fn expire_voter_change(&mut self, now_ms: i64) {
        let Role::Leader(leader) = &mut self.role else { return };
        let expired = leader.voter_change.take_if(|change| change.deadline_ms() <= now_ms);
        self.end_voter_change(expired, ErrorCode::RequestTimedOut, "The voter change took too long");
    }

    /// Tells whoever waits that the change has not come about, or not in time.
    pub(crate) fn end_voter_change(&mut self, change: Option<VoterChange>, error: ErrorCode, message: &str) {
        let message = Some(message.to_owned());
        match change {
            Some(VoterChange::AskingNewVoter { caller, .. } | VoterChange::Adding { caller: Some(caller), .. }) => {
                self.reply(caller, error, ResponseBody::AddVoter { message });
            }
            Some(VoterChange::Removing { caller, .. }) => self.reply(caller, error, ResponseBody::RemoveVoter { message }),
            Some(VoterChange::Adding { caller: None, .. }) | None => {}
        }
    }
}
