//! One partition's registration: its replicas, who leads it, and how a change is merged into it (`PartitionRegistration`).

use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;
use ottla_protocol::messages::partition_record::PartitionRecord;

use crate::directory_id;
use crate::metadata_version::MetadataVersion;
use crate::record::MetadataRecord;

/// `PartitionChangeRecord.leader`: the leader stays, and so does the leader epoch.
pub const NO_LEADER_CHANGE: i32 = -2;

/// Whether the leader of an unclean election has yet to recover (KIP-704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum LeaderRecoveryState {
    /// The usual state.
    #[default]
    Recovered = 0,
    /// Elected from outside the ISR, and not yet done.
    Recovering = 1,
}

/// A record says something about a partition that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPartition {
    /// A number that is no state.
    #[error("Value {0} is not a valid leader recovery state")]
    LeaderRecoveryState(i8),
    /// Directories do not match the replicas.
    #[error("The lengths for replicas and directories do not match: {replicas} replicas, {directories} directories")]
    Directories {
        /// How many replicas.
        replicas: usize,
        /// How many directories.
        directories: usize,
    },
}

/// A partition as the metadata log has it. Lists keep the order of the records; the first replica is the preferred leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRegistration {
    /// All replicas.
    pub replicas: Box<[BrokerId]>,
    /// The log directory of each replica, in the order of `replicas`.
    pub directories: Box<[Uuid]>,
    /// The replicas in sync.
    pub isr: Box<[BrokerId]>,
    /// Replicas that a reassignment takes away at its end.
    pub removing_replicas: Box<[BrokerId]>,
    /// Replicas that a reassignment has added.
    pub adding_replicas: Box<[BrokerId]>,
    /// Replicas out of sync that still have all that was committed (KIP-966).
    pub elr: Box<[BrokerId]>,
    /// The last known members of an eligible set that became unsafe (KIP-966).
    pub last_known_elr: Box<[BrokerId]>,
    /// The leader, or [`BrokerId::NONE`].
    pub leader: BrokerId,
    /// Whether the leader is recovering.
    pub leader_recovery_state: LeaderRecoveryState,
    /// Rises with every change of the leader.
    pub leader_epoch: LeaderEpoch,
    /// Rises with every change of the partition.
    pub partition_epoch: i32,
}

fn recovery_state(value: i8) -> Result<LeaderRecoveryState, InvalidPartition> {
    match value {
        0 => Ok(LeaderRecoveryState::Recovered),
        1 => Ok(LeaderRecoveryState::Recovering),
        other => Err(InvalidPartition::LeaderRecoveryState(other)),
    }
}

fn broker_ids(numbers: &[i32]) -> Box<[BrokerId]> {
    numbers.iter().copied().map(BrokerId).collect()
}

fn optional_broker_ids(numbers: &Option<Vec<i32>>) -> Box<[BrokerId]> {
    broker_ids(numbers.as_deref().unwrap_or_default())
}

