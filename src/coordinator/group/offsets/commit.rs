//! OffsetCommit and TxnOffsetCommit (`commitOffset` and `commitTransactionalOffset` of `OffsetMetadataManager`). Topics come with their
//! names and ids, and with partitions that exist: resolving and checking them is done where the metadata is.

use ottla_model::{ErrorCode, ProducerId, Uuid};
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_request::OffsetCommitRequest;
use ottla_protocol::messages::offset_commit_response::{OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequest;
use ottla_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

use crate::group::classic::{ClassicGroupState, Committer};
use crate::group::effects::{DraftWrite, Effects};
use crate::group::group_map::Group;
use crate::group::outcome::{RequestContext, TransactionalProducer};
use crate::group::record::GroupRecord;
use crate::group::shard::GroupCoordinatorShard;
use crate::group::writes::WriteEffect;

/// The first version of OffsetCommit that knows of groups that do not exist.
const FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND: i16 = 9;
/// The same of TxnOffsetCommit (KIP-1319).
const FIRST_TXN_VERSION_WITH_GROUP_ID_NOT_FOUND: i16 = 6;

/// What is committed for a partition.
struct Commit<'a> {
    group_id: &'a str,
    topic: &'a str,
    topic_id: Uuid,
    partition: i32,
    offset: i64,
    leader_epoch: i32,
    metadata: Option<&'a str>,
}

impl GroupCoordinatorShard {
    pub(in crate::group) fn commit(
        &mut self,
        context: &RequestContext<'_>,
        request: &OffsetCommitRequest,
        effects: &mut Effects,
    ) -> Result<OffsetCommitResponse, ErrorCode> {
        let committer = Committer {
            member_id: &request.member_id,
            group_instance_id: request.group_instance_id.as_deref(),
            generation_id: request.generation_id_or_member_epoch,
            is_transactional: false,
        };
        let knows_missing_groups = context.api_version >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND;
        self.validate_commit(&request.group_id, committer, knows_missing_groups)?;
        self.keep_session(&request.group_id, &request.member_id, context.now_ms, effects);
        let expire_timestamp_ms = match request.retention_time_ms {
            -1 => -1,
            retention_time_ms => context.now_ms.saturating_add(retention_time_ms),
        };
        let mut records = Vec::new();
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let commit = Commit {
                    group_id: &request.group_id,
                    topic: &topic.name,
                    topic_id: topic.topic_id,
                    partition: partition.partition_index,
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    metadata: partition.committed_metadata.as_deref(),
                };
                let error = self.commit_one(&commit, context.now_ms, expire_timestamp_ms, &mut records);
                OffsetCommitResponsePartition { partition_index: commit.partition, error_code: error as i16, ..Default::default() }
            });
            let partitions = partitions.collect();
            OffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions, ..Default::default() }
        });
        let response = OffsetCommitResponse { topics: topics.collect(), ..Default::default() };
        effects.write_state(records, true);
        Ok(response)
    }

    pub(in crate::group) fn commit_in_transaction(
        &mut self,
        context: &RequestContext<'_>,
        request: &TxnOffsetCommitRequest,
        effects: &mut Effects,
    ) -> Result<TxnOffsetCommitResponse, ErrorCode> {
        let committer = Committer {
            member_id: &request.member_id,
            group_instance_id: request.group_instance_id.as_deref(),
            generation_id: request.generation_id_or_member_epoch,
            is_transactional: true,
        };
        let knows_missing_groups = context.api_version >= FIRST_TXN_VERSION_WITH_GROUP_ID_NOT_FOUND;
        self.validate_commit(&request.group_id, committer, knows_missing_groups)?;
        let mut records = Vec::new();
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let commit = Commit {
                    group_id: &request.group_id,
                    topic: &topic.name,
                    topic_id: topic.topic_id,
                    partition: partition.partition_index,
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    metadata: partition.committed_metadata.as_deref(),
                };
                let error = self.commit_one(&commit, context.now_ms, -1, &mut records);
                TxnOffsetCommitResponsePartition { partition_index: commit.partition, error_code: error as i16, ..Default::default() }
            });
            let partitions = partitions.collect();
            TxnOffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions, ..Default::default() }
        });
        let response = TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() };
        if !records.is_empty() {
            let producer = TransactionalProducer {
                transactional_id: request.transactional_id.clone(),
                producer_id: ProducerId(request.producer_id),
                producer_epoch: request.producer_epoch,
            };
            effects.write = Some(DraftWrite { records, replay: true, atomic: true, producer: Some(producer), effect: WriteEffect::None });
        }
        Ok(response)
    }

    /// Whether the group takes the commit. One of nobody in particular may name a group that does not exist: its record makes the group.
    fn validate_commit(&self, group_id: &str, committer: Committer<'_>, knows_missing_groups: bool) -> Result<(), ErrorCode> {
        match self.groups.get(group_id) {
            Some(Group::Classic(group)) => group.validate_offset_commit(committer),
            Some(Group::NotServed(_)) => Err(ErrorCode::UnknownMemberId),
            None if committer.generation_id < 0 => Ok(()),
            None if knows_missing_groups => Err(ErrorCode::GroupIdNotFound),
            None => Err(ErrorCode::IllegalGeneration),
        }
    }

    /// A commit shows that the member is alive, as long as the group is not waiting for an assignment.
    fn keep_session(&mut self, group_id: &str, member_id: &str, now_ms: i64, effects: &mut Effects) {
        let group = self.groups.classic(group_id);
        let keeps = group.is_some_and(|group| matches!(group.state, ClassicGroupState::Stable | ClassicGroupState::PreparingRebalance));
        if keeps {
            self.with_classic_group(group_id, now_ms, effects, |operation| operation.restart_session(member_id));
        }
    }

    fn commit_one(&self, commit: &Commit<'_>, now_ms: i64, expire_timestamp_ms: i64, records: &mut Vec<GroupRecord>) -> ErrorCode {
        let metadata = commit.metadata.unwrap_or_default();
        if is_longer_than(metadata, self.config.offset_metadata_max_size) {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let key = OffsetCommitKey {
            group: commit.group_id.to_owned(),
            topic: commit.topic.to_owned(),
            partition: commit.partition,
            ..OffsetCommitKey::default()
        };
        // The version with an expiry has neither; what is not written must not be part of the state until the next load.
        let (leader_epoch, topic_id) = if expire_timestamp_ms == -1 { (commit.leader_epoch, commit.topic_id) } else { (-1, Uuid::ZERO) };
        let value = OffsetCommitValue {
            offset: commit.offset,
            leader_epoch,
            metadata: metadata.to_owned(),
            commit_timestamp: now_ms,
            expire_timestamp: expire_timestamp_ms,
            topic_id,
            ..OffsetCommitValue::default()
        };
        records.push(GroupRecord::OffsetCommit { key, value: Some(value) });
        ErrorCode::None
    }
}

/// Whether Java would say that the text has more characters than this. It has no more of them than bytes.
fn is_longer_than(text: &str, limit: usize) -> bool {
    text.len() > limit && text.encode_utf16().count() > limit
}
