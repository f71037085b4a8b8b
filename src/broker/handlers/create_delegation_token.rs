//! CreateDelegationToken (KIP-48). Tokens may not be asked for on a connection that is not authenticated.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::create_delegation_token_request::CreateDelegationTokenRequest;
use ottla_protocol::messages::create_delegation_token_response::CreateDelegationTokenResponse;

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// From this version on owner and requester are told apart.
const FIRST_VERSION_WITH_REQUESTER: i16 = 3;

/// The API.
pub struct CreateDelegationToken;

impl Handler for CreateDelegationToken {
    type Request = CreateDelegationTokenRequest;
    const KEY: ApiKey = ApiKey::CreateDelegationToken;
    const RIGHTS: Rights = Rights::ByResource;
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, request: CreateDelegationTokenRequest) {
        let requester = ("User", "ANONYMOUS");
        let owner_name = request.owner_principal_name.as_deref().filter(|name| !name.is_empty());
        let (error, owner) = match (owner_name, request.owner_principal_type.as_deref()) {
            (None, _) => (ErrorCode::DelegationTokenRequestNotAllowed, requester),
            (Some(name), Some(kind)) => (ErrorCode::DelegationTokenRequestNotAllowed, (kind, name)),
            // Kafka makes no principal of it.
            (Some(_), None) => (ErrorCode::UnknownServerError, requester),
        };
        let mut response = CreateDelegationTokenResponse {
            error_code: error.code(),
            principal_type: owner.0.into(),
            principal_name: owner.1.into(),
            issue_timestamp_ms: -1,
            expiry_timestamp_ms: -1,
            max_timestamp_ms: -1,
            ..CreateDelegationTokenResponse::default()
        };
        if context.api_version >= FIRST_VERSION_WITH_REQUESTER {
            response.token_requester_principal_type = requester.0.into();
            response.token_requester_principal_name = requester.1.into();
        }
        context.reply(&response);
    }
}
