//! UpdateFeatures: raises and lowers finalized levels, all of a request's or none (`FeatureControlManager.updateFeatures`).

use std::collections::BTreeMap;

use ottla_metadata::feature::{ELIGIBLE_LEADER_REPLICAS_VERSION, Feature, KRAFT_VERSION, VersionRange, supported_range};
use ottla_metadata::{ConfigResource, ConfigResourceType, MetadataRecord, MetadataVersion};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::config_record::ConfigRecord;
use ottla_protocol::messages::feature_level_record::FeatureLevelRecord;
use ottla_protocol::messages::update_features_request::UpdateFeaturesRequest;
use ottla_protocol::messages::update_features_response::{UpdatableFeatureResult, UpdateFeaturesResponse};

use crate::api_error::ApiError;
use crate::context::ControllerOptions;
use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

/// `FeatureUpdate.UpgradeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpgradeType {
    Unknown,
    Upgrade,
    SafeDowngrade,
    UnsafeDowngrade,
}

#[derive(Clone, Copy, Debug)]
struct Update {
    level: i16,
    upgrade_type: UpgradeType,
}

pub(crate) struct UpdateFeatures<'a> {
    pub state: &'a ControllerState,
    pub options: &'a ControllerOptions,
    /// The quorum's `kraft.version`, which is not in the metadata image.
    pub kraft_version: i16,
}

fn invalid(name: &str, level: i16, reason: impl std::fmt::Display) -> ApiError {
    ApiError::new(ErrorCode::InvalidUpdateVersion, format!("Invalid update version {level} for feature {name}. {reason}"))
}

