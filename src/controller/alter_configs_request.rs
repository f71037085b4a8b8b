//! AlterConfigs and IncrementalAlterConfigs: which of the resources may be changed at all, then one change after the other
//! (`ConfigAdminManager.preprocess`, `ControllerApis.handleIncrementalAlterConfigs`).

use std::collections::{BTreeMap, HashMap, HashSet};

use ottla_metadata::{ConfigResource, ConfigResourceType, ConfigurationImage, MetadataRecord};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::{alter_configs_request, alter_configs_response};
use ottla_protocol::messages::{incremental_alter_configs_request, incremental_alter_configs_response};

use crate::alter_configs::{ConfigOperation, incremental_changes, incremental_records, replacing_records};
use crate::api_error::{ApiError, RECORDS_PER_USER_OP_MAX, response_error};
use crate::context::ControllerOptions;
use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

/// What a change of configuration has to pass besides the schema.
#[derive(Clone, Copy)]
pub struct AlterConfigsChecks<'a> {
    /// Whether the requester may alter the resource.
    pub authorize: &'a dyn Fn(&ConfigResource) -> Result<(), ApiError>,
    /// Whether this broker could run with these values of a broker or of the cluster-wide default.
    pub validate_broker: &'a dyn Fn(&ConfigResource, &ConfigurationImage) -> Result<(), ApiError>,
    /// Changes log levels; they are not kept in the metadata log.
    pub alter_broker_logger: &'a dyn Fn(&ConfigResource, &LogLevels) -> Result<(), ApiError>,
}

/// What is asked for the loggers of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLevels {
    /// A level by logger; none resets it.
    pub by_logger: BTreeMap<String, Option<String>>,
    /// Whether the change is only checked.
    pub validate_only: bool,
}

/// The records of the changes that pass, and each resource's outcome in the order of the request.
struct Altered {
    records: Vec<MetadataRecord>,
    outcomes: Vec<Result<(), ApiError>>,
}

/// What is asked for one resource.
struct Asked<'a> {
    type_id: i8,
    resource: ConfigResource,
    keys: Vec<AskedKey<'a>>,
    /// Whether each key has its operation; otherwise the keys replace all that the resource has.
    is_incremental: bool,
    validate_only: bool,
}

struct AskedKey<'a> {
    name: &'a str,
    value: Option<&'a str>,
    /// `AlterConfigOp.OpType`.
    operation: i8,
}

// `AlterConfigOp.OpType`
const OPERATION_SET: i8 = 0;
const OPERATION_DELETE: i8 = 1;
const OPERATION_APPEND: i8 = 2;
const OPERATION_SUBTRACT: i8 = 3;

pub(crate) struct AlterConfigs<'a> {
    pub state: &'a ControllerState,
    pub options: &'a ControllerOptions,
    pub checks: AlterConfigsChecks<'a>,
}

