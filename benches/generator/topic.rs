//! The topics that a run writes to.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};

use crate::connection::Connection;

const ALREADY_EXISTS: i16 = 36;
const LATEST: i64 = -1;
const LEADERS_TIMEOUT: Duration = Duration::from_secs(60);

/// Creates the topic unless it is there, and waits until all of its partitions have leaders.
pub fn create_topic(connection: &mut Connection, name: &str, partitions: i32) -> io::Result<()> {
    let topic = CreatableTopic { name: name.into(), num_partitions: partitions, replication_factor: 1, ..CreatableTopic::default() };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..CreateTopicsRequest::default() };
    for result in connection.call(&request, 5)?.topics {
        if !matches!(result.error_code, 0 | ALREADY_EXISTS) {
            return Err(io::Error::other(format!("the topic cannot be created: error {}", result.error_code)));
        }
    }
    wait_for_leaders(connection, name, partitions)
}

/// That a leader is known does not say yet that it serves: it does when it tells its offsets.
fn wait_for_leaders(connection: &mut Connection, name: &str, partitions: i32) -> io::Result<()> {
    let all = (0..partitions).map(|partition_index| ListOffsetsPartition {
        partition_index,
        timestamp: LATEST,
        ..ListOffsetsPartition::default()
    });
    let topic = ListOffsetsTopic { name: name.into(), partitions: all.collect(), ..ListOffsetsTopic::default() };
    let request = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..ListOffsetsRequest::default() };
    let begin = Instant::now();
    while begin.elapsed() < LEADERS_TIMEOUT {
        let response = connection.call(&request, 4)?;
        let led = response.topics.iter().flat_map(|topic| &topic.partitions).filter(|partition| partition.error_code == 0).count();
        if led == partitions as usize {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other("the topic's partitions got no leaders"))
}
