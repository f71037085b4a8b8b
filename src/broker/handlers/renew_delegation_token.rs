//! RenewDelegationToken (KIP-48). Tokens may not be asked for on a connection that is not authenticated.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::renew_delegation_token_request::RenewDelegationTokenRequest;
use ottla_protocol::messages::renew_delegation_token_response::RenewDelegationTokenResponse;

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct RenewDelegationToken;

impl Handler for RenewDelegationToken {
    type Request = RenewDelegationTokenRequest;
    const KEY: ApiKey = ApiKey::RenewDelegationToken;
    const RIGHTS: Rights = Rights::ByResource;
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: RenewDelegationTokenRequest) {
        context.reply(&RenewDelegationTokenResponse {
            error_code: ErrorCode::DelegationTokenRequestNotAllowed.code(),
            expiry_timestamp_ms: -1,
            ..RenewDelegationTokenResponse::default()
        });
    }
}