impl UpdateFeatures<'_> {
    pub fn handle(&self, request: &UpdateFeaturesRequest, version: i16) -> ControllerResult<UpdateFeaturesResponse> {
        // As in Kafka, the last update of a feature counts and the first version's allowDowngrade is not looked at.
        let updates = request.feature_updates.iter().map(|update| {
            let upgrade_type = match update.upgrade_type {
                1 => UpgradeType::Upgrade,
                2 => UpgradeType::SafeDowngrade,
                3 => UpgradeType::UnsafeDowngrade,
                _ => UpgradeType::Unknown,
            };
            (&*update.feature, Update { level: update.max_version_level, upgrade_type })
        });
        let updates: BTreeMap<&str, Update> = updates.collect();
        match self.records(&updates) {
            Ok(records) => {
                let response = success(request, version);
                ControllerResult::atomic_of(records, response).without_records_if(request.validate_only)
            }
            Err(error) => {
                let reason = error.message.unwrap_or_default();
                let message = format!("The update failed for all features since the following feature had an error: {reason}");
                let (error_code, error_message) = (error.error.code(), Some(message));
                ControllerResult::of(Vec::new(), UpdateFeaturesResponse { error_code, error_message, ..Default::default() })
            }
        }
    }

    fn records(&self, updates: &BTreeMap<&str, Update>) -> Result<Vec<MetadataRecord>, ApiError> {
        let proposed = updates.get(MetadataVersion::FEATURE_NAME).map(|update| update.level);
        let proposed = proposed.and_then(|level| MetadataVersion::from_feature_level(level).ok());
        let proposed = proposed.unwrap_or(self.state.metadata_version());
        let mut records = Vec::new();
        for (name, &update) in updates {
            records.extend(self.update(name, update, proposed)?);
        }
        if updates.get(ELIGIBLE_LEADER_REPLICAS_VERSION).is_some_and(|update| update.level > 0) {
            let mut with_safety = self.elr_safety_records();
            with_safety.append(&mut records);
            return Ok(with_safety);
        }
        Ok(records)
    }

    fn update(&self, name: &str, update: Update, proposed: MetadataVersion) -> Result<Option<MetadataRecord>, ApiError> {
        let Update { level, upgrade_type } = update;
        if upgrade_type == UpgradeType::Unknown {
            return Err(invalid(name, level, "The controller does not support the given upgrade type."));
        }
        let current = if name == KRAFT_VERSION { self.kraft_version } else { self.state.image.features.level(name) };
        if level < 0 {
            return Err(invalid(name, level, "A feature version cannot be less than 0."));
        }
        if let Some(reason) = self.reason_not_supported(name, level) {
            return Err(invalid(name, level, reason));
        }
        if level < current && upgrade_type == UpgradeType::Upgrade {
            let reason = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.";
            return Err(invalid(name, level, reason));
        }
        if level > current && upgrade_type != UpgradeType::Upgrade {
            return Err(invalid(name, level, "Can't downgrade to a newer version."));
        }
        match name {
            MetadataVersion::FEATURE_NAME => self.update_metadata_version(level, upgrade_type),
            KRAFT_VERSION if level == current => Ok(None),
            KRAFT_VERSION if level < current => Err(invalid(name, level, "Can't downgrade the version of this feature.")),
            KRAFT_VERSION => Err(invalid(name, level, "The quorum of this release cannot raise the version of this feature.")),
            _ => {
                let feature = Feature::by_name(name).ok_or_else(|| invalid(name, level, format!("There is no feature {name}.")))?;
                feature.validate(level, proposed).map_err(|error| invalid(name, level, error))?;
                Ok(Some(feature_level(name, level)))
            }
        }
    }

    fn update_metadata_version(&self, level: i16, upgrade_type: UpgradeType) -> Result<Option<MetadataRecord>, ApiError> {
        let current = self.state.metadata_version();
        let error = |message| ApiError::new(ErrorCode::InvalidUpdateVersion, message);
        let new = MetadataVersion::from_feature_level(level).map_err(|_| {
            let (first, last) = (MetadataVersion::MINIMUM.feature_level(), MetadataVersion::LATEST.feature_level());
            error(format!("Invalid metadata.version {level}. Valid versions are from {first} to {last}."))
        })?;
        if new < current && current.metadata_changed_between(new) {
            let reason = if upgrade_type == UpgradeType::UnsafeDowngrade {
                "Unsafe metadata downgrade is not supported in this version."
            } else {
                "Refusing to perform the requested downgrade because it might delete metadata information."
            };
            let message = format!("Unsupported metadata.version downgrade from {} to {level}. {reason}", current.feature_level());
            return Err(error(message));
        }
        Ok(Some(feature_level(MetadataVersion::FEATURE_NAME, level)))
    }

    /// Why some node of the cluster cannot serve the level.
    fn reason_not_supported(&self, name: &str, level: i16) -> Option<String> {
        let local = supported_range(name).unwrap_or(VersionRange::DISABLED);
        let node_id = self.options.node_id;
        if let Some(reason) = reason(level, || format!("Local controller {node_id}"), local) {
            return Some(reason);
        }
        let range_in = |features: &BTreeMap<String, VersionRange>| features.get(name).copied().unwrap_or(VersionRange::DISABLED);
        for broker in self.state.image.cluster.brokers() {
            if let Some(reason) = reason(level, || format!("Broker {}", broker.id), range_in(&broker.supported_features)) {
                return Some(reason);
            }
        }
        if !self.state.metadata_version().is_controller_registration_supported() {
            return None;
        }
        for controller in self.state.image.cluster.controllers().filter(|controller| controller.id != node_id) {
            if let Some(reason) = reason(level, || format!("Controller {}", controller.id), range_in(&controller.supported_features)) {
                return Some(reason);
            }
        }
        let is_unknown = |id: &&BrokerId| **id != node_id && self.state.image.cluster.controller(**id).is_none();
        let unknown = self.options.quorum_node_ids.iter().find(is_unknown)?;
        Some(format!("controller {unknown} has not registered, and may not support this feature"))
    }

    /// With eligible leader replicas `min.insync.replicas` has to be the same for the whole cluster.
    fn elr_safety_records(&self) -> Vec<MetadataRecord> {
        const KEY: &str = "min.insync.replicas";
        let record = |name: &str, value: Option<String>| {
            ConfigRecord {
                resource_type: ConfigResourceType::Broker.id(),
                resource_name: name.to_owned(),
                name: KEY.to_owned(),
                value,
                ..Default::default()
            }
            .into()
        };
        let mut records = Vec::new();
        if self.state.image.configs.value(&ConfigResource::broker(""), KEY).is_none() {
            records.push(record("", Some(self.state.schema.static_min_insync_replicas().to_string())));
        }
        let of_brokers = self.state.image.configs.iter().filter(|(resource, values)| {
            resource.resource_type == ConfigResourceType::Broker && !resource.name.is_empty() && values.contains_key(KEY)
        });
        records.extend(of_brokers.map(|(resource, _)| record(&resource.name, None)));
        records
    }
}

fn reason(level: i16, node: impl FnOnce() -> String, range: VersionRange) -> Option<String> {
    if range.contains(level) {
        None
    } else if range.max == 0 {
        Some(format!("{} does not support this feature.", node()))
    } else {
        Some(format!("{} only supports versions {range}", node()))
    }
}

fn feature_level(name: &str, level: i16) -> MetadataRecord {
    FeatureLevelRecord { name: name.to_owned(), feature_level: level, ..Default::default() }.into()
}

/// Only the first two versions name the features again.
fn success(request: &UpdateFeaturesRequest, version: i16) -> UpdateFeaturesResponse {
    let result = |feature: &str| UpdatableFeatureResult {
        feature: feature.to_owned(),
        error_message: Some(ErrorCode::None.message()),
        ..Default::default()
    };
    let results = if version <= 1 { request.feature_updates.iter().map(|update| result(&update.feature)).collect() } else { Vec::new() };
    UpdateFeaturesResponse { error_message: None, results, ..Default::default() }
}
