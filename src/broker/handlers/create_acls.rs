//! CreateAcls: adds access rules. There is no authorizer yet, which is what the answer says of each rule.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::create_acls_request::{AclCreation, CreateAclsRequest};
use ottla_protocol::messages::create_acls_response::{AclCreationResult, CreateAclsResponse};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::handlers::describe_acls;
use crate::request::RequestContext;

/// The API.
pub struct CreateAcls;

impl Handler for CreateAcls {
    type Request = CreateAclsRequest;
    const KEY: ApiKey = ApiKey::CreateAcls;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, request: CreateAclsRequest) {
        let is_unknown = |acl: &AclCreation| {
            [acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type].contains(&describe_acls::UNKNOWN)
        };
        if request.creations.iter().any(is_unknown) {
            return context.close("CreateAcls has a rule of type UNKNOWN".into());
        }
        let result = AclCreationResult {
            error_code: ErrorCode::SecurityDisabled.code(),
            error_message: Some("No Authorizer is configured.".into()),
            ..AclCreationResult::default()
        };
        context.reply(&CreateAclsResponse { results: vec![result; request.creations.len()], ..CreateAclsResponse::default() });
    }
}
