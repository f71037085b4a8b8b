//! What a change of configuration has to pass here, besides the keys' own rules.

use std::collections::BTreeMap;

use ottla_controller::{AlterConfigsChecks, ApiError};
use ottla_metadata::{ConfigResource, ConfigurationImage};

/// All checks.
pub fn checks() -> AlterConfigsChecks<'static> {
    AlterConfigsChecks { authorize: &anyone, validate_broker: &broker_could_run, alter_broker_logger: &no_loggers }
}

fn anyone(_resource: &ConfigResource) -> Result<(), ApiError> {
    Ok(())
}

fn broker_could_run(_resource: &ConfigResource, _configs: &ConfigurationImage) -> Result<(), ApiError> {
    Ok(())
}

/// Log levels are set by `OTTLA_LOG`, not by this request.
fn no_loggers(resource: &ConfigResource, _levels: &BTreeMap<String, Option<String>>) -> Result<(), ApiError> {
    Err(ApiError::invalid_request(format!("{resource} has no loggers that can be changed")))
}
