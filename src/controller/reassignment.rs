//! Reassignments of a partition's replicas: how one is begun, when it is complete, how it is taken back
//! (`PartitionReassignmentReplicas`, `PartitionReassignmentRevert`).

use std::collections::BTreeSet;

use ottla_metadata::PartitionRegistration;
use ottla_model::{BrokerId, ErrorCode};

use crate::api_error::ApiError;

/// The replicas while a reassignment goes on: the target first, then those that will be removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reassignment {
    pub replicas: Vec<BrokerId>,
    pub removing: Vec<BrokerId>,
    pub adding: Vec<BrokerId>,
}

impl Reassignment {
    pub fn new(current: &[BrokerId], target: &[BrokerId]) -> Reassignment {
        let missing_from = |from: &[BrokerId], of: &[BrokerId]| {
            let missing: BTreeSet<BrokerId> = of.iter().copied().filter(|broker| !from.contains(broker)).collect();
            Vec::from_iter(missing)
        };
        let removing = missing_from(target, current);
        let adding = missing_from(current, target);
        let replicas = target.iter().chain(&removing).copied().collect();
        Reassignment { replicas, removing, adding }
    }
}

/// Replicas and ISR at the end of a reassignment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
}

/// The end of a reassignment, if it can end with this ISR: all added replicas are in sync, and where the partition gets fewer replicas,
/// all that stay are.
pub(crate) fn completed_reassignment(
    removing: &[BrokerId],
    adding: &[BrokerId],
    replicas: &[BrokerId],
    isr: &[BrokerId],
) -> Option<Completed> {
    if removing.is_empty() && adding.is_empty() {
        return None;
    }
    let staying = |brokers: &[BrokerId]| -> Vec<BrokerId> { brokers.iter().copied().filter(|broker| !removing.contains(broker)).collect() };
    let (isr, replicas) = (staying(isr), staying(replicas));
    if !removing.is_empty() && (isr.is_empty() || replicas.is_empty()) {
        return None;
    }
    let in_sync = |brokers: &[BrokerId]| brokers.iter().all(|broker| isr.contains(broker));
    if !in_sync(adding) || (adding.len() < removing.len() && !in_sync(&replicas)) {
        return None;
    }
    Some(Completed { replicas, isr })
}

/// A reassignment taken back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Revert {
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// None of the original replicas is in sync.
    pub unclean: bool,
}

impl Revert {
    pub fn new(partition: &PartitionRegistration) -> Result<Revert, ApiError> {
        let original = |brokers: &[BrokerId]| -> Vec<BrokerId> {
            brokers.iter().copied().filter(|broker| !partition.adding_replicas.contains(broker)).collect()
        };
        let (replicas, mut isr) = (original(&partition.replicas), original(&partition.isr));
        let unclean = isr.is_empty();
        if unclean {
            let message = "Invalid replica assignment: addingReplicas contains all replicas.";
            isr.push(*replicas.first().ok_or_else(|| ApiError::new(ErrorCode::InvalidReplicaAssignment, message))?);
        }
        Ok(Revert { replicas, isr, unclean })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId).collect()
    }

    #[test]
    fn the_target_comes_first_and_the_removed_last() {
        let check = |current: &[i32], target: &[i32], replicas: &[i32], removing: &[i32], adding: &[i32]| {
            let expected = Reassignment { replicas: ids(replicas), removing: ids(removing), adding: ids(adding) };
            assert_eq!(Reassignment::new(&ids(current), &ids(target)), expected);
        };
        check(&[3, 2, 1], &[3, 2, 1], &[3, 2, 1], &[], &[]);
        check(&[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 2, 3], &[], &[3]);
        check(&[0, 1, 2, 3], &[1, 2], &[1, 2, 0, 3], &[0, 3], &[]);
        check(&[1, 2, 3], &[4, 5, 6], &[4, 5, 6, 1, 2, 3], &[1, 2, 3], &[4, 5, 6]);
    }

    #[test]
    fn a_reassignment_ends_when_the_added_are_in_sync() {
        let completed = |removing: &[i32], adding: &[i32], replicas: &[i32], isr: &[i32]| {
            completed_reassignment(&ids(removing), &ids(adding), &ids(replicas), &ids(isr))
        };
        assert_eq!(completed(&[], &[], &[0, 1], &[0, 1]), None);
        assert_eq!(completed(&[], &[3], &[0, 1, 2, 3], &[0, 1, 2]), None);
        assert_eq!(
            completed(&[], &[3], &[0, 1, 2, 3], &[0, 1, 2, 3]),
            Some(Completed { replicas: ids(&[0, 1, 2, 3]), isr: ids(&[0, 1, 2, 3]) })
        );
        assert_eq!(completed(&[0], &[3], &[3, 1, 2, 0], &[0, 3]), Some(Completed { replicas: ids(&[3, 1, 2]), isr: ids(&[3]) }));
        assert_eq!(completed(&[0, 1], &[3], &[3, 2, 0, 1], &[0, 1, 3]), None);
        assert_eq!(completed(&[0, 1], &[3], &[3, 2, 0, 1], &[2, 3]), Some(Completed { replicas: ids(&[3, 2]), isr: ids(&[2, 3]) }));
    }
}
