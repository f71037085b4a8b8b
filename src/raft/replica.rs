//! Who takes part in the metadata quorum: replica keys, endpoints, voters and voter sets (KIP-853). Knows nothing of elections or of
//! where a voter set was read from.

use std::collections::BTreeMap;
use std::fmt;

use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_protocol::messages::voters_record::{Endpoint as RecordEndpoint, KRaftVersionFeature, Voter, VotersRecord};

/// A replica of the metadata log: a node's id and, where it is known, the id of the directory that holds its log (`ReplicaKey`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaKey {
    /// The node.
    pub id: BrokerId,
    /// The directory; `None` below `kraft.version` 1, where voters are known by id alone.
    pub directory_id: Option<Uuid>,
}

impl ReplicaKey {
    /// The replica on node `id`; [`Uuid::ZERO`] stands for an unknown directory, as on the wire.
    pub fn new(id: BrokerId, directory_id: Uuid) -> ReplicaKey {
        ReplicaKey { id, directory_id: (directory_id != Uuid::ZERO).then_some(directory_id) }
    }

    /// The directory id as the wire carries it.
    pub fn directory_id_or_zero(self) -> Uuid {
        self.directory_id.unwrap_or(Uuid::ZERO)
    }

    /// Whether `other` is this replica; without a directory id of its own, a key stands for every directory of its node.
    pub fn covers(self, other: ReplicaKey) -> bool {
        self.id == other.id && self.directory_id.is_none_or(|directory_id| other.directory_id == Some(directory_id))
    }
}

impl fmt::Display for ReplicaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.directory_id {
            Some(directory_id) => write!(f, "{}@{directory_id}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

/// A position in the metadata log together with the epoch of the record before it. The order is that of Raft: the epoch counts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OffsetAndEpoch {
    /// An end offset: of a log, of an epoch, or of what a snapshot contains.
    pub offset: i64,
    /// The epoch of the last record before `offset`.
    pub epoch: LeaderEpoch,
}

impl OffsetAndEpoch {
    /// The id of the snapshot that formatting writes. It is never replicated (`Snapshots.BOOTSTRAP_SNAPSHOT_ID`).
    pub const BOOTSTRAP_SNAPSHOT: OffsetAndEpoch = OffsetAndEpoch { offset: 0, epoch: LeaderEpoch(0) };

    /// `offset` after a record of `epoch`.
    pub const fn new(offset: i64, epoch: LeaderEpoch) -> OffsetAndEpoch {
        OffsetAndEpoch { offset, epoch }
    }
}

impl Ord for OffsetAndEpoch {
    fn cmp(&self, other: &OffsetAndEpoch) -> std::cmp::Ordering {
        (self.epoch, self.offset).cmp(&(other.epoch, other.offset))
    }
}

impl PartialOrd for OffsetAndEpoch {
    fn partial_cmp(&self, other: &OffsetAndEpoch) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for OffsetAndEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {} of epoch {}", self.offset, self.epoch)
    }
}

/// Where a listener can be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// A replica's controller listeners by name, in upper case as Kafka normalises them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints(pub BTreeMap<String, Endpoint>);

impl Endpoints {
    /// One listener.
    pub fn single(listener: &str, endpoint: Endpoint) -> Endpoints {
        Endpoints(BTreeMap::from([(listener.to_owned(), endpoint)]))
    }

    /// Where this listener can be reached.
    pub fn get(&self, listener: &str) -> Option<&Endpoint> {
        self.0.get(listener)
    }

    /// Whether no listener is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many listeners are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The levels of `kraft.version` that a node can work with, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedKRaftVersions {
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

impl SupportedKRaftVersions {
    /// What Ottla itself works with.
    pub const LOCAL: SupportedKRaftVersions = SupportedKRaftVersions { min: 0, max: KRAFT_VERSION_MAX };

