//! Quorums under random faults, from seeds: messages are lost and reordered, links cut, processes killed. Whatever happens, there is one
//! leader per epoch, what is committed stays, and equal positions hold equal records; and when the faults end, the quorum goes on.

use std::collections::BTreeMap;

use ottla_model::LeaderEpoch;
use ottla_raft::{RemoveVoterRequest, Request, RoleName};

use crate::cluster::{self, Batch, Cluster};

/// How many seeds are tried, unless the environment variable `RAFT_SEEDS` says otherwise.
const SEEDS: u64 = 150;
const STEPS: usize = 1200;

fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("RAFT_SEEDS").ok().and_then(|text| text.parse().ok());
    0..asked.unwrap_or(SEEDS)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn node(&mut self, cluster: &Cluster) -> i32 {
        1 + self.below(cluster.nodes.len() as u64) as i32
    }
}

/// What was seen so far, to compare with.
#[derive(Default)]
struct Seen {
    leaders: BTreeMap<LeaderEpoch, i32>,
    committed: Vec<Batch>,
    by_position: BTreeMap<(i64, LeaderEpoch), u64>,
}

impl Seen {
    fn check(&mut self, seed: u64, cluster: &Cluster) {
        for (&id, node) in &cluster.nodes {
            if let Some(core) = node.core.as_ref().filter(|core| core.role() == RoleName::Leader) {
                let epoch = core.leader_and_epoch().epoch;
                let leader = *self.leaders.entry(epoch).or_insert(id);
                assert_eq!(leader, id, "seed {seed}: epoch {epoch} has two leaders\n{}", cluster.transcript);
            }
            let common = node.committed.len().min(self.committed.len());
            assert_eq!(
                node.committed[..common],
                self.committed[..common],
                "seed {seed}: n{id} has committed something else\n{}",
                cluster.transcript
            );
            self.committed.extend_from_slice(&node.committed[common..]);
            for batch in &node.batches {
                let payload = *self.by_position.entry((batch.base_offset, batch.epoch)).or_insert(batch.payload);
                assert_eq!(payload, batch.payload, "seed {seed}: n{id} has another record at the same place\n{}", cluster.transcript);
            }
        }
    }
}

fn one_step(cluster: &mut Cluster, random: &mut Random, payload: u64, changes_voters: bool) {
    match random.below(if changes_voters { 103 } else { 100 }) {
        0..70 => {
            let lose = random.below(20) == 0;
            cluster.deliver_one(random.below(1000) as usize, lose);
        }
        70..85 => {
            cluster.now_ms += random.below(300) as i64;
            cluster.tick();
        }
        85..93 => {
            if let Some(leader) = cluster.leader() {
                cluster.append(leader, 1 + random.below(3) as i64, payload);
            }
        }
        93..95 => {
            let (one, other) = (random.node(cluster), random.node(cluster));
            if one != other {
                cluster.partition(&[one], &[other]);
            }
        }
        95..97 => cluster.heal(),
        100.. => {
            if let Some(leader) = cluster.leader() {
                let voter = cluster::key(random.node(cluster));
                cluster.ask(leader, Request::RemoveVoter(RemoveVoterRequest { voter }));
            }
        }
        _ => {
            let id = random.node(cluster);
            if cluster.node(id).core.is_some() { cluster.crash(id) } else { cluster.start(id) }
        }
    }
}

/// Lets everything happen, then nothing any more, and looks whether the quorum goes on. With `joiners`, nodes beyond the first three ask to
/// become voters, and voters are removed at random.
fn run(seed: u64, joiners: i32) {
    let mut random = Random(seed);
    let mut cluster = Cluster::new(3, joiners);
    let ids: Vec<_> = cluster.nodes.keys().copied().collect();
    for &id in &ids {
        let config = &mut cluster.nodes.get_mut(&id).expect("a node").config;
        config.jitter_seed = random.below(u64::MAX);
        config.auto_join = joiners > 0;
        cluster.start(id);
    }
    let mut seen = Seen::default();
    for step in 0..STEPS {
        one_step(&mut cluster, &mut random, step as u64 + 1, joiners > 0);
        seen.check(seed, &cluster);
    }
    cluster.heal();
    for &id in &ids {
        if cluster.node(id).core.is_none() {
            cluster.start(id);
        }
    }
    cluster.run_until(cluster.now_ms + 60_000);
    let leader = cluster.leader().unwrap_or_else(|| panic!("seed {seed}: no leader\n{}", cluster.transcript));
    cluster.append(leader, 1, u64::MAX);
    cluster.run_until(cluster.now_ms + 5_000);
    seen.check(seed, &cluster);
    let end_offset = cluster.node(leader).end_offset();
    for id in ids {
        let node = cluster.node(id);
        assert_eq!(node.batches, cluster.node(leader).batches, "seed {seed}: n{id} lacks records\n{}", cluster.transcript);
        let core = cluster.core(id);
        assert_eq!(core.high_watermark(), Some(end_offset), "seed {seed}: n{id} stays behind\n{}", cluster.transcript);
        assert!(core.is_voter(), "seed {seed}: n{id} is no voter\n{}", cluster.transcript);
    }
}

#[test]
fn faults_break_no_promise() {
    for seed in seeds() {
        run(seed, 0);
    }
}

#[test]
fn faults_break_no_promise_while_voters_come_and_go() {
    for seed in seeds() {
        run(seed, 1);
    }
}
