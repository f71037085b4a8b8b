//! The registered brokers and controllers.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_model::{BrokerId, Uuid};
use ottla_protocol::messages::broker_registration_change_record::BrokerRegistrationChangeRecord;
use ottla_protocol::messages::register_broker_record::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
use ottla_protocol::messages::register_controller_record::{ControllerEndpoint, ControllerFeature, RegisterControllerRecord};

use super::{Change, ReplayError};
use crate::directory_id;
use crate::feature::VersionRange;
use crate::metadata_version::MetadataVersion;
use crate::record::MetadataRecord;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name, e.g. `PLAINTEXT`.
    pub listener: String,
    /// The advertised host.
    pub host: String,
    /// The advertised port.
    pub port: u16,
    /// Kafka's number of the security protocol: PLAINTEXT 0, SSL 1, SASL_PLAINTEXT 2, SASL_SSL 3.
    pub security_protocol: i16,
}

/// A registered broker (`BrokerRegistration`).
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerRegistration {
    /// The broker's id.
    pub id: BrokerId,
    /// The offset of the record that registered it.
    pub epoch: i64,
    /// Which start of the process this is.
    pub incarnation_id: Uuid,
    /// In the order of the registration.
    pub endpoints: Vec<Endpoint>,
    /// The levels that the broker can serve, by feature.
    pub supported_features: BTreeMap<String, VersionRange>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// A fenced broker leads nothing and is not shown to clients.
    pub fenced: bool,
    /// It has asked to shut down and hands over its leaderships.
    pub in_controlled_shutdown: bool,
    /// Left from the migration off ZooKeeper.
    pub is_migrating_zk_broker: bool,
    /// The online log directories.
    pub directories: Vec<Uuid>,
    /// Directories that take no new replicas; `None` when the broker is older than the notion.
    pub cordoned_directories: Option<Vec<Uuid>>,
}

/// A registered controller (`ControllerRegistration`).
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerRegistration {
    /// The controller's node id.
    pub id: BrokerId,
    /// Which start of the process this is.
    pub incarnation_id: Uuid,
    /// Left from the migration off ZooKeeper.
    pub zk_migration_ready: bool,
    /// In the order of the registration.
    pub endpoints: Vec<Endpoint>,
    /// The levels that the controller can serve, by feature.
    pub supported_features: BTreeMap<String, VersionRange>,
}

/// The nodes of the cluster (`ClusterImage`). A cluster has few: a change copies the map, not the registrations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterImage {
    pub(super) brokers: BTreeMap<BrokerId, Arc<BrokerRegistration>>,
    pub(super) controllers: BTreeMap<BrokerId, Arc<ControllerRegistration>>,
}

impl BrokerRegistration {
    /// The endpoint of the listener with this name.
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.listener == listener)
    }

    /// Whether the broker can serve a replica in `directory`.
    pub fn has_online_dir(&self, directory: Uuid) -> bool {
        directory_id::is_online(directory, &self.directories)
    }

    /// Whether some directory takes new replicas.
    pub fn has_uncordoned_dirs(&self) -> bool {
        match &self.cordoned_directories {
            Some(cordoned) if !self.directories.is_empty() => self.directories.iter().any(|directory| !cordoned.contains(directory)),
            _ => true,
        }
    }

    fn from_record(record: &RegisterBrokerRecord) -> BrokerRegistration {
        let endpoint = |endpoint: &BrokerEndpoint| Endpoint {
            listener: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
        };
        let feature = |feature: &BrokerFeature| {
            (feature.name.clone(), VersionRange { min: feature.min_supported_version, max: feature.max_supported_version })
        };
        BrokerRegistration {
            id: BrokerId(record.broker_id),
            epoch: record.broker_epoch,
            incarnation_id: record.incarnation_id,
            endpoints: record.end_points.iter().map(endpoint).collect(),
            supported_features: record.features.iter().map(feature).collect(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            is_migrating_zk_broker: record.is_migrating_zk_broker,
            directories: record.log_dirs.clone(),
            cordoned_directories: record.cordoned_log_dirs.clone(),
        }
    }

    /// The record that registers a broker like this one. What `metadata_version` cannot express is left out.
    pub fn to_record(&self, metadata_version: MetadataVersion) -> MetadataRecord {
        let endpoint = |endpoint: &Endpoint| BrokerEndpoint {
            name: endpoint.listener.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
            ..Default::default()
        };
        let feature = |(name, range): (&String, &VersionRange)| BrokerFeature {
            name: name.clone(),
            min_supported_version: range.min,
            max_supported_version: range.max,
            ..Default::default()
        };
        let log_dirs = if metadata_version.is_directory_assignment_supported() { self.directories.clone() } else { Vec::new() };
        let cordoned_log_dirs = self.cordoned_directories.clone().filter(|_| metadata_version.is_cordoned_log_dirs_supported());
        RegisterBrokerRecord {
            broker_id: self.id.0,
            is_migrating_zk_broker: self.is_migrating_zk_broker && metadata_version.feature_level() >= 8,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch,
            end_points: self.endpoints.iter().map(endpoint).collect(),
            features: self.supported_features.iter().map(feature).collect(),
            rack: self.rack.clone(),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            ..Default::default()
        }
        .into()
    }
}