    /// Whether the node can work at `level`.
    pub fn contains(self, level: i16) -> bool {
        (self.min..=self.max).contains(&level)
    }
}

/// The highest `kraft.version` of Kafka 4.4; from 1 on, voter sets are kept in the log and may change.
pub const KRAFT_VERSION_MAX: i16 = 1;

/// A voter as the log or the configuration describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoterNode {
    /// Who it is.
    pub key: ReplicaKey,
    /// Where its controller listeners are.
    pub endpoints: Endpoints,
    /// What it can work with.
    pub kraft_versions: SupportedKRaftVersions,
}

/// The voters at some point of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VoterSet {
    voters: BTreeMap<BrokerId, VoterNode>,
}

impl VoterSet {
    /// These voters; of two with the same id the later one counts.
    pub fn new(voters: impl IntoIterator<Item = VoterNode>) -> VoterSet {
        VoterSet { voters: voters.into_iter().map(|voter| (voter.key.id, voter)).collect() }
    }

    /// The voters of `controller.quorum.voters`, which have no directory ids and claim no version but 0.
    pub fn from_static(listener: &str, voters: impl IntoIterator<Item = (BrokerId, Endpoint)>) -> VoterSet {
        VoterSet::new(voters.into_iter().map(|(id, endpoint)| VoterNode {
            key: ReplicaKey { id, directory_id: None },
            endpoints: Endpoints::single(listener, endpoint),
            kraft_versions: SupportedKRaftVersions { min: 0, max: 0 },
        }))
    }

    /// The voters that a control record names.
    pub fn from_record(record: &VotersRecord) -> VoterSet {
        VoterSet::new(record.voters.iter().map(|voter| VoterNode {
            key: ReplicaKey::new(BrokerId(voter.voter_id), voter.voter_directory_id),
            endpoints: Endpoints(
                voter.endpoints.iter().map(|e| (e.name.clone(), Endpoint { host: e.host.clone(), port: e.port })).collect(),
            ),
            kraft_versions: SupportedKRaftVersions {
                min: voter.k_raft_version_feature.min_supported_version,
                max: voter.k_raft_version_feature.max_supported_version,
            },
        }))
    }

    /// The control record that names these voters.
    pub fn to_record(&self) -> VotersRecord {
        let voters = self.voters.values().map(|voter| Voter {
            voter_id: voter.key.id.0,
            voter_directory_id: voter.key.directory_id_or_zero(),
            endpoints: (voter.endpoints.0.iter())
                .map(|(name, endpoint)| RecordEndpoint {
                    name: name.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    ..RecordEndpoint::default()
                })
                .collect(),
            k_raft_version_feature: KRaftVersionFeature {
                min_supported_version: voter.kraft_versions.min,
                max_supported_version: voter.kraft_versions.max,
                ..KRaftVersionFeature::default()
            },
            ..Voter::default()
        });
        VotersRecord { version: 0, voters: voters.collect(), ..VotersRecord::default() }
    }

    /// The voter on this node.
    pub fn get(&self, id: BrokerId) -> Option<&VoterNode> {
        self.voters.get(&id)
    }

    /// All voters, by id.
    pub fn iter(&self) -> impl Iterator<Item = &VoterNode> {
        self.voters.values()
    }

    /// The voters' ids, ascending.
    pub fn ids(&self) -> impl Iterator<Item = BrokerId> {
        self.voters.keys().copied()
    }

    /// How many voters there are.
    pub fn len(&self) -> usize {
        self.voters.len()
    }

    /// Whether there are no voters.
    pub fn is_empty(&self) -> bool {
        self.voters.is_empty()
    }

    /// Whether this replica is one of the voters.
    pub fn contains(&self, replica: ReplicaKey) -> bool {
        self.voters.get(&replica.id).is_some_and(|voter| voter.key.covers(replica))
    }

    /// Whether this replica is the one and only voter.
    pub fn is_only_voter(&self, replica: ReplicaKey) -> bool {
        self.voters.len() == 1 && self.contains(replica)
    }

    /// Where the voter on this node listens; empty when it is no voter.
    pub fn endpoints(&self, id: BrokerId) -> Endpoints {
        self.voters.get(&id).map(|voter| voter.endpoints.clone()).unwrap_or_default()
    }

