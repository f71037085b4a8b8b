//! BrokerRegistration: may the broker join, and the record that says so (`ClusterControlManager.registerBroker`).

use std::collections::{BTreeMap, HashSet};

use ottla_metadata::feature::VersionRange;
use ottla_metadata::{BrokerRegistration, MetadataVersion};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::broker_registration_request::{BrokerRegistrationRequest, Feature, Listener};
use ottla_protocol::messages::register_broker_record::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};

use crate::api_error::ApiError;
use crate::context::{ControllerOptions, RequestContext};
use crate::controller_result::ControllerResult;
use crate::heartbeats::BrokerHeartbeats;
use crate::leader_updates::broker_restarted;
use crate::state::ControllerState;

/// A registration that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerRegistrationReply {
    /// The broker's epoch from now on.
    pub epoch: i64,
}

/// Who asks for a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerOrigin {
    /// The broker in this process: it holds the lock of the data directory, so no earlier process of its id is alive and a session of one
    /// need not run out first.
    ThisProcess,
    /// A broker over the network.
    Remote,
}

pub(crate) struct RegisterBroker<'a> {
    pub state: &'a ControllerState,
    pub options: &'a ControllerOptions,
    pub heartbeats: &'a BrokerHeartbeats,
    /// The quorum's `kraft.version`, which is not in the metadata image.
    pub kraft_version: i16,
    pub origin: BrokerOrigin,
}

