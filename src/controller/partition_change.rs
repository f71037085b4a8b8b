//! What has to change about a partition when its ISR, replicas, directories or leader are to be others: elects a leader, keeps the
//! eligible leader replicas and completes reassignments (`PartitionChangeBuilder`).

use ottla_metadata::{LeaderRecoveryState, MetadataVersion, NO_LEADER_CHANGE, PartitionRegistration, broker_numbers};
use ottla_model::{BrokerId, Uuid};
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;

use crate::partition_index::TopicIdPartition;
use crate::reassignment::completed_reassignment;
use crate::state::ControllerState;

/// How far a leader election may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Election {
    /// Prefer the first replica; only replicas in sync.
    Preferred,
    /// Keep the leader if possible; only replicas in sync.
    Online,
    /// Any live replica if none is in sync.
    Unclean,
}

/// The cluster's rules that a change is made under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeRules {
    pub metadata_version: MetadataVersion,
    pub elr_enabled: bool,
    pub min_isr: usize,
}

/// A change in the making: the fields say what the partition is to be, beginning with what it is.
pub(crate) struct PartitionChange<'a> {
    partition: &'a PartitionRegistration,
    key: TopicIdPartition,
    rules: ChangeRules,
    is_acceptable_leader: &'a dyn Fn(BrokerId) -> bool,
    pub election: Election,
    pub isr: Vec<BrokerId>,
    pub replicas: Vec<BrokerId>,
    pub removing: Vec<BrokerId>,
    pub adding: Vec<BrokerId>,
    pub leader_recovery_state: LeaderRecoveryState,
    /// Replicas that may have lost what was not yet on disk: they are not eligible.
    pub unclean_shutdown_replicas: Vec<BrokerId>,
    /// Directories other than the present ones, by replica.
    pub directories: Vec<(BrokerId, Uuid)>,
    elr: Vec<BrokerId>,
}

/// A leader, or none, and whether data may be lost by it.
struct Elected {
    leader: BrokerId,
    unclean: bool,
}

