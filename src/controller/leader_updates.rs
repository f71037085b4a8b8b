//! Leaders and ISRs of many partitions after something happened to a broker or a directory: it was fenced, is back, shuts down, went
//! offline (`ReplicationControlManager.generateLeaderAndIsrUpdates` and the `handleBroker...` methods).

use ottla_metadata::{BrokerRegistration, MetadataRecord, PartitionRegistration};
use ottla_model::{BrokerId, Uuid};
use ottla_protocol::messages::broker_registration_change_record::BrokerRegistrationChangeRecord;
use ottla_protocol::messages::unregister_broker_record::UnregisterBrokerRecord;

use crate::partition_change::{ChangeRules, Election, PartitionChange};
use crate::partition_index::TopicIdPartition;
use crate::state::ControllerState;

/// `BrokerRegistrationChangeRecord.fenced`.
const FENCE: i8 = 1;
const UNFENCE: i8 = -1;

/// What happened to a broker, as far as leaderships go.
#[derive(Clone, Copy, Debug)]
enum Happened {
    /// It can lead nothing and leaves all ISRs.
    Gone(BrokerId),
    /// The same, and it may have lost what was not on disk.
    GoneUncleanly(BrokerId),
    /// It can lead again, though the state does not yet say so.
    Back(BrokerId),
}

/// The rules for changes of one topic's partitions.
pub(crate) fn change_rules(state: &ControllerState, topic: &ottla_metadata::TopicImage) -> ChangeRules {
    ChangeRules {
        metadata_version: state.metadata_version(),
        elr_enabled: state.image.features.is_elr_enabled(),
        min_isr: state.effective_min_isr(topic),
    }
}

/// Whether the broker can lead this partition: it is active and its replica's directory is online.
pub(crate) fn can_lead(state: &ControllerState, partition: &PartitionRegistration, broker: BrokerId) -> bool {
    state.is_active(broker) && has_online_directory(state, partition, broker)
}

fn has_online_directory(state: &ControllerState, partition: &PartitionRegistration, broker: BrokerId) -> bool {
    let Some(directory) = partition.directory(broker) else { return false };
    state.broker(broker).is_some_and(|registration| registration.has_online_dir(directory))
}

fn leader_and_isr_updates(
    state: &ControllerState,
    happened: Happened,
    partitions: Vec<TopicIdPartition>,
    records: &mut Vec<MetadataRecord>,
) {
    for key in partitions {
        // The index only names partitions of the image.
        let Some(topic) = state.image.topics.by_id(key.topic_id) else { continue };
        let Some(partition) = topic.partitions.get(&key.partition) else { continue };
        let is_active = |broker| match happened {
            Happened::Gone(gone) | Happened::GoneUncleanly(gone) if gone == broker => false,
            Happened::Back(back) if back == broker => true,
            Happened::Gone(_) | Happened::GoneUncleanly(_) | Happened::Back(_) => state.is_active(broker),
        };
        let is_acceptable_leader = |broker| is_active(broker) && has_online_directory(state, partition, broker);
        let mut change = PartitionChange::new(partition, key, change_rules(state, topic), &is_acceptable_leader);
        if state.unclean_leader_election_enabled(topic) {
            change.election = Election::Unclean;
        }
        match happened {
            Happened::Gone(broker) => change.isr.retain(|&member| member != broker),
            Happened::GoneUncleanly(broker) => {
                change.isr.retain(|&member| member != broker);
                change.unclean_shutdown_replicas.push(broker);
            }
            Happened::Back(_) => {}
        }
        records.extend(change.build(state).map(MetadataRecord::from));
    }
}

/// A broker lost its session or asked to be fenced.
pub(crate) fn broker_fenced(state: &ControllerState, broker: &BrokerRegistration, records: &mut Vec<MetadataRecord>) {
    leader_and_isr_updates(state, Happened::Gone(broker.id), state.partitions.with_isr_member(broker.id), records);
    records.push(fencing_record(broker, FENCE));
}

/// A broker has caught up: it takes over what nobody leads.
pub(crate) fn broker_unfenced(state: &ControllerState, broker: &BrokerRegistration, records: &mut Vec<MetadataRecord>) {
    records.push(fencing_record(broker, UNFENCE));
    leader_and_isr_updates(state, Happened::Back(broker.id), state.partitions.leaderless(), records);
}

