//! The states of a classic group and the ways between them (`ClassicGroupState`). Kafka's fifth state, Dead, is here the absence of
//! the group.

/// The state of a classic group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::group) enum ClassicGroupState {
    /// No members; the group lingers until its offsets have expired.
    ///
    /// Action: takes joins of new members, commits without a generation, deletion; refuses all that names a member (UNKNOWN_MEMBER_ID).
    /// Transition: a member joins => PreparingRebalance; last offset expired, or deleted => gone.
    Empty,
    /// Members are given the time to join the next generation.
    ///
    /// Action: parks joins; answers heartbeats and syncs with REBALANCE_IN_PROGRESS; takes commits of the previous generation.
    /// Transition: all have joined, or some by the deadline => CompletingRebalance; all have left => Empty.
    PreparingRebalance,
    /// The generation is known and its leader has yet to send the assignment.
    ///
    /// Action: parks syncs; answers commits with REBALANCE_IN_PROGRESS and heartbeats with success.
    /// Transition: the assignment is stored => Stable; a join with other metadata, a leave, or an expired member => PreparingRebalance.
    CompletingRebalance,
    /// Every member can have its assignment.
    ///
    /// Action: answers syncs with the assignment; takes heartbeats and commits of this generation.
    /// Transition: the leader joins again, a follower joins with other metadata, a leave, or an expired member => PreparingRebalance.
    Stable,
}

impl ClassicGroupState {
    /// Kafka's name of the state, as DescribeGroups and ListGroups show it.
    pub const fn name(self) -> &'static str {
        match self {
            ClassicGroupState::Empty => "Empty",
            ClassicGroupState::PreparingRebalance => "PreparingRebalance",
            ClassicGroupState::CompletingRebalance => "CompletingRebalance",
            ClassicGroupState::Stable => "Stable",
        }
    }

    /// Whether a group may go from this state to `next`.
    pub const fn can_become(self, next: ClassicGroupState) -> bool {
        use ClassicGroupState::{CompletingRebalance, Empty, PreparingRebalance, Stable};
        match next {
            Empty | CompletingRebalance => matches!(self, PreparingRebalance),
            PreparingRebalance => matches!(self, Stable | CompletingRebalance | Empty),
            Stable => matches!(self, CompletingRebalance),
        }
    }
}
