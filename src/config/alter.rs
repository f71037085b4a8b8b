//! What an incremental change makes of a broker's values before they are checked (`ConfigAdminManager.preprocess`), and what can be
//! asked about lists (`KafkaConfigSchema`). The controller applies changes itself.

use crate::broker_values::ConfigMap;
use crate::key::Scope;
use crate::rejection::ConfigRejection;
use crate::table;
use crate::value::ConfigType;

/// What is done with a key (`AlterConfigOp.OpType`), with the numbers of IncrementalAlterConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum OperationKind {
    /// The value is set.
    Set = 0,
    /// The value goes; the default applies.
    Delete = 1,
    /// Items are added to a list.
    Append = 2,
    /// Items are taken out of a list.
    Subtract = 3,
}

impl OperationKind {
    /// The kind of that number.
    pub fn from_id(id: i8) -> Option<OperationKind> {
        use OperationKind::*;
        [Set, Delete, Append, Subtract].into_iter().find(|kind| *kind as i8 == id)
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOperation {
    /// The key.
    pub name: String,
    /// What to do.
    pub kind: OperationKind,
    /// The value or the items; `Delete` needs none.
    pub value: Option<String>,
}

/// Checks what every incremental change must satisfy: no key twice, no value that is null but for `Delete`.
pub fn check_operations(operations: &[ConfigOperation]) -> Result<(), ConfigRejection> {
    for (index, operation) in operations.iter().enumerate() {
        if operations[..index].iter().any(|earlier| earlier.name == operation.name) {
            return Err(ConfigRejection::invalid_request("Error due to duplicate config keys"));
        }
    }
    let is_null = |operation: &&ConfigOperation| operation.kind != OperationKind::Delete && operation.value.is_none();
    let nulls: Vec<&str> = operations.iter().filter(is_null).map(|operation| operation.name.as_str()).collect();
    if nulls.is_empty() {
        Ok(())
    } else {
        Err(ConfigRejection::invalid_request(format!("Null value not supported for : {}", nulls.join(", "))))
    }
}

/// The values of a broker, or of all, after the operations; to be checked with `DynamicBrokerConfig::validate_change`.
pub fn altered_broker_values(current: &ConfigMap, operations: &[ConfigOperation]) -> Result<ConfigMap, ConfigRejection> {
    check_operations(operations)?;
    let mut values = current.clone();
    for ConfigOperation { name, kind, value } in operations {
        let value = value.as_deref().unwrap_or_default();
        match kind {
            OperationKind::Set => {
                values.insert(name.clone(), value.to_owned());
            }
            OperationKind::Delete => {
                values.remove(name);
            }
            OperationKind::Append => {
                let mut items = broker_list(&values, name, "append")?;
                for item in value.split(',') {
                    if !items.iter().any(|present| present == item) {
                        items.push(item.to_owned());
                    }
                }
                values.insert(name.clone(), items.join(","));
            }
            OperationKind::Subtract => {
                let mut items = broker_list(&values, name, "subtract")?;
                for item in value.split(',') {
                    if let Some(index) = items.iter().position(|present| present == item) {
                        items.remove(index);
                    }
                }
                values.insert(name.clone(), items.join(","));
            }
        }
    }
    Ok(values)
}

/// The items of a list, or of its default.
fn broker_list(values: &ConfigMap, name: &str, operation: &str) -> Result<Vec<String>, ConfigRejection> {
    let key = table::key(Scope::Broker, name).filter(|key| !key.is_dynamic_only);
    let key = key.ok_or_else(|| ConfigRejection::invalid_config(format!("Unknown config name: {name}")))?;
    if key.kind != ConfigType::List {
        return Err(ConfigRejection::invalid_config(format!("Config value {operation} is not allowed for config key: {name}")));
    }
    let text = values.get(name).cloned().or_else(|| default_text(Scope::Broker, name)).unwrap_or_default();
    Ok(text.split(',').filter(|item| !item.is_empty()).map(Into::into).collect())
}

/// Whether the controller lets items be appended to and subtracted from a key: it knows the lists of brokers and topics only
/// (`KafkaConfigSchema.isSplittable`).
pub fn is_list(scope: Scope, name: &str) -> bool {
    let key = table::key(scope, name).filter(|key| !key.is_dynamic_only);
    matches!(scope, Scope::Broker | Scope::Topic) && key.is_some_and(|key| key.kind == ConfigType::List)
}

/// The default of a broker's or a topic's key as text, if it has one that is not null (`KafkaConfigSchema.getDefault`).
pub fn default_text(scope: Scope, name: &str) -> Option<String> {
    let key = table::key(scope, name).filter(|key| !key.is_dynamic_only && matches!(scope, Scope::Broker | Scope::Topic))?;
    key.default_value().map(ToString::to_string)
}
