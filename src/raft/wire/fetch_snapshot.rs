//! FetchSnapshot (59), versions 0 and 1.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch, Uuid};
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_snapshot_request as request;
use ottla_protocol::messages::fetch_snapshot_response as response;

use crate::message::{FetchSnapshotAnswer, FetchSnapshotRequest, Response, ResponseBody, SnapshotPart};
use crate::replica::{OffsetAndEpoch, ReplicaKey};
use crate::wire::{PARTITION, ResponseError, TOPIC, Wire, check_top_level, error, leader, leader_id_or_none};

impl Wire<'_> {
    /// What a peer asks, or the error to answer it with.
    pub fn read_fetch_snapshot_request(&self, message: &request::FetchSnapshotRequest) -> Result<FetchSnapshotRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let [topic] = message.topics.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        let [partition] = topic.partitions.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        if topic.name != TOPIC || partition.partition != PARTITION {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let id = &partition.snapshot_id;
        Ok(FetchSnapshotRequest {
            epoch: LeaderEpoch(partition.current_leader_epoch),
            replica: ReplicaKey::new(BrokerId(message.replica_id), partition.replica_directory_id),
            snapshot_id: OffsetAndEpoch::new(id.end_offset, LeaderEpoch(id.epoch)),
            position: partition.position,
            max_bytes: message.max_bytes,
        })
    }

    /// The request as it is sent.
    pub fn write_fetch_snapshot_request(&self, fetch: &FetchSnapshotRequest) -> request::FetchSnapshotRequest {
        let directory_id = if self.version >= 1 { fetch.replica.directory_id_or_zero() } else { Uuid::ZERO };
        let mut partition = request::PartitionSnapshot {
            partition: PARTITION,
            current_leader_epoch: fetch.epoch.0,
            position: fetch.position,
            replica_directory_id: directory_id,
            ..Default::default()
        };
        partition.snapshot_id.end_offset = fetch.snapshot_id.offset;
        partition.snapshot_id.epoch = fetch.snapshot_id.epoch.0;
        let topic = request::TopicSnapshot { name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        request::FetchSnapshotRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            replica_id: fetch.replica.id.0,
            max_bytes: fetch.max_bytes,
            topics: vec![topic],
            ..Default::default()
        }
    }

    /// The answer as it is sent, with the bytes of the snapshot that the host has read for it.
    pub fn write_fetch_snapshot_response(&self, answer: &Response, part: Records) -> response::FetchSnapshotResponse {
        let mut partition = response::PartitionSnapshot {
            index: PARTITION,
            error_code: answer.error.code(),
            unaligned_records: part,
            ..Default::default()
        };
        partition.current_leader.leader_id = leader_id_or_none(answer.leader);
        partition.current_leader.leader_epoch = answer.leader.epoch.0;
        if let ResponseBody::FetchSnapshot(FetchSnapshotAnswer { snapshot_id: Some(id), size, position, .. }) = &answer.body {
            partition.snapshot_id.end_offset = id.offset;
            partition.snapshot_id.epoch = id.epoch.0;
            partition.size = *size;
            partition.position = *position;
        }
        let topic = response::TopicSnapshot { name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        let endpoint = self.node_endpoint(answer.leader, &answer.leader_endpoints);
        let node_endpoints = endpoint.map(|(node_id, endpoint)| response::NodeEndpoint {
            node_id,
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        let node_endpoints = node_endpoints.into_iter().collect();
        response::FetchSnapshotResponse { topics: vec![topic], node_endpoints, ..Default::default() }
    }

    /// What a peer answers.
    pub fn read_fetch_snapshot_response(&self, message: response::FetchSnapshotResponse) -> Result<Response, ResponseError> {
        check_top_level(message.error_code)?;
        let topic = message.topics.into_iter().next().filter(|topic| topic.name == TOPIC);
        let partition = topic.and_then(|topic| topic.partitions.into_iter().next()).ok_or(ResponseError::NotAboutMetadata)?;
        let leader = leader(partition.current_leader.leader_id, partition.current_leader.leader_epoch);
        let nodes = message.node_endpoints.into_iter().map(|node| (node.node_id, node.host, i64::from(node.port)));
        let id = OffsetAndEpoch::new(partition.snapshot_id.end_offset, LeaderEpoch(partition.snapshot_id.epoch));
        let part = match partition.unaligned_records {
            Records::Memory(bytes) if !bytes.is_empty() => SnapshotPart::Bytes(bytes),
            // A decoded message never has parts.
            Records::Memory(_) | Records::Parts(_) => SnapshotPart::Empty,
        };
        let is_named = partition.snapshot_id.end_offset >= 0 && partition.snapshot_id.epoch >= 0;
        let answer = FetchSnapshotAnswer { snapshot_id: is_named.then_some(id), size: partition.size, position: partition.position, part };
        Ok(Response {
            error: error(partition.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, nodes),
            body: ResponseBody::FetchSnapshot(answer),
        })
    }
}
