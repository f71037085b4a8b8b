//! The broker as the shell's service.

use std::sync::Arc;

use bytes::Bytes;
use ottla_broker::{Broker, Connection, Responder};

use crate::service::Service;

/// A node's broker.
#[derive(Debug)]
pub struct BrokerService(pub Arc<Broker>);

impl Service for BrokerService {
    fn handle(&self, connection: &Arc<Connection>, frame: Bytes, now_ms: i64, responder: Responder) {
        self.0.handle(connection, frame, now_ms, responder);
    }

    fn disconnected(&self, connection: &Connection) {
        // The broker ties nothing to a connection that does not end with the requests on it.
        tracing::trace!(connection = connection.info.id, "disconnected");
    }

    fn tick(&self, now_ms: i64) {
        self.0.tick(now_ms);
    }

    fn next_deadline_ms(&self) -> Option<i64> {
        self.0.next_deadline_ms()
    }

    fn set_waker(&self, waker: Box<dyn Fn() + Send + Sync>) {
        self.0.set_waker(waker);
    }

    fn run_background_work(&self, now_ms: i64) -> i64 {
        self.0.background_tick(now_ms)
    }

    fn shut_down(&self, now_ms: i64) {
        self.0.shutdown(now_ms);
    }
}
