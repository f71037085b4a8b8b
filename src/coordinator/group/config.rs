//! The configuration that the group coordinator reads, with Kafka's defaults. Parsing and validating values happens elsewhere.

/// Limits and times of one group coordinator (`GroupCoordinatorConfig`). All times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCoordinatorConfig {
    /// `offset.metadata.max.bytes`: the most that a commit's metadata may have, in UTF-16 code units as Java counts them.
    pub offset_metadata_max_size: usize,
    /// `offsets.retention.minutes`, in milliseconds: how long an offset outlives its group's last member (or its commit, KIP-211).
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub offsets_retention_check_interval_ms: i64,
    /// `offsets.commit.timeout.ms`: how long a write may wait for the high watermark until its requests are answered with an error.
    pub offsets_commit_timeout_ms: i64,
    /// `group.min.session.timeout.ms`.
    pub classic_group_min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub classic_group_max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for more members.
    pub classic_group_initial_rebalance_delay_ms: i32,
    /// `group.max.size`: the most members of a classic group.
    pub classic_group_max_size: usize,
}

impl Default for GroupCoordinatorConfig {
    fn default() -> GroupCoordinatorConfig {
        GroupCoordinatorConfig {
            offset_metadata_max_size: 4096,
            offsets_retention_ms: 7 * 24 * 60 * 60 * 1000,
            offsets_retention_check_interval_ms: 600_000,
            offsets_commit_timeout_ms: 5_000,
            classic_group_min_session_timeout_ms: 6_000,
            classic_group_max_session_timeout_ms: 1_800_000,
            classic_group_initial_rebalance_delay_ms: 3_000,
            classic_group_max_size: i32::MAX as usize,
        }
    }
}
