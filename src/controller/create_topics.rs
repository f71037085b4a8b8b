//! CreateTopics: which topics may be created, where their replicas go, and the records that create them
//! (`ControllerApis.createTopics`, `ReplicationControlManager.createTopics`).

use std::collections::{BTreeMap, HashMap, HashSet};

use ottla_metadata::{ConfigResource, ConfigurationImage, MetadataRecord, PartitionRegistration};
use ottla_model::{ErrorCode, Uuid, internal_topic, validate_topic_name};
use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse};
use ottla_protocol::messages::topic_record::TopicRecord;

use crate::alter_configs::{ConfigOperation, incremental_records};
use crate::api_error::{ApiError, RECORDS_PER_USER_OP_MAX};
use crate::assignment::{Assignment, new_partition, validate_assignment};
use crate::context::{ControllerOptions, RequestContext};
use crate::controller_result::ControllerResult;
use crate::placement::{PlacementSpec, UsableBroker, place};
use crate::state::ControllerState;

/// The most partitions that one request may create (`ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`).
const PARTITIONS_PER_BATCH_MAX: i64 = 10_000;

/// What the requester may do with a topic, by name.
#[derive(Clone, Copy)]
pub struct CreateTopicsRights<'a> {
    /// Whether it may create the topic.
    pub create: &'a dyn Fn(&str) -> bool,
    /// Whether it may see the topic's configuration.
    pub describe_configs: &'a dyn Fn(&str) -> bool,
}

/// Everything that one request is decided by.
pub(crate) struct CreateTopics<'a> {
    pub state: &'a ControllerState,
    pub options: &'a ControllerOptions,
    pub brokers: &'a [UsableBroker],
    pub rights: CreateTopicsRights<'a>,
}

/// A topic that can be created.
struct NewTopic {
    partitions: Vec<PartitionRegistration>,
    configs: ConfigurationImage,
    config_records: Vec<MetadataRecord>,
}

