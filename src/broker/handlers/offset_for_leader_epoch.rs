//! OffsetForLeaderEpoch: where an epoch ended, by which consumers and older followers notice that a log was truncated (KIP-101, KIP-320).

use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderEpochRequest, OffsetForLeaderPartition};
use ottla_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct OffsetForLeaderEpoch;

impl Handler for OffsetForLeaderEpoch {
    type Request = OffsetForLeaderEpochRequest;
    const KEY: ApiKey = ApiKey::OffsetForLeaderEpoch;
    const RIGHTS: Rights = Rights::Topic(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: OffsetForLeaderEpochRequest) {
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let found = find(broker, &topic.topic, partition);
                let (error, end) = match found {
                    Ok(end) => (ErrorCode::None, end),
                    Err(error) => (error, None),
                };
                EpochEndOffset {
                    error_code: error.code(),
                    partition: partition.partition,
                    leader_epoch: end.map_or(-1, |end| end.leader_epoch),
                    end_offset: end.map_or(-1, |end| end.end_offset),
                    ..EpochEndOffset::default()
                }
            });
            OffsetForLeaderTopicResult {
                topic: topic.topic.clone(),
                partitions: partitions.collect(),
                ..OffsetForLeaderTopicResult::default()
            }
        });
        let response = OffsetForLeaderEpochResponse { topics: topics.collect(), ..OffsetForLeaderEpochResponse::default() };
        context.reply(&response);
    }
}

fn find(broker: &Broker, topic: &str, partition: &OffsetForLeaderPartition) -> Result<Option<ottla_log::EpochEndOffset>, ErrorCode> {
    let hosted = broker.partitions().get_or_error(&TopicPartition::new(topic, partition.partition))?;
    hosted.check_epoch(partition.current_leader_epoch)?;
    hosted.check_leader()?;
    Ok(hosted.log().lock().end_offset_for_epoch(partition.leader_epoch))
}
