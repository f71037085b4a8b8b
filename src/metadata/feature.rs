//! The features of a cluster: which levels Ottla serves, what a level needs, and what a new cluster starts with
//! (`org.apache.kafka.server.common.Feature` and the enums beside it). Finalized levels are kept in the image.

use std::fmt;

use crate::metadata_version::MetadataVersion;

/// KIP-848 and the other rebalance protocols of the group coordinator.
pub const GROUP_VERSION: &str = "group.version";
/// KIP-890: transactions whose epoch rises with each.
pub const TRANSACTION_VERSION: &str = "transaction.version";
/// KIP-932: share groups.
pub const SHARE_VERSION: &str = "share.version";
/// KIP-1071: streams groups.
pub const STREAMS_VERSION: &str = "streams.version";
/// KIP-966: eligible leader replicas.
pub const ELIGIBLE_LEADER_REPLICAS_VERSION: &str = "eligible.leader.replicas.version";
/// KIP-853: voters in the log. Its level lives in the quorum's control records, not in FeatureLevelRecords.
pub const KRAFT_VERSION: &str = "kraft.version";

/// Levels from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

impl VersionRange {
    /// The feature is not there.
    pub const DISABLED: VersionRange = VersionRange { min: 0, max: 0 };

    /// Whether `level` lies in the range.
    pub fn contains(self, level: i16) -> bool {
        (self.min..=self.max).contains(&level)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "{}", self.min) } else { write!(f, "{}-{}", self.min, self.max) }
    }
}

/// A level of a feature, as Kafka 4.4 defines it.
#[derive(Clone, Copy, Debug)]
struct FeatureLevel {
    level: i16,
    /// A new cluster at this metadata.version or a later one starts with the level.
    bootstrap: i16,
    /// The lowest metadata.version that the level works with.
    requires: i16,
}

/// A feature besides metadata.version.
#[derive(Debug)]
pub struct Feature {
    /// The name on the wire.
    pub name: &'static str,
    /// The levels that this release serves.
    pub supported: VersionRange,
    levels: &'static [FeatureLevel],
}

const fn level(level: i16, bootstrap: i16, requires: i16) -> FeatureLevel {
    FeatureLevel { level, bootstrap, requires }
}

const MINIMUM: i16 = MetadataVersion::MINIMUM.feature_level();

/// The features in the order in which Kafka names them. A level is in `supported` once its behaviour is served, and not before:
/// clients choose their protocol by it.
pub const FEATURES: &[Feature] = &[
    Feature {
        name: KRAFT_VERSION,
        supported: VersionRange { min: 0, max: 1 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 21, MINIMUM)],
    },
    Feature {
        name: TRANSACTION_VERSION,
        supported: VersionRange { min: 0, max: 2 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 24, MINIMUM), level(2, 24, MINIMUM)],
    },
    Feature {
        name: GROUP_VERSION,
        supported: VersionRange { min: 0, max: 0 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 22, MINIMUM)],
    },
    Feature {
        name: ELIGIBLE_LEADER_REPLICAS_VERSION,
        supported: VersionRange { min: 0, max: 1 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 26, 23)],
    },
    Feature {
        name: SHARE_VERSION,
        supported: VersionRange { min: 0, max: 0 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 28, MINIMUM), level(2, 31, MINIMUM)],
    },
    Feature {
        name: STREAMS_VERSION,
        supported: VersionRange { min: 0, max: 0 },
        levels: &[level(0, MINIMUM, MINIMUM), level(1, 29, MINIMUM)],
    },
];

/// The levels of metadata.version that Ottla serves.
pub const METADATA_VERSION_RANGE: VersionRange =
    VersionRange { min: MetadataVersion::MINIMUM.feature_level(), max: MetadataVersion::LATEST.feature_level() };

/// Why a level cannot be set. The texts are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureLevelError {
    /// The feature has no such level.
    #[error("No feature:{name} with feature level {level}")]
    NoSuchLevel {
        /// The feature's name.
        name: String,
        /// The level asked for.
        level: i16,
    },
    /// The level needs a later metadata.version.
    #[error("{name} could not be set to {level} because it depends on metadata.version level {required}")]
    Dependency {
        /// The feature's name.
        name: String,
        /// The level asked for.
        level: i16,
        /// The metadata.version that it needs.
        required: i16,
    },
}

impl Feature {
    /// The feature with this name; metadata.version is none of them.
    pub fn by_name(name: &str) -> Option<&'static Feature> {
        FEATURES.iter().find(|feature| feature.name == name)
    }

    /// What a new cluster at `metadata_version` starts with: Kafka's default, or the highest served level if that is lower.
    pub fn default_level(&self, metadata_version: MetadataVersion) -> i16 {
        let begun = self.levels.iter().take_while(|level| level.bootstrap <= metadata_version.feature_level());
        begun.last().map_or(0, |level| level.level).min(self.supported.max)
    }

    /// Checks that the cluster may have this level at `metadata_version` (`Feature.validateVersion`).
    pub fn validate(&self, asked: i16, metadata_version: MetadataVersion) -> Result<(), FeatureLevelError> {
        let Some(level) = self.levels.iter().find(|level| level.level == asked) else {
            return Err(FeatureLevelError::NoSuchLevel { name: self.name.to_owned(), level: asked });
        };
        if metadata_version.feature_level() < level.requires {
            return Err(FeatureLevelError::Dependency { name: self.name.to_owned(), level: asked, required: level.requires });
        }
        Ok(())
    }
}

/// The levels of `name` that Ottla serves, metadata.version included; `None` for a feature that it does not know.
pub fn supported_range(name: &str) -> Option<VersionRange> {
    if name == MetadataVersion::FEATURE_NAME {
        return Some(METADATA_VERSION_RANGE);
    }
    Feature::by_name(name).map(|feature| feature.supported)
}

/// Every feature that a broker of this release registers with: those whose served levels go beyond 0
/// (`BrokerFeatures`, `QuorumFeatures.defaultSupportedFeatureMap`).
pub fn supported_features() -> impl Iterator<Item = (&'static str, VersionRange)> {
    let others = FEATURES.iter().map(|feature| (feature.name, feature.supported)).filter(|(_, range)| range.max > 0);
    std::iter::once((MetadataVersion::FEATURE_NAME, METADATA_VERSION_RANGE)).chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(level: i16) -> MetadataVersion {
        MetadataVersion::from_feature_level(level).unwrap()
    }

    #[test]
    fn defaults_follow_the_metadata_version() {
        let elr = Feature::by_name(ELIGIBLE_LEADER_REPLICAS_VERSION).unwrap();
        assert_eq!(elr.default_level(version(25)), 0);
        assert_eq!(elr.default_level(version(26)), 1);
        let kraft = Feature::by_name(KRAFT_VERSION).unwrap();
        assert_eq!((kraft.default_level(version(20)), kraft.default_level(version(21))), (0, 1));
    }

    #[test]
    fn a_default_is_never_above_what_is_served() {
        for feature in FEATURES {
            assert!(feature.supported.contains(feature.default_level(MetadataVersion::LATEST)), "{}", feature.name);
        }
    }

    #[test]
    fn eligible_leader_replicas_need_their_records() {
        let elr = Feature::by_name(ELIGIBLE_LEADER_REPLICAS_VERSION).unwrap();
        assert_eq!(elr.validate(1, version(23)), Ok(()));
        assert_eq!(
            elr.validate(1, version(22)).unwrap_err().to_string(),
            "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23"
        );
        assert!(matches!(elr.validate(2, version(33)), Err(FeatureLevelError::NoSuchLevel { level: 2, .. })));
    }
}
