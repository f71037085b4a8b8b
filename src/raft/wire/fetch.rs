//! Fetch (1) on the metadata log, versions 12 (the first with epochs of fetched records) to 18.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch, Uuid};
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_request as request;
use ottla_protocol::messages::fetch_response as response;

use crate::message::{FetchAnswer, FetchOutcome, FetchRequest, Response, ResponseBody};
use crate::replica::{OffsetAndEpoch, ReplicaKey};
use crate::wire::{PARTITION, ResponseError, TOPIC, Wire, check_top_level, error, leader, leader_id_or_none};

/// From this version on the topic is named by its id.
const TOPIC_ID_VERSION: i16 = 13;
/// From this version on the replica is named with its state.
const REPLICA_STATE_VERSION: i16 = 15;
/// From this version on responses carry the leader's endpoint.
const NODE_ENDPOINTS_VERSION: i16 = 16;
/// From this version on the replica names its directory.
const DIRECTORY_ID_VERSION: i16 = 17;
/// From this version on the replica tells the high watermark that it knows.
const HIGH_WATERMARK_VERSION: i16 = 18;
/// The field's default: as of a replica that wants no news of the high watermark.
const HIGH_WATERMARK_UNSET: i64 = i64::MAX;

impl Wire<'_> {
    /// What a peer asks, or the error to answer it with.
    pub fn read_fetch_request(&self, message: &request::FetchRequest) -> Result<FetchRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let [topic] = message.topics.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        let [partition] = topic.partitions.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        if !self.is_metadata_topic(&topic.topic, topic.topic_id) || partition.partition != PARTITION {
            return Err(ErrorCode::InvalidRequest);
        }
        let has_state = self.version >= REPLICA_STATE_VERSION;
        let replica_id = if has_state { message.replica_state.replica_id } else { message.replica_id };
        Ok(FetchRequest {
            epoch: LeaderEpoch(partition.current_leader_epoch),
            replica: ReplicaKey::new(BrokerId(replica_id), partition.replica_directory_id),
            position: OffsetAndEpoch::new(partition.fetch_offset, LeaderEpoch(partition.last_fetched_epoch)),
            high_watermark: Some(partition.high_watermark),
            max_bytes: message.max_bytes,
            max_wait_ms: message.max_wait_ms,
        })
    }

    fn is_metadata_topic(&self, name: &str, id: Uuid) -> bool {
        if self.version >= TOPIC_ID_VERSION { id == Uuid::METADATA_TOPIC_ID } else { name == TOPIC }
    }

    /// The request as it is sent.
    pub fn write_fetch_request(&self, fetch: &FetchRequest) -> request::FetchRequest {
        let has_directory = self.version >= DIRECTORY_ID_VERSION;
        let tells_high_watermark = self.version >= HIGH_WATERMARK_VERSION;
        let partition = request::FetchPartition {
            partition: PARTITION,
            current_leader_epoch: fetch.epoch.0,
            fetch_offset: fetch.position.offset,
            last_fetched_epoch: fetch.position.epoch.0,
            replica_directory_id: if has_directory { fetch.replica.directory_id_or_zero() } else { Uuid::ZERO },
            high_watermark: if tells_high_watermark { fetch.high_watermark.unwrap_or(-1) } else { HIGH_WATERMARK_UNSET },
            ..Default::default()
        };
        let by_id = self.version >= TOPIC_ID_VERSION;
        let topic = request::FetchTopic {
            topic: if by_id { String::new() } else { TOPIC.to_owned() },
            topic_id: if by_id { Uuid::METADATA_TOPIC_ID } else { Uuid::ZERO },
            partitions: vec![partition],
            ..Default::default()
        };
        let mut message = request::FetchRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            max_wait_ms: fetch.max_wait_ms,
            max_bytes: fetch.max_bytes,
            topics: vec![topic],
            ..Default::default()
        };
        if self.version >= REPLICA_STATE_VERSION {
            message.replica_state.replica_id = fetch.replica.id.0;
        } else {
            message.replica_id = fetch.replica.id.0;
        }
        message
    }

    /// The answer as it is sent, with the records that the host has read for it.
    pub fn write_fetch_response(&self, answer: &Response, records: Records) -> response::FetchResponse {
        let mut partition = response::PartitionData {
            partition_index: PARTITION,
            error_code: answer.error.code(),
            high_watermark: -1,
            records: Some(records),
            ..Default::default()
        };
        partition.current_leader.leader_id = leader_id_or_none(answer.leader);
        partition.current_leader.leader_epoch = answer.leader.epoch.0;
        if let ResponseBody::Fetch(fetched) = &answer.body {
            partition.high_watermark = fetched.high_watermark.unwrap_or(-1);
            partition.log_start_offset = fetched.log_start_offset;
            match fetched.outcome {
                FetchOutcome::Diverging(end) => {
                    partition.diverging_epoch.epoch = end.epoch.0;
                    partition.diverging_epoch.end_offset = end.offset;
                }
                FetchOutcome::Snapshot(id) => {
                    partition.snapshot_id.epoch = id.epoch.0;
                    partition.snapshot_id.end_offset = id.offset;
                }
                FetchOutcome::NoRecords | FetchOutcome::FromLog { .. } | FetchOutcome::Records(_) => {}
            }
        }
        let by_id = self.version >= TOPIC_ID_VERSION;
        let topic = response::FetchableTopicResponse {
            topic: if by_id { String::new() } else { TOPIC.to_owned() },
            topic_id: if by_id { Uuid::METADATA_TOPIC_ID } else { Uuid::ZERO },
            partitions: vec![partition],
            ..Default::default()
        };
        let has_endpoints = self.version >= NODE_ENDPOINTS_VERSION;
        let endpoint = self.node_endpoint(answer.leader, &answer.leader_endpoints).filter(|_| has_endpoints);
        let node_endpoints = endpoint.map(|(node_id, endpoint)| response::NodeEndpoint {
            node_id,
            host: endpoint.host.clone(),
            port: i32::from(endpoint.port),
            ..Default::default()
        });
        let node_endpoints = node_endpoints.into_iter().collect();
        response::FetchResponse { responses: vec![topic], node_endpoints, ..Default::default() }
    }

    /// What a peer answers.
    pub fn read_fetch_response(&self, message: response::FetchResponse) -> Result<Response, ResponseError> {
        check_top_level(message.error_code)?;
        let mut responses = message.responses.into_iter();
        let topic = responses.next().filter(|topic| self.is_metadata_topic(&topic.topic, topic.topic_id));
        let partition = topic.and_then(|topic| topic.partitions.into_iter().next()).ok_or(ResponseError::NotAboutMetadata)?;
        let leader = leader(partition.current_leader.leader_id, partition.current_leader.leader_epoch);
        let nodes = message.node_endpoints.into_iter().map(|node| (node.node_id, node.host, i64::from(node.port)));
        let diverging = &partition.diverging_epoch;
        let snapshot = &partition.snapshot_id;
        let outcome = if diverging.epoch >= 0 {
            FetchOutcome::Diverging(OffsetAndEpoch::new(diverging.end_offset, LeaderEpoch(diverging.epoch)))
        } else if snapshot.epoch >= 0 || snapshot.end_offset >= 0 {
            FetchOutcome::Snapshot(OffsetAndEpoch::new(snapshot.end_offset, LeaderEpoch(snapshot.epoch)))
        } else {
            match partition.records {
                Some(Records::Memory(records)) if !records.is_empty() => FetchOutcome::Records(records),
                // A decoded message never has parts.
                Some(Records::Memory(_) | Records::Parts(_)) | None => FetchOutcome::NoRecords,
            }
        };
        let high_watermark = (partition.high_watermark >= 0).then_some(partition.high_watermark);
        let answer = FetchAnswer { high_watermark, log_start_offset: partition.log_start_offset, outcome };
        Ok(Response {
            error: error(partition.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, nodes),
            body: ResponseBody::Fetch(answer),
        })
    }
}
