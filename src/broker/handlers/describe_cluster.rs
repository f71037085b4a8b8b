//! DescribeCluster: the brokers of the cluster and who its controller is (KIP-700, KIP-919).

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_cluster_request::DescribeClusterRequest;
use ottla_protocol::messages::describe_cluster_response::{DescribeClusterBroker, DescribeClusterResponse};

use crate::api::{Handler, Operation, Rights};
use crate::authorized_operations;
use crate::broker::Broker;
use crate::endpoints;
use crate::request::RequestContext;

const BROKER_ENDPOINT: i8 = 1;
const CONTROLLER_ENDPOINT: i8 = 2;

/// The API.
pub struct DescribeCluster;

impl Handler for DescribeCluster {
    type Request = DescribeClusterRequest;
    const KEY: ApiKey = ApiKey::DescribeCluster;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeClusterRequest) {
        let response = match endpoint_problem(&context, request.endpoint_type) {
            Some((error, message)) => {
                DescribeClusterResponse { error_code: error.code(), error_message: Some(message), ..DescribeClusterResponse::default() }
            }
            None if context.connection.info.is_controller_listener => describe_controllers(broker, &context, &request),
            None => describe(broker, &context, &request),
        };
        context.reply(&response);
    }
}

fn endpoint_problem(context: &RequestContext, endpoint_type: i8) -> Option<(ErrorCode, String)> {
    let at_version = |error| if context.api_version == 0 { ErrorCode::InvalidRequest } else { error };
    let name = |endpoint_type| if endpoint_type == BROKER_ENDPOINT { "BROKER" } else { "CONTROLLER" };
    let ours = if context.connection.info.is_controller_listener { CONTROLLER_ENDPOINT } else { BROKER_ENDPOINT };
    match endpoint_type {
        BROKER_ENDPOINT | CONTROLLER_ENDPOINT if endpoint_type == ours => None,
        BROKER_ENDPOINT | CONTROLLER_ENDPOINT => {
            let (ours, wanted) = (name(ours), name(endpoint_type));
            let message = format!("The request was sent to an endpoint of type {ours}, but we wanted an endpoint of type {wanted}");
            Some((at_version(ErrorCode::MismatchedEndpointType), message))
        }
        _ => Some((at_version(ErrorCode::UnsupportedEndpointType), format!("Unsupported endpoint type {endpoint_type}"))),
    }
}

fn describe(broker: &Broker, context: &RequestContext, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    let image = broker.image();
    let listener = &context.connection.info.listener;
    let registered = image.cluster.brokers().filter_map(|registration| endpoints::broker(registration, listener));
    let brokers = registered.filter(|node| !node.is_fenced || request.include_fenced_brokers).map(|node| DescribeClusterBroker {
        broker_id: node.id.0,
        host: node.host.to_owned(),
        port: node.port,
        rack: node.rack.map(str::to_owned),
        is_fenced: node.is_fenced,
        ..DescribeClusterBroker::default()
    });
    DescribeClusterResponse {
        cluster_id: broker.cluster_id().to_owned(),
        controller_id: broker.controller_for_clients(&image).0,
        brokers: brokers.collect(),
        cluster_authorized_operations: cluster_operations(request),
        ..DescribeClusterResponse::default()
    }
}

/// What a controller's listener tells: the controllers, and which of them is active.
fn describe_controllers(broker: &Broker, context: &RequestContext, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    let address = context.connection.info.local_address;
    let this = DescribeClusterBroker {
        broker_id: broker.node_id().0,
        host: address.ip().to_string(),
        port: i32::from(address.port()),
        ..DescribeClusterBroker::default()
    };
    DescribeClusterResponse {
        endpoint_type: CONTROLLER_ENDPOINT,
        cluster_id: broker.cluster_id().to_owned(),
        controller_id: broker.node_id().0,
        brokers: vec![this],
        cluster_authorized_operations: cluster_operations(request),
        ..DescribeClusterResponse::default()
    }
}

fn cluster_operations(request: &DescribeClusterRequest) -> i32 {
    if request.include_cluster_authorized_operations { authorized_operations::CLUSTER } else { i32::MIN }
}
