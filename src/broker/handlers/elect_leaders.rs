//! ElectLeaders: preferred or unclean elections; decided by the controller (KIP-183, KIP-460).

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::elect_leaders_request::ElectLeadersRequest;
use ottla_protocol::messages::elect_leaders_response::{ElectLeadersResponse, PartitionResult, ReplicaElectionResult};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct ElectLeaders;

impl Handler for ElectLeaders {
    type Request = ElectLeadersRequest;
    const KEY: ApiKey = ApiKey::ElectLeaders;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ElectLeadersRequest) {
        let asked = request.clone();
        broker.forward(
            context,
            move |controller, _| controller.elect_leaders(&request),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &ElectLeadersRequest, error: &ApiError) -> ElectLeadersResponse {
    let results = request.topic_partitions.iter().flatten().map(|topic| {
        let partitions = topic.partitions.iter().map(|&partition_id| PartitionResult {
            partition_id,
            error_code: error.error.code(),
            error_message: error.message.clone(),
            ..PartitionResult::default()
        });
        ReplicaElectionResult { topic: topic.topic.clone(), partition_result: partitions.collect(), ..ReplicaElectionResult::default() }
    });
    ElectLeadersResponse { error_code: error.error.code(), replica_election_results: results.collect(), ..ElectLeadersResponse::default() }
}
