//! The types of records that `__consumer_offsets` may hold, and to which group protocol each belongs.

/// Which protocol a group follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupType {
    /// Members and a leader that assigns.
    Classic,
    /// KIP-848: the coordinator assigns.
    Consumer,
    /// KIP-932.
    Share,
    /// KIP-1071.
    Streams,
}

impl GroupType {
    /// Kafka's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            GroupType::Classic => "classic",
            GroupType::Consumer => "consumer",
            GroupType::Share => "share",
            GroupType::Streams => "streams",
        }
    }

    /// The type of this name, whatever its case.
    pub fn parse(name: &str) -> Option<GroupType> {
        [GroupType::Classic, GroupType::Consumer, GroupType::Share, GroupType::Streams]
            .into_iter()
            .find(|group_type| group_type.name().eq_ignore_ascii_case(name))
    }
}

macro_rules! record_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal $kafka:literal,)*) => {
        /// A type of record (`CoordinatorRecordType`): the number with which its key begins.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i16)]
        pub enum RecordType {
            $($(#[$doc])* $name = $code,)*
        }

        impl RecordType {
            /// Kafka's name of the type.
            pub const fn name(self) -> &'static str {
                match self { $(RecordType::$name => $kafka,)* }
            }

            /// The type with this number; `None` for numbers that Kafka 4.4 does not define.
            pub const fn from_code(code: i16) -> Option<RecordType> {
                match code { $($code => Some(RecordType::$name),)* _ => None }
            }
        }
    };
}

record_types! {
    /// An offset, as brokers before 0.9 wrote it.
    LegacyOffsetCommit = 0 "LEGACY_OFFSET_COMMIT",
    /// An offset.
    OffsetCommit = 1 "OFFSET_COMMIT",
    /// A classic group with its members.
    GroupMetadata = 2 "GROUP_METADATA",
    /// A consumer group.
    ConsumerGroupMetadata = 3 "CONSUMER_GROUP_METADATA",
    /// The topics of a consumer group, until Kafka 4.1.
    ConsumerGroupPartitionMetadata = 4 "CONSUMER_GROUP_PARTITION_METADATA",
    /// A member of a consumer group.
    ConsumerGroupMemberMetadata = 5 "CONSUMER_GROUP_MEMBER_METADATA",
    /// The epoch of a consumer group's assignment.
    ConsumerGroupTargetAssignmentMetadata = 6 "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
    /// What a member of a consumer group is to have.
    ConsumerGroupTargetAssignmentMember = 7 "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
    /// What a member of a consumer group has.
    ConsumerGroupCurrentMemberAssignment = 8 "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    /// A member of a share group.
    ShareGroupMemberMetadata = 10 "SHARE_GROUP_MEMBER_METADATA",
    /// A share group.
    ShareGroupMetadata = 11 "SHARE_GROUP_METADATA",
    /// The epoch of a share group's assignment.
    ShareGroupTargetAssignmentMetadata = 12 "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
    /// What a member of a share group is to have.
    ShareGroupTargetAssignmentMember = 13 "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
    /// What a member of a share group has.
    ShareGroupCurrentMemberAssignment = 14 "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    /// The partitions of a share group.
    ShareGroupStatePartitionMetadata = 15 "SHARE_GROUP_STATE_PARTITION_METADATA",
    /// The topics that a consumer group's regular expression matches.
    ConsumerGroupRegularExpression = 16 "CONSUMER_GROUP_REGULAR_EXPRESSION",
    /// A streams group.
    StreamsGroupMetadata = 17 "STREAMS_GROUP_METADATA",
    /// A member of a streams group.
    StreamsGroupMemberMetadata = 19 "STREAMS_GROUP_MEMBER_METADATA",
    /// The epoch of a streams group's assignment.
    StreamsGroupTargetAssignmentMetadata = 20 "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
    /// What a member of a streams group is to have.
    StreamsGroupTargetAssignmentMember = 21 "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
    /// What a member of a streams group has.
    StreamsGroupCurrentMemberAssignment = 22 "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    /// The topology of a streams group.
    StreamsGroupTopology = 23 "STREAMS_GROUP_TOPOLOGY",
}
