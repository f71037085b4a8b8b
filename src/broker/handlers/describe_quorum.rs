//! DescribeQuorum: the state of the metadata quorum as its leader sees it (KIP-595, KIP-836, KIP-853).

use std::sync::Arc;

use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_quorum_request::DescribeQuorumRequest;
use ottla_raft::wire::describe_quorum::describe_quorum;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeQuorum;

impl Handler for DescribeQuorum {
    type Request = DescribeQuorumRequest;
    const KEY: ApiKey = ApiKey::DescribeQuorum;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeQuorumRequest) {
        let serving = broker.clone();
        // The controller's lock may be held by someone who waits for the disk.
        broker.environment().blocking.run(Box::new(move || {
            let description = serving.controller.lock().log().core().describe_quorum(context.now_ms);
            let response = describe_quorum(&request, description.as_ref(), context.api_version, context.now_ms);
            context.reply(&response);
        }));
    }
}
