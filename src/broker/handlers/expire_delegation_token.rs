//! ExpireDelegationToken (KIP-48). Tokens may not be asked for on a connection that is not authenticated.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::expire_delegation_token_request::ExpireDelegationTokenRequest;
use ottla_protocol::messages::expire_delegation_token_response::ExpireDelegationTokenResponse;

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct ExpireDelegationToken;

impl Handler for ExpireDelegationToken {
    type Request = ExpireDelegationTokenRequest;
    const KEY: ApiKey = ApiKey::ExpireDelegationToken;
    const RIGHTS: Rights = Rights::ByResource;
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: ExpireDelegationTokenRequest) {
        context.reply(&ExpireDelegationTokenResponse {
            error_code: ErrorCode::DelegationTokenRequestNotAllowed.code(),
            expiry_timestamp_ms: -1,
            ..ExpireDelegationTokenResponse::default()
        });
    }
}
