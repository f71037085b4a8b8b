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

fn creatable(config: &BrokerConfig, name: &str) -> CreatableTopic {
    let topic = CreatableTopic { name: name.to_owned(), ..CreatableTopic::default() };
    if name != internal_topic::CONSUMER_OFFSETS {
        return CreatableTopic { num_partitions: BY_DEFAULT, replication_factor: BY_DEFAULT as i16, ..topic };
    }
    let configs = [
        ("cleanup.policy", "compact".to_owned()),
        ("segment.bytes", config.offsets_topic_segment_bytes.to_string()),
        ("compression.type", "producer".to_owned()),
    ];
    CreatableTopic {
        num_partitions: config.offsets_topic_num_partitions,
        replication_factor: config.offsets_topic_replication_factor,
        configs: configs
            .into_iter()
            .map(|(name, value)| CreatableTopicConfig { name: name.to_owned(), value: Some(value), ..CreatableTopicConfig::default() })
            .collect(),
        ..topic
    }
}
