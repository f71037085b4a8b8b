//! Runs the transcripts of `transcripts/`: blocks of one command, a line of four dashes, and what came out. With
//! `REWRITE_TRANSCRIPTS=1` in the environment they are written anew, for review.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;
use ottla_protocol::messages::join_group_request::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::messages::leave_group_request::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::offset_commit_request::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_delete_request::{OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use ottla_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::messages::sync_group_request::{SyncGroupRequest, SyncGroupRequestAssignment};
use ottla_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use super::harness::{Effect, Harness, Sender};
use super::print;
use crate::group::{DeletedTopic, GroupCoordinatorConfig, GroupRequest, TransactionResult};

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("group/tests/transcripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut differing = Vec::new();
    for file in files {
        let expected = std::fs::read_to_string(&file).unwrap();
        let actual = run(&expected);
        if actual == expected {
            continue;
        }
        if std::env::var_os("REWRITE_TRANSCRIPTS").is_some() {
            std::fs::write(&file, &actual).unwrap();
        }
        let line = expected.lines().zip(actual.lines()).position(|(expected, actual)| expected != actual).unwrap_or_default();
        differing.push(format!(
            "{}:{}\n  expected {}\n  got      {}",
            file.display(),
            line + 1,
            expected.lines().nth(line).unwrap_or_default(),
            actual.lines().nth(line).unwrap_or_default()
        ));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// The text with every block's output as it is now.
fn run(text: &str) -> String {
    let mut player = Player::new();
    let mut result = String::new();
    let mut in_output = false;
    for line in text.lines() {
        if in_output {
            in_output = !line.is_empty();
        }
        if in_output {
            continue;
        }
        result.push_str(line);
        result.push('\n');
        if line == "----" {
            in_output = true;
            result.push_str(&player.take_output());
        } else if !line.is_empty() && !line.starts_with('#') {
            player.play(line);
        }
    }
    result
}

/// The arguments of a command: `name=value` each.
struct Arguments<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Arguments<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| (*value).to_owned())
    }

    fn number<N: std::str::FromStr>(&self, name: &str, default: N) -> N {
        self.0.get(name).map_or(default, |value| value.parse().ok().unwrap_or_else(|| panic!("{name}={value}")))
    }

    fn list(&self, name: &str) -> Vec<&'a str> {
        self.text(name).split(',').filter(|item| !item.is_empty()).collect()
    }
}

struct Player {
    harness: Harness,
    output: String,
    uuids: u64,
}

impl Player {
    fn new() -> Player {
        Player { harness: Harness::new(GroupCoordinatorConfig::default(), 0), output: String::new(), uuids: 0 }
    }

    fn take_output(&mut self) -> String {
        short_member_ids(&std::mem::take(&mut self.output))
    }

    fn play(&mut self, line: &str) {
        let mut words = line.split(' ');
        let command = words.next().unwrap_or_default();
        let arguments = Arguments(words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect());
        match command {
            "config" => self.configure(&arguments),
            "advance" => self.advance(arguments.number("ms", 0)),
            "hold" => self.harness.commits_at_once = false,
            "commit-writes" => {
                self.harness.commits_at_once = true;
                let effect = self.harness.commit();
                self.print(&effect);
            }
            "fail-next-write" => {
                let name = arguments.text("error");
                self.harness.next_append_error = ErrorCode::ALL.iter().copied().find(|code| code.name() == name);
                assert!(self.harness.next_append_error.is_some(), "{line}");
            }
            "reload" => {
                let (replies, effect) = self.harness.reload();
                for reply in &replies {
                    writeln!(self.output, "{}", print::reply(reply)).unwrap();
                }
                self.print(&effect);
            }
            "end-transaction" => {
                let result = if arguments.text("result") == "commit" { TransactionResult::Commit } else { TransactionResult::Abort };
                self.harness.end_transaction(arguments.number("producer", 0), result);
            }
            "topic-deleted" => {
                let topic = DeletedTopic { name: arguments.text("topic").to_owned(), topic_id: topic_id(&arguments) };
                let outcome = self.harness.shard.on_topics_deleted(self.harness.now_ms, &[topic]);
                let effect = self.harness.run(outcome);
                self.print(&effect);
            }
            _ => {
                let request = self.request(command, &arguments).unwrap_or_else(|| panic!("unknown command: {line}"));
                let client_id = if arguments.text("client").is_empty() { "c" } else { arguments.text("client") };
                let sender = Sender { client_id, api_version: arguments.number("v", latest_version(command)) };
                let (token, effect) = self.harness.send(sender, request);
                self.print(&effect);
                if self.harness.waiting.contains(&token) {
                    writeln!(self.output, "request {} waits", token.0).unwrap();
                }
            }
        }
    }

