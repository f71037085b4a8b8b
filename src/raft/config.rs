//! What the quorum's rules take from the node's configuration.

use ottla_model::{BrokerId, Uuid};

use crate::replica::{Endpoint, Endpoints, ReplicaKey, SupportedKRaftVersions, VoterNode, VoterSet};

/// A node's settings for the quorum. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct RaftConfig {
    /// The id of the cluster: messages of another one are refused.
    pub cluster_id: String,
    /// `node.id`.
    pub node_id: BrokerId,
    /// The id of the directory of the metadata log.
    pub directory_id: Uuid,
    /// Whether the node has the controller role: it flushes before it fetches, for it may be counted as a voter any time.
    pub can_become_voter: bool,
    /// The first of `controller.listener.names`: where this node reaches the others.
    pub listener: String,
    /// The node's own controller listeners, empty without the controller role.
    pub endpoints: Endpoints,
    /// `controller.quorum.voters`.
    pub static_voters: VoterSet,
    /// `controller.quorum.bootstrap.servers`, or the endpoints of the static voters.
    pub bootstrap_servers: Vec<Endpoint>,
    /// `controller.quorum.election.timeout.ms`: at least this long, and less than twice as long, without a leader before an election.
    pub election_timeout_ms: i64,
    /// `controller.quorum.fetch.timeout.ms`: a leader that did not answer for so long is given up.
    pub fetch_timeout_ms: i64,
    /// `controller.quorum.election.backoff.max.ms`
    pub election_backoff_max_ms: i64,
    /// `controller.quorum.request.timeout.ms`
    pub request_timeout_ms: i64,
    /// `controller.quorum.retry.backoff.ms`
    pub retry_backoff_ms: i64,
    /// `controller.quorum.fetch.max.bytes`
    pub fetch_max_bytes: i32,
    /// `controller.quorum.fetch.snapshot.max.bytes`
    pub fetch_snapshot_max_bytes: i32,
    /// `controller.quorum.auto.join.enable`: an observer with the controller role asks to become a voter.
    pub auto_join: bool,
    /// Where the sequence of random election timeouts begins. Nodes must differ in it.
    pub jitter_seed: u64,
}

impl RaftConfig {
    /// Kafka's defaults for a node with the controller role, without voters and servers.
    pub fn new(cluster_id: &str, node_id: BrokerId, directory_id: Uuid) -> RaftConfig {
        RaftConfig {
            cluster_id: cluster_id.to_owned(),
            node_id,
            directory_id,
            can_become_voter: true,
            listener: "CONTROLLER".to_owned(),
            endpoints: Endpoints::default(),
            static_voters: VoterSet::default(),
            bootstrap_servers: Vec::new(),
            election_timeout_ms: 1000,
            fetch_timeout_ms: 2000,
            election_backoff_max_ms: 1000,
            request_timeout_ms: 2000,
            retry_backoff_ms: 20,
            fetch_max_bytes: 1024 * 1024,
            fetch_snapshot_max_bytes: 1024 * 1024,
            auto_join: false,
            jitter_seed: 0,
        }
    }

    /// The node's own replica.
    pub fn local_key(&self) -> ReplicaKey {
        ReplicaKey::new(self.node_id, self.directory_id)
    }

    /// The node as it describes itself.
    pub fn local_voter(&self) -> VoterNode {
        VoterNode { key: self.local_key(), endpoints: self.endpoints.clone(), kraft_versions: SupportedKRaftVersions::LOCAL }
    }
}

/// Pseudo-random numbers from a seed (SplitMix64), so that a run can be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Jitter {
        Jitter(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// `timeout_ms` and up to as much again (`QuorumState.randomElectionTimeoutMs`).
    pub(crate) fn election_timeout_ms(&mut self, timeout_ms: i64) -> i64 {
        timeout_ms + self.below(timeout_ms.max(0) as u64) as i64
    }
}
