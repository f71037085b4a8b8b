//! Changes of dynamic configuration: AlterConfigs, IncrementalAlterConfigs, and the configuration of new topics
//! (`ConfigurationControlManager`). What a key means is the schema's knowledge.

use std::collections::BTreeMap;

use ottla_metadata::{ConfigResource, ConfigResourceType, ConfigurationImage, MetadataRecord};
use ottla_model::ErrorCode;
use ottla_protocol::messages::clear_elr_record::ClearElrRecord;
use ottla_protocol::messages::config_record::ConfigRecord;

use crate::api_error::ApiError;
use crate::state::ControllerState;

const MIN_IN_SYNC_REPLICAS: &str = "min.insync.replicas";
const CORDONED_LOG_DIRS: &str = "cordoned.log.dirs";

/// What is to be done with one key (`AlterConfigOp`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigOperation {
    /// Set the value; none removes it.
    Set(Option<String>),
    /// Go back to the default.
    Delete,
    /// Add items to a list.
    Append(String),
    /// Take items out of a list.
    Subtract(String),
}

impl ConfigOperation {
    fn name(&self) -> &'static str {
        match self {
            ConfigOperation::Set(_) => "SET",
            ConfigOperation::Delete => "DELETE",
            ConfigOperation::Append(_) => "APPEND",
            ConfigOperation::Subtract(_) => "SUBTRACT",
        }
    }
}

/// One key's new value; `None` removes it.
pub(crate) type Change = (String, Option<String>);

/// The records of an incremental change of one resource. Whether the resource exists is the caller's question.
pub(crate) fn incremental_records(
    state: &ControllerState,
    resource: &ConfigResource,
    operations: &BTreeMap<String, ConfigOperation>,
) -> Result<Vec<MetadataRecord>, ApiError> {
    let current = state.configs(resource);
    let mut changes = incremental_changes(state, resource, operations)?;
    changes.retain(|(key, new)| is_change(resource, current, key, new));
    validate(state, resource, current, &changes)?;
    Ok(records(state, resource, changes))
}

/// The value that each operation leads to.
pub(crate) fn incremental_changes(
    state: &ControllerState,
    resource: &ConfigResource,
    operations: &BTreeMap<String, ConfigOperation>,
) -> Result<Vec<Change>, ApiError> {
    let mut changes = Vec::with_capacity(operations.len());
    for (key, operation) in operations {
        let new = match operation {
            ConfigOperation::Set(value) => value.clone(),
            ConfigOperation::Delete => None,
            ConfigOperation::Append(items) | ConfigOperation::Subtract(items) => {
                if state.schema.is_list(resource.resource_type, key) != Some(true) {
                    let message = format!("Can't {} to key {key} because its type is not LIST.", operation.name());
                    return Err(ApiError::new(ErrorCode::InvalidConfig, message));
                }
                Some(changed_list(state, resource, key, items, operation))
            }
        };
        changes.push((key.clone(), new));
    }
    Ok(changes)
}

/// The records that give one resource these values and no others.
pub(crate) fn replacing_records(
    state: &ControllerState,
    resource: &ConfigResource,
    values: &BTreeMap<String, Option<String>>,
) -> Result<Vec<MetadataRecord>, ApiError> {
    let current = state.configs(resource);
    let altered = values.iter().filter(|(key, value)| is_change(resource, current, key, value));
    let mut changes: Vec<Change> = altered.map(|(key, value)| (key.clone(), value.clone())).collect();
    changes.extend(current.keys().filter(|key| !values.contains_key(*key)).map(|key| (key.clone(), None)));
    validate(state, resource, current, &changes)?;
    Ok(records(state, resource, changes))
}

/// A broker's value is written even if it is the same: the file that it names may have changed.
fn is_change(resource: &ConfigResource, current: &ConfigurationImage, key: &str, new: &Option<String>) -> bool {
    resource.resource_type == ConfigResourceType::Broker || current.get(key) != new.as_ref()
}

/// The list with each of the items appended or subtracted. A list that is not set begins as its default.
fn changed_list(state: &ControllerState, resource: &ConfigResource, key: &str, items: &str, operation: &ConfigOperation) -> String {
    let current = state.configs(resource).get(key).cloned();
    let current = current.or_else(|| state.schema.default_value(resource.resource_type, key)).unwrap_or_default();
    let subtract = matches!(operation, ConfigOperation::Subtract(_));
    let mut list: Vec<&str> = current.split(',').filter(|item| !item.is_empty()).collect();
    for item in items.split(',') {
        match list.iter().position(|&present| present == item) {
            Some(index) if subtract => {
                list.remove(index);
            }
            None if !subtract => list.push(item),
            Some(_) | None => {}
        }
    }
    list.join(",")
}

fn validate(state: &ControllerState, resource: &ConfigResource, current: &ConfigurationImage, changes: &[Change]) -> Result<(), ApiError> {
    let mut all = current.clone();
    for (key, value) in changes {
        check_disallowed(state, resource, key, value.as_deref())?;
        match value {
            None => all.remove(key),
            Some(value) => all.insert(key.clone(), value.clone()),
        };
    }
    state.schema.validate(resource, &all, current)
}

/// Changes that the state of the cluster forbids, whatever the value.
fn check_disallowed(state: &ControllerState, resource: &ConfigResource, key: &str, value: Option<&str>) -> Result<(), ApiError> {
    let invalid = |message: String| Err(ApiError::new(ErrorCode::InvalidConfig, message));
    let is_broker = resource.resource_type == ConfigResourceType::Broker;
    if is_broker && key == MIN_IN_SYNC_REPLICAS && state.image.features.is_elr_enabled() {
        if !resource.name.is_empty() {
            return invalid("Broker-level min.insync.replicas cannot be altered while ELR is enabled.".to_owned());
        }
        if value.is_none() {
            return invalid("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.".to_owned());
        }
    }
    if is_broker && key == CORDONED_LOG_DIRS && !state.metadata_version().is_cordoned_log_dirs_supported() {
        return invalid(
            "The cordoned.log.dirs configuration value cannot be set because it requires metadata.version >= 4.3-IV0".to_owned(),
        );
    }
    // Java counts UTF-16 units here.
    if value.is_some_and(|value| value.encode_utf16().count() > i16::MAX as usize) {
        let message = "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.";
        return invalid(message.to_owned());
    }
    Ok(())
}

/// Another `min.insync.replicas` makes eligible leader replicas meaningless: they are cleared with it.
fn records(state: &ControllerState, resource: &ConfigResource, changes: Vec<Change>) -> Vec<MetadataRecord> {
    let changes_min_isr = changes.iter().any(|(key, _)| key == MIN_IN_SYNC_REPLICAS);
    let record = |(name, value)| {
        ConfigRecord { resource_type: resource.resource_type.id(), resource_name: resource.name.clone(), name, value, ..Default::default() }
            .into()
    };
    let mut records: Vec<MetadataRecord> = changes.into_iter().map(record).collect();
    if changes_min_isr && state.image.features.is_elr_enabled() {
        let topic_name = if resource.resource_type == ConfigResourceType::Topic { resource.name.clone() } else { String::new() };
        records.push(ClearElrRecord { topic_name, ..Default::default() }.into());
    }
    records
}
