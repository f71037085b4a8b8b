//! The levels of the feature `metadata.version`: their names, and what each one brought to the metadata log
//! (`org.apache.kafka.server.common.MetadataVersion`). Other features are in `features`.

use std::fmt;

/// A level of `metadata.version` that Kafka 4.4 knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetadataVersion(i16);

/// The text or number is no metadata.version of Kafka 4.4. The texts are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMetadataVersion {
    /// No such level.
    #[error("No MetadataVersion with feature level {0}. Valid feature levels are from {min} to {max}.", min = MetadataVersion::MINIMUM.0, max = MetadataVersion::LATEST.0)]
    Level(i16),
    /// No such name.
    #[error("Unknown metadata.version '{0}'. Supported metadata.version are: {all}", all = MetadataVersion::all_names())]
    Name(String),
}

/// `(release, number within the release)` of each level, beginning with [`MetadataVersion::MINIMUM`].
const NAMES: [(&str, i16); 27] = [
    ("3.3", 3),
    ("3.4", 0),
    ("3.5", 0),
    ("3.5", 1),
    ("3.5", 2),
    ("3.6", 0),
    ("3.6", 1),
    ("3.6", 2),
    ("3.7", 0),
    ("3.7", 1),
    ("3.7", 2),
    ("3.7", 3),
    ("3.7", 4),
    ("3.8", 0),
    ("3.9", 0),
    ("4.0", 0),
    ("4.0", 1),
    ("4.0", 2),
    ("4.0", 3),
    ("4.1", 0),
    ("4.1", 1),
    ("4.2", 0),
    ("4.2", 1),
    ("4.3", 0),
    ("4.4", 0),
    ("4.4", 1),
    ("4.4", 2),
];

impl MetadataVersion {
    /// The feature's name.
    pub const FEATURE_NAME: &'static str = "metadata.version";
    /// 3.3-IV3, below which Kafka 4 does not start.
    pub const MINIMUM: MetadataVersion = MetadataVersion(7);
    /// 4.4-IV2, what Kafka 4.4.0 gives a new cluster.
    pub const LATEST: MetadataVersion = MetadataVersion(33);

    /// The version with this level.
    pub fn from_feature_level(level: i16) -> Result<MetadataVersion, UnknownMetadataVersion> {
        if (Self::MINIMUM.0..=Self::LATEST.0).contains(&level) {
            Ok(MetadataVersion(level))
        } else {
            Err(UnknownMetadataVersion::Level(level))
        }
    }

    /// The version with this name: `4.4-IV2`, or a release, which is its last version; whatever follows a second dot is ignored
    /// (`MetadataVersion.fromVersionString`).
    pub fn parse(text: &str) -> Result<MetadataVersion, UnknownMetadataVersion> {
        let key = match text.match_indices('.').nth(1) {
            Some((end, _)) => &text[..end],
            None => text,
        };
        Self::all()
            .rev()
            .find(|version| version.to_string() == key || version.release() == key)
            .ok_or_else(|| UnknownMetadataVersion::Name(text.to_owned()))
    }

    /// Every version, the oldest first.
    pub fn all() -> impl DoubleEndedIterator<Item = MetadataVersion> {
        (Self::MINIMUM.0..=Self::LATEST.0).map(MetadataVersion)
    }