    fn configure(&mut self, arguments: &Arguments<'_>) {
        let default = GroupCoordinatorConfig::default();
        let config = GroupCoordinatorConfig {
            offset_metadata_max_size: arguments.number("metadata", default.offset_metadata_max_size),
            offsets_retention_ms: arguments.number("retention", default.offsets_retention_ms),
            offsets_retention_check_interval_ms: arguments.number("check", default.offsets_retention_check_interval_ms),
            classic_group_initial_rebalance_delay_ms: arguments.number("delay", default.classic_group_initial_rebalance_delay_ms),
            classic_group_max_size: arguments.number("size", default.classic_group_max_size),
            ..default
        };
        let log = std::mem::take(&mut self.harness.log);
        let now_ms = self.harness.now_ms;
        self.harness = Harness::new(config, now_ms);
        self.harness.log = log;
    }

    fn advance(&mut self, ms: i64) {
        let mut effects = Vec::new();
        self.harness.advance(ms, |now_ms, effect| effects.push((now_ms, effect)));
        for (now_ms, effect) in effects {
            let before = self.output.len();
            self.print(&effect);
            if self.output.len() > before {
                self.output.insert_str(before, &format!("at {now_ms}:\n"));
            }
        }
    }

    fn print(&mut self, effect: &Effect) {
        for event in &effect.outcome.events {
            writeln!(self.output, "event: {event}").unwrap();
        }
        for write in &effect.outcome.writes {
            for record in &write.records {
                writeln!(self.output, "record: {}", print::record(record)).unwrap();
            }
        }
        for reply in &effect.outcome.replies {
            writeln!(self.output, "{}", print::reply(reply)).unwrap();
        }
    }

    fn request(&mut self, command: &str, arguments: &Arguments<'_>) -> Option<GroupRequest> {
        let group_id = arguments.text("group").to_owned();
        let member_id = full_member_id(arguments.text("member"));
        let generation_id = arguments.number("generation", -1);
        let group_instance_id = arguments.optional("instance");
        Some(match command {
            "join" => {
                self.uuids += 1;
                let request = JoinGroupRequest { group_id, member_id, group_instance_id, ..join(arguments) };
                GroupRequest::JoinGroup { request, new_member_uuid: Uuid::from_u64_pair(0, self.uuids) }
            }
            "sync" => {
                let assignments = arguments.list("assign").into_iter().map(|part| {
                    let (member_id, assignment) = part.split_once(':').expect("member:assignment");
                    let assignment = Bytes::copy_from_slice(assignment.as_bytes());
                    SyncGroupRequestAssignment { member_id: full_member_id(member_id), assignment, ..Default::default() }
                });
                GroupRequest::SyncGroup(SyncGroupRequest {
                    group_id,
                    generation_id,
                    member_id,
                    group_instance_id,
                    protocol_type: arguments.optional("type").or(Some("consumer".to_owned())),
                    protocol_name: arguments.optional("protocol").or(Some("range".to_owned())).filter(|name| name != "null"),
                    assignments: assignments.collect(),
                    ..SyncGroupRequest::default()
                })
            }
            "heartbeat" => {
                GroupRequest::Heartbeat(HeartbeatRequest { group_id, generation_id, member_id, group_instance_id, ..Default::default() })
            }
            "leave" => {
                let members = arguments.list("members").into_iter().map(|member| {
                    let (member_id, instance) = member.split_once('/').map_or((member, None), |(id, instance)| (id, Some(instance)));
                    MemberIdentity {
                        member_id: full_member_id(member_id),
                        group_instance_id: instance.map(str::to_owned),
                        ..MemberIdentity::default()
                    }
                });
                let members = members.collect();
                GroupRequest::LeaveGroup(LeaveGroupRequest { group_id, member_id, members, ..LeaveGroupRequest::default() })
            }
            "describe" => GroupRequest::DescribeGroups(arguments.list("groups").into_iter().map(str::to_owned).collect()),
            "delete" => GroupRequest::DeleteGroups(arguments.list("groups").into_iter().map(str::to_owned).collect()),
            "list" => GroupRequest::ListGroups(ListGroupsRequest {
                states_filter: arguments.list("states").into_iter().map(str::to_owned).collect(),
                types_filter: arguments.list("types").into_iter().map(str::to_owned).collect(),
                ..ListGroupsRequest::default()
            }),
            _ => return offset_request(command, arguments),
        })
    }
}

