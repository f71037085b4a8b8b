//! The records that a controller begins its leadership with (`ActivationRecordsGenerator`).

use ottla_metadata::feature::ELIGIBLE_LEADER_REPLICAS_VERSION;
use ottla_metadata::{BootstrapMetadata, ConfigResourceType, MetadataRecord, MetadataVersion};
use ottla_protocol::messages::abort_transaction_record::AbortTransactionRecord;
use ottla_protocol::messages::begin_transaction_record::BeginTransactionRecord;
use ottla_protocol::messages::config_record::ConfigRecord;
use ottla_protocol::messages::end_transaction_record::EndTransactionRecord;

use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

/// The controller cannot become active: the log was written by something that does not go with its metadata.version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Detected in-progress transaction at offset {start_offset}, but the metadata.version {metadata_version} does not support transactions. Cannot continue."
)]
pub struct ActivationError {
    /// Where the transaction began.
    pub start_offset: i64,
    /// The finalized metadata.version.
    pub metadata_version: MetadataVersion,
}

/// A log without a metadata.version is empty: it gets the bootstrap records. A transaction that an earlier controller left open is
/// aborted. Features that are finalized beyond what this release serves keep their levels: whoever serves them again finds them as they were.
pub(crate) fn activation_records(state: &ControllerState, bootstrap: &BootstrapMetadata) -> Result<ControllerResult<()>, ActivationError> {
    // What an open transaction says is about to be aborted.
    let features = &state.image_before_transaction().features;
    let finalized = features.metadata_version();
    let metadata_version = finalized.unwrap_or(bootstrap.metadata_version());
    let with_transaction = metadata_version.is_metadata_transaction_supported();
    let mut records: Vec<MetadataRecord> = Vec::new();
    if let Some(start_offset) = state.transaction_start_offset() {
        if !with_transaction {
            return Err(ActivationError { start_offset, metadata_version });
        }
        records.push(AbortTransactionRecord { reason: Some("Controller failover".to_owned()), ..Default::default() }.into());
    }
    if finalized.is_some() {
        return Ok(ControllerResult::atomic_of(records, ()));
    }
    if with_transaction {
        records.push(BeginTransactionRecord { name: Some("Bootstrap records".to_owned()), ..Default::default() }.into());
    }
    records.extend(bootstrap_records(state, bootstrap));
    if with_transaction {
        records.push(EndTransactionRecord::default().into());
    }
    Ok(ControllerResult { records, response: (), is_atomic: !with_transaction })
}

fn bootstrap_records(state: &ControllerState, bootstrap: &BootstrapMetadata) -> Vec<MetadataRecord> {
    let mut records = bootstrap.records().to_vec();
    if bootstrap.feature_level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0 {
        records.push(
            ConfigRecord {
                resource_type: ConfigResourceType::Broker.id(),
                resource_name: String::new(),
                name: "min.insync.replicas".to_owned(),
                value: Some(state.schema.static_min_insync_replicas().to_string()),
                ..Default::default()
            }
            .into(),
        );
    }
    records
}
