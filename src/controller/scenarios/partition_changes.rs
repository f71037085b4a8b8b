//! Changes of one partition, with the cases of Kafka's `PartitionChangeBuilderTest`: `foo` has replicas 2, 1, 3 in sync under leader 1,
//! `bar` replaces replica 1 by 4, `baz` is led by 3 with 2 out of sync, nobody leads `offline`.

use ottla_metadata::{LeaderRecoveryState, NO_LEADER_CHANGE};
use ottla_model::LeaderEpoch;
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;

use crate::partition_change::{ChangeRules, Election, PartitionChange};
use crate::partition_index::TopicIdPartition;
use crate::reassignment::{Reassignment, Revert};

use super::*;

const KEY: TopicIdPartition = TopicIdPartition { topic_id: Uuid::from_u64_pair(1, 1), partition: 0 };

/// Before directories, with directories, with eligible leader replicas.
const LEVELS: [i16; 3] = [15, 17, 23];

fn ids(numbers: &[i32]) -> Vec<BrokerId> {
    numbers.iter().copied().map(BrokerId).collect()
}

fn partition(replicas: &[i32], isr: &[i32], leader: i32) -> PartitionRegistration {
    PartitionRegistration {
        replicas: ids(replicas).into(),
        directories: replicas.iter().map(|&broker| directory(broker)).collect(),
        isr: ids(isr).into(),
        removing_replicas: Box::default(),
        adding_replicas: Box::default(),
        elr: Box::default(),
        last_known_elr: Box::default(),
        leader: BrokerId(leader),
        leader_recovery_state: LeaderRecoveryState::Recovered,
        leader_epoch: LeaderEpoch(100),
        partition_epoch: 200,
    }
}

fn foo() -> PartitionRegistration {
    partition(&[2, 1, 3], &[2, 1, 3], 1)
}

fn bar() -> PartitionRegistration {
    PartitionRegistration {
        removing_replicas: ids(&[1]).into(),
        adding_replicas: ids(&[4]).into(),
        ..partition(&[1, 2, 3, 4], &[1, 2, 3], 1)
    }
}

fn offline(elr: bool) -> PartitionRegistration {
    if elr {
        PartitionRegistration { elr: ids(&[3]).into(), last_known_elr: ids(&[2]).into(), ..partition(&[2, 1, 3], &[], -1) }
    } else {
        partition(&[2, 1, 3], &[3], -1)
    }
}

struct Case<'a> {
    level: i16,
    min_isr: usize,
    acceptable: &'a dyn Fn(BrokerId) -> bool,
}

/// Broker 3 cannot lead, two in sync are enough.
fn not_three(level: i16) -> Case<'static> {
    Case { level, min_isr: 2, acceptable: &|broker| broker != BrokerId(3) }
}

impl Case<'_> {
    fn build(&self, partition: &PartitionRegistration, set: impl FnOnce(&mut PartitionChange<'_>)) -> Option<PartitionChangeRecord> {
        let metadata_version = MetadataVersion::from_feature_level(self.level).unwrap();
        let rules = ChangeRules { metadata_version, elr_enabled: metadata_version.is_elr_supported(), min_isr: self.min_isr };
        let mut change = PartitionChange::new(partition, KEY, rules, self.acceptable);
        set(&mut change);
        change.build(Cluster::new().controller.state())
    }
}

fn record() -> PartitionChangeRecord {
    PartitionChangeRecord { topic_id: KEY.topic_id, partition_id: 0, ..Default::default() }
}

/// The directories of these replicas, where the level has any.
fn directories(level: i16, replicas: &[i32]) -> Option<Vec<Uuid>> {
    (level >= 17).then(|| replicas.iter().map(|&broker| directory(broker)).collect())
}

#[test]
fn nothing_to_change_is_no_record() {
    for level in LEVELS {
        assert_eq!(not_three(level).build(&foo(), |_| {}), None);
        assert_eq!(not_three(level).build(&foo(), |change| change.election = Election::Unclean), None);
        assert_eq!(not_three(level).build(&bar(), |_| {}), None);
        let all = Case { level, min_isr: 2, acceptable: &|_| true };
        assert_eq!(all.build(&partition(&[2, 1, 3], &[1, 3], 3), |change| change.election = Election::Preferred), None);
    }
}

