//! The states of a transaction, their numbers in the log and their names (`TransactionState`).

/// How far a transaction is. PrepareEpochFence, which Kafka passes through within a single step and never writes, has no place here.
///
/// | state | left by | for |
/// |---|---|---|
/// | `Empty` | partitions added; an abort of version 2 | `Ongoing`; `PrepareAbort` |
/// | `Ongoing` | EndTxn, a new instance of the producer, the timeout | `PrepareCommit`, `PrepareAbort` |
/// | `PrepareCommit` | all markers written | `CompleteCommit` |
/// | `PrepareAbort` | all markers written | `CompleteAbort` |
/// | `CompleteCommit`, `CompleteAbort` | as `Empty`, or InitProducerId | `Ongoing`, `PrepareAbort`; `Empty` |
/// | `Dead` | the tombstone is written | removal |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i8)]
pub enum TransactionState {
    /// A producer has come; it has no transaction yet.
    Empty = 0,
    /// Partitions were added.
    Ongoing = 1,
    /// It was decided to commit; markers are being written.
    PrepareCommit = 2,
    /// It was decided to abort; markers are being written.
    PrepareAbort = 3,
    /// All markers of a commit are written.
    CompleteCommit = 4,
    /// All markers of an abort are written.
    CompleteAbort = 5,
    /// The transactional id has expired and is about to be removed.
    Dead = 6,
    /// Only a number and a name: a fence is decided and written in one step.
    PrepareEpochFence = 7,
}

const STATES: [TransactionState; 8] = [
    TransactionState::Empty,
    TransactionState::Ongoing,
    TransactionState::PrepareCommit,
    TransactionState::PrepareAbort,
    TransactionState::CompleteCommit,
    TransactionState::CompleteAbort,
    TransactionState::Dead,
    TransactionState::PrepareEpochFence,
];

impl TransactionState {
    /// The state with this number in the log.
    pub fn from_id(id: i8) -> Option<TransactionState> {
        STATES.into_iter().find(|state| *state as i8 == id)
    }

    /// The state that clients call so.
    pub fn from_name(name: &str) -> Option<TransactionState> {
        STATES.into_iter().find(|state| state.name() == name)
    }

    /// What clients call it.
    pub const fn name(self) -> &'static str {
        match self {
            TransactionState::Empty => "Empty",
            TransactionState::Ongoing => "Ongoing",
            TransactionState::PrepareCommit => "PrepareCommit",
            TransactionState::PrepareAbort => "PrepareAbort",
            TransactionState::CompleteCommit => "CompleteCommit",
            TransactionState::CompleteAbort => "CompleteAbort",
            TransactionState::Dead => "Dead",
            TransactionState::PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// Whether an idle transactional id in this state may be forgotten, and a new transaction may begin.
    pub const fn is_over(self) -> bool {
        matches!(self, TransactionState::Empty | TransactionState::CompleteCommit | TransactionState::CompleteAbort)
    }

    /// Whether the end is decided and markers are due.
    pub const fn is_prepared(self) -> bool {
        matches!(self, TransactionState::PrepareCommit | TransactionState::PrepareAbort)
    }
}
