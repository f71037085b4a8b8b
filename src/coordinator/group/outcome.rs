//! What goes into a shard with every request and what comes out of every call: plain data, for the runtime to act upon.

use bytes::Bytes;
use ottla_model::{ErrorCode, ProducerId};
use ottla_protocol::messages::delete_groups_response::DeletableGroupResult;
use ottla_protocol::messages::describe_groups_response::DescribedGroup;
use ottla_protocol::messages::heartbeat_response::HeartbeatResponse;
use ottla_protocol::messages::join_group_response::JoinGroupResponse;
use ottla_protocol::messages::leave_group_response::LeaveGroupResponse;
use ottla_protocol::messages::list_groups_response::ListedGroup;
use ottla_protocol::messages::offset_commit_response::OffsetCommitResponse;
use ottla_protocol::messages::offset_delete_response::OffsetDeleteResponse;
use ottla_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use ottla_protocol::messages::sync_group_response::SyncGroupResponse;
use ottla_protocol::messages::txn_offset_commit_response::TxnOffsetCommitResponse;

use super::events::GroupEvent;

/// Names a request between a shard and its runtime; each token gets exactly one [`Reply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestToken(pub u64);

/// What a shard needs to know of a request beside its body.
#[derive(Clone, Copy, Debug)]
pub struct RequestContext<'a> {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// What the reply will carry.
    pub token: RequestToken,
    /// The version of the request.
    pub api_version: i16,
    /// The client's name for itself; empty when it gave none.
    pub client_id: &'a str,
    /// Where the client is, as Java prints an `InetAddress`: `/127.0.0.1`.
    pub client_host: &'a str,
}

/// The answer to one request. Those that name groups of several shards are answered in parts, which the handler joins.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// To JoinGroup.
    JoinGroup(JoinGroupResponse),
    /// To SyncGroup.
    SyncGroup(SyncGroupResponse),
    /// To Heartbeat.
    Heartbeat(HeartbeatResponse),
    /// To LeaveGroup.
    LeaveGroup(LeaveGroupResponse),
    /// To OffsetCommit.
    OffsetCommit(OffsetCommitResponse),
    /// To TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// To OffsetDelete.
    OffsetDelete(OffsetDeleteResponse),
    /// One group of OffsetFetch.
    OffsetFetch(OffsetFetchResponseGroup),
    /// This shard's groups of DescribeGroups.
    DescribeGroups(Vec<DescribedGroup>),
    /// This shard's groups of ListGroups, or why the whole request fails.
    ListGroups(Result<Vec<ListedGroup>, ErrorCode>),
    /// This shard's groups of DeleteGroups.
    DeleteGroups(Vec<DeletableGroupResult>),
}

/// An answer on its way to whom it belongs: not always the one whose request brought it about.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The request.
    pub token: RequestToken,
    /// The version of the request.
    pub api_version: i16,
    /// The answer.
    pub response: Response,
}

/// Names a write between a shard and its runtime. Ids ascend in the order in which writes must be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId(pub u64);

/// A record of `__consumer_offsets`: Kafka's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorRecord {
    /// The record's type, then what it is about.
    pub key: Bytes,
    /// The value with its version; `None` is a tombstone.
    pub value: Option<Bytes>,
}

/// The producer whose transaction a write belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionalProducer {
    /// The producer's name for itself.
    pub transactional_id: String,
    /// Its id.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: i16,
}

/// Records to append to the shard's partition, at consecutive offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What the runtime reports back with.
    pub id: WriteId,
    /// At least one record.
    pub records: Vec<CoordinatorRecord>,
    /// Whether the records must be in one batch. Tombstones of a clean-up may be spread over several.
    pub atomic: bool,
    /// The transaction that the batch is part of; the runtime verifies it before it appends.
    pub producer: Option<TransactionalProducer>,
}

/// What a call to a shard brings about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Answers to send at once.
    pub replies: Vec<Reply>,
    /// Records to append, in order, before the shard is called again for anything else.
    pub writes: Vec<Write>,
    /// What the broker's log should say.
    pub events: Vec<GroupEvent>,
}

impl Outcome {
    /// Takes over what `other` brings about, after what is here already.
    pub fn append(&mut self, mut other: Outcome) {
        self.replies.append(&mut other.replies);
        self.writes.append(&mut other.writes);
        self.events.append(&mut other.events);
    }
}
