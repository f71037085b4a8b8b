//! DescribeAcls: lists access rules. There is no authorizer yet, which is what the answer says.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_acls_request::DescribeAclsRequest;
use ottla_protocol::messages::describe_acls_response::DescribeAclsResponse;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The code of whatever type is not known. Kafka takes a request that says it for one that cannot be decoded.
pub const UNKNOWN: i8 = 0;

/// The API.
pub struct DescribeAcls;

impl Handler for DescribeAcls {
    type Request = DescribeAclsRequest;
    const KEY: ApiKey = ApiKey::DescribeAcls;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(_broker: &Arc<Broker>, context: RequestContext, request: DescribeAclsRequest) {
        let filter = [request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type];
        if filter.contains(&UNKNOWN) {
            return context.close("DescribeAcls has a filter of type UNKNOWN".into());
        }
        context.reply(&DescribeAclsResponse {
            error_code: ErrorCode::SecurityDisabled.code(),
            error_message: Some("No Authorizer is configured on the broker".into()),
            ..DescribeAclsResponse::default()
        });
    }
}
