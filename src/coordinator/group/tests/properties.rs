//! Random lives of a shard: nobody is answered twice or never, the groups stay sound, and what the log holds is what a new shard reads.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;
use ottla_protocol::messages::join_group_request::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::messages::leave_group_request::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::messages::offset_commit_request::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_delete_request::{OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use ottla_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use ottla_protocol::messages::sync_group_request::{SyncGroupRequest, SyncGroupRequestAssignment};
use ottla_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use proptest::prelude::*;

use super::harness::{Effect, Harness, Sender};
use crate::group::classic::{ClassicGroup, ClassicGroupState};
use crate::group::{DeletedTopic, GroupCoordinatorConfig, GroupCoordinatorShard, GroupRequest, Response, TransactionResult};

const TOPIC_ID: Uuid = Uuid::from_u64_pair(0, 7);

/// One step of a life. Numbers pick among what there is.
#[derive(Clone, Debug)]
enum Step {
    Join {
        group: u8,
        instance: Option<u8>,
        protocols: u8,
        version: i16,
        timeout_ms: i32,
    },
    JoinAgain {
        member: usize,
        protocols: u8,
    },
    Sync {
        member: usize,
    },
    Heartbeat {
        member: usize,
    },
    Leave {
        member: usize,
    },
    LeaveInstance {
        group: u8,
        instance: u8,
    },
    CommitAsMember {
        member: usize,
        offset: i64,
    },
    Commit {
        group: u8,
        partition: i32,
        offset: i64,
        retention_ms: i64,
    },
    CommitInTransaction {
        group: u8,
        partition: i32,
        offset: i64,
        producer_id: i64,
    },
    EndTransaction {
        producer_id: i64,
        commits: bool,
    },
    Fetch {
        group: u8,
    },
    DeleteGroup {
        group: u8,
    },
    DeleteOffset {
        group: u8,
        partition: i32,
    },
    DeleteTopic,
    Advance {
        ms: i64,
    },
    Reload,
    /// The following are only part of lives with failures.
    FailNextWrite {
        error: u8,
    },
    Hold,
    CommitWrites,
}

fn sound_step() -> impl Strategy<Value = Step> {
    let joins = (0..3u8, proptest::option::of(0..2u8), 0..4u8, prop_oneof![Just(0i16), Just(3), Just(5), Just(9)], 6_000..60_000i32);
    let commit = (0..3u8, 0..3i32, 0..1000i64, prop_oneof![9 => Just(-1i64), 1 => 0..20_000i64]);
    prop_oneof![
        6 => joins.prop_map(|(group, instance, protocols, version, timeout_ms)| {
            Step::Join { group, instance: instance.filter(|_| version >= 5), protocols, version, timeout_ms }
        }),
        8 => (any::<usize>(), 0..4u8).prop_map(|(member, protocols)| Step::JoinAgain { member, protocols }),
        10 => any::<usize>().prop_map(|member| Step::Sync { member }),
        3 => any::<usize>().prop_map(|member| Step::Heartbeat { member }),
        2 => any::<usize>().prop_map(|member| Step::Leave { member }),
        1 => (0..3u8, 0..2u8).prop_map(|(group, instance)| Step::LeaveInstance { group, instance }),
        4 => (any::<usize>(), 0..1000i64).prop_map(|(member, offset)| Step::CommitAsMember { member, offset }),
        3 => commit.prop_map(|(group, partition, offset, retention_ms)| Step::Commit { group, partition, offset, retention_ms }),
        3 => (0..3u8, 0..3i32, 0..1000i64, 1..3i64).prop_map(|(group, partition, offset, producer_id)| {
            Step::CommitInTransaction { group, partition, offset, producer_id }
        }),
        2 => (1..3i64, any::<bool>()).prop_map(|(producer_id, commits)| Step::EndTransaction { producer_id, commits }),
        1 => (0..3u8).prop_map(|group| Step::Fetch { group }),
        1 => (0..3u8).prop_map(|group| Step::DeleteGroup { group }),
        1 => (0..3u8, 0..3i32).prop_map(|(group, partition)| Step::DeleteOffset { group, partition }),
        1 => Just(Step::DeleteTopic),
        6 => (0..8_000i64).prop_map(|ms| Step::Advance { ms }),
        1 => Just(Step::Reload),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => sound_step(),
        1 => (0..4u8).prop_map(|error| Step::FailNextWrite { error }),
        1 => Just(Step::Hold),
        2 => Just(Step::CommitWrites),
    ]
}

/// A member as its client sees it.
#[derive(Clone, Debug)]
struct Client {
    group: u8,
    member_id: String,
    instance: Option<u8>,
    generation_id: i32,
    members: Vec<String>,
}

struct Life {
    harness: Harness,
    clients: Vec<Client>,
    /// The joins that wait, and for which client each is.
    joins: BTreeMap<u64, (u8, Option<u8>)>,
    uuids: u64,
}

impl Life {
    fn new() -> Life {
        let config = GroupCoordinatorConfig {
            offsets_retention_ms: 60_000,
            offsets_retention_check_interval_ms: 7_000,
            classic_group_initial_rebalance_delay_ms: 1_000,
            classic_group_max_size: 4,
            ..GroupCoordinatorConfig::default()
        };
        Life { harness: Harness::new(config, 1_000), clients: Vec::new(), joins: BTreeMap::new(), uuids: 0 }
    }

    fn send(&mut self, api_version: i16, request: GroupRequest) {
        let join = match &request {
            GroupRequest::JoinGroup { request, .. } => {
                let instance = request.group_instance_id.as_ref().map(|id| id.as_bytes()[0] - b'0');
                Some((request.group_id.as_bytes()[0] - b'0', instance))
            }
            _ => None,
        };
        let (token, effect) = self.harness.send(Sender { client_id: "client", api_version }, request);
        if let Some(join) = join {
            self.joins.insert(token.0, join);
        }
        self.learn(&effect);
    }

    /// Clients take in what they are told.
    fn learn(&mut self, effect: &Effect) {
        for reply in &effect.outcome.replies {
            let Response::JoinGroup(response) = &reply.response else { continue };
            let Some((group, instance)) = self.joins.remove(&reply.token.0) else { continue };
            if response.member_id.is_empty() {
                continue;
            }
            self.clients.retain(|client| client.group != group || client.member_id != response.member_id);
            let members = response.members.iter().map(|member| member.member_id.clone()).collect();
            let generation_id = response.generation_id;
            self.clients.push(Client { group, member_id: response.member_id.clone(), instance, generation_id, members });
        }
    }

    fn client(&self, pick: usize) -> Option<Client> {
        self.clients.get(pick.checked_rem(self.clients.len())?).cloned()
    }

    fn join(&mut self, request: JoinGroupRequest, api_version: i16) {
        self.uuids += 1;
        let new_member_uuid = Uuid::from_u64_pair(1, self.uuids);
        self.send(api_version, GroupRequest::JoinGroup { request, new_member_uuid });
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Join { group, instance, protocols: which, version, timeout_ms } => {
                let request = JoinGroupRequest {
                    group_id: group.to_string(),
                    group_instance_id: instance.map(|instance| instance.to_string()),
                    session_timeout_ms: timeout_ms,
                    rebalance_timeout_ms: timeout_ms / 2,
                    protocol_type: "consumer".into(),
                    protocols: protocols(which),
                    ..JoinGroupRequest::default()
                };
                self.join(request, version);
            }
            Step::JoinAgain { member, protocols } => self.join_again(member, protocols),
            Step::Sync { member } => self.sync(member),
            Step::Heartbeat { member } => {
                let Some(client) = self.client(member) else { return };
                let request = HeartbeatRequest {
                    group_id: client.group.to_string(),
                    generation_id: client.generation_id,
                    member_id: client.member_id,
                    ..HeartbeatRequest::default()
                };
                self.send(4, GroupRequest::Heartbeat(request));
            }
            Step::Leave { member } => {
                let Some(client) = self.client(member) else { return };
                let member = MemberIdentity { member_id: client.member_id, ..MemberIdentity::default() };
                self.leave(client.group, member);
            }
            Step::LeaveInstance { group, instance } => {
                let member = MemberIdentity { group_instance_id: Some(instance.to_string()), ..MemberIdentity::default() };
                self.leave(group, member);
            }
            step => self.play_offsets(step),
        }
    }

    fn join_again(&mut self, member: usize, which: u8) {
        let Some(client) = self.client(member) else { return };
        let request = JoinGroupRequest {
            group_id: client.group.to_string(),
            member_id: client.member_id,
            group_instance_id: client.instance.map(|instance| instance.to_string()),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 9_000,
            protocol_type: "consumer".into(),
            protocols: protocols(which),
            ..JoinGroupRequest::default()
        };
        self.join(request, 9);
    }

    fn sync(&mut self, member: usize) {
        let Some(client) = self.client(member) else { return };
        let assignments = client.members.iter().map(|member_id| SyncGroupRequestAssignment {
            member_id: member_id.clone(),
            assignment: Bytes::from(format!("{}:{member_id}", client.generation_id)),
            ..SyncGroupRequestAssignment::default()
        });
        let request = SyncGroupRequest {
            group_id: client.group.to_string(),
            generation_id: client.generation_id,
            member_id: client.member_id.clone(),
            group_instance_id: client.instance.map(|instance| instance.to_string()),
            assignments: assignments.collect(),
            ..SyncGroupRequest::default()
        };
        self.send(4, GroupRequest::SyncGroup(request));
    }

    fn leave(&mut self, group: u8, member: MemberIdentity) {
        let request = LeaveGroupRequest { group_id: group.to_string(), members: vec![member], ..LeaveGroupRequest::default() };
        self.send(5, GroupRequest::LeaveGroup(request));
    }

    fn play_offsets(&mut self, step: Step) {
        match step {
            Step::CommitAsMember { member, offset } => {
                let Some(client) = self.client(member) else { return };
                let request = OffsetCommitRequest {
                    member_id: client.member_id,
                    generation_id_or_member_epoch: client.generation_id,
                    ..commit(client.group, 0, offset)
                };
                self.send(9, GroupRequest::OffsetCommit(request));
            }
            Step::Commit { group, partition, offset, retention_ms } => {
                let request = OffsetCommitRequest { retention_time_ms: retention_ms, ..commit(group, partition, offset) };
                self.send(4, GroupRequest::OffsetCommit(request));
            }
            Step::CommitInTransaction { group, partition, offset, producer_id } => {
                let partition = TxnOffsetCommitRequestPartition {
                    partition_index: partition,
                    committed_offset: offset,
                    ..TxnOffsetCommitRequestPartition::default()
                };
                let topic = TxnOffsetCommitRequestTopic {
                    name: "t".into(),
                    topic_id: TOPIC_ID,
                    partitions: vec![partition],
                    ..TxnOffsetCommitRequestTopic::default()
                };
                let request = TxnOffsetCommitRequest {
                    group_id: group.to_string(),
                    producer_id,
                    generation_id_or_member_epoch: -1,
                    topics: vec![topic],
                    ..TxnOffsetCommitRequest::default()
                };
                self.send(5, GroupRequest::TxnOffsetCommit(request));
            }
            Step::EndTransaction { producer_id, commits } => {
                let result = if commits { TransactionResult::Commit } else { TransactionResult::Abort };
                self.harness.end_transaction(producer_id, result);
            }
            Step::Fetch { group } => {
                let group = OffsetFetchRequestGroup { group_id: group.to_string(), topics: None, ..OffsetFetchRequestGroup::default() };
                self.send(9, GroupRequest::OffsetFetch { group, require_stable: true });
            }
            Step::DeleteGroup { group } => self.send(2, GroupRequest::DeleteGroups(vec![group.to_string()])),
            Step::DeleteOffset { group, partition } => {
                let partition = OffsetDeleteRequestPartition { partition_index: partition, ..Default::default() };
                let topic = OffsetDeleteRequestTopic { name: "t".into(), partitions: vec![partition], ..Default::default() };
                let request = OffsetDeleteRequest { group_id: group.to_string(), topics: vec![topic], ..Default::default() };
                self.send(0, GroupRequest::OffsetDelete(request));
            }
            step => self.play_runtime(step),
        }
    }

    fn play_runtime(&mut self, step: Step) {
        match step {
            Step::DeleteTopic => {
                let topic = DeletedTopic { name: "t".into(), topic_id: TOPIC_ID };
                let outcome = self.harness.shard.on_topics_deleted(self.harness.now_ms, &[topic]);
                let effect = self.harness.run(outcome);
                self.learn(&effect);
            }
            Step::Advance { ms } => {
                let mut effects = Vec::new();
                self.harness.advance(ms, |_, effect| effects.push(effect));
                effects.iter().for_each(|effect| self.learn(effect));
            }
            Step::Reload => {
                self.harness.reload();
                self.joins.clear();
            }
            Step::FailNextWrite { error } => {
                let errors =
                    [ErrorCode::NotLeaderOrFollower, ErrorCode::NotEnoughReplicas, ErrorCode::MessageTooLarge, ErrorCode::CorruptMessage];
                self.harness.next_append_error = Some(errors[usize::from(error) % errors.len()]);
            }
            Step::Hold => self.harness.commits_at_once = false,
            Step::CommitWrites => {
                self.harness.commits_at_once = true;
                let effect = self.harness.commit();
                self.learn(&effect);
            }
            step => unreachable!("{step:?} is played elsewhere"),
        }
    }
}

