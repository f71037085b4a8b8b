//! JoinGroup: a member comes, new or known, static or not (`classicGroupJoin` of `GroupMetadataManager`; KIP-394, KIP-345, KIP-800).

use std::sync::Arc;

use bytes::Bytes;
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::join_group_request::JoinGroupRequest;
use ottla_protocol::messages::join_group_response::JoinGroupResponse;

use super::member::{ClassicGroupMember, ParkedJoin, SupportedProtocol};
use super::operation::ClassicOperation;
use super::state::ClassicGroupState;

/// How long a new member's join may take. It has no session yet, and its client may be gone without a sign
/// (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS`).
const NEW_MEMBER_JOIN_TIMEOUT_MS: i64 = 5 * 60 * 1000;
/// The first version in which a dynamic member must come with an id that it was given (KIP-394).
const FIRST_VERSION_REQUIRING_MEMBER_ID: i16 = 4;
/// The first version in which there may be no protocol name.
const FIRST_VERSION_WITH_NULL_PROTOCOL_NAME: i16 = 7;

/// A join.
pub(in crate::group) struct JoinAttempt<'a> {
    /// What is asked for.
    pub request: &'a JoinGroupRequest,
    /// Whom to answer.
    pub parked: ParkedJoin,
    /// The client's name for itself.
    pub client_id: &'a str,
    /// Where the client is.
    pub client_host: &'a str,
    /// Random: what makes a new member's id unique.
    pub new_member_uuid: Uuid,
}

impl JoinAttempt<'_> {
    fn new_member_id(&self) -> Arc<str> {
        let name = self.request.group_instance_id.as_deref().unwrap_or(self.client_id);
        format!("{name}-{}", java_uuid_text(self.new_member_uuid)).into()
    }

    pub(super) fn reason(&self) -> &str {
        self.request.reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or("not provided")
    }
}

/// The answer to a join that failed.
pub(in crate::group) fn join_group_error(member_id: &str, error: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { member_id: member_id.to_owned(), error_code: error as i16, ..JoinGroupResponse::default() }
}

/// The response as its version has it: before version 7 no protocol is the empty name, from then on it is null
/// (`JoinGroupResponse`).
pub(in crate::group) fn join_group_response_at(response: JoinGroupResponse, api_version: i16) -> JoinGroupResponse {
    let protocol_name = response.protocol_name.filter(|name| !name.is_empty());
    let protocol_name =
        if api_version < FIRST_VERSION_WITH_NULL_PROTOCOL_NAME { protocol_name.or(Some(String::new())) } else { protocol_name };
    JoinGroupResponse { protocol_name, ..response }
}