impl CreateTopics<'_> {
    pub fn handle(
        &self,
        context: &mut RequestContext<'_>,
        request: &CreateTopicsRequest,
    ) -> Result<ControllerResult<CreateTopicsResponse>, ApiError> {
        let duplicates = duplicate_names(&request.topics);
        let is_asked = |topic: &&CreatableTopic| {
            !duplicates.contains(&*topic.name) && topic.name != internal_topic::CLUSTER_METADATA && (self.rights.create)(&topic.name)
        };
        let topics: Vec<&CreatableTopic> = request.topics.iter().filter(is_asked).collect();
        self.validate_total_partitions(&topics)?;

        let mut records = Vec::new();
        let mut response = CreateTopicsResponse::default();
        for topic in topics {
            let result = self.create_topic(context, topic, &mut records).unwrap_or_else(|error| error_result(&topic.name, error));
            response.topics.push(result);
            if records.len() > RECORDS_PER_USER_OP_MAX {
                return Err(ApiError::excessively_large());
            }
        }
        response.topics.extend(self.refusals(request, &duplicates));
        Ok(ControllerResult::atomic_of(records, response).without_records_if(request.validate_only))
    }

    /// The answers for topics that are not even looked at.
    fn refusals(&self, request: &CreateTopicsRequest, duplicates: &HashSet<&str>) -> Vec<CreatableTopicResult> {
        let mut told = HashSet::new();
        let mut results = Vec::new();
        for topic in &request.topics {
            let error = if duplicates.contains(&*topic.name) {
                ApiError::invalid_request("Duplicate topic name.")
            } else if topic.name == internal_topic::CLUSTER_METADATA {
                ApiError::invalid_request("Creation of internal topic __cluster_metadata is prohibited.")
            } else if !(self.rights.create)(&topic.name) {
                ApiError::new(ErrorCode::TopicAuthorizationFailed, "Authorization failed.")
            } else {
                continue;
            };
            if told.insert(&*topic.name) {
                results.push(error_result(&topic.name, error));
            }
        }
        results
    }

    fn validate_total_partitions(&self, topics: &[&CreatableTopic]) -> Result<(), ApiError> {
        let partitions = |topic: &&CreatableTopic| match (topic.assignments.len(), topic.num_partitions) {
            (0, -1) => i64::from(self.options.num_partitions),
            (0, asked) => i64::from(asked.max(0)),
            (assigned, _) => assigned as i64,
        };
        if topics.iter().map(partitions).sum::<i64>() > PARTITIONS_PER_BATCH_MAX {
            return Err(ApiError::new(ErrorCode::PolicyViolation, "Excessively large number of partitions per request."));
        }
        Ok(())
    }

    fn create_topic(
        &self,
        context: &mut RequestContext<'_>,
        topic: &CreatableTopic,
        records: &mut Vec<MetadataRecord>,
    ) -> Result<CreatableTopicResult, ApiError> {
        self.validate_name(&topic.name)?;
        let (configs, config_records) = self.configs(topic)?;
        let partitions = self.partitions(context, topic)?;
        let new = NewTopic { partitions, configs, config_records };
        let topic_id = context.random_uuid();
        let result = self.success(topic, topic_id, &new);
        records.push(TopicRecord { name: topic.name.clone(), topic_id, ..Default::default() }.into());
        records.extend(new.config_records);
        let options = self.state.image.partition_record_options();
        let numbered = new.partitions.iter().zip(0..);
        records.extend(numbered.map(|(partition, number)| partition.to_record(topic_id, number, options)));
        Ok(result)
    }

    fn validate_name(&self, name: &str) -> Result<(), ApiError> {
        if self.state.topic(name).is_some() {
            return Err(ApiError::new(ErrorCode::TopicAlreadyExists, format!("Topic '{name}' already exists.")));
        }
        if let Some(existing) = self.state.colliding_topic(name) {
            let message = format!("Topic '{name}' collides with existing topic: {existing}");
            return Err(ApiError::new(ErrorCode::InvalidTopicException, message));
        }
        validate_topic_name(name).map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string()))
    }

    /// The topic's values, of which the last one of a name counts, and the records that set them.
    fn configs(&self, topic: &CreatableTopic) -> Result<(ConfigurationImage, Vec<MetadataRecord>), ApiError> {
        let nulls: Vec<&str> = topic.configs.iter().filter(|config| config.value.is_none()).map(|config| &*config.name).collect();
        if !nulls.is_empty() {
            let message = format!("Null value not supported for topic configs: {}", nulls.join(","));
            return Err(ApiError::new(ErrorCode::InvalidConfig, message));
        }
        let values = topic.configs.iter().filter_map(|config| Some((config.name.clone(), config.value.clone()?)));
        let configs: ConfigurationImage = values.collect();
        if configs.is_empty() {
            return Ok((configs, Vec::new()));
        }
        let operations = configs.iter().map(|(name, value)| (name.clone(), ConfigOperation::Set(Some(value.clone())))).collect();
        let records = incremental_records(self.state, &ConfigResource::topic(&*topic.name), &operations)?;
        Ok((configs, records))
    }

    fn partitions(&self, context: &mut RequestContext<'_>, topic: &CreatableTopic) -> Result<Vec<PartitionRegistration>, ApiError> {
        if !topic.assignments.is_empty() {
            return self.assigned_partitions(topic);
        }
        if topic.replication_factor < -1 || topic.replication_factor == 0 {
            let message = "Replication factor must be larger than 0, or -1 to use the default value.";
            return Err(ApiError::new(ErrorCode::InvalidReplicationFactor, message));
        }
        if topic.num_partitions < -1 || topic.num_partitions == 0 {
            return Err(ApiError::new(ErrorCode::InvalidPartitions, "Number of partitions was set to an invalid non-positive value."));
        }
        let partitions = if topic.num_partitions == -1 { self.options.num_partitions } else { topic.num_partitions };
        let default = self.options.default_replication_factor;
        let replication_factor = if topic.replication_factor == -1 { default } else { topic.replication_factor };
        let unable = |reason: &str| {
            let message = format!("Unable to replicate the partition {replication_factor} time(s): {reason}");
            ApiError::new(ErrorCode::InvalidReplicationFactor, message)
        };
        let spec = PlacementSpec { partitions: partitions.max(0) as usize, replication_factor };
        let placed = place(spec, self.brokers, context.random).map_err(|error| unable(error.message.as_deref().unwrap_or_default()))?;
        let new = |replicas| {
            new_partition(self.state, replicas).ok_or_else(|| unable("All brokers are currently fenced or in controlled shutdown."))
        };
        placed.into_iter().map(new).collect()
    }

    fn assigned_partitions(&self, topic: &CreatableTopic) -> Result<Vec<PartitionRegistration>, ApiError> {
        if topic.replication_factor != -1 {
            let message = "A manual partition assignment was specified, but replication factor was not set to -1.";
            return Err(ApiError::invalid_request(message));
        }
        if topic.num_partitions != -1 {
            let message = "A manual partition assignment was specified, but numPartitions was not set to -1.";
            return Err(ApiError::invalid_request(message));
        }
        let invalid = |message: String| ApiError::new(ErrorCode::InvalidReplicaAssignment, message);
        let mut partitions = BTreeMap::new();
        let mut replication_factor = None;
        for assigned in &topic.assignments {
            let number = assigned.partition_index;
            if partitions.contains_key(&number) {
                return Err(invalid(format!("Found multiple manual partition assignments for partition {number}")));
            }
            let assignment = Assignment::from_numbers(&assigned.broker_ids);
            validate_assignment(self.state, &assignment, replication_factor)?;
            replication_factor = Some(assignment.replicas.len());
            let inactive = || {
                let message = "All brokers specified in the manual partition assignment for partition";
                invalid(format!("{message} {number} are fenced or in controlled shutdown."))
            };
            partitions.insert(number, new_partition(self.state, assignment.replicas).ok_or_else(inactive)?);
        }
        if partitions.keys().zip(0..).any(|(&number, expected)| number != expected) {
            return Err(invalid("partitions should be a consecutive 0-based integer sequence".to_owned()));
        }
        Ok(partitions.into_values().collect())
    }

    fn success(&self, topic: &CreatableTopic, topic_id: Uuid, new: &NewTopic) -> CreatableTopicResult {
        let result = CreatableTopicResult { name: topic.name.clone(), topic_id, error_message: None, ..Default::default() };
        if !(self.rights.describe_configs)(&topic.name) {
            return CreatableTopicResult { topic_config_error_code: ErrorCode::TopicAuthorizationFailed.code(), ..result };
        }
        let effective = self.state.schema.effective_topic_configs(self.state.topic_layers(&new.configs));
        let configs = effective.into_iter().map(|config| CreatableTopicConfigs {
            name: config.name.to_owned(),
            value: config.value.filter(|_| !config.is_sensitive),
            read_only: false,
            config_source: config.source as i8,
            is_sensitive: config.is_sensitive,
            ..Default::default()
        });
        CreatableTopicResult {
            num_partitions: new.partitions.len() as i32,
            replication_factor: new.partitions.first().map_or(-1, |partition| partition.replicas.len() as i16),
            configs: Some(configs.collect()),
            ..result
        }
    }
}

/// The names that occur more than once.
fn duplicate_names(topics: &[CreatableTopic]) -> HashSet<&str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for topic in topics {
        *counts.entry(&topic.name).or_default() += 1;
    }
    counts.into_iter().filter(|&(_, count)| count > 1).map(|(name, _)| name).collect()
}

fn error_result(name: &str, error: ApiError) -> CreatableTopicResult {
    CreatableTopicResult { name: name.to_owned(), error_code: error.error.code(), error_message: error.message, ..Default::default() }
}
