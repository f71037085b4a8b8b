//! UnregisterBroker: forgets a broker that will not come back; decided by the controller.

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::unregister_broker_request::UnregisterBrokerRequest;
use ottla_protocol::messages::unregister_broker_response::UnregisterBrokerResponse;

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct UnregisterBroker;

impl Handler for UnregisterBroker {
    type Request = UnregisterBrokerRequest;
    const KEY: ApiKey = ApiKey::UnregisterBroker;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: UnregisterBrokerRequest) {
        broker.forward(
            context,
            move |controller, _| controller.unregister_broker(&request),
            move |outcome| match outcome {
                Ok(()) => UnregisterBrokerResponse::default(),
                Err(ApiError { error, message }) => {
                    UnregisterBrokerResponse { error_code: error.code(), error_message: message, ..UnregisterBrokerResponse::default() }
                }
            },
        );
    }
}
