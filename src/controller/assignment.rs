//! Replicas of a partition as someone chose them: are they possible, and the partition that they make
//! (`ReplicationControlManager.validateManualPartitionAssignment`, `buildPartitionRegistration`).

use ottla_metadata::{LeaderRecoveryState, PartitionRegistration};
use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};

use crate::api_error::ApiError;
use crate::state::ControllerState;

/// The replicas asked for, the preferred leader first.
pub(crate) struct Assignment {
    pub replicas: Vec<BrokerId>,
}

impl Assignment {
    pub fn from_numbers(numbers: &[i32]) -> Assignment {
        Assignment { replicas: numbers.iter().copied().map(BrokerId).collect() }
    }
}

/// Checks that the replicas are registered brokers, each once, and as many as `replication_factor` when that is given.
pub(crate) fn validate_assignment(
    state: &ControllerState,
    assignment: &Assignment,
    replication_factor: Option<usize>,
) -> Result<(), ApiError> {
    let invalid = |message: String| Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, message));
    if assignment.replicas.is_empty() {
        return invalid("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let mut sorted = assignment.replicas.clone();
    sorted.sort_unstable();
    let mut previous = None;
    for &broker in &sorted {
        let Some(registration) = state.broker(broker) else {
            return invalid(format!("The manual partition assignment includes broker {broker}, but no such broker is registered."));
        };
        if !registration.has_uncordoned_dirs() {
            return invalid(format!("The manual partition assignment includes broker {broker}, but all its log directories are cordoned."));
        }
        if previous == Some(broker) {
            return invalid(format!("The manual partition assignment includes the broker {broker} more than once."));
        }
        previous = Some(broker);
    }
    match replication_factor {
        Some(expected) if expected != sorted.len() => invalid(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with previous partitions, \
             which have {expected} replica(s).",
            sorted.len()
        )),
        _ => Ok(()),
    }
}

/// A new partition on these replicas, led by the first that is active; `None` when none is.
pub(crate) fn new_partition(state: &ControllerState, replicas: Vec<BrokerId>) -> Option<PartitionRegistration> {
    let isr: Vec<BrokerId> = replicas.iter().copied().filter(|&broker| state.is_active(broker)).collect();
    let leader = *isr.first()?;
    Some(PartitionRegistration {
        directories: replicas.iter().map(|&broker| state.default_directory(broker)).collect(),
        replicas: replicas.into(),
        isr: isr.into(),
        removing_replicas: Box::default(),
        adding_replicas: Box::default(),
        elr: Box::default(),
        last_known_elr: Box::default(),
        leader,
        leader_recovery_state: LeaderRecoveryState::Recovered,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    })
}
