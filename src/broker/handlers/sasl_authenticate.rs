//! SaslAuthenticate: one step of a SASL exchange. On a listener without SASL, or after the exchange has ended, the request is out of place.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::sasl_authenticate_request::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_authenticate_response::SaslAuthenticateResponse;

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct SaslAuthenticate;

impl Handler for SaslAuthenticate {
    type Request = SaslAuthenticateRequest;
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
    const RIGHTS: Rights = Rights::Anyone;
    const QUOTA: QuotaClass = QuotaClass::Exempt;

    fn handle(_broker: &Arc<Broker>, context: RequestContext, _request: SaslAuthenticateRequest) {
        context.reply(&SaslAuthenticateResponse {
            error_code: ErrorCode::IllegalSaslState.code(),
            error_message: Some("SaslAuthenticate request received after successful authentication".into()),
            ..SaslAuthenticateResponse::default()
        });
    }
}
