//! CreatePartitions: more partitions for topics that exist (`ControllerApis.createPartitions`,
//! `ReplicationControlManager.createPartitions`).

use std::collections::{HashMap, HashSet};

use ottla_metadata::{MetadataRecord, PartitionRegistration, TopicImage};
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::messages::create_partitions_response::{CreatePartitionsResponse, CreatePartitionsTopicResult};

use crate::api_error::{ApiError, RECORDS_PER_USER_OP_MAX, response_error};
use crate::assignment::{Assignment, new_partition, validate_assignment};
use crate::context::RequestContext;
use crate::controller_result::ControllerResult;
use crate::placement::{PlacementSpec, UsableBroker, place};
use crate::state::ControllerState;

pub(crate) struct CreatePartitions<'a> {
    pub state: &'a ControllerState,
    pub brokers: &'a [UsableBroker],
    /// Whether the requester may alter a topic.
    pub may_alter: &'a dyn Fn(&str) -> bool,
}

impl CreatePartitions<'_> {
    pub fn handle(
        &self,
        context: &mut RequestContext<'_>,
        request: &CreatePartitionsRequest,
    ) -> Result<ControllerResult<CreatePartitionsResponse>, ApiError> {
        let mut times: HashMap<&str, usize> = HashMap::new();
        for topic in &request.topics {
            *times.entry(&topic.name).or_default() += 1;
        }
        let mut told = HashSet::new();
        let mut records = Vec::new();
        let mut response = CreatePartitionsResponse::default();
        for topic in request.topics.iter().filter(|topic| told.insert(&topic.name)) {
            let outcome = if times[&*topic.name] > 1 {
                Err(ApiError::invalid_request("Duplicate topic name."))
            } else if !(self.may_alter)(&topic.name) {
                Err(ApiError::bare(ErrorCode::TopicAuthorizationFailed))
            } else {
                self.create(context, topic, &mut records)
            };
            let (error_code, error_message) = response_error(&outcome);
            response.results.push(CreatePartitionsTopicResult {
                name: topic.name.clone(),
                error_code,
                error_message,
                ..Default::default()
            });
            if records.len() > RECORDS_PER_USER_OP_MAX {
                return Err(ApiError::excessively_large());
            }
        }
        Ok(ControllerResult::atomic_of(records, response).without_records_if(request.validate_only))
    }

    fn create(
        &self,
        context: &mut RequestContext<'_>,
        request: &CreatePartitionsTopic,
        records: &mut Vec<MetadataRecord>,
    ) -> Result<(), ApiError> {
        let topic = self.state.topic(&request.name).ok_or_else(|| ApiError::bare(ErrorCode::UnknownTopicOrPartition))?;
        let existing = topic.partitions.len() as i32;
        check_count(request, existing)?;
        let additional = (request.count - existing) as usize;
        if additional > RECORDS_PER_USER_OP_MAX {
            return Err(ApiError::excessively_large());
        }
        let partitions = match &request.assignments {
            Some(assignments) => self.assigned(topic, assignments, additional)?,
            None => self.placed(context, topic, additional)?,
        };
        let options = self.state.image.partition_record_options();
        records.extend((existing..).zip(partitions).map(|(number, partition)| partition.to_record(topic.id, number, options)));
        Ok(())
    }

    fn placed(
        &self,
        context: &mut RequestContext<'_>,
        topic: &TopicImage,
        additional: usize,
    ) -> Result<Vec<PartitionRegistration>, ApiError> {
        let replication_factor = replication_factor(topic)?;
        let spec = PlacementSpec { partitions: additional, replication_factor };
        let inactive = || {
            let message = "All brokers are currently fenced or in controlled shutdown.";
            let message = format!("Unable to replicate the partition {replication_factor} time(s): {message}");
            ApiError::new(ErrorCode::InvalidReplicationFactor, message)
        };
        let placed = place(spec, self.brokers, context.random)?.into_iter();
        placed.map(|replicas: Vec<BrokerId>| new_partition(self.state, replicas).ok_or_else(inactive)).collect()
    }

    fn assigned(
        &self,
        topic: &TopicImage,
        assignments: &[CreatePartitionsAssignment],
        additional: usize,
    ) -> Result<Vec<PartitionRegistration>, ApiError> {
        let invalid = |message| ApiError::new(ErrorCode::InvalidReplicaAssignment, message);
        if assignments.len() != additional {
            return Err(invalid(format!(
                "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
                assignments.len()
            )));
        }
        let replication_factor = replication_factor(topic)? as usize;
        let first = topic.partitions.len();
        let new = |(number, assigned): (usize, &CreatePartitionsAssignment)| {
            let assignment = Assignment::from_numbers(&assigned.broker_ids);
            validate_assignment(self.state, &assignment, Some(replication_factor))?;
            new_partition(self.state, assignment.replicas).ok_or_else(|| {
                let message = "All brokers specified in the manual partition assignment for partition";
                invalid(format!("{message} {number} are fenced or in controlled shutdown."))
            })
        };
        (first..).zip(assignments).map(new).collect()
    }
}

fn check_count(request: &CreatePartitionsTopic, existing: i32) -> Result<(), ApiError> {
    let message = match request.count.cmp(&existing) {
        std::cmp::Ordering::Greater => return Ok(()),
        std::cmp::Ordering::Equal => format!("Topic already has {existing} partition(s)."),
        std::cmp::Ordering::Less => {
            format!("The topic {} currently has {existing} partition(s); {} would not be an increase.", request.name, request.count)
        }
    };
    Err(ApiError::new(ErrorCode::InvalidPartitions, message))
}

/// New partitions have as many replicas as the first one.
fn replication_factor(topic: &TopicImage) -> Result<i16, ApiError> {
    let first = topic.partitions.values().next();
    let replicas = first.and_then(|partition| i16::try_from(partition.replicas.len()).ok());
    replicas.ok_or_else(|| ApiError::bare(ErrorCode::UnknownServerError))
}