#[test]
fn leaders_are_elected_in_order() {
    for level in LEVELS {
        let leader =
            |set: fn(&mut PartitionChange<'_>)| not_three(level).build(&foo(), set).map_or(NO_LEADER_CHANGE, |record| record.leader);
        assert_eq!(leader(|change| change.election = Election::Preferred), 2);
        assert_eq!(leader(|change| change.isr = ids(&[1, 3])), NO_LEADER_CHANGE);
        assert_eq!(leader(|change| change.isr = ids(&[2, 3])), 2);
        assert_eq!(leader(|change| change.isr = ids(&[3])), -1);
        let unclean = |change: &mut PartitionChange<'_>| {
            change.election = Election::Unclean;
            change.isr = ids(&[3]);
        };
        let expected = PartitionChangeRecord { isr: Some(vec![2]), leader: 2, leader_recovery_state: 1, ..record() };
        assert_eq!(not_three(level).build(&foo(), unclean), Some(expected));
    }
}

#[test]
fn a_shrunken_isr_raises_the_leader_epoch_only_before_3_6() {
    for (level, leader) in [(8, 1), (11, 1), (12, NO_LEADER_CHANGE), (17, NO_LEADER_CHANGE), (22, NO_LEADER_CHANGE)] {
        let built = not_three(level).build(&foo(), |change| change.isr = ids(&[2, 1]));
        assert_eq!(built, Some(PartitionChangeRecord { isr: Some(vec![2, 1]), leader, ..record() }), "at {level}");
        let grown = not_three(level).build(&partition(&[2, 1, 3], &[2, 1], 1), |change| change.isr = ids(&[2, 1, 3]));
        assert_eq!(grown, Some(PartitionChangeRecord { isr: Some(vec![2, 1, 3]), ..record() }), "at {level}");
    }
}

#[test]
fn replicas_are_rearranged_and_replaced() {
    for level in LEVELS {
        let built = not_three(level).build(&foo(), |change| change.replicas = ids(&[3, 2, 1]));
        assert_eq!(
            built,
            Some(PartitionChangeRecord { replicas: Some(vec![3, 2, 1]), directories: directories(level, &[3, 2, 1]), ..record() })
        );

        let completed = not_three(level).build(&bar(), |change| change.isr = ids(&[1, 2, 3, 4]));
        let expected = PartitionChangeRecord {
            replicas: Some(vec![2, 3, 4]),
            directories: directories(level, &[2, 3, 4]),
            isr: Some(vec![2, 3, 4]),
            leader: 2,
            removing_replicas: Some(vec![]),
            adding_replicas: Some(vec![]),
            ..record()
        };
        assert_eq!(completed, Some(expected));

        let revert = Revert::new(&bar()).unwrap();
        assert_eq!(revert, Revert { replicas: ids(&[1, 2, 3]), isr: ids(&[1, 2, 3]), unclean: false });
        let reverted = not_three(level).build(&bar(), |change| {
            (change.replicas, change.isr) = (revert.replicas, revert.isr);
            change.removing.clear();
            change.adding.clear();
        });
        let expected = PartitionChangeRecord {
            replicas: Some(vec![1, 2, 3]),
            directories: directories(level, &[1, 2, 3]),
            leader: 1,
            removing_replicas: Some(vec![]),
            adding_replicas: Some(vec![]),
            ..record()
        };
        assert_eq!(reverted, Some(expected));
    }
}

#[test]
fn removing_ends_at_once_and_adding_goes_on() {
    for level in LEVELS {
        let start = |target: &[i32]| {
            let reassignment = Reassignment::new(&ids(&[2, 1, 3]), &ids(target));
            not_three(level).build(&foo(), |change| {
                change.replicas = reassignment.replicas;
                change.removing = reassignment.removing;
                change.adding = reassignment.adding;
            })
        };
        let removed = PartitionChangeRecord {
            replicas: Some(vec![1, 2]),
            directories: directories(level, &[1, 2]),
            isr: Some(vec![2, 1]),
            leader: 1,
            ..record()
        };
        assert_eq!(start(&[1, 2]), Some(removed));
        let unassigned = ottla_metadata::directory_id::UNASSIGNED;
        let with_new = directories(level, &[1, 2, 3]).map(|directories| [directories, vec![unassigned]].concat());
        let added =
            PartitionChangeRecord { replicas: Some(vec![1, 2, 3, 4]), directories: with_new, adding_replicas: Some(vec![4]), ..record() };
        assert_eq!(start(&[1, 2, 3, 4]), Some(added));
    }
}

