//! Quorums of several nodes, told as transcripts.

use ottla_model::LeaderEpoch;
use ottla_raft::*;

use crate::cluster::{self, Cluster, check_transcript};

/// Three voters that have elected a leader.
fn elected() -> (Cluster, i32) {
    let mut cluster = Cluster::new(3, 0);
    for id in 1..=3 {
        cluster.start(id);
    }
    cluster.run_until(3000);
    let leader = cluster.leader().expect("one of three is elected");
    (cluster, leader)
}

fn others(leader: i32) -> Vec<i32> {
    (1..=3).filter(|&id| id != leader).collect()
}

#[test]
fn three_voters_elect_one() {
    let (mut cluster, leader) = elected();
    cluster.note("the leader appends 5 records");
    cluster.append(leader, 5, 7);
    cluster.run_until(3100);
    check_transcript("three_voters_elect_one", &cluster);
    let end_offset = cluster.node(leader).end_offset();
    for id in 1..=3 {
        assert_eq!(cluster.node(id).batches, cluster.node(leader).batches);
        assert_eq!(cluster.core(id).high_watermark(), Some(end_offset));
    }
}

#[test]
fn a_lost_leader_is_replaced_and_its_uncommitted_records_go() {
    let (mut cluster, old) = elected();
    let rest = others(old);
    cluster.note(&format!("n{old} is cut off and appends 2 records that nobody gets"));
    cluster.partition(&[old], &rest);
    cluster.append(old, 2, 666);
    cluster.run_until(cluster.now_ms + 6000);
    let new = cluster.leader().expect("the majority has elected another one, and the old one has given up");
    assert_ne!(new, old);
    cluster.append(new, 1, 1);
    cluster.run_until(cluster.now_ms + 100);
    cluster.note("the network heals");
    cluster.heal();
    cluster.run_until(cluster.now_ms + 5000);
    check_transcript("a_lost_leader_is_replaced", &cluster);
    let leader = cluster.leader().expect("one leader");
    for id in 1..=3 {
        assert_eq!(cluster.node(id).batches, cluster.node(leader).batches, "n{id}");
    }
    assert!(cluster.node(old).batches.iter().all(|batch| batch.payload != 666));
}

#[test]
fn a_follower_that_was_cut_off_does_not_disturb_the_quorum() {
    let (mut cluster, leader) = elected();
    let epoch = cluster.core(leader).leader_and_epoch().epoch;
    let lonely = others(leader)[0];
    cluster.note(&format!("n{lonely} is cut off"));
    cluster.partition(&[lonely], &[leader, others(leader)[1]]);
    cluster.run_until(cluster.now_ms + 8000);
    cluster.note("the network heals");
    cluster.heal();
    cluster.run_until(cluster.now_ms + 3000);
    check_transcript("a_follower_that_was_cut_off", &cluster);
    assert_eq!(cluster.leader(), Some(leader));
    assert_eq!(cluster.core(leader).leader_and_epoch().epoch, epoch, "pre-votes do not raise the epoch");
    assert_eq!(cluster.core(lonely).role(), RoleName::Follower);
}

#[test]
fn a_leader_that_shuts_down_is_replaced_without_waiting() {
    let (mut cluster, old) = elected();
    let before_ms = cluster.now_ms;
    cluster.note(&format!("n{old} shuts down"));
    cluster.step(old, Event::Shutdown);
    cluster.run_until(before_ms + 300);
    check_transcript("a_leader_shuts_down", &cluster);
    let new = cluster.leader().expect("a successor stands for election at once");
    assert_ne!(new, old);
    assert!(cluster.core(old).may_stop());
}

