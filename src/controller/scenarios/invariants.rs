//! Whatever happens to brokers, topics and replicas, and in whatever order, these hold: a leader is live and in sync, the ISR is made of
//! replicas, nobody is both in sync and merely eligible, and the log alone gives the same state again.

use ottla_protocol::messages::alter_partition_reassignments_request::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::delete_topics_request::DeleteTopicsRequest;
use ottla_protocol::messages::elect_leaders_request::ElectLeadersRequest;
use proptest::prelude::*;

use super::*;

const BROKERS: [i32; 4] = [1, 2, 3, 4];

#[derive(Clone, Debug)]
enum Step {
    Create { name: u8, partitions: i32, replicas: i16 },
    Delete { name: u8 },
    Fence(i32),
    Heartbeat(i32),
    Shutdown(i32),
    Restart { broker: i32, clean: bool },
    Expire { ms: i64 },
    Reassign { name: u8, partition: i32, replicas: Option<Vec<i32>> },
    SetIsr { name: u8, partition: i32, members: u8 },
    Elect { unclean: bool },
    Balance,
}

fn step() -> impl Strategy<Value = Step> {
    let broker = || prop::sample::select(&BROKERS[..]);
    prop_oneof![
        (0u8..4, 1i32..4, 1i16..4).prop_map(|(name, partitions, replicas)| Step::Create { name, partitions, replicas }),
        (0u8..4).prop_map(|name| Step::Delete { name }),
        broker().prop_map(Step::Fence),
        broker().prop_map(Step::Heartbeat),
        broker().prop_map(Step::Heartbeat),
        broker().prop_map(Step::Shutdown),
        (broker(), any::<bool>()).prop_map(|(broker, clean)| Step::Restart { broker, clean }),
        (0i64..12_000).prop_map(|ms| Step::Expire { ms }),
        (0u8..4, 0i32..3, prop::option::of(prop::sample::subsequence(&BROKERS[..], 1..4)))
            .prop_map(|(name, partition, replicas)| Step::Reassign { name, partition, replicas }),
        (0u8..4, 0i32..3, any::<u8>()).prop_map(|(name, partition, members)| Step::SetIsr { name, partition, members }),
        any::<bool>().prop_map(|unclean| Step::Elect { unclean }),
        Just(Step::Balance),
    ]
}

impl Cluster {
    fn take(&mut self, step: Step) {
        match step {
            Step::Create { name, partitions, replicas } => {
                let result = self.try_create(vec![topic(&format!("t{name}"), partitions, replicas)]).unwrap();
                self.commit(result);
            }
            Step::Delete { name } => {
                let request = DeleteTopicsRequest { topic_names: vec![format!("t{name}")], ..Default::default() };
                let rights = DeleteTopicsRights { describe: &|_| true, delete: &|_| true };
                let result = self.controller.delete_topics(&request, 5, rights).unwrap();
                self.commit(result);
            }
            // A broker that is not registered is told so; nothing changes then.
            Step::Fence(broker) => drop(self.heartbeat(broker, |request| request.want_fence = true)),
            Step::Heartbeat(broker) => {
                // A broker that is on its way out does not change its mind.
                let registration = self.controller.image().cluster.broker(BrokerId(broker));
                let stopping = registration.is_some_and(|registration| registration.in_controlled_shutdown);
                drop(self.heartbeat(broker, |request| request.want_shut_down = stopping));
            }
            Step::Shutdown(broker) => {
                let reply = self.heartbeat(broker, |request| request.want_shut_down = true);
                if reply.is_ok_and(|reply| reply.in_controlled_shutdown) {
                    self.controller.controlled_shutdown_recorded(BrokerId(broker), self.log.len() as i64 - 1);
                }
            }
            Step::Restart { broker, clean } => {
                let epoch = self.controller.image().cluster.broker(BrokerId(broker)).map_or(-1, |broker| broker.epoch);
                let previous_broker_epoch = if clean { epoch } else { -1 };
                let request = BrokerRegistrationRequest { previous_broker_epoch, ..registration(broker, self.log.len() as u64) };
                let result =
                    self.with_context(|controller, context| controller.register_broker(context, &request, 4, BrokerOrigin::ThisProcess));
                self.commit(result.unwrap());
            }
            Step::Expire { ms } => {
                self.now_ms += ms;
                while let Some(result) = self.controller.fence_expired_broker(self.now_ms) {
                    self.commit(result);
                }
            }
            Step::Reassign { name, partition, replicas } => {
                let partitions = vec![ReassignablePartition { partition_index: partition, replicas, ..Default::default() }];
                let topics = vec![ReassignableTopic { name: format!("t{name}"), partitions, ..Default::default() }];
                let request = AlterPartitionReassignmentsRequest { topics, ..Default::default() };
                let result = self.controller.alter_partition_reassignments(&request).unwrap();
                self.commit(result);
            }
            Step::SetIsr { name, partition, members } => self.set_isr(&format!("t{name}"), partition, members),
            Step::Elect { unclean } => {
                let request = ElectLeadersRequest { election_type: i8::from(unclean), topic_partitions: None, ..Default::default() };
                let result = self.controller.elect_leaders(&request).unwrap();
                self.commit(result);
            }
            Step::Balance => {
                let result = self.controller.balance_partition_leaders();
                self.commit(result);
            }
        }
    }