    fn all_names() -> String {
        Self::all().map(|version| version.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The level that FeatureLevelRecord carries.
    pub const fn feature_level(self) -> i16 {
        self.0
    }

    /// The release that brought it, e.g. `4.4`.
    pub fn release(self) -> &'static str {
        self.name().0
    }

    fn name(self) -> (&'static str, i16) {
        NAMES[(self.0 - Self::MINIMUM.0) as usize]
    }

    /// 3.5-IV2: SCRAM credentials in the metadata log.
    pub const fn is_scram_supported(self) -> bool {
        self.0 >= 11
    }

    /// Before 3.6-IV0 a shrunken ISR raises the leader epoch (KAFKA-15021).
    pub const fn is_leader_epoch_bump_required_on_isr_shrink(self) -> bool {
        self.0 < 12
    }

    /// 3.6-IV1: Begin-, End- and AbortTransactionRecord.
    pub const fn is_metadata_transaction_supported(self) -> bool {
        self.0 >= 13
    }

    /// 3.6-IV2: delegation tokens in the metadata log.
    pub const fn is_delegation_token_supported(self) -> bool {
        self.0 >= 14
    }

    /// 3.7-IV0: RegisterControllerRecord (KIP-919).
    pub const fn is_controller_registration_supported(self) -> bool {
        self.0 >= 15
    }

    /// 3.7-IV2: replicas are assigned to log directories (KIP-858).
    pub const fn is_directory_assignment_supported(self) -> bool {
        self.0 >= 17
    }

    /// 4.0-IV1: eligible leader replicas in the partition records (KIP-966).
    pub const fn is_elr_supported(self) -> bool {
        self.0 >= 23
    }

    /// 4.3-IV0: log directories that take no new replicas.
    pub const fn is_cordoned_log_dirs_supported(self) -> bool {
        self.0 >= 30
    }

    /// 4.4-IV2: UnregisterControllerRecord (KIP-1312).
    pub const fn is_controller_unregistration_supported(self) -> bool {
        self.0 >= 33
    }

    /// Whether records changed shape somewhere in the versions after the lower and up to the higher of the two, so that going down loses
    /// what they carry (`MetadataVersion.checkIfMetadataChanged`).
    pub fn metadata_changed_between(self, other: MetadataVersion) -> bool {
        let (low, high) = if self < other { (self, other) } else { (other, self) };
        (low.0 + 1..=high.0).any(|level| matches!(level, 8 | 11 | 13 | 14 | 15 | 17 | 23 | 30 | 32 | 33))
    }

    pub(crate) const fn register_broker_record_version(self) -> i16 {
        match self.0 {
            30.. => 4,
            17.. => 3,
            8.. => 2,
            _ => 1,
        }
    }

    pub(crate) const fn partition_record_version(self) -> i16 {
        match self.0 {
            23.. => 2,
            17.. => 1,
            _ => 0,
        }
    }

    pub(crate) const fn partition_change_record_version(self) -> i16 {
        self.partition_record_version()
    }
}

impl fmt::Display for MetadataVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (release, number) = self.name();
        write!(f, "{release}-IV{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels_are_kafkas() {
        for (level, name) in
            [(7, "3.3-IV3"), (14, "3.6-IV2"), (19, "3.7-IV4"), (20, "3.8-IV0"), (25, "4.0-IV3"), (29, "4.2-IV1"), (33, "4.4-IV2")]
        {
            let version = MetadataVersion::from_feature_level(level).unwrap();
            assert_eq!(version.to_string(), name);
            assert_eq!(MetadataVersion::parse(name), Ok(version));
        }
        assert!(MetadataVersion::from_feature_level(6).is_err());
        assert_eq!(
            MetadataVersion::from_feature_level(34).unwrap_err().to_string(),
            "No MetadataVersion with feature level 34. Valid feature levels are from 7 to 33."
        );
    }

    #[test]
    fn a_release_is_its_last_version() {
        for (text, level) in [("4.4", 33), ("4.4.0", 33), ("3.7", 19), ("3.7.2", 19), ("3.3", 7), ("4.0.x", 25)] {
            assert_eq!(MetadataVersion::parse(text).unwrap().feature_level(), level, "{text}");
        }
        assert!(MetadataVersion::parse("3.3-IV2").is_err());
        assert!(
            MetadataVersion::parse("4.5")
                .unwrap_err()
                .to_string()
                .starts_with("Unknown metadata.version '4.5'. Supported metadata.version are: 3.3-IV3, 3.4-IV0")
        );
    }

    #[test]
    fn metadata_changes_count_from_above_the_lower_version() {
        let version = |level| MetadataVersion::from_feature_level(level).unwrap();
        assert!(!version(7).metadata_changed_between(version(7)));
        assert!(version(7).metadata_changed_between(version(8)));
        assert!(!version(8).metadata_changed_between(version(10)));
        assert!(version(33).metadata_changed_between(version(32)));
        assert!(!version(24).metadata_changed_between(version(29)));
    }
}