impl ControllerRegistration {
    fn from_record(record: &RegisterControllerRecord) -> ControllerRegistration {
        let endpoint = |endpoint: &ControllerEndpoint| Endpoint {
            listener: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
        };
        let feature = |feature: &ControllerFeature| {
            (feature.name.clone(), VersionRange { min: feature.min_supported_version, max: feature.max_supported_version })
        };
        ControllerRegistration {
            id: BrokerId(record.controller_id),
            incarnation_id: record.incarnation_id,
            zk_migration_ready: record.zk_migration_ready,
            endpoints: record.end_points.iter().map(endpoint).collect(),
            supported_features: record.features.iter().map(feature).collect(),
        }
    }

    /// The record that registers a controller like this one.
    pub fn to_record(&self) -> MetadataRecord {
        let endpoint = |endpoint: &Endpoint| ControllerEndpoint {
            name: endpoint.listener.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
            ..Default::default()
        };
        let feature = |(name, range): (&String, &VersionRange)| ControllerFeature {
            name: name.clone(),
            min_supported_version: range.min,
            max_supported_version: range.max,
            ..Default::default()
        };
        RegisterControllerRecord {
            controller_id: self.id.0,
            incarnation_id: self.incarnation_id,
            zk_migration_ready: self.zk_migration_ready,
            end_points: self.endpoints.iter().map(endpoint).collect(),
            features: self.supported_features.iter().map(feature).collect(),
            ..Default::default()
        }
        .into()
    }
}

impl ClusterImage {
    /// The broker with this id.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<BrokerRegistration>> {
        self.brokers.get(&id)
    }

    /// The brokers in the order of their ids, the fenced ones included.
    pub fn brokers(&self) -> impl Iterator<Item = &Arc<BrokerRegistration>> {
        self.brokers.values()
    }

    /// The controller with this node id.
    pub fn controller(&self, id: BrokerId) -> Option<&Arc<ControllerRegistration>> {
        self.controllers.get(&id)
    }

    /// The controllers in the order of their ids.
    pub fn controllers(&self) -> impl Iterator<Item = &Arc<ControllerRegistration>> {
        self.controllers.values()
    }

    pub(super) fn register_broker(&mut self, record: &RegisterBrokerRecord) -> Change {
        let id = BrokerId(record.broker_id);
        self.brokers.insert(id, Arc::new(BrokerRegistration::from_record(record)));
        Change::Broker(id)
    }

    pub(super) fn unregister_broker(&mut self, id: BrokerId) -> Result<Change, ReplayError> {
        self.brokers.remove(&id).ok_or(ReplayError::BrokerNotRegistered { id, action: "unregister" })?;
        Ok(Change::Broker(id))
    }

    pub(super) fn register_controller(&mut self, record: &RegisterControllerRecord) -> Change {
        let id = BrokerId(record.controller_id);
        self.controllers.insert(id, Arc::new(ControllerRegistration::from_record(record)));
        Change::Controller(id)
    }

    pub(super) fn unregister_controller(&mut self, id: BrokerId) -> Result<Change, ReplayError> {
        self.controllers.remove(&id).ok_or(ReplayError::ControllerNotRegistered(id))?;
        Ok(Change::Controller(id))
    }

    /// The registration to change; it must be of the epoch that the record names.
    fn broker_at_epoch(&mut self, id: i32, epoch: i64, action: &'static str) -> Result<&mut BrokerRegistration, ReplayError> {
        let id = BrokerId(id);
        let broker = self.brokers.get_mut(&id).ok_or(ReplayError::BrokerNotRegistered { id, action })?;
        if broker.epoch != epoch {
            return Err(ReplayError::BrokerEpoch { id, action, epoch, current: broker.epoch });
        }
        Ok(Arc::make_mut(broker))
    }

    pub(super) fn set_fenced(&mut self, id: i32, epoch: i64, fenced: bool) -> Result<Change, ReplayError> {
        let broker = self.broker_at_epoch(id, epoch, if fenced { "fence" } else { "unfence" })?;
        broker.fenced = fenced;
        Ok(Change::Broker(broker.id))
    }

    pub(super) fn change_registration(&mut self, record: &BrokerRegistrationChangeRecord) -> Result<Change, ReplayError> {
        let id = BrokerId(record.broker_id);
        let fenced = match record.fenced {
            -1 => Some(false),
            0 => None,
            1 => Some(true),
            value => return Err(ReplayError::RegistrationChange { id, field: "fenced", value }),
        };
        let in_controlled_shutdown = match record.in_controlled_shutdown {
            0 => None,
            1 => Some(true),
            value => return Err(ReplayError::RegistrationChange { id, field: "inControlledShutdown", value }),
        };
        let broker = self.broker_at_epoch(record.broker_id, record.broker_epoch, "change")?;
        broker.fenced = fenced.unwrap_or(broker.fenced);
        broker.in_controlled_shutdown = in_controlled_shutdown.unwrap_or(broker.in_controlled_shutdown);
        if !record.log_dirs.is_empty() {
            broker.directories = record.log_dirs.clone();
        }
        if let Some(cordoned) = &record.cordoned_log_dirs {
            broker.cordoned_directories = Some(cordoned.clone());
        }
        Ok(Change::Broker(id))
    }

    pub(super) fn write(&self, metadata_version: MetadataVersion, records: &mut Vec<MetadataRecord>) {
        records.extend(self.brokers().map(|broker| broker.to_record(metadata_version)));
        if metadata_version.is_controller_registration_supported() {
            records.extend(self.controllers().map(|controller| controller.to_record()));
        }
    }
}
