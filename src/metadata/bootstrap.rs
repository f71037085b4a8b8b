//! The records that a new cluster begins with (`BootstrapMetadata`). Where they come from (a `bootstrap.checkpoint` file, the defaults)
//! is the caller's business; so is writing them.

use ottla_protocol::messages::feature_level_record::FeatureLevelRecord;

use crate::feature::{FEATURES, KRAFT_VERSION};
use crate::metadata_version::MetadataVersion;
use crate::record::MetadataRecord;

/// The first records of a cluster. They name a metadata.version.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapMetadata {
    records: Vec<MetadataRecord>,
    metadata_version: MetadataVersion,
    source: String,
}

/// The records cannot begin a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// None of them sets metadata.version.
    #[error("No FeatureLevelRecord for metadata.version was found in the bootstrap metadata from {0}")]
    NoMetadataVersion(String),
    /// They set one that this release does not know.
    #[error("the bootstrap metadata from {bootstrap_source} is of another release: {error}")]
    MetadataVersion {
        /// Where the records are from.
        bootstrap_source: String,
        /// What is wrong with the level.
        error: crate::metadata_version::UnknownMetadataVersion,
    },
}

impl BootstrapMetadata {
    /// What formatting a directory at `metadata_version` writes: that version, then the levels above 0 of the other features in the order
    /// of their names. `kraft.version` is not among the records.
    pub fn from_versions(metadata_version: MetadataVersion, levels: &[(&str, i16)], source: &str) -> BootstrapMetadata {
        let mut others: Vec<_> = levels
            .iter()
            .copied()
            .filter(|&(name, level)| name != MetadataVersion::FEATURE_NAME && name != KRAFT_VERSION && level > 0)
            .collect();
        others.sort_unstable();
        let mut records = vec![feature_level(MetadataVersion::FEATURE_NAME, metadata_version.feature_level())];
        records.extend(others.into_iter().map(|(name, level)| feature_level(name, level)));
        BootstrapMetadata { records, metadata_version, source: source.to_owned() }
    }

    /// The same with the levels that a new cluster at `metadata_version` has by default.
    pub fn with_default_features(metadata_version: MetadataVersion, source: &str) -> BootstrapMetadata {
        let levels: Vec<_> = FEATURES.iter().map(|feature| (feature.name, feature.default_level(metadata_version))).collect();
        BootstrapMetadata::from_versions(metadata_version, &levels, source)
    }

    /// Records that were read from `source`, e.g. `the binary bootstrap metadata file: ...`.
    pub fn from_records(records: Vec<MetadataRecord>, source: &str) -> Result<BootstrapMetadata, BootstrapError> {
        let level = records.iter().rev().find_map(|record| match record {
            MetadataRecord::FeatureLevel(feature) if feature.name == MetadataVersion::FEATURE_NAME => Some(feature.feature_level),
            _ => None,
        });
        let level = level.ok_or_else(|| BootstrapError::NoMetadataVersion(source.to_owned()))?;
        let metadata_version = MetadataVersion::from_feature_level(level)
            .map_err(|error| BootstrapError::MetadataVersion { bootstrap_source: source.to_owned(), error })?;
        Ok(BootstrapMetadata { records, metadata_version, source: source.to_owned() })
    }

    /// The records, in the order in which they are appended.
    pub fn records(&self) -> &[MetadataRecord] {
        &self.records
    }

    /// The metadata.version that they set.
    pub fn metadata_version(&self) -> MetadataVersion {
        self.metadata_version
    }

    /// Where they are from, for log lines.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The level that they give the feature `name`; 0 when none.
    pub fn feature_level(&self, name: &str) -> i16 {
        let levels = self.records.iter().filter_map(|record| match record {
            MetadataRecord::FeatureLevel(feature) if feature.name == name => Some(feature.feature_level),
            _ => None,
        });
        levels.last().unwrap_or(0)
    }
}

fn feature_level(name: &str, level: i16) -> MetadataRecord {
    FeatureLevelRecord { name: name.to_owned(), feature_level: level, ..Default::default() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_version_comes_first_and_zero_levels_are_left_out() {
        let version = MetadataVersion::LATEST;
        let bootstrap = BootstrapMetadata::from_versions(
            version,
            &[("kraft.version", 1), ("transaction.version", 2), ("group.version", 1), ("share.version", 0)],
            "test",
        );
        assert_eq!(
            bootstrap.records(),
            [feature_level("metadata.version", 33), feature_level("group.version", 1), feature_level("transaction.version", 2)]
        );
        assert_eq!((bootstrap.feature_level("group.version"), bootstrap.feature_level("share.version")), (1, 0));
    }

    #[test]
    fn records_without_a_metadata_version_are_refused() {
        let error = BootstrapMetadata::from_records(vec![feature_level("group.version", 1)], "a file").unwrap_err();
        assert_eq!(error.to_string(), "No FeatureLevelRecord for metadata.version was found in the bootstrap metadata from a file");
        assert!(matches!(
            BootstrapMetadata::from_records(vec![feature_level("metadata.version", 99)], "a file"),
            Err(BootstrapError::MetadataVersion { .. })
        ));
    }
}