impl AlterConfigs<'_> {
    pub fn incremental(
        &self,
        request: &incremental_alter_configs_request::IncrementalAlterConfigsRequest,
    ) -> Result<ControllerResult<incremental_alter_configs_response::IncrementalAlterConfigsResponse>, ApiError> {
        use incremental_alter_configs_response::{AlterConfigsResourceResponse, IncrementalAlterConfigsResponse};
        let asked = request.resources.iter().map(|resource| {
            let keys = resource.configs.iter().map(|config| AskedKey {
                name: &config.name,
                value: config.value.as_deref(),
                operation: config.config_operation,
            });
            Asked {
                type_id: resource.resource_type,
                resource: config_resource(resource.resource_type, &resource.resource_name),
                keys: keys.collect(),
                is_incremental: true,
                validate_only: request.validate_only,
            }
        });
        let Altered { records, outcomes } = self.handle(&asked.collect::<Vec<_>>())?;
        let responses = request.resources.iter().zip(&outcomes).map(|(resource, outcome)| {
            let (error_code, error_message) = response_error(outcome);
            let (resource_type, resource_name) = (resource.resource_type, resource.resource_name.clone());
            AlterConfigsResourceResponse { error_code, error_message, resource_type, resource_name, ..Default::default() }
        });
        let response = IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() };
        Ok(ControllerResult::atomic_of(records, response).without_records_if(request.validate_only))
    }

    pub fn legacy(
        &self,
        request: &alter_configs_request::AlterConfigsRequest,
    ) -> Result<ControllerResult<alter_configs_response::AlterConfigsResponse>, ApiError> {
        use alter_configs_response::{AlterConfigsResourceResponse, AlterConfigsResponse};
        let asked = request.resources.iter().map(|resource| {
            let keys = resource.configs.iter().map(|config| AskedKey {
                name: &config.name,
                value: config.value.as_deref(),
                operation: OPERATION_SET,
            });
            Asked {
                type_id: resource.resource_type,
                resource: config_resource(resource.resource_type, &resource.resource_name),
                keys: keys.collect(),
                is_incremental: false,
                validate_only: request.validate_only,
            }
        });
        let Altered { records, outcomes } = self.handle(&asked.collect::<Vec<_>>())?;
        let responses = request.resources.iter().zip(&outcomes).map(|(resource, outcome)| {
            let (error_code, error_message) = response_error(outcome);
            let (resource_type, resource_name) = (resource.resource_type, resource.resource_name.clone());
            AlterConfigsResourceResponse { error_code, error_message, resource_type, resource_name, ..Default::default() }
        });
        let response = AlterConfigsResponse { responses: responses.collect(), ..Default::default() };
        Ok(ControllerResult::atomic_of(records, response).without_records_if(request.validate_only))
    }

    fn handle(&self, asked: &[Asked<'_>]) -> Result<Altered, ApiError> {
        let mut times: HashMap<(i8, &str), usize> = HashMap::new();
        for asked in asked {
            *times.entry((asked.type_id, &asked.resource.name)).or_default() += 1;
        }
        let checked: Vec<_> = asked
            .iter()
            .map(|asked| match times[&(asked.type_id, &*asked.resource.name)] {
                1 => self.check(asked),
                _ => Err(ApiError::invalid_request("Each resource must appear at most once.")),
            })
            .collect();
        // Kafka's controller stumbles over an operation that does not exist, and with it over all that was handed on to it.
        let stumbles = asked.iter().zip(&checked).any(|(asked, checked)| checked.is_ok() && asked.stumbles());
        let mut records = Vec::new();
        let mut outcomes = Vec::with_capacity(asked.len());
        for (asked, checked) in asked.iter().zip(checked) {
            let outcome = checked.and_then(|()| match asked.resource.resource_type {
                ConfigResourceType::BrokerLogger => Ok(Vec::new()),
                _ if stumbles => Err(ApiError::bare(ErrorCode::UnknownServerError)),
                _ => self.alter(asked),
            });
            outcomes.push(outcome.map(|new| records.extend(new)));
        }
        if stumbles {
            records.clear();
        }
        if records.len() > RECORDS_PER_USER_OP_MAX { Err(ApiError::excessively_large()) } else { Ok(Altered { records, outcomes }) }
    }

    /// What a broker checks before it hands a change on, and what it changes by itself.
    fn check(&self, asked: &Asked<'_>) -> Result<(), ApiError> {
        asked.check_keys()?;
        match asked.resource.resource_type {
            ConfigResourceType::Topic | ConfigResourceType::ClientMetrics | ConfigResourceType::Group => Ok(()),
            ConfigResourceType::Broker => self.check_broker(asked),
            ConfigResourceType::BrokerLogger if asked.is_incremental => {
                (self.checks.alter_broker_logger)(&asked.resource, &asked.log_levels()?)
            }
            ConfigResourceType::BrokerLogger | ConfigResourceType::Unknown => {
                Err(ApiError::invalid_request(format!("Unknown resource type {}", asked.type_id)))
            }
        }
    }

    fn alter(&self, asked: &Asked<'_>) -> Result<Vec<MetadataRecord>, ApiError> {
        let resource = &asked.resource;
        (self.checks.authorize)(resource)?;
        let records = if asked.is_incremental {
            incremental_records(self.state, resource, &asked.operations()?)?
        } else {
            replacing_records(self.state, resource, &asked.values())?
        };
        self.check_existence(resource)?;
        Ok(records)
    }

    /// A broker is altered through itself: it knows whether it can run with the values.
    fn check_broker(&self, asked: &Asked<'_>) -> Result<(), ApiError> {
        let resource = &asked.resource;
        if !resource.name.is_empty() {
            let name = &resource.name;
            let id: i32 = name.parse().map_err(|_| ApiError::invalid_request(format!("Node id must be an integer, but it is: {name}")))?;
            if BrokerId(id) != self.options.node_id {
                let expected = self.options.node_id;
                return Err(ApiError::invalid_request(format!("Unexpected broker id, expected {expected}, but received {name}")));
            }
        }
        let mut values = ConfigurationImage::new();
        let changes = if asked.is_incremental {
            let operations = asked.operations()?;
            values.clone_from(self.state.configs(resource));
            self.check_list_operations(&operations)?;
            incremental_changes(self.state, resource, &operations)?
        } else {
            asked.values().into_iter().collect()
        };
        for (key, value) in changes {
            match value {
                Some(value) => values.insert(key, value),
                None => values.remove(&key),
            };
        }
        (self.checks.validate_broker)(resource, &values)
    }

    fn check_list_operations(&self, operations: &BTreeMap<String, ConfigOperation>) -> Result<(), ApiError> {
        let invalid = |message| Err(ApiError::new(ErrorCode::InvalidConfig, message));
        for (key, operation) in operations {
            let verb = match operation {
                ConfigOperation::Append(_) => "append",
                ConfigOperation::Subtract(_) => "subtract",
                ConfigOperation::Set(_) | ConfigOperation::Delete => continue,
            };
            match self.state.schema.is_list(ConfigResourceType::Broker, key) {
                Some(true) => {}
                Some(false) => return invalid(format!("Config value {verb} is not allowed for config key: {key}")),
                None => return invalid(format!("Unknown config name: {key}")),
            }
        }
        Ok(())
    }

    fn check_existence(&self, resource: &ConfigResource) -> Result<(), ApiError> {
        match resource.resource_type {
            ConfigResourceType::Topic if self.state.topic(&resource.name).is_none() => {
                let message = format!("The topic '{}' does not exist.", resource.name);
                Err(ApiError::new(ErrorCode::UnknownTopicOrPartition, message))
            }
            ConfigResourceType::Broker if !resource.name.is_empty() => {
                let id: i32 =
                    resource.name.parse().map_err(|_| ApiError::invalid_request(format!("Invalid broker name {}", resource.name)))?;
                let id = BrokerId(id);
                let known = self.state.broker(id).is_some() || self.options.quorum_node_ids.contains(&id);
                if known || self.state.image.cluster.controller(id).is_some() {
                    return Ok(());
                }
                Err(ApiError::new(ErrorCode::BrokerIdNotRegistered, format!("No node with id {id} found.")))
            }
            ConfigResourceType::Topic
            | ConfigResourceType::Broker
            | ConfigResourceType::BrokerLogger
            | ConfigResourceType::ClientMetrics
            | ConfigResourceType::Group
            | ConfigResourceType::Unknown => Ok(()),
        }
    }
}

