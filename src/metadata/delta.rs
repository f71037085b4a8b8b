//! From one image to the next: records are replayed on a copy, and what they changed is noted for those who act on it
//! (`MetadataDelta`; the transactions are those of `MetadataBatchLoader`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_model::{BrokerId, Uuid};

use crate::image::{Change, ClientQuotaEntity, ConfigResource, MetadataImage, MetadataProvenance, ReplayError, TopicImage};
use crate::record::MetadataRecord;

/// What differs between two images. Something may be named that was changed back in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataChanges {
    /// Topics that were not there before.
    pub created_topics: BTreeSet<Uuid>,
    /// Topics that are no longer there, as they were.
    pub deleted_topics: BTreeMap<Uuid, Arc<TopicImage>>,
    /// Partitions that are new or different. Those of deleted topics are not named.
    pub partitions: BTreeSet<(Uuid, i32)>,
    /// Resources whose configuration changed, those of deleted topics included.
    pub configs: BTreeSet<ConfigResource>,
    /// Features whose level changed.
    pub features: BTreeSet<String>,
    /// Brokers that are new, different or gone.
    pub brokers: BTreeSet<BrokerId>,
    /// Controllers that are new, different or gone.
    pub controllers: BTreeSet<BrokerId>,
    /// Entities whose quotas changed.
    pub client_quotas: BTreeSet<ClientQuotaEntity>,
    /// Whether a block of producer ids was given out.
    pub producer_ids: bool,
    /// Whether access control entries, credentials or tokens changed.
    pub security: bool,
}

impl MetadataChanges {
    /// Whether there is no difference.
    pub fn is_empty(&self) -> bool {
        *self == MetadataChanges::default()
    }

    fn note(&mut self, change: Change, base: &MetadataImage) {
        match change {
            Change::None => {}
            Change::Feature(name) => {
                self.features.insert(name);
            }
            Change::Broker(id) => {
                self.brokers.insert(id);
            }
            Change::Controller(id) => {
                self.controllers.insert(id);
            }
            Change::TopicCreated(id) => {
                self.created_topics.insert(id);
            }
            Change::TopicDeleted(topic) => self.note_deleted(topic, base),
            Change::Partition { topic_id, partition, .. } => {
                self.partitions.insert((topic_id, partition));
            }
            Change::ElrsCleared(partitions) => self.partitions.extend(partitions),
            Change::Config(resource) => {
                self.configs.insert(resource);
            }
            Change::ClientQuota(entity) => {
                self.client_quotas.insert(entity);
            }
            Change::ProducerIds => self.producer_ids = true,
            Change::Security => self.security = true,
        }
    }

    fn note_deleted(&mut self, topic: Arc<TopicImage>, base: &MetadataImage) {
        for &partition in topic.partitions.keys() {
            self.partitions.remove(&(topic.id, partition));
        }
        let resource = ConfigResource::topic(&*topic.name);
        if base.configs.resource(&resource).is_some() {
            self.configs.insert(resource);
        }
        if !self.created_topics.remove(&topic.id)
            && let Some(original) = base.topics.by_id(topic.id)
        {
            self.deleted_topics.insert(topic.id, original.clone());
        }
    }

    /// What differs between two images that do not follow from each other, as when a snapshot replaces what is known.
    fn between(base: &MetadataImage, image: &MetadataImage) -> MetadataChanges {
        let mut changes = MetadataChanges {
            producer_ids: base.next_producer_id != image.next_producer_id,
            security: base.security != image.security,
            ..Default::default()
        };
        for topic in base.topics.iter_by_id().filter(|topic| image.topics.by_id(topic.id).is_none()) {
            changes.deleted_topics.insert(topic.id, topic.clone());
        }
        for topic in image.topics.iter_by_id() {
            let before = base.topics.by_id(topic.id);
            if before.is_none() {
                changes.created_topics.insert(topic.id);
            }
            let differs = |number: &i32, partition: &_| before.and_then(|before| before.partitions.get(number)) != Some(partition);
            let different = topic.partitions.iter().filter(|(number, partition)| differs(number, partition));
            changes.partitions.extend(different.map(|(&number, _)| (topic.id, number)));
        }
        changes.configs = differing_keys(base.configs.iter(), image.configs.iter());
        changes.client_quotas = differing_keys(base.client_quotas.iter(), image.client_quotas.iter());
        changes.brokers = differing_keys(
            base.cluster.brokers().map(|broker| (&broker.id, broker)),
            image.cluster.brokers().map(|broker| (&broker.id, broker)),
        );
        changes.controllers = differing_keys(
            base.cluster.controllers().map(|node| (&node.id, node)),
            image.cluster.controllers().map(|node| (&node.id, node)),
        );
        let levels =
            |image: &MetadataImage| image.features.finalized().map(|(name, level)| (name.to_owned(), level)).collect::<BTreeMap<_, _>>();
        changes.features = differing_keys(levels(base).iter(), levels(image).iter());
        changes
    }
}

