//! SaslHandshake: which SASL mechanisms a listener offers. On a listener without SASL, or after the exchange has ended, the request is out
//! of place.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::sasl_handshake_request::SaslHandshakeRequest;
use ottla_protocol::messages::sasl_handshake_response::SaslHandshakeResponse;

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct SaslHandshake;

impl Handler for SaslHandshake {
    type Request = SaslHandshakeRequest;
    const KEY: ApiKey = ApiKey::SaslHandshake;
    const RIGHTS: Rights = Rights::Anyone;
    const QUOTA: QuotaClass = QuotaClass::Exempt;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: SaslHandshakeRequest) {
        context.reply(&SaslHandshakeResponse { error_code: ErrorCode::IllegalSaslState.code(), ..SaslHandshakeResponse::default() });
    }
}
