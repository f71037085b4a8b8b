//! What a change of configuration has to pass here, besides the keys' own rules (`ConfigAdminManager.preprocess`).

use std::sync::Arc;

use ottla_config::{ConfigLevel, DynamicBrokerConfig};
use ottla_controller::{AlterConfigsChecks, ApiError, LogLevels};
use ottla_metadata::{ConfigResource, ConfigurationImage};
use ottla_model::{BrokerId, ErrorCode};

use crate::broker::Broker;
use crate::environment::Loggers;

/// The checks of one request, with the configuration as it is when the request comes.
pub struct ConfigChecks {
    node_id: BrokerId,
    config: Arc<DynamicBrokerConfig>,
    loggers: Arc<dyn Loggers>,
}

impl ConfigChecks {
    /// The checks of this broker.
    pub fn of(broker: &Broker) -> ConfigChecks {
        ConfigChecks { node_id: broker.node_id(), config: broker.dynamic_config(), loggers: broker.environment().loggers.clone() }
    }

    /// Calls `decide` with the checks in the controller's form.
    pub fn apply<R>(&self, decide: impl FnOnce(AlterConfigsChecks<'_>) -> R) -> R {
        decide(AlterConfigsChecks {
            // Anyone may change anything: there is no authorizer yet.
            authorize: &|_| Ok(()),
            validate_broker: &|resource, values| self.broker_could_run(resource, values),
            alter_broker_logger: &|resource, levels| alter_loggers(self.node_id, self.loggers.as_ref(), resource, levels),
        })
    }

    /// Whether the broker of this node, or all brokers for the empty name, could run with these values.
    fn broker_could_run(&self, resource: &ConfigResource, values: &ConfigurationImage) -> Result<(), ApiError> {
        let level = if resource.name.is_empty() { ConfigLevel::Cluster } else { ConfigLevel::Broker };
        if level == ConfigLevel::Broker {
            check_node_id(self.node_id, &resource.name)?;
        }
        self.config.validate_change(values, level).map_err(|rejection| ApiError::new(rejection.error, rejection.message))
    }
}

/// A broker takes changes for itself only.
pub fn check_node_id(node_id: BrokerId, name: &str) -> Result<(), ApiError> {
    let id: i32 = name.parse().map_err(|_| ApiError::invalid_request(format!("Node id must be an integer, but it is: {name}")))?;
    if id == node_id.0 {
        return Ok(());
    }
    Err(ApiError::invalid_request(format!("Unexpected broker id, expected {node_id}, but received {name}")))
}

/// The levels that a logger may be given (`LogLevelConfig`).
const LOG_LEVELS: [&str; 6] = ["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];
/// The logger whose level the others have by default.
const ROOT_LOGGER: &str = "root";

/// Changes log levels of this node, all or none (`RuntimeLoggerManager`); they are not kept.
fn alter_loggers(node_id: BrokerId, loggers: &dyn Loggers, resource: &ConfigResource, levels: &LogLevels) -> Result<(), ApiError> {
    check_node_id(node_id, &resource.name)?;
    let known = loggers.levels();
    for (logger, level) in &levels.by_logger {
        check_level(&known, logger, level.as_deref())?;
    }
    if levels.validate_only {
        return Ok(());
    }
    for (logger, level) in &levels.by_logger {
        loggers.set_level(logger, level.as_deref()).map_err(|message| ApiError::new(ErrorCode::InvalidConfig, message))?;
    }
    Ok(())
}

fn check_level(known: &[(String, String)], logger: &str, level: Option<&str>) -> Result<(), ApiError> {
    let invalid = |message| Err(ApiError::new(ErrorCode::InvalidConfig, message));
    if !known.iter().any(|(name, _)| name == logger) {
        return invalid(format!("Logger {logger} does not exist!"));
    }
    match level {
        None if logger == ROOT_LOGGER => Err(ApiError::invalid_request("The level of the root logger cannot be removed.")),
        Some(level) if !LOG_LEVELS.contains(&level) => {
            invalid(format!("{level} is not a log level for {logger}. Log levels are {}.", LOG_LEVELS.join(", ")))
        }
        None | Some(_) => Ok(()),
    }
}
