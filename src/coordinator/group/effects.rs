//! What a step of a shard has decided so far: replies, events and at most one write. The shard turns it into an [`Outcome`].
//!
//! [`Outcome`]: super::Outcome

use ottla_protocol::messages::join_group_response::JoinGroupResponse;
use ottla_protocol::messages::sync_group_response::SyncGroupResponse;

use super::classic::{ParkedJoin, ParkedSync, join_group_response_at};
use super::events::GroupEvent;
use super::outcome::{Reply, Response, TransactionalProducer};
use super::record::GroupRecord;
use super::writes::WriteEffect;

/// Records to be written.
#[derive(Debug)]
pub(super) struct DraftWrite {
    /// At least one.
    pub records: Vec<GroupRecord>,
    /// Whether they change the state once they are appended. Groups are soft state that has changed already.
    pub replay: bool,
    /// Whether they must be in one batch.
    pub atomic: bool,
    /// The transaction that they are part of.
    pub producer: Option<TransactionalProducer>,
    /// What follows.
    pub effect: WriteEffect,
}

/// The decisions of one step.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub replies: Vec<Reply>,
    pub events: Vec<GroupEvent>,
    pub write: Option<DraftWrite>,
}

impl Effects {
    /// Answers a join.
    pub fn reply_join(&mut self, to: ParkedJoin, response: JoinGroupResponse) {
        let response = Response::JoinGroup(join_group_response_at(response, to.api_version));
        self.replies.push(Reply { token: to.token, api_version: to.api_version, response });
    }

    /// Answers a sync.
    pub fn reply_sync(&mut self, to: ParkedSync, response: SyncGroupResponse) {
        self.replies.push(Reply { token: to.token, api_version: to.api_version, response: Response::SyncGroup(response) });
    }

    /// Writes the group's record.
    pub fn write_group(&mut self, record: GroupRecord, effect: WriteEffect) {
        debug_assert!(self.write.is_none(), "a step writes once");
        self.write = Some(DraftWrite { records: vec![record], replay: false, atomic: true, producer: None, effect });
    }

    /// Writes records that change the state, all in one batch or, for clean-ups, in as many as it takes. None is no write.
    pub fn write_state(&mut self, records: Vec<GroupRecord>, atomic: bool) {
        debug_assert!(self.write.is_none(), "a step writes once");
        if !records.is_empty() {
            self.write = Some(DraftWrite { records, replay: true, atomic, producer: None, effect: WriteEffect::None });
        }
    }
}
