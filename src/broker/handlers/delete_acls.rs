//! DeleteAcls: removes access rules. There is no authorizer yet, which is what the answer says of each filter.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::delete_acls_request::{DeleteAclsFilter, DeleteAclsRequest};
use ottla_protocol::messages::delete_acls_response::{DeleteAclsFilterResult, DeleteAclsResponse};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::handlers::describe_acls;
use crate::request::RequestContext;

/// The API.
pub struct DeleteAcls;

impl Handler for DeleteAcls {
    type Request = DeleteAclsRequest;
    const KEY: ApiKey = ApiKey::DeleteAcls;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, request: DeleteAclsRequest) {
        let is_unknown = |filter: &DeleteAclsFilter| {
            let types = [filter.resource_type_filter, filter.pattern_type_filter, filter.operation, filter.permission_type];
            types.contains(&describe_acls::UNKNOWN)
        };
        if request.filters.iter().any(is_unknown) {
            return context.close("DeleteAcls has a filter of type UNKNOWN".into());
        }
        let result = DeleteAclsFilterResult {
            error_code: ErrorCode::SecurityDisabled.code(),
            error_message: Some("No Authorizer is configured.".into()),
            ..DeleteAclsFilterResult::default()
        };
        context.reply(&DeleteAclsResponse { filter_results: vec![result; request.filters.len()], ..DeleteAclsResponse::default() });
    }
}