fn fencing_record(broker: &BrokerRegistration, fenced: i8) -> MetadataRecord {
    BrokerRegistrationChangeRecord { broker_id: broker.id.0, broker_epoch: broker.epoch, fenced, ..Default::default() }.into()
}

/// A broker is taken out of the cluster.
pub(crate) fn broker_unregistered(state: &ControllerState, broker: &BrokerRegistration, records: &mut Vec<MetadataRecord>) {
    let gone = Happened::Gone(broker.id);
    leader_and_isr_updates(state, gone, state.partitions.with_isr_member(broker.id), records);
    leader_and_isr_updates(state, gone, state.partitions.with_elr_member(broker.id), records);
    records.push(UnregisterBrokerRecord { broker_id: broker.id.0, broker_epoch: broker.epoch, ..Default::default() }.into());
}

/// A broker asks to shut down: its leaderships move to others.
pub(crate) fn broker_in_controlled_shutdown(state: &ControllerState, broker: &BrokerRegistration, records: &mut Vec<MetadataRecord>) {
    if !broker.in_controlled_shutdown {
        let (broker_id, broker_epoch) = (broker.id.0, broker.epoch);
        records.push(BrokerRegistrationChangeRecord { broker_id, broker_epoch, in_controlled_shutdown: 1, ..Default::default() }.into());
    }
    leader_and_isr_updates(state, Happened::Gone(broker.id), state.partitions.with_isr_member(broker.id), records);
}

/// A broker comes back as another process than it was: its old leaderships end. After an unclean stop it is not eligible anywhere.
pub(crate) fn broker_restarted(state: &ControllerState, broker: BrokerId, was_clean: bool, records: &mut Vec<MetadataRecord>) {
    if state.image.features.is_elr_enabled() && !was_clean {
        let gone = Happened::GoneUncleanly(broker);
        leader_and_isr_updates(state, gone, state.partitions.with_isr_member(broker), records);
        leader_and_isr_updates(state, gone, state.partitions.with_elr_member(broker), records);
    } else {
        leader_and_isr_updates(state, Happened::Gone(broker), state.partitions.with_isr_member(broker), records);
    }
}

/// Directories of a broker went offline.
pub(crate) fn directories_offline(
    state: &ControllerState,
    broker: &BrokerRegistration,
    offline: &[Uuid],
    records: &mut Vec<MetadataRecord>,
) {
    let (newly_offline, online): (Vec<Uuid>, Vec<Uuid>) = broker.directories.iter().partition(|directory| offline.contains(directory));
    if newly_offline.is_empty() {
        return;
    }
    for directory in newly_offline {
        leader_and_isr_updates(state, Happened::Gone(broker.id), state.partitions.in_directory(directory), records);
    }
    let (broker_id, broker_epoch) = (broker.id.0, broker.epoch);
    records.push(BrokerRegistrationChangeRecord { broker_id, broker_epoch, log_dirs: online, ..Default::default() }.into());
}

/// A broker says which of its directories take no new replicas.
pub(crate) fn directories_cordoned(broker: &BrokerRegistration, cordoned: &[Uuid], records: &mut Vec<MetadataRecord>) {
    let as_set = |directories: &[Uuid]| directories.iter().copied().collect::<std::collections::BTreeSet<_>>();
    if broker.cordoned_directories.as_deref().is_some_and(|known| as_set(known) == as_set(cordoned)) {
        return;
    }
    let (broker_id, broker_epoch, cordoned_log_dirs) = (broker.id.0, broker.epoch, Some(cordoned.to_vec()));
    records.push(BrokerRegistrationChangeRecord { broker_id, broker_epoch, cordoned_log_dirs, ..Default::default() }.into());
}

/// Replicas of a broker were moved into a directory that is offline.
pub(crate) fn replicas_moved_offline(
    state: &ControllerState,
    broker: BrokerId,
    partitions: Vec<TopicIdPartition>,
    records: &mut Vec<MetadataRecord>,
) {
    leader_and_isr_updates(state, Happened::Gone(broker), partitions, records);
}