#[test]
fn an_unclean_election_clears_what_was_eligible() {
    for (level, elr) in [(17, false), (23, true)] {
        let one = Case { level, min_isr: 2, acceptable: &|broker| broker == BrokerId(1) };
        let built = one.build(&offline(elr), |change| change.election = Election::Unclean);
        let none = elr.then(Vec::new);
        let expected = PartitionChangeRecord {
            isr: Some(vec![1]),
            leader: 1,
            leader_recovery_state: 1,
            eligible_leader_replicas: none.clone(),
            last_known_elr: none,
            ..record()
        };
        assert_eq!(built, Some(expected));
        assert_eq!(one.build(&offline(elr), |change| change.election = Election::Online), None);
    }
}

#[test]
fn below_min_isr_those_that_leave_stay_eligible() {
    let case = |acceptable| Case { level: 23, min_isr: 3, acceptable };
    let four = partition(&[1, 2, 3, 4], &[1, 2, 3, 4], 1);
    let shrunk = case(&|broker| broker != BrokerId(3)).build(&four, |change| change.isr = ids(&[1, 2]));
    assert_eq!(shrunk, Some(PartitionChangeRecord { isr: Some(vec![1, 2]), eligible_leader_replicas: Some(vec![3, 4]), ..record() }));

    let eligible = PartitionRegistration { elr: ids(&[3]).into(), ..partition(&[1, 2, 3, 4], &[1, 2], 1) };
    let grown = case(&|_| true).build(&eligible, |change| change.isr = ids(&[1, 2, 3]));
    assert_eq!(grown, Some(PartitionChangeRecord { isr: Some(vec![1, 2, 3]), eligible_leader_replicas: Some(vec![]), ..record() }));

    let two = PartitionRegistration { elr: ids(&[2, 3]).into(), ..partition(&[1, 2, 3, 4], &[1], 1) };
    let unclean_stop = case(&|_| true).build(&two, |change| change.unclean_shutdown_replicas = ids(&[3]));
    assert_eq!(unclean_stop, Some(PartitionChangeRecord { eligible_leader_replicas: Some(vec![2]), ..record() }));

    let elected = case(&|broker| broker != BrokerId(1))
        .build(&PartitionRegistration { elr: ids(&[3]).into(), ..partition(&[1, 2, 3, 4], &[1], 1) }, |change| change.isr.clear());
    assert_eq!(elected, Some(PartitionChangeRecord { isr: Some(vec![3]), leader: 3, eligible_leader_replicas: Some(vec![1]), ..record() }));
}

#[test]
fn the_last_known_leader_is_remembered_and_elected() {
    let case = |acceptable| Case { level: 23, min_isr: 3, acceptable };
    let four = partition(&[1, 2, 3, 4], &[1, 2, 3, 4], 1);
    let gone = case(&|_| false).build(&four, |change| change.isr.clear()).unwrap();
    let expected = PartitionChangeRecord {
        isr: Some(vec![]),
        leader: -1,
        eligible_leader_replicas: Some(vec![1, 2, 3, 4]),
        last_known_elr: Some(vec![1]),
        ..record()
    };
    assert_eq!(gone, expected);

    let last = PartitionRegistration { last_known_elr: ids(&[1]).into(), ..partition(&[1, 2, 3, 4], &[], -1) };
    let back = case(&|_| true).build(&last, |_| {});
    let expected =
        PartitionChangeRecord { isr: Some(vec![1]), leader: 1, leader_recovery_state: 1, last_known_elr: Some(vec![]), ..record() };
    assert_eq!(back, Some(expected));
    assert_eq!(case(&|broker| broker != BrokerId(1)).build(&last, |_| {}), None, "others are live and may lack records");
}

#[test]
fn directories_are_kept_unless_they_change() {
    let all = Case { level: 17, min_isr: 2, acceptable: &|_| true };
    let replaced = all.build(&foo(), |change| {
        change.replicas = ids(&[3, 1, 5, 4]);
        change.directories.push((BrokerId(5), directory(55)));
    });
    let unassigned = ottla_metadata::directory_id::UNASSIGNED;
    let expected = PartitionChangeRecord {
        leader: 1,
        replicas: Some(vec![3, 1, 5, 4]),
        directories: Some(vec![directory(3), directory(1), directory(55), unassigned]),
        ..record()
    };
    assert_eq!(replaced, Some(expected));
    let lost = ottla_metadata::directory_id::LOST;
    let moved = all.build(&foo(), |change| change.directories.extend([(BrokerId(3), directory(33)), (BrokerId(1), lost)]));
    assert_eq!(moved, Some(PartitionChangeRecord { directories: Some(vec![directory(2), lost, directory(33)]), ..record() }));
}
