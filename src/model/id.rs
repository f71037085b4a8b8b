//! Ids that would otherwise be bare numbers. Where a number means "none", the constant says so.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $number);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$name> for $number {
            fn from(id: $name) -> $number {
                id.0
            }
        }
    };
}

id!(
    /// A node of the cluster: `node.id`, whatever its roles.
    BrokerId(i32)
);
id!(
    /// How often a partition (or the metadata quorum) has had a leader elected.
    LeaderEpoch(i32)
);
id!(
    /// An idempotent or transactional producer, as handed out by the controller.
    ProducerId(i64)
);

impl BrokerId {
    /// No broker, e.g. a partition without a leader.
    pub const NONE: BrokerId = BrokerId(-1);
}

impl ProducerId {
    /// A batch of a plain producer.
    pub const NONE: ProducerId = ProducerId(-1);
}

impl LeaderEpoch {
    /// The epoch is unknown or not given.
    pub const NONE: LeaderEpoch = LeaderEpoch(-1);
}
