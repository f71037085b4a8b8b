//! Requests for the controller: decided by it, off the connections' threads, and answered once this broker acts by the outcome.

use std::sync::Arc;

use ottla_controller::{ApiError, Controller, ControllerResult, RequestContext as ControllerContext};
use ottla_protocol::Message;

use crate::broker::Broker;
use crate::request::RequestContext;

impl Broker {
    /// Lets the controller decide on a request and answers with what `respond` makes of the outcome.
    pub fn forward<R, M: Message>(
        self: &Arc<Self>,
        context: RequestContext,
        decide: impl FnOnce(&mut Controller, &mut ControllerContext<'_>) -> Result<ControllerResult<R>, ApiError> + Send + 'static,
        respond: impl FnOnce(Result<R, ApiError>) -> M + Send + 'static,
    ) {
        let broker = self.clone();
        self.environment().blocking.run(Box::new(move || {
            let outcome = broker.submit(decide);
            context.reply(&respond(outcome));
        }));
    }
}