impl<'a> PartitionChange<'a> {
    pub fn new(
        partition: &'a PartitionRegistration,
        key: TopicIdPartition,
        rules: ChangeRules,
        is_acceptable_leader: &'a dyn Fn(BrokerId) -> bool,
    ) -> PartitionChange<'a> {
        PartitionChange {
            partition,
            key,
            rules,
            is_acceptable_leader,
            election: Election::Online,
            isr: partition.isr.to_vec(),
            replicas: partition.replicas.to_vec(),
            removing: partition.removing_replicas.to_vec(),
            adding: partition.adding_replicas.to_vec(),
            leader_recovery_state: partition.leader_recovery_state,
            unclean_shutdown_replicas: Vec::new(),
            directories: Vec::new(),
            elr: partition.elr.to_vec(),
        }
    }

    /// The record of the change; `None` when nothing changes.
    pub fn build(mut self, state: &ControllerState) -> Option<PartitionChangeRecord> {
        let mut record = PartitionChangeRecord { topic_id: self.key.topic_id, partition_id: self.key.partition, ..Default::default() };
        self.complete_reassignment();
        self.populate_elr();
        self.elect(&mut record);
        self.bump_leader_epoch_for_reassignment(&mut record);
        self.write_elr(&mut record);
        self.write_isr(&mut record);
        self.bump_leader_epoch_for_isr_shrink(&mut record);
        self.write_last_known_leader(&mut record);
        self.write_assignment(&mut record, state);
        if self.leader_recovery_state != self.partition.leader_recovery_state {
            record.leader_recovery_state = self.leader_recovery_state as i8;
        }
        (!is_no_op(&record)).then_some(record)
    }

    fn complete_reassignment(&mut self) {
        if let Some(completed) = completed_reassignment(&self.removing, &self.adding, &self.replicas, &self.isr) {
            self.isr = completed.isr;
            self.replicas = completed.replicas;
            self.removing.clear();
            self.adding.clear();
        }
    }

    /// While fewer than `min.insync.replicas` are in sync, those that just left still have all that was committed.
    fn populate_elr(&mut self) {
        if !self.rules.elr_enabled {
            return;
        }
        if self.isr.len() >= self.rules.min_isr {
            self.elr.clear();
            return;
        }
        let mut candidates = self.elr.clone();
        candidates.extend(self.partition.isr.iter().filter(|broker| !self.elr.contains(broker)));
        candidates.sort_unstable();
        candidates.retain(|broker| !self.isr.contains(broker) && !self.unclean_shutdown_replicas.contains(broker));
        self.elr = candidates;
    }

    fn can_lead(&self, broker: BrokerId) -> bool {
        let safe = self.isr.contains(&broker) || (self.isr.is_empty() && self.elr.contains(&broker));
        safe && (self.is_acceptable_leader)(broker)
    }

    fn elect_leader(&self) -> Elected {
        let clean = |leader| Elected { leader, unclean: false };
        let preferred = self.replicas.first().copied().filter(|_| self.election == Election::Preferred);
        let candidates = preferred.into_iter().chain([self.partition.leader]).chain(self.replicas.iter().copied());
        if let Some(leader) = candidates.into_iter().find(|&broker| self.can_lead(broker)) {
            return clean(leader);
        }
        if let Some(leader) = self.last_known_leader() {
            return Elected { leader, unclean: true };
        }
        if self.election == Election::Unclean
            && let Some(&leader) = self.replicas.iter().find(|&&broker| (self.is_acceptable_leader)(broker))
        {
            return Elected { leader, unclean: true };
        }
        clean(BrokerId::NONE)
    }

    /// With no replica in sync and none eligible, the last leader is the best there is (KIP-966, balanced recovery).
    fn last_known_leader(&self) -> Option<BrokerId> {
        let &[last] = &*self.partition.last_known_elr else { return None };
        let nobody_is_safe = self.elr.is_empty() && self.isr.is_empty();
        (self.rules.elr_enabled && nobody_is_safe && (self.is_acceptable_leader)(last)).then_some(last)
    }

    fn elect(&mut self, record: &mut PartitionChangeRecord) {
        let elected = self.elect_leader();
        if elected.leader == self.partition.leader {
            return;
        }
        if self.elr.contains(&elected.leader) {
            self.isr = vec![elected.leader];
            self.elr.retain(|&broker| broker != elected.leader);
        }
        record.leader = elected.leader.0;
        if elected.unclean {
            record.isr = Some(vec![elected.leader.0]);
            if self.partition.leader_recovery_state != LeaderRecoveryState::Recovering {
                record.leader_recovery_state = LeaderRecoveryState::Recovering as i8;
            }
        }
    }

    /// Fetches of a replica that was taken away must be fenced.
    fn bump_leader_epoch_for_reassignment(&self, record: &mut PartitionChangeRecord) {
        let all_stay = self.partition.replicas.iter().all(|broker| self.replicas.contains(broker));
        if record.leader == NO_LEADER_CHANGE && !all_stay {
            record.leader = self.partition.leader.0;
        }
    }

    fn write_elr(&mut self, record: &mut PartitionChangeRecord) {
        if record.isr.is_some() || !self.rules.elr_enabled {
            self.elr.clear();
        }
        if *self.elr != *self.partition.elr {
            record.eligible_leader_replicas = Some(broker_numbers(&self.elr));
        }
    }

    /// Without eligible leader replicas the ISR never becomes empty: its last member may still lead again.
    fn write_isr(&self, record: &mut PartitionChangeRecord) {
        let may_be_written = !self.isr.is_empty() || self.rules.elr_enabled;
        if record.isr.is_none() && may_be_written && *self.isr != *self.partition.isr {
            record.isr = Some(broker_numbers(&self.isr));
        }
    }

    fn bump_leader_epoch_for_isr_shrink(&self, record: &mut PartitionChangeRecord) {
        if !self.rules.metadata_version.is_leader_epoch_bump_required_on_isr_shrink() || record.leader != NO_LEADER_CHANGE {
            return;
        }
        if record.isr.as_ref().is_some_and(|isr| !self.partition.isr.iter().all(|broker| isr.contains(&broker.0))) {
            record.leader = self.partition.leader.0;
        }
    }

    fn write_last_known_leader(&self, record: &mut PartitionChangeRecord) {
        if !self.rules.elr_enabled {
            return;
        }
        let known = !self.partition.last_known_elr.is_empty();
        if record.leader == BrokerId::NONE.0 && !known {
            record.last_known_elr = Some(vec![self.partition.leader.0]);
        } else if record.leader >= 0 && known {
            record.last_known_elr = Some(Vec::new());
        }
    }

    fn write_assignment(&self, record: &mut PartitionChangeRecord, state: &ControllerState) {
        if !self.replicas.is_empty() {
            let directories: Vec<Uuid> = self.replicas.iter().map(|&replica| self.directory(replica, state)).collect();
            if self.rules.metadata_version.is_directory_assignment_supported() && *directories != *self.partition.directories {
                record.directories = Some(directories);
            }
            if *self.replicas != *self.partition.replicas {
                record.replicas = Some(broker_numbers(&self.replicas));
            }
        }
        if *self.removing != *self.partition.removing_replicas {
            record.removing_replicas = Some(broker_numbers(&self.removing));
        }
        if *self.adding != *self.partition.adding_replicas {
            record.adding_replicas = Some(broker_numbers(&self.adding));
        }
    }

    fn directory(&self, replica: BrokerId, state: &ControllerState) -> Uuid {
        let changed = self.directories.iter().rev().find(|(broker, _)| *broker == replica).map(|&(_, directory)| directory);
        changed.or_else(|| self.partition.directory(replica)).unwrap_or_else(|| state.default_directory(replica))
    }
}

fn is_no_op(record: &PartitionChangeRecord) -> bool {
    let nothing = PartitionChangeRecord { topic_id: record.topic_id, partition_id: record.partition_id, ..Default::default() };
    *record == nothing
}