fn config_resource(type_id: i8, name: &str) -> ConfigResource {
    ConfigResource::new(ConfigResourceType::from_id(type_id), name)
}

impl Asked<'_> {
    fn check_keys(&self) -> Result<(), ApiError> {
        let mut names = HashSet::new();
        if !self.keys.iter().all(|key| names.insert(key.name)) {
            return Err(ApiError::invalid_request("Error due to duplicate config keys"));
        }
        let is_null_update = |key: &&AskedKey<'_>| key.value.is_none() && key.operation != OPERATION_DELETE;
        let nulls: Vec<&str> = self.keys.iter().filter(is_null_update).map(|key| key.name).collect();
        if nulls.is_empty() {
            return Ok(());
        }
        Err(ApiError::invalid_request(format!("Null value not supported for : {}", nulls.join(", "))))
    }

    /// The operations of an incremental request. Kafka fails over one that it does not know.
    fn operations(&self) -> Result<BTreeMap<String, ConfigOperation>, ApiError> {
        let operation = |key: &AskedKey<'_>| {
            let value = key.value.map(str::to_owned);
            match key.operation {
                OPERATION_SET => Ok(ConfigOperation::Set(value)),
                OPERATION_DELETE => Ok(ConfigOperation::Delete),
                OPERATION_APPEND => Ok(ConfigOperation::Append(value.unwrap_or_default())),
                OPERATION_SUBTRACT => Ok(ConfigOperation::Subtract(value.unwrap_or_default())),
                _ => Err(ApiError::bare(ErrorCode::UnknownServerError)),
            }
        };
        self.keys.iter().map(|key| Ok((key.name.to_owned(), operation(key)?))).collect()
    }

    /// Whether an operation that does not exist would reach the controller.
    fn stumbles(&self) -> bool {
        self.is_incremental && self.resource.resource_type != ConfigResourceType::BrokerLogger && self.operations().is_err()
    }

    /// What is asked for loggers (`RuntimeLoggerManager.validateLogLevelConfigs`).
    fn log_levels(&self) -> Result<LogLevels, ApiError> {
        let level = |key: &AskedKey<'_>| {
            let refused = |operation: &str| ApiError::invalid_request(format!("{operation} is not allowed for the BROKER_LOGGER resource"));
            match key.operation {
                OPERATION_SET => Ok(key.value.map(str::to_owned)),
                OPERATION_DELETE => Ok(None),
                OPERATION_APPEND => Err(refused("APPEND operation")),
                OPERATION_SUBTRACT => Err(refused("SUBTRACT operation")),
                other => Err(refused(&format!("Unknown operation type {other}"))),
            }
        };
        let by_logger: Result<_, ApiError> = self.keys.iter().map(|key| Ok((key.name.to_owned(), level(key)?))).collect();
        Ok(LogLevels { by_logger: by_logger?, validate_only: self.validate_only })
    }

    fn values(&self) -> BTreeMap<String, Option<String>> {
        self.keys.iter().map(|key| (key.name.to_owned(), key.value.map(Into::into))).collect()
    }
}
