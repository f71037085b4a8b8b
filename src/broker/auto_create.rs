//! Topics that are created because somebody asked for them: by Metadata, if `auto.create.topics.enable` says so, or because a coordinator
//! needs its internal topic (`DefaultAutoTopicCreationManager`). Nobody waits for them: clients ask again.

use std::sync::Arc;

use ottla_config::BrokerConfig;
use ottla_controller::CreateTopicsRights;
use ottla_model::{ErrorCode, internal_topic};
use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};

use crate::broker::Broker;

/// Leaves the number to the controller.
const BY_DEFAULT: i32 = -1;

impl Broker {
    /// Creates those of the topics that are not being created already.
    pub fn auto_create_topics(self: &Arc<Self>, mut names: Vec<String>) {
        {
            let mut in_flight = self.topics_being_created.lock();
            names.retain(|name| in_flight.insert(name.clone()));
        }
        if names.is_empty() {
            return;
        }
        let broker = self.clone();
        self.environment().blocking.run(Box::new(move || {
            let config = broker.config();
            let topics = names.iter().map(|name| creatable(&config, name)).collect();
            let request = CreateTopicsRequest { topics, timeout_ms: config.request_timeout_ms, ..CreateTopicsRequest::default() };
            let outcome = broker.submit(|controller, context| {
                controller.create_topics(context, &request, CreateTopicsRights { create: &|_| true, describe_configs: &|_| true })
            });
            broker.topics_being_created.lock().retain(|name| !names.contains(name));
            match outcome {
                Ok(response) => {
                    for topic in response.topics.iter().filter(|topic| topic.error_code != ErrorCode::None.code()) {
                        let message = topic.error_message.as_deref().unwrap_or("");
                        tracing::warn!(topic = topic.name, error = topic.error_code, message, "a topic could not be created automatically");
                    }
                }
                Err(error) => tracing::warn!(topics = ?names, %error, "topics could not be created automatically"),
            }
        }));
    }
}

/// A topic with the configuration that Kafka gives it when it creates it by itself.
fn creatable(config: &BrokerConfig, name: &str) -> CreatableTopic {
    match name {
        internal_topic::CONSUMER_OFFSETS => topic(
            name,
            (config.offsets_topic_num_partitions, config.offsets_topic_replication_factor),
            &[
                ("cleanup.policy", "compact".to_owned()),
                ("compression.type", "producer".to_owned()),
                ("segment.bytes", config.offsets_topic_segment_bytes.to_string()),
            ],
        ),
        internal_topic::TRANSACTION_STATE => topic(
            name,
            (config.transaction_state_log_num_partitions, config.transaction_state_log_replication_factor),
            &[
                ("cleanup.policy", "compact".to_owned()),
                ("compression.type", "uncompressed".to_owned()),
                ("min.insync.replicas", config.transaction_state_log_min_isr.to_string()),
                ("segment.bytes", config.transaction_state_log_segment_bytes.to_string()),
                ("unclean.leader.election.enable", "false".to_owned()),
            ],
        ),
        internal_topic::SHARE_GROUP_STATE => topic(
            name,
            (config.share_coordinator_state_topic_num_partitions, config.share_coordinator_state_topic_replication_factor),
            &[
                ("cleanup.policy", "delete".to_owned()),
                ("compression.type", "producer".to_owned()),
                ("min.insync.replicas", config.share_coordinator_state_topic_min_isr.to_string()),
                ("retention.ms", "-1".to_owned()),
                ("segment.bytes", config.share_coordinator_state_topic_segment_bytes.to_string()),
            ],
        ),
        _ => topic(name, (BY_DEFAULT, BY_DEFAULT as i16), &[]),
    }
}

fn topic(name: &str, (num_partitions, replication_factor): (i32, i16), configs: &[(&str, String)]) -> CreatableTopic {
    let config = |(name, value): &(&str, String)| CreatableTopicConfig {
        name: (*name).to_owned(),
        value: Some(value.clone()),
        ..CreatableTopicConfig::default()
    };
    CreatableTopic {
        name: name.to_owned(),
        num_partitions,
        replication_factor,
        configs: configs.iter().map(config).collect(),
        ..CreatableTopic::default()
    }
}