fn join(arguments: &Arguments<'_>) -> JoinGroupRequest {
    let protocols = if arguments.text("protocols").is_empty() { vec!["range"] } else { arguments.list("protocols") };
    let protocols = protocols.into_iter().filter(|protocol| *protocol != "none").map(|protocol| {
        let (name, topics) = protocol.split_once(':').unwrap_or((protocol, ""));
        JoinGroupRequestProtocol { name: name.to_owned(), metadata: subscription(topics), ..Default::default() }
    });
    JoinGroupRequest {
        session_timeout_ms: arguments.number("session", 10_000),
        rebalance_timeout_ms: arguments.number("rebalance", 60_000),
        protocol_type: arguments.optional("type").unwrap_or("consumer".to_owned()),
        protocols: protocols.collect(),
        reason: arguments.optional("reason"),
        ..JoinGroupRequest::default()
    }
}

/// A consumer's metadata for topics like `a+b`, `t` unless others are said; or something that is no such metadata.
fn subscription(topics: &str) -> Bytes {
    let topics: Vec<&str> = match topics {
        "junk" => return Bytes::from_static(b"junk"),
        "" => vec!["t"],
        topics => topics.split('+').collect(),
    };
    let mut bytes = BytesMut::new();
    bytes.put_i16(1);
    bytes.put_i32(topics.len() as i32);
    for topic in topics {
        bytes.put_i16(topic.len() as i16);
        bytes.put_slice(topic.as_bytes());
    }
    bytes.put_i32(-1);
    bytes.freeze()
}

/// `partition:offset:metadata` each.
fn partitions<'a>(arguments: &Arguments<'a>) -> Vec<(i32, i64, Option<&'a str>)> {
    let partitions = arguments.list("partitions").into_iter().map(|partition| {
        let mut parts = partition.split(':');
        let index = parts.next().and_then(|index| index.parse().ok()).expect("a partition");
        (index, parts.next().map_or(-1, |offset| offset.parse().expect("an offset")), parts.next())
    });
    partitions.collect()
}

fn topic_id(arguments: &Arguments<'_>) -> Uuid {
    Uuid::from_u64_pair(0, arguments.number("id", 7))
}

fn offset_request(command: &str, arguments: &Arguments<'_>) -> Option<GroupRequest> {
    match command {
        "commit" => Some(GroupRequest::OffsetCommit(commit(arguments))),
        "txn-commit" => Some(GroupRequest::TxnOffsetCommit(txn_commit(arguments))),
        "fetch" => Some(fetch(arguments)),
        "delete-offsets" => Some(GroupRequest::OffsetDelete(delete_offsets(arguments))),
        _ => None,
    }
}

