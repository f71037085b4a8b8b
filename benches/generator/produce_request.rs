//! A produce request made of prepared batches, and what its answer says.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use ottla_protocol::messages::produce_request::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::messages::produce_response::ProduceResponse;
use ottla_protocol::{Message, Reader, Records};

/// The version of these requests: the first flexible one.
pub const VERSION: i16 = 9;

/// The same batch for each of a topic's partitions.
pub fn produce_request(topic: &str, partitions: Range<i32>, batch: &Bytes, acks: i16) -> ProduceRequest {
    let partition_data = partitions.map(|index| PartitionProduceData {
        index,
        records: Some(Records::Memory(batch.clone())),
        ..PartitionProduceData::default()
    });
    ProduceRequest {
        acks,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData { name: topic.into(), partition_data: partition_data.collect(), ..TopicProduceData::default() }],
        ..ProduceRequest::default()
    }
}

/// Fails when a partition refused its batch.
pub fn check(answer: Bytes) -> io::Result<()> {
    let response = ProduceResponse::decode(&mut Reader::new(answer.slice(5..)), VERSION).map_err(io::Error::other)?;
    for topic in &response.responses {
        for partition in &topic.partition_responses {
            if partition.error_code != 0 {
                return Err(io::Error::other(format!("partition {} answers error {}", partition.index, partition.error_code)));
            }
        }
    }
    Ok(())
}
