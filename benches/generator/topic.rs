//! The topic that a run writes to.

use std::io;
use std::thread;
use std::time::Duration;

use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::metadata_request::{MetadataRequest, MetadataRequestTopic};

use crate::Target;
use crate::connection::Connection;

const ALREADY_EXISTS: i16 = 36;
const ATTEMPTS: usize = 100;

/// Creates the topic unless it is there, and waits until all of its partitions have leaders.
pub fn create_topic(target: &Target, partitions: i32) -> io::Result<()> {
    let mut connection = Connection::open(&target.address)?;
    let topic =
        CreatableTopic { name: target.topic.clone(), num_partitions: partitions, replication_factor: 1, ..CreatableTopic::default() };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..CreateTopicsRequest::default() };
    for result in connection.call(&request, 5)?.topics {
        if !matches!(result.error_code, 0 | ALREADY_EXISTS) {
            return Err(io::Error::other(format!("the topic cannot be created: error {}", result.error_code)));
        }
    }
    let topics = vec![MetadataRequestTopic { name: Some(target.topic.clone()), ..MetadataRequestTopic::default() }];
    let request = MetadataRequest { topics: Some(topics), ..MetadataRequest::default() };
    for _ in 0..ATTEMPTS {
        let metadata = connection.call(&request, 9)?;
        let led = metadata.topics.iter().flat_map(|topic| &topic.partitions).filter(|partition| partition.leader_id >= 0).count();
        if led == partitions as usize {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(io::Error::other("the topic's partitions got no leaders"))
}