impl RegisterBroker<'_> {
    pub fn handle(
        &self,
        context: &RequestContext<'_>,
        request: &BrokerRegistrationRequest,
        version: i16,
    ) -> Result<ControllerResult<BrokerRegistrationReply>, ApiError> {
        let id = BrokerId(request.broker_id);
        let existing = self.state.broker(id);
        self.check_identity(context, request, existing)?;
        self.check_directories(request)?;
        check_listeners(&request.listeners)?;
        self.check_features(&request.features)?;

        let same_process = existing.filter(|existing| existing.incarnation_id == request.incarnation_id);
        let mut records = Vec::new();
        let (epoch, fenced, in_controlled_shutdown) = match same_process {
            Some(existing) => (existing.epoch, existing.fenced, existing.in_controlled_shutdown),
            None => {
                let stopped_cleanly = version >= 3 && existing.is_some_and(|existing| existing.epoch == request.previous_broker_epoch);
                broker_restarted(self.state, id, stopped_cleanly, &mut records);
                (context.next_write_offset, true, false)
            }
        };
        let record = RegisterBrokerRecord { broker_epoch: epoch, fenced, in_controlled_shutdown, ..self.record(request) };
        records.push(record.into());
        Ok(ControllerResult::of(records, BrokerRegistrationReply { epoch }))
    }

    fn check_identity(
        &self,
        context: &RequestContext<'_>,
        request: &BrokerRegistrationRequest,
        existing: Option<&BrokerRegistration>,
    ) -> Result<(), ApiError> {
        if request.cluster_id != self.options.cluster_id {
            let message = format!("Expected cluster ID {}, but got cluster ID {}", self.options.cluster_id, request.cluster_id);
            return Err(ApiError::new(ErrorCode::InconsistentClusterId, message));
        }
        if let Some(existing) = existing.filter(|_| self.origin == BrokerOrigin::Remote)
            && existing.incarnation_id != request.incarnation_id
            && self.heartbeats.has_valid_session(existing.id, existing.epoch, context.now_ms)
        {
            let message = "Another broker is registered with that broker id. If the broker was recently restarted this should self-resolve \
                           once the heartbeat manager expires the broker's session.";
            return Err(ApiError::new(ErrorCode::DuplicateBrokerRegistration, message));
        }
        if request.is_migrating_zk_broker {
            return Err(ApiError::new(ErrorCode::BrokerIdNotRegistered, "Controller does not support registering ZK brokers."));
        }
        Ok(())
    }

    fn check_directories(&self, request: &BrokerRegistrationRequest) -> Result<(), ApiError> {
        let invalid = |message: String| Err(ApiError::new(ErrorCode::InvalidRegistration, message));
        if !self.state.metadata_version().is_directory_assignment_supported() {
            return Ok(());
        }
        if request.log_dirs.is_empty() {
            return invalid("No directories specified in request".to_owned());
        }
        if request.log_dirs.iter().any(|directory| u128::from_be_bytes(*directory.as_bytes()) < 100) {
            return invalid("Reserved directory ID in request".to_owned());
        }
        let mut seen = HashSet::new();
        if !request.log_dirs.iter().all(|directory| seen.insert(directory)) {
            return invalid("Duplicate directory ID in request".to_owned());
        }
        for other in self.state.image.cluster.brokers().filter(|other| other.id.0 != request.broker_id) {
            if let Some(directory) = request.log_dirs.iter().find(|directory| other.directories.contains(directory)) {
                return invalid(format!("Broker {} is already registered with directory {directory}", other.id));
            }
        }
        Ok(())
    }

    /// The broker must be able to serve every finalized level; a feature that it does not name it has at level 0.
    fn check_features(&self, features: &[Feature]) -> Result<(), ApiError> {
        let named: BTreeMap<&str, VersionRange> = features
            .iter()
            .map(|feature| (&*feature.name, VersionRange { min: feature.min_supported_version, max: feature.max_supported_version }))
            .collect();
        for (&name, &range) in &named {
            self.check_feature(name, range)?;
        }
        if !named.contains_key(MetadataVersion::FEATURE_NAME) {
            return Err(ApiError::new(ErrorCode::InvalidRegistration, "Request features do not contain 'metadata.version'"));
        }
        for (name, _) in self.state.image.features.finalized().filter(|(name, _)| !named.contains_key(name)) {
            self.check_feature(name, VersionRange::DISABLED)?;
        }
        Ok(())
    }

    fn check_feature(&self, name: &str, range: VersionRange) -> Result<(), ApiError> {
        let is_kraft_version = name == ottla_metadata::feature::KRAFT_VERSION;
        let finalized = if is_kraft_version { self.kraft_version } else { self.state.image.features.level(name) };
        if range.contains(finalized) {
            return Ok(());
        }
        // What this node itself does not serve is kept and not offered to clients; there is no other broker that could be told to go.
        let is_own = self.origin == BrokerOrigin::ThisProcess && name != MetadataVersion::FEATURE_NAME;
        if is_own && finalized > range.max {
            return Ok(());
        }
        let message = format!(
            "Unable to register because the broker does not support finalized version {finalized} of {name}. The broker wants a version \
             between {} and {}, inclusive.",
            range.min, range.max
        );
        Err(ApiError::new(ErrorCode::UnsupportedVersion, message))
    }

    fn record(&self, request: &BrokerRegistrationRequest) -> RegisterBrokerRecord {
        let endpoint = |listener: &Listener| BrokerEndpoint {
            name: listener.name.clone(),
            host: listener.host.clone(),
            port: listener.port,
            security_protocol: listener.security_protocol,
            ..Default::default()
        };
        let feature = |feature: &Feature| BrokerFeature {
            name: feature.name.clone(),
            min_supported_version: feature.min_supported_version,
            max_supported_version: feature.max_supported_version,
            ..Default::default()
        };
        let with_directories = self.state.metadata_version().is_directory_assignment_supported();
        RegisterBrokerRecord {
            broker_id: request.broker_id,
            incarnation_id: request.incarnation_id,
            rack: request.rack.clone(),
            end_points: request.listeners.iter().map(endpoint).collect(),
            features: request.features.iter().map(feature).collect(),
            log_dirs: if with_directories { request.log_dirs.clone() } else { Vec::new() },
            ..Default::default()
        }
    }
}

/// PLAINTEXT 0, SSL 1, SASL_PLAINTEXT 2 and SASL_SSL 3 are all there is. Kafka answers others as an unexpected error, without a text.
fn check_listeners(listeners: &[Listener]) -> Result<(), ApiError> {
    let known = listeners.iter().all(|listener| (0..=3).contains(&listener.security_protocol));
    if known { Ok(()) } else { Err(ApiError::bare(ErrorCode::UnknownServerError)) }
}
