//! Client quotas by entity, and how they are described.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::messages::client_quota_record::{ClientQuotaRecord, EntityData};

use crate::record::MetadataRecord;
use crate::shared_map::SharedMap;

/// Whom a quota is for: a name by entity type (`user`, `client-id`, `ip`); no name is the default of the type.
pub type ClientQuotaEntity = BTreeMap<String, Option<String>>;

/// All client quotas (`ClientQuotasImage`). An entity without a quota is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientQuotasImage {
    entities: SharedMap<ClientQuotaEntity, Arc<BTreeMap<String, f64>>>,
}

impl ClientQuotasImage {
    /// The quotas of an entity, by key.
    pub fn entity(&self, entity: &ClientQuotaEntity) -> Option<&Arc<BTreeMap<String, f64>>> {
        self.entities.get(entity)
    }

    /// Every entity and its quotas.
    pub fn iter(&self) -> impl Iterator<Item = (&ClientQuotaEntity, &Arc<BTreeMap<String, f64>>)> {
        self.entities.iter()
    }

    /// Whether there is no quota.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    pub(super) fn replay(&mut self, record: &ClientQuotaRecord) -> ClientQuotaEntity {
        let entity: ClientQuotaEntity = record.entity.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone())).collect();
        match (record.remove, self.entities.get_mut(&entity)) {
            (false, Some(quotas)) => {
                Arc::make_mut(quotas).insert(record.key.clone(), record.value);
            }
            (false, None) => {
                self.entities.insert(entity.clone(), Arc::new(BTreeMap::from([(record.key.clone(), record.value)])));
            }
            (true, Some(quotas)) => {
                let quotas = Arc::make_mut(quotas);
                quotas.remove(&record.key);
                if quotas.is_empty() {
                    self.entities.remove(&entity);
                }
            }
            (true, None) => {}
        }
        entity
    }

    pub(super) fn write(&self, records: &mut Vec<MetadataRecord>) {
        for (entity, quotas) in &self.entities {
            records.extend(quotas.iter().map(|(key, &value)| client_quota_record(entity, key, Some(value))));
        }
    }
}

/// The record that sets a quota, or removes it when there is no value.
pub fn client_quota_record(entity: &ClientQuotaEntity, key: &str, value: Option<f64>) -> MetadataRecord {
    let part = |(entity_type, name): (&String, &Option<String>)| EntityData {
        entity_type: entity_type.clone(),
        entity_name: name.clone(),
        ..Default::default()
    };
    ClientQuotaRecord {
        entity: entity.iter().map(part).collect(),
        key: key.to_owned(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
        ..Default::default()
    }
    .into()
}
