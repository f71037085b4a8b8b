//! DescribeDelegationToken (KIP-48). Tokens may not be asked for on a connection that is not authenticated.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_delegation_token_request::DescribeDelegationTokenRequest;
use ottla_protocol::messages::describe_delegation_token_response::DescribeDelegationTokenResponse;

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeDelegationToken;

impl Handler for DescribeDelegationToken {
    type Request = DescribeDelegationTokenRequest;
    const KEY: ApiKey = ApiKey::DescribeDelegationToken;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: DescribeDelegationTokenRequest) {
        context.reply(&DescribeDelegationTokenResponse {
            error_code: ErrorCode::DelegationTokenRequestNotAllowed.code(),
            ..DescribeDelegationTokenResponse::default()
        });
    }
}