/// The keys that only one side has, or that have another value there.
fn differing_keys<'a, K: Ord + Clone + 'a, V: PartialEq + 'a>(
    base: impl Iterator<Item = (&'a K, &'a V)>,
    image: impl Iterator<Item = (&'a K, &'a V)>,
) -> BTreeSet<K> {
    let mut base: BTreeMap<&K, &V> = base.collect();
    let mut differing: BTreeSet<K> = image.filter(|(key, value)| base.remove(key) != Some(*value)).map(|(key, _)| key.clone()).collect();
    differing.extend(base.into_keys().cloned());
    differing
}

/// Records replayed on top of an image.
#[derive(Debug)]
pub struct MetadataDelta {
    base: MetadataImage,
    image: MetadataImage,
    changes: MetadataChanges,
    /// The state at the beginning of the metadata transaction that is open.
    before_transaction: Option<(MetadataImage, MetadataChanges)>,
}

impl MetadataDelta {
    /// No changes yet.
    pub fn new(base: MetadataImage) -> MetadataDelta {
        MetadataDelta { image: base.clone(), base, changes: MetadataChanges::default(), before_transaction: None }
    }

    /// For the records of a snapshot that replaces `base`; end with [`MetadataDelta::finish_snapshot`].
    pub fn for_snapshot(base: MetadataImage) -> MetadataDelta {
        MetadataDelta { image: MetadataImage::default(), base, changes: MetadataChanges::default(), before_transaction: None }
    }

    /// The image without the changes.
    pub fn base(&self) -> &MetadataImage {
        &self.base
    }

    /// The image with the changes so far, those of an open transaction included.
    pub fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// What the records changed so far.
    pub fn changes(&self) -> &MetadataChanges {
        &self.changes
    }

    /// Whether a transaction is open: its records may yet be aborted, so nothing may be published.
    pub fn in_transaction(&self) -> bool {
        self.before_transaction.is_some()
    }

    /// Replays one record.
    pub fn replay(&mut self, record: &MetadataRecord) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::BeginTransaction(_) => {
                if self.in_transaction() {
                    return Err(ReplayError::Transaction { record: "BeginTransactionRecord", state: "a transaction" });
                }
                self.before_transaction = Some((self.image.clone(), self.changes.clone()));
            }
            MetadataRecord::EndTransaction(_) => {
                self.before_transaction
                    .take()
                    .ok_or(ReplayError::Transaction { record: "EndTransactionRecord", state: "no transaction" })?;
            }
            MetadataRecord::AbortTransaction(_) => {
                let before = self.before_transaction.take();
                (self.image, self.changes) =
                    before.ok_or(ReplayError::Transaction { record: "AbortTransactionRecord", state: "no transaction" })?;
            }
            other => {
                let change = self.image.replay(other)?;
                self.changes.note(change, &self.base);
            }
        }
        Ok(())
    }

    /// All records of a snapshot were replayed: what it did not mention is gone.
    pub fn finish_snapshot(&mut self) {
        self.changes = MetadataChanges::between(&self.base, &self.image);
    }

    /// The image up to `provenance`, and what is different in it.
    pub fn apply(self, provenance: MetadataProvenance) -> (MetadataImage, MetadataChanges) {
        (MetadataImage { provenance, ..self.image }, self.changes)
    }
}