    /// Whether the log describes this voter otherwise than it describes itself.
    pub fn needs_update(&self, voter: &VoterNode) -> bool {
        self.voters.get(&voter.key.id).is_some_and(|known| known.key.covers(voter.key) && known != voter)
    }

    /// The set with `voter` added; `None` if its node already has a voter.
    pub fn with_added(&self, voter: VoterNode) -> Option<VoterSet> {
        if self.voters.contains_key(&voter.key.id) { None } else { Some(self.with(voter)) }
    }

    /// The set without `key`; `None` if it is no voter or the last one.
    pub fn with_removed(&self, key: ReplicaKey) -> Option<VoterSet> {
        if self.voters.len() < 2 || self.voters.get(&key.id)?.key != key {
            return None;
        }
        let mut voters = self.voters.clone();
        voters.remove(&key.id);
        Some(VoterSet { voters })
    }

    /// The set with the voter's description replaced; `None` if it is no voter.
    pub fn with_updated(&self, voter: VoterNode) -> Option<VoterSet> {
        if self.contains(voter.key) { Some(self.with(voter)) } else { None }
    }

    /// The set with the description replaced of the voter on that node, whatever its directory; `None` if the node has no voter.
    pub fn with_updated_ignoring_directory(&self, voter: VoterNode) -> Option<VoterSet> {
        if self.voters.contains_key(&voter.key.id) { Some(self.with(voter)) } else { None }
    }

    fn with(&self, voter: VoterNode) -> VoterSet {
        let mut voters = self.voters.clone();
        voters.insert(voter.key.id, voter);
        VoterSet { voters }
    }

    /// Whether every voter can work at this `kraft.version`.
    pub fn supports_version(&self, level: i16) -> bool {
        self.voters.values().all(|voter| voter.kraft_versions.contains(level))
    }
}

impl fmt::Display for VoterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, voter) in self.voters.values().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}", voter.key)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voter(id: i32, directory: u64) -> VoterNode {
        VoterNode {
            key: ReplicaKey::new(BrokerId(id), Uuid::from_u64_pair(0, directory)),
            endpoints: Endpoints::single("CONTROLLER", Endpoint { host: format!("node{id}"), port: 9093 }),
            kraft_versions: SupportedKRaftVersions { min: 0, max: 1 },
        }
    }

    #[test]
    fn a_key_without_directory_stands_for_every_directory() {
        let bare = ReplicaKey::new(BrokerId(1), Uuid::ZERO);
        assert!(bare.covers(voter(1, 7).key));
        assert!(!voter(1, 7).key.covers(bare));
        assert!(!voter(1, 7).key.covers(voter(1, 8).key));
        assert!(!bare.covers(voter(2, 7).key));
    }

    #[test]
    fn positions_are_ordered_by_epoch_first() {
        assert!(OffsetAndEpoch::new(5, LeaderEpoch(2)) > OffsetAndEpoch::new(9, LeaderEpoch(1)));
        assert!(OffsetAndEpoch::new(9, LeaderEpoch(2)) > OffsetAndEpoch::new(5, LeaderEpoch(2)));
    }

    #[test]
    fn a_record_carries_a_voter_set_unchanged() {
        let set = VoterSet::new([voter(3, 30), voter(1, 10)]);
        assert_eq!(VoterSet::from_record(&set.to_record()), set);
        assert_eq!(set.to_record().voters[0].voter_id, 1);
    }

    #[test]
    fn the_last_voter_stays() {
        let one = VoterSet::new([voter(1, 10)]);
        assert_eq!(one.with_removed(voter(1, 10).key), None);
        let two = one.with_added(voter(2, 20)).expect("2 is new");
        assert_eq!(two.with_added(voter(2, 21)), None);
        assert_eq!(two.with_removed(voter(2, 21).key), None);
        assert_eq!(two.with_removed(voter(2, 20).key), Some(one));
    }
}