impl ClassicOperation<'_> {
    /// Handles a join.
    pub fn join(&mut self, attempt: &JoinAttempt<'_>) {
        let member_id = attempt.request.member_id.as_str();
        if !self.has_room_for(member_id) {
            self.remove_member(member_id);
            self.effects.reply_join(attempt.parked, join_group_error("", ErrorCode::GroupMaxSizeReached));
        } else if !self.group.supports_protocols(&attempt.request.protocol_type, &attempt.request.protocols) {
            self.effects.reply_join(attempt.parked, join_group_error(member_id, ErrorCode::InconsistentGroupProtocol));
        } else if member_id.is_empty() {
            self.join_as_new_member(attempt);
        } else if self.group.pending_join_members.contains(member_id) {
            self.join_with_given_id(attempt);
        } else {
            match self.group.validate_member(member_id, attempt.request.group_instance_id.as_deref()) {
                Ok(()) => self.join_again(attempt),
                Err(error) => {
                    let mut response = join_group_error(member_id, error);
                    response.protocol_name = None;
                    self.effects.reply_join(attempt.parked, response);
                }
            }
        }
    }

    /// Whether the group takes this member. While members rejoin, those that are back are counted: the group may have been above its
    /// limit before, and the last ones to return are then turned away.
    fn has_room_for(&self, member_id: &str) -> bool {
        let member = self.group.members.get(member_id);
        match self.group.state {
            ClassicGroupState::Empty => true,
            ClassicGroupState::PreparingRebalance => {
                member.is_some_and(|member| member.parked_join.is_some()) || self.group.parked_joins() < self.config.classic_group_max_size
            }
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                member.is_some() || self.group.members.len() < self.config.classic_group_max_size
            }
        }
    }

    fn join_as_new_member(&mut self, attempt: &JoinAttempt<'_>) {
        let new_member_id = attempt.new_member_id();
        match &attempt.request.group_instance_id {
            Some(group_instance_id) if self.group.static_members.contains_key(group_instance_id) => {
                self.replace_static_member(attempt, group_instance_id, new_member_id);
            }
            Some(_) => self.add_member(attempt, new_member_id),
            None if attempt.parked.api_version >= FIRST_VERSION_REQUIRING_MEMBER_ID => {
                self.group.pending_join_members.insert(new_member_id.clone());
                self.schedule_expiry(&new_member_id, i64::from(attempt.request.session_timeout_ms));
                self.effects.reply_join(attempt.parked, join_group_error(&new_member_id, ErrorCode::MemberIdRequired));
            }
            None => self.add_member(attempt, new_member_id),
        }
    }

    fn join_with_given_id(&mut self, attempt: &JoinAttempt<'_>) {
        if attempt.request.group_instance_id.is_some() {
            // Ids are only handed out to dynamic members. Kafka runs into an illegal state here and answers with what that makes.
            self.effects.reply_join(attempt.parked, join_group_error("", ErrorCode::UnknownServerError));
        } else {
            self.add_member(attempt, attempt.request.member_id.as_str().into());
        }
    }

    fn add_member(&mut self, attempt: &JoinAttempt<'_>, member_id: Arc<str>) {
        let request = attempt.request;
        let member = ClassicGroupMember {
            member_id: member_id.clone(),
            group_instance_id: request.group_instance_id.clone(),
            client_id: attempt.client_id.to_owned(),
            client_host: attempt.client_host.to_owned(),
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocols: SupportedProtocol::copied(&request.protocols),
            assignment: Bytes::new(),
            parked_join: None,
            parked_sync: None,
            is_new: true,
        };
        if self.is_initial_rebalance() {
            self.group.new_member_added = true;
        }
        self.group.add(member, &request.protocol_type, Some(attempt.parked));
        self.schedule_expiry(&member_id, NEW_MEMBER_JOIN_TIMEOUT_MS);
        let instance = request.group_instance_id.as_deref().unwrap_or("none");
        let reason = attempt.reason();
        self.rebalance_or_complete_join(format!(
            "adding new member {member_id} with group instance id {instance}; client reason: {reason}"
        ));
    }

    fn join_again(&mut self, attempt: &JoinAttempt<'_>) {
        let member_id = attempt.request.member_id.as_str();
        let has_changed = self.group.members.get(member_id).is_some_and(|member| !member.matches(&attempt.request.protocols));
        match self.group.state {
            ClassicGroupState::PreparingRebalance => self.update_member(attempt, "is joining"),
            ClassicGroupState::CompletingRebalance if has_changed => self.update_member(attempt, "has new metadata"),
            ClassicGroupState::CompletingRebalance => {
                // It may not have got the first answer.
                let response = self.joined(member_id, self.group.is_leader(member_id));
                self.effects.reply_join(attempt.parked, response);
            }
            // A leader that joins wants to assign anew, for reasons that its metadata does not show.
            ClassicGroupState::Stable if self.group.is_leader(member_id) => self.update_member(attempt, "leads and is re-joining"),
            ClassicGroupState::Stable if has_changed => self.update_member(attempt, "has new metadata"),
            ClassicGroupState::Stable => {
                let response = self.joined(member_id, false);
                self.effects.reply_join(attempt.parked, response);
            }
            // An empty group has no members, so `validate_member` has refused it.
            ClassicGroupState::Empty => {
                self.effects.reply_join(attempt.parked, join_group_error(member_id, ErrorCode::UnknownMemberId));
            }
        }
    }

    fn update_member(&mut self, attempt: &JoinAttempt<'_>, what: &str) {
        let member_id = attempt.request.member_id.as_str();
        self.take_over(attempt, member_id);
        let reason = format!("member {member_id} {what} during {}; client reason: {}", self.group.state.name(), attempt.reason());
        self.rebalance_or_complete_join(reason);
    }

    /// Takes over what the request says of a member, and parks it there. A request that the member had parked before is of a
    /// connection that it has given up; it is told to try again.
    pub(super) fn take_over(&mut self, attempt: &JoinAttempt<'_>, member_id: &str) {
        let request = attempt.request;
        let protocols = SupportedProtocol::copied(&request.protocols);
        self.group.update_member(member_id, protocols, request.rebalance_timeout_ms, request.session_timeout_ms);
        let superseded = self.group.park_join(member_id, attempt.parked);
        self.answer_parked(superseded, None, ErrorCode::RebalanceInProgress, member_id);
    }
}

/// The id as Java prints a `UUID`.
fn java_uuid_text(uuid: Uuid) -> String {
    let hex: String = uuid.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
