//! The finalized levels of the cluster's features.

use std::collections::BTreeMap;

use ottla_protocol::messages::feature_level_record::FeatureLevelRecord;

use super::{Change, ReplayError};
use crate::feature::{ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION};
use crate::metadata_version::MetadataVersion;
use crate::record::MetadataRecord;

/// Finalized feature levels. A feature at level 0 is absent (`FeaturesImage`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeaturesImage {
    metadata_version: Option<MetadataVersion>,
    levels: BTreeMap<String, i16>,
}

impl FeaturesImage {
    /// The finalized metadata.version; `None` until the bootstrap records were replayed.
    pub fn metadata_version(&self) -> Option<MetadataVersion> {
        self.metadata_version
    }

    /// The finalized level of any feature, 0 when it has none. `kraft.version` is kept by the quorum, not here.
    pub fn level(&self, name: &str) -> i16 {
        if name == MetadataVersion::FEATURE_NAME {
            return self.metadata_version.map_or(0, MetadataVersion::feature_level);
        }
        self.levels.get(name).copied().unwrap_or(0)
    }

    /// All features above level 0 and their levels, metadata.version first.
    pub fn finalized(&self) -> impl Iterator<Item = (&str, i16)> {
        let version = self.metadata_version.map(|version| (MetadataVersion::FEATURE_NAME, version.feature_level()));
        version.into_iter().chain(self.levels.iter().map(|(name, &level)| (name.as_str(), level)))
    }

    /// Whether eligible leader replicas are kept (KIP-966).
    pub fn is_elr_enabled(&self) -> bool {
        self.level(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1
    }

    pub(super) fn replay(&mut self, record: &FeatureLevelRecord) -> Result<Change, ReplayError> {
        if record.name == MetadataVersion::FEATURE_NAME {
            self.metadata_version = Some(MetadataVersion::from_feature_level(record.feature_level)?);
        } else if record.name == KRAFT_VERSION {
            // The level of this one is in the quorum's control records.
        } else if record.feature_level == 0 {
            self.levels.remove(&record.name);
        } else {
            self.levels.insert(record.name.clone(), record.feature_level);
        }
        Ok(Change::Feature(record.name.clone()))
    }

    pub(super) fn write(&self, records: &mut Vec<MetadataRecord>) {
        records.extend(
            self.finalized()
                .map(|(name, level)| FeatureLevelRecord { name: name.to_owned(), feature_level: level, ..Default::default() }.into()),
        );
    }
}
