//! DescribeAcls: lists access rules. There is no authorizer yet, which is what the answer says.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_acls_request::DescribeAclsRequest;
use ottla_protocol::messages::describe_acls_response::DescribeAclsResponse;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeAcls;

impl Handler for DescribeAcls {
    type Request = DescribeAclsRequest;
    const KEY: ApiKey = ApiKey::DescribeAcls;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: DescribeAclsRequest) {
        context.reply(&DescribeAclsResponse {
            error_code: ErrorCode::SecurityDisabled.code(),
            error_message: Some("No Authorizer is configured on the broker".into()),
            ..DescribeAclsResponse::default()
        });
    }
}