    /// The leader asks for an ISR of some of the replicas; the controller may refuse.
    fn set_isr(&mut self, name: &str, number: i32, members: u8) {
        use ottla_protocol::messages::alter_partition_request::{AlterPartitionRequest, BrokerState, PartitionData, TopicData};
        let Some(topic) = self.controller.image().topics.by_name(name).cloned() else { return };
        let Some(partition) = topic.partitions.get(&number).filter(|partition| partition.has_leader()) else { return };
        let chosen = partition.replicas.iter().zip(0..).filter(|&(&broker, bit)| broker == partition.leader || members >> bit & 1 == 1);
        let data = PartitionData {
            partition_index: number,
            leader_epoch: partition.leader_epoch.0,
            partition_epoch: partition.partition_epoch,
            new_isr_with_epochs: chosen.map(|(broker, _)| BrokerState { broker_id: broker.0, ..Default::default() }).collect(),
            ..Default::default()
        };
        let broker_epoch = self.controller.image().cluster.broker(partition.leader).unwrap().epoch;
        let topics = vec![TopicData { topic_id: topic.id, partitions: vec![data], ..Default::default() }];
        let request = AlterPartitionRequest { broker_id: partition.leader.0, broker_epoch, topics, ..Default::default() };
        let result = self.controller.alter_partition(&request, 3).unwrap();
        self.commit(result);
    }

    fn check_partitions(&self, elr: bool) {
        let image = self.controller.image();
        for topic in image.topics.iter() {
            for partition in topic.partitions.values() {
                let isr = &partition.isr;
                assert!(isr.iter().all(|member| partition.replicas.contains(member)), "{partition:?}");
                assert!(partition.elr.iter().all(|member| partition.replicas.contains(member) && !isr.contains(member)), "{partition:?}");
                assert!(elr || (!isr.is_empty() && partition.elr.is_empty() && partition.last_known_elr.is_empty()), "{partition:?}");
                assert_eq!(partition.directories.len(), partition.replicas.len());
                if partition.has_leader() {
                    let leader = image.cluster.broker(partition.leader).expect("a leader is registered");
                    assert!(
                        isr.contains(&partition.leader) && !leader.fenced && !leader.in_controlled_shutdown,
                        "{partition:?} {leader:?}"
                    );
                }
            }
        }
    }
}

fn check(steps: Vec<Step>, elr: bool) {
    let mut cluster = Cluster::at(33, elr);
    cluster.start_brokers(&BROKERS);
    for step in steps {
        cluster.take(step);
        cluster.check_partitions(elr);
    }
    let mut image = MetadataImage::default();
    for record in &cluster.log {
        image.replay(record).unwrap();
    }
    assert_eq!(&image, cluster.controller.image());
    let mut from_snapshot = MetadataImage::default();
    for record in image.to_records() {
        from_snapshot.replay(&record).unwrap();
    }
    assert_eq!(from_snapshot, image);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..Default::default() })]

    #[test]
    fn partitions_are_sound_without_eligible_replicas(steps in prop::collection::vec(step(), 0..60)) {
        check(steps, false);
    }

    #[test]
    fn partitions_are_sound_with_eligible_replicas(steps in prop::collection::vec(step(), 0..60)) {
        check(steps, true);
    }
}
