//! The tally of one election: who of the voters granted, who refused, who has not answered (`EpochElection`).

use std::collections::BTreeMap;

use ottla_model::BrokerId;

use crate::replica::{ReplicaKey, VoterSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ballot {
    Unrecorded,
    Granted,
    Rejected,
}

/// The ballots of one epoch, or of one round of pre-votes.
#[derive(Clone, Debug)]
pub struct EpochElection {
    ballots: BTreeMap<BrokerId, (ReplicaKey, Ballot)>,
}

impl EpochElection {
    /// No ballots yet, but the one of `local`, which votes for itself.
    pub fn new(voters: &VoterSet, local: BrokerId) -> EpochElection {
        let ballots = voters.iter().map(|voter| {
            let ballot = if voter.key.id == local { Ballot::Granted } else { Ballot::Unrecorded };
            (voter.key.id, (voter.key, ballot))
        });
        EpochElection { ballots: ballots.collect() }
    }

    /// Takes note of a voter's answer; one that is no voter of this election has no say. A granted vote stays granted.
    pub fn record(&mut self, voter: BrokerId, granted: bool) {
        if let Some((_, ballot)) = self.ballots.get_mut(&voter)
            && *ballot != Ballot::Granted
        {
            *ballot = if granted { Ballot::Granted } else { Ballot::Rejected };
        }
    }

    /// A majority has granted.
    pub fn is_granted(&self) -> bool {
        self.count(Ballot::Granted) >= self.majority()
    }

    /// A majority can no longer be reached.
    pub fn is_rejected(&self) -> bool {
        self.count(Ballot::Granted) + self.count(Ballot::Unrecorded) < self.majority()
    }

    /// The voters that have not answered.
    pub fn unrecorded_voters(&self) -> Vec<ReplicaKey> {
        let unrecorded = self.ballots.values().filter(|(_, ballot)| *ballot == Ballot::Unrecorded);
        unrecorded.map(|&(key, _)| key).collect()
    }

    /// The voters that have granted, ascending.
    pub fn granting_voters(&self) -> Vec<BrokerId> {
        let granted = self.ballots.values().filter(|(_, ballot)| *ballot == Ballot::Granted);
        granted.map(|(key, _)| key.id).collect()
    }

    fn majority(&self) -> usize {
        self.ballots.len() / 2 + 1
    }

    fn count(&self, wanted: Ballot) -> usize {
        self.ballots.values().filter(|(_, ballot)| *ballot == wanted).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::Endpoint;

    fn election(voters: i32) -> EpochElection {
        let endpoint = |id| (BrokerId(id), Endpoint { host: "h".into(), port: 1 });
        EpochElection::new(&VoterSet::from_static("C", (1..=voters).map(endpoint)), BrokerId(1))
    }

    #[test]
    fn one_voter_elects_itself() {
        assert!(election(1).is_granted());
        assert_eq!(election(1).granting_voters(), vec![BrokerId(1)]);
    }

    #[test]
    fn half_is_no_majority() {
        let mut four = election(4);
        four.record(BrokerId(2), true);
        assert!(!four.is_granted() && !four.is_rejected());
        four.record(BrokerId(3), false);
        assert!(!four.is_rejected());
        four.record(BrokerId(4), false);
        assert!(four.is_rejected() && !four.is_granted());
    }

    #[test]
    fn strangers_and_second_thoughts_do_not_count() {
        let mut three = election(3);
        three.record(BrokerId(9), true);
        assert!(!three.is_granted());
        three.record(BrokerId(2), true);
        three.record(BrokerId(2), false);
        assert!(three.is_granted());
    }
}