fn commit(group: u8, partition: i32, offset: i64) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition {
        partition_index: partition,
        committed_offset: offset,
        committed_leader_epoch: 3,
        ..OffsetCommitRequestPartition::default()
    };
    let topic = OffsetCommitRequestTopic { name: "t".into(), topic_id: TOPIC_ID, partitions: vec![partition], ..Default::default() };
    OffsetCommitRequest { group_id: group.to_string(), topics: vec![topic], ..OffsetCommitRequest::default() }
}

fn protocols(which: u8) -> Vec<JoinGroupRequestProtocol> {
    let names: &[&str] = match which {
        0 => &["range"],
        1 => &["range", "sticky"],
        2 => &["sticky", "range"],
        _ => &["range", "range", "roundrobin"],
    };
    let protocol = |name: &&str| JoinGroupRequestProtocol {
        name: (*name).to_owned(),
        metadata: Bytes::from_static(b"\0\x01\0\0\0\x01\0\x01u\xff\xff\xff\xff"),
        ..JoinGroupRequestProtocol::default()
    };
    names.iter().map(protocol).collect()
}

fn assert_sound(group: &ClassicGroup) {
    let members = &group.members;
    assert_eq!(group.parked_joins(), members.values().filter(|member| member.parked_join.is_some()).count());
    assert_eq!(group.leader_id.is_some(), !members.is_empty());
    assert!(group.leader_id.iter().all(|leader_id| members.contains_key(leader_id)));
    let statics: BTreeMap<_, _> =
        members.values().filter_map(|member| Some((member.group_instance_id.clone()?, member.member_id.clone()))).collect();
    assert_eq!(group.static_members, statics);
    assert!(group.pending_sync_members.iter().all(|member_id| members.contains_key(member_id)));
    assert!(group.pending_join_members.iter().all(|member_id| !members.contains_key(member_id)));
    let mut support: BTreeMap<String, usize> = BTreeMap::new();
    for member in members.values() {
        let names: BTreeSet<_> = member.protocols.iter().map(|protocol| protocol.name.clone()).collect();
        names.into_iter().for_each(|name| *support.entry(name).or_default() += 1);
    }
    assert_eq!(group.protocol_support, support);
    match group.state {
        ClassicGroupState::Empty => assert!(members.is_empty()),
        ClassicGroupState::PreparingRebalance => {}
        ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
            assert!(!members.is_empty());
            let protocol = group.protocol_name.as_deref().expect("a generation has a protocol");
            assert!(members.values().all(|member| member.metadata(protocol).is_some()));
            assert!(group.state == ClassicGroupState::CompletingRebalance || members.values().all(|member| member.parked_sync.is_none()));
        }
    }
}