#[test]
fn an_observer_finds_the_leader_and_gets_a_snapshot() {
    let mut cluster = Cluster::new(3, 1);
    for id in 1..=3 {
        cluster.start(id);
    }
    cluster.run_until(3000);
    let leader = cluster.leader().expect("one of three is elected");
    cluster.append(leader, 5, 7);
    cluster.append(leader, 5, 8);
    cluster.run_until(3600);
    let id = cluster.nodes.get_mut(&leader).expect("the leader").snapshot();
    let size = cluster.node(leader).snapshots[0].1.len() as u64;
    cluster.step(leader, Event::SnapshotCreated { id, size });
    cluster.step(leader, Event::LogStartAdvanced(id.offset));
    cluster.append(leader, 1, 9);
    cluster.note("n4 starts as an observer");
    cluster.quiet = true;
    cluster.start(4);
    cluster.run_until(6000);
    check_transcript("an_observer_gets_a_snapshot", &cluster);
    assert_eq!(cluster.node(4).start_offset, id.offset);
    assert_eq!(cluster.node(4).batches, cluster.node(leader).batches);
    assert_eq!(cluster.node(4).committed, cluster.node(leader).committed);
    assert_eq!(cluster.core(4).role(), RoleName::Follower);
}

#[test]
fn a_stale_answer_changes_nothing() {
    let (mut cluster, leader) = elected();
    let follower = others(leader)[0];
    let high_watermark = cluster.core(follower).high_watermark();
    let response = Response {
        error: ottla_model::ErrorCode::None,
        leader: cluster.core(leader).leader_and_epoch(),
        leader_endpoints: Endpoints::default(),
        body: ResponseBody::Fetch(FetchAnswer {
            high_watermark: Some(1000),
            log_start_offset: 0,
            outcome: FetchOutcome::Diverging(OffsetAndEpoch::new(0, LeaderEpoch(0))),
        }),
    };
    let end_offset = cluster.node(follower).end_offset();
    let from = ottla_model::BrokerId(leader);
    cluster.step(follower, Event::Response { from, correlation_id: CorrelationId(0), outcome: Ok(response) });
    assert_eq!(cluster.node(follower).end_offset(), end_offset);
    assert_eq!(cluster.core(follower).high_watermark(), high_watermark);
}

#[test]
fn a_controller_joins_by_itself_and_is_removed_again() {
    let mut cluster = Cluster::new(3, 1);
    cluster.nodes.get_mut(&4).expect("the observer").config.auto_join = true;
    for id in 1..=4 {
        cluster.start(id);
    }
    cluster.run_until(6000);
    let leader = cluster.leader().expect("one of three is elected");
    for id in 1..=4 {
        assert_eq!(cluster.core(id).voters().len(), 4, "n{id}");
    }
    assert!(cluster.core(4).is_voter());
    cluster.note("n4 is to be a voter no more");
    cluster.ask(leader, Request::RemoveVoter(RemoveVoterRequest { voter: cluster::key(4) }));
    cluster.run_until(6100);
    check_transcript("a_controller_joins_by_itself", &cluster);
    assert_eq!(cluster.core(leader).voters().len(), 3);
}

#[test]
fn a_leader_that_is_removed_resigns_once_that_is_committed() {
    let (mut cluster, old) = elected();
    cluster.note(&format!("n{old} is to be a voter no more"));
    cluster.ask(old, Request::RemoveVoter(RemoveVoterRequest { voter: cluster::key(old) }));
    cluster.run_until(cluster.now_ms + 2500);
    check_transcript("a_leader_is_removed", &cluster);
    let new = cluster.leader().expect("one of the other two");
    assert_ne!(new, old);
    assert_eq!(cluster.core(new).voters().len(), 2);
    assert_eq!(cluster.core(old).role(), RoleName::Follower, "it is an observer now");
}

#[test]
fn a_second_change_waits_for_the_first() {
    let (mut cluster, leader) = elected();
    let rest = others(leader);
    cluster.partition(&[leader], &rest);
    cluster.ask(leader, Request::RemoveVoter(RemoveVoterRequest { voter: cluster::key(rest[0]) }));
    cluster.ask(leader, Request::RemoveVoter(RemoveVoterRequest { voter: cluster::key(rest[1]) }));
    cluster.note("a voter of the same node in another directory is not this voter");
    cluster.ask(
        leader,
        Request::RemoveVoter(RemoveVoterRequest { voter: ReplicaKey::new(ottla_model::BrokerId(leader), Default::default()) }),
    );
    check_transcript("a_second_change_waits", &cluster);
}