fn commit(arguments: &Arguments<'_>) -> OffsetCommitRequest {
    let partitions = partitions(arguments).into_iter();
    let partitions = partitions.map(|(partition_index, committed_offset, metadata)| OffsetCommitRequestPartition {
        partition_index,
        committed_offset,
        committed_leader_epoch: arguments.number("epoch", -1),
        committed_metadata: metadata.map(str::to_owned),
        ..OffsetCommitRequestPartition::default()
    });
    let topic = OffsetCommitRequestTopic {
        name: arguments.text("topic").to_owned(),
        topic_id: topic_id(arguments),
        partitions: partitions.collect(),
        ..OffsetCommitRequestTopic::default()
    };
    OffsetCommitRequest {
        group_id: arguments.text("group").to_owned(),
        generation_id_or_member_epoch: arguments.number("generation", -1),
        member_id: full_member_id(arguments.text("member")),
        group_instance_id: arguments.optional("instance"),
        retention_time_ms: arguments.number("retention", -1),
        topics: vec![topic],
        ..OffsetCommitRequest::default()
    }
}

fn txn_commit(arguments: &Arguments<'_>) -> TxnOffsetCommitRequest {
    let partitions = partitions(arguments).into_iter();
    let partitions = partitions.map(|(partition_index, committed_offset, metadata)| TxnOffsetCommitRequestPartition {
        partition_index,
        committed_offset,
        committed_leader_epoch: arguments.number("epoch", -1),
        committed_metadata: metadata.map(str::to_owned),
        ..TxnOffsetCommitRequestPartition::default()
    });
    let topic = TxnOffsetCommitRequestTopic {
        name: arguments.text("topic").to_owned(),
        topic_id: topic_id(arguments),
        partitions: partitions.collect(),
        ..TxnOffsetCommitRequestTopic::default()
    };
    TxnOffsetCommitRequest {
        transactional_id: "tx".to_owned(),
        group_id: arguments.text("group").to_owned(),
        producer_id: arguments.number("producer", 1),
        producer_epoch: 0,
        generation_id_or_member_epoch: arguments.number("generation", -1),
        member_id: full_member_id(arguments.text("member")),
        group_instance_id: arguments.optional("instance"),
        topics: vec![topic],
        ..TxnOffsetCommitRequest::default()
    }
}

fn fetch(arguments: &Arguments<'_>) -> GroupRequest {
    let topic = OffsetFetchRequestTopics {
        name: arguments.text("topic").to_owned(),
        topic_id: topic_id(arguments),
        partition_indexes: partitions(arguments).into_iter().map(|(partition, _, _)| partition).collect(),
        ..OffsetFetchRequestTopics::default()
    };
    let topics = (!topic.name.is_empty()).then(|| vec![topic]);
    let group = OffsetFetchRequestGroup { group_id: arguments.text("group").to_owned(), topics, ..OffsetFetchRequestGroup::default() };
    GroupRequest::OffsetFetch { group, require_stable: arguments.text("stable") == "true" }
}

fn delete_offsets(arguments: &Arguments<'_>) -> OffsetDeleteRequest {
    let partitions = partitions(arguments).into_iter();
    let partitions = partitions.map(|(partition_index, _, _)| OffsetDeleteRequestPartition { partition_index, ..Default::default() });
    let name = arguments.text("topic").to_owned();
    let topic = OffsetDeleteRequestTopic { name, partitions: partitions.collect(), ..OffsetDeleteRequestTopic::default() };
    OffsetDeleteRequest { group_id: arguments.text("group").to_owned(), topics: vec![topic], ..OffsetDeleteRequest::default() }
}

/// Ids of members end in a random uuid. Here it counts, and is written as the bare number in hexadecimal: `c-1`.
const UUID_START: &str = "-00000000-0000-0000-0000-";
const UUID_END_LENGTH: usize = 12;

fn full_member_id(short: &str) -> String {
    match short.rsplit_once('-') {
        Some((name, number)) => format!("{name}{UUID_START}{number:0>UUID_END_LENGTH$}"),
        None => short.to_owned(),
    }
}

fn short_member_ids(text: &str) -> String {
    let mut parts = text.split(UUID_START);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_at(UUID_END_LENGTH);
        write!(short, "-{}{rest}", number.trim_start_matches('0')).unwrap();
    }
    short
}

fn latest_version(command: &str) -> i16 {
    match command {
        "join" => 9,
        "sync" | "leave" | "list" => 5,
        "heartbeat" => 4,
        "commit" | "fetch" => 10,
        "describe" | "txn-commit" => 6,
        _ => 0,
    }
}