/// What of a group the log must hold; `None` while the group is between two records.
fn durable(group: &ClassicGroup) -> Option<String> {
    if !matches!(group.state, ClassicGroupState::Empty | ClassicGroupState::Stable) {
        return None;
    }
    let protocol = group.protocol_name.as_deref().unwrap_or_default();
    let members = group.members.values().map(|member| {
        format!(
            "{} {:?} {}@{} {} {} {:?} {:?}",
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(protocol),
            member.assignment
        )
    });
    let members: Vec<_> = members.collect();
    Some(format!(
        "{:?} {} {:?} {:?} {:?} {:?} {members:?}",
        group.state, group.generation_id, group.protocol_type, group.protocol_name, group.leader_id, group.subscribed_topics
    ))
}

fn assert_log_holds(shard: &GroupCoordinatorShard, replayed: &GroupCoordinatorShard) {
    let ids = |shard: &GroupCoordinatorShard| shard.groups.classic_groups().map(|group| group.group_id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(shard), ids(replayed));
    for group in shard.groups.classic_groups() {
        let stored = replayed.groups.classic(&group.group_id).expect("the ids are equal");
        match durable(group) {
            Some(durable_state) => assert_eq!(Some(durable_state), durable(stored)),
            None => assert!(stored.generation_id <= group.generation_id),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_log_holds_the_state(steps in proptest::collection::vec(sound_step(), 1..120)) {
        let mut life = Life::new();
        for step in steps {
            life.play(step);
            life.harness.shard.groups.classic_groups().for_each(assert_sound);
            let replayed = life.harness.replayed();
            prop_assert_eq!(&life.harness.shard.offsets, &replayed.offsets);
            assert_log_holds(&life.harness.shard, &replayed);
        }
    }

    #[test]
    fn everybody_is_answered_once_whatever_fails(steps in proptest::collection::vec(any_step(), 1..120)) {
        let mut life = Life::new();
        for step in steps {
            life.play(step);
            life.harness.shard.groups.classic_groups().for_each(assert_sound);
            prop_assert_eq!(&life.harness.shard.offsets, &life.harness.replayed().offsets);
        }
        life.harness.reload();
        prop_assert!(life.harness.waiting.is_empty(), "{:?}", life.harness.waiting);
    }
}