/// Broker ids as records and messages carry them.
pub fn broker_numbers(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

/// Records from before directory ids carry none; every replica then counts as migrating.
fn checked_directories(directories: &[Uuid], replicas: usize) -> Result<Box<[Uuid]>, InvalidPartition> {
    if directories.iter().all(|&directory| directory == directory_id::MIGRATING) {
        return Ok(vec![directory_id::MIGRATING; replicas].into());
    }
    if directories.len() != replicas {
        return Err(InvalidPartition::Directories { replicas, directories: directories.len() });
    }
    Ok(directories.into())
}

impl PartitionRegistration {
    /// The partition that a PartitionRecord creates or replaces.
    pub fn from_record(record: &PartitionRecord) -> Result<PartitionRegistration, InvalidPartition> {
        Ok(PartitionRegistration {
            replicas: broker_ids(&record.replicas),
            directories: checked_directories(&record.directories, record.replicas.len())?,
            isr: broker_ids(&record.isr),
            removing_replicas: broker_ids(&record.removing_replicas),
            adding_replicas: broker_ids(&record.adding_replicas),
            elr: optional_broker_ids(&record.eligible_leader_replicas),
            last_known_elr: optional_broker_ids(&record.last_known_elr),
            leader: BrokerId(record.leader),
            leader_recovery_state: recovery_state(record.leader_recovery_state)?,
            leader_epoch: LeaderEpoch(record.leader_epoch),
            partition_epoch: record.partition_epoch,
        })
    }

    /// The partition after a change: what the record does not name stays, a named leader raises the leader epoch even if it is the
    /// same, and the partition epoch rises always.
    pub fn merge(&self, record: &PartitionChangeRecord) -> Result<PartitionRegistration, InvalidPartition> {
        let ids_or = |change: &Option<Vec<i32>>, current: &[BrokerId]| change.as_deref().map_or_else(|| current.into(), broker_ids);
        let replicas = ids_or(&record.replicas, &self.replicas);
        let directories = record.directories.as_deref().unwrap_or(&self.directories);
        let (leader, leader_epoch) = match record.leader {
            NO_LEADER_CHANGE => (self.leader, self.leader_epoch),
            leader => (BrokerId(leader), LeaderEpoch(self.leader_epoch.0 + 1)),
        };
        let leader_recovery_state = match record.leader_recovery_state {
            -1 => self.leader_recovery_state,
            value => recovery_state(value)?,
        };
        Ok(PartitionRegistration {
            directories: checked_directories(directories, replicas.len())?,
            replicas,
            isr: ids_or(&record.isr, &self.isr),
            removing_replicas: ids_or(&record.removing_replicas, &self.removing_replicas),
            adding_replicas: ids_or(&record.adding_replicas, &self.adding_replicas),
            elr: ids_or(&record.eligible_leader_replicas, &self.elr),
            last_known_elr: ids_or(&record.last_known_elr, &self.last_known_elr),
            leader,
            leader_recovery_state,
            leader_epoch,
            partition_epoch: self.partition_epoch + 1,
        })
    }

    /// The record that creates this partition. What `metadata_version` cannot express is left out, and so are eligible leader replicas
    /// while the feature is off.
    pub fn to_record(&self, topic_id: Uuid, partition: i32, options: PartitionRecordOptions) -> MetadataRecord {
        let elr = |ids: &[BrokerId]| (options.elr_enabled && !ids.is_empty()).then(|| broker_numbers(ids));
        let directories = options.metadata_version.is_directory_assignment_supported();
        PartitionRecord {
            partition_id: partition,
            topic_id,
            replicas: broker_numbers(&self.replicas),
            isr: broker_numbers(&self.isr),
            removing_replicas: broker_numbers(&self.removing_replicas),
            adding_replicas: broker_numbers(&self.adding_replicas),
            leader: self.leader.0,
            leader_recovery_state: self.leader_recovery_state as i8,
            leader_epoch: self.leader_epoch.0,
            partition_epoch: self.partition_epoch,
            directories: if directories { self.directories.to_vec() } else { Vec::new() },
            eligible_leader_replicas: elr(&self.elr),
            last_known_elr: elr(&self.last_known_elr),
            ..Default::default()
        }
        .into()
    }

    /// Whether there is a leader.
    pub fn has_leader(&self) -> bool {
        self.leader != BrokerId::NONE
    }

    /// The replica that should lead when it can.
    pub fn preferred_replica(&self) -> BrokerId {
        self.replicas.first().copied().unwrap_or(BrokerId::NONE)
    }

    /// Whether the preferred replica leads.
    pub fn has_preferred_leader(&self) -> bool {
        self.leader == self.preferred_replica()
    }

    /// Whether replicas are being added or removed.
    pub fn is_reassigning(&self) -> bool {
        !self.adding_replicas.is_empty() || !self.removing_replicas.is_empty()
    }

    /// The log directory of the replica on `broker`; `None` when it has no replica.
    pub fn directory(&self, broker: BrokerId) -> Option<Uuid> {
        let index = self.replicas.iter().position(|&replica| replica == broker)?;
        self.directories.get(index).copied()
    }
}

/// How partitions are written as records.
#[derive(Clone, Copy, Debug)]
pub struct PartitionRecordOptions {
    /// The version to write at.
    pub metadata_version: MetadataVersion,
    /// Whether `eligible.leader.replicas.version` is at 1.
    pub elr_enabled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration() -> PartitionRegistration {
        let record = PartitionRecord {
            replicas: vec![1, 2, 3],
            isr: vec![1, 2],
            leader: 1,
            leader_epoch: 100,
            partition_epoch: 200,
            directories: vec![Uuid::from_u64_pair(9, 1), Uuid::from_u64_pair(9, 2), Uuid::from_u64_pair(9, 3)],
            ..Default::default()
        };
        PartitionRegistration::from_record(&record).unwrap()
    }

    #[test]
    fn an_isr_change_raises_the_partition_epoch_only() {
        let change = PartitionChangeRecord { isr: Some(vec![1]), ..Default::default() };
        let merged = registration().merge(&change).unwrap();
        assert_eq!((merged.leader_epoch, merged.partition_epoch), (LeaderEpoch(100), 201));
        assert_eq!((&*merged.isr, &merged.replicas), (&[BrokerId(1)][..], &registration().replicas));
    }

    #[test]
    fn naming_the_leader_raises_the_leader_epoch() {
        for leader in [1, 2, -1] {
            let merged = registration().merge(&PartitionChangeRecord { leader, ..Default::default() }).unwrap();
            assert_eq!((merged.leader, merged.leader_epoch), (BrokerId(leader), LeaderEpoch(101)));
        }
    }

    #[test]
    fn no_directories_are_migrating_ones() {
        let record = PartitionRecord { replicas: vec![1, 2], ..Default::default() };
        let partition = PartitionRegistration::from_record(&record).unwrap();
        assert_eq!(&*partition.directories, &[directory_id::MIGRATING; 2]);
        let record = PartitionRecord { replicas: vec![1, 2], directories: vec![directory_id::LOST], ..Default::default() };
        assert_eq!(PartitionRegistration::from_record(&record), Err(InvalidPartition::Directories { replicas: 2, directories: 1 }));
    }

    #[test]
    fn records_go_both_ways() {
        let options = PartitionRecordOptions { metadata_version: MetadataVersion::LATEST, elr_enabled: true };
        let mut partition = registration();
        partition.elr = [BrokerId(3)].into();
        let MetadataRecord::Partition(record) = partition.to_record(Uuid::ZERO, 4, options) else { panic!("a PartitionRecord") };
        assert_eq!(record.partition_id, 4);
        assert_eq!(PartitionRegistration::from_record(&record), Ok(partition.clone()));
        let MetadataRecord::Partition(record) =
            partition.to_record(Uuid::ZERO, 4, PartitionRecordOptions { elr_enabled: false, ..options })
        else {
            panic!("a PartitionRecord")
        };
        assert_eq!(record.eligible_leader_replicas, None);
    }
}
