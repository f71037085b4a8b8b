//! Dynamic configuration by resource. What a key means, and whether a value is valid, is not known here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ottla_protocol::messages::config_record::ConfigRecord;

use crate::record::MetadataRecord;
use crate::shared_map::SharedMap;

/// What a configuration belongs to, with Kafka's numbers (`ConfigResource.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i8)]
pub enum ConfigResourceType {
    /// A number that Kafka 4.4 does not know.
    Unknown = 0,
    /// A topic, by name.
    Topic = 2,
    /// A broker, by id; the empty name is the cluster-wide default.
    Broker = 4,
    /// A broker's log levels, which are not in the metadata log.
    BrokerLogger = 8,
    /// A subscription to client metrics (KIP-714).
    ClientMetrics = 16,
    /// A group, by id.
    Group = 32,
}

impl ConfigResourceType {
    /// The type with this number (`ConfigResource.Type.forId`).
    pub fn from_id(id: i8) -> ConfigResourceType {
        match id {
            2 => ConfigResourceType::Topic,
            4 => ConfigResourceType::Broker,
            8 => ConfigResourceType::BrokerLogger,
            16 => ConfigResourceType::ClientMetrics,
            32 => ConfigResourceType::Group,
            _ => ConfigResourceType::Unknown,
        }
    }

    /// The number in records and messages.
    pub const fn id(self) -> i8 {
        self as i8
    }
}

impl fmt::Display for ConfigResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigResourceType::Unknown => "UNKNOWN",
            ConfigResourceType::Topic => "TOPIC",
            ConfigResourceType::Broker => "BROKER",
            ConfigResourceType::BrokerLogger => "BROKER_LOGGER",
            ConfigResourceType::ClientMetrics => "CLIENT_METRICS",
            ConfigResourceType::Group => "GROUP",
        })
    }
}

/// A resource that can be configured.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigResource {
    /// What kind of resource.
    pub resource_type: ConfigResourceType,
    /// Its name.
    pub name: String,
}

impl ConfigResource {
    /// The resource of this type and name.
    pub fn new(resource_type: ConfigResourceType, name: impl Into<String>) -> ConfigResource {
        ConfigResource { resource_type, name: name.into() }
    }

    /// A topic.
    pub fn topic(name: impl Into<String>) -> ConfigResource {
        ConfigResource::new(ConfigResourceType::Topic, name)
    }

    /// A broker; the empty name is the cluster-wide default.
    pub fn broker(name: impl Into<String>) -> ConfigResource {
        ConfigResource::new(ConfigResourceType::Broker, name)
    }
}

/// `ConfigResource(type=TOPIC, name='foo')`, as Kafka's messages have it.
impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigResource(type={}, name='{}')", self.resource_type, self.name)
    }
}

/// The values that are set on one resource.
pub type ConfigurationImage = BTreeMap<String, String>;

/// All dynamic configuration (`ConfigurationsImage`). A resource without a value is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigurationsImage {
    resources: SharedMap<ConfigResource, Arc<ConfigurationImage>>,
}

impl ConfigurationsImage {
    /// The values set on `resource`.
    pub fn resource(&self, resource: &ConfigResource) -> Option<&Arc<ConfigurationImage>> {
        self.resources.get(resource)
    }

    /// The value of one key of `resource`.
    pub fn value(&self, resource: &ConfigResource, key: &str) -> Option<&str> {
        self.resource(resource)?.get(key).map(String::as_str)
    }

    /// Every resource that has a value.
    pub fn iter(&self) -> impl Iterator<Item = (&ConfigResource, &Arc<ConfigurationImage>)> {
        self.resources.iter()
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    pub(super) fn replay(&mut self, record: &ConfigRecord) -> ConfigResource {
        let resource = ConfigResource::new(ConfigResourceType::from_id(record.resource_type), record.resource_name.clone());
        match (&record.value, self.resources.get_mut(&resource)) {
            (Some(value), Some(values)) => {
                Arc::make_mut(values).insert(record.name.clone(), value.clone());
            }
            (Some(value), None) => {
                let values = BTreeMap::from([(record.name.clone(), value.clone())]);
                self.resources.insert(resource.clone(), Arc::new(values));
            }
            (None, Some(values)) => {
                let values = Arc::make_mut(values);
                values.remove(&record.name);
                if values.is_empty() {
                    self.resources.remove(&resource);
                }
            }
            (None, None) => {}
        }
        resource
    }

    /// Forgets a resource; tells whether it had values.
    pub(super) fn remove(&mut self, resource: &ConfigResource) -> bool {
        self.resources.remove(resource).is_some()
    }

    pub(super) fn write(&self, records: &mut Vec<MetadataRecord>) {
        for (resource, values) in &self.resources {
            records.extend(values.iter().map(|(name, value)| {
                ConfigRecord {
                    resource_type: resource.resource_type.id(),
                    resource_name: resource.name.clone(),
                    name: name.clone(),
                    value: Some(value.clone()),
                    ..Default::default()
                }
                .into()
            }));
        }
    }
}
