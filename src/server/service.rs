//! What the shell needs of a broker. Tests stand in for it with small services of their own.

use std::sync::Arc;

use bytes::Bytes;
use ottla_broker::{Connection, Responder};

/// Answers requests. All methods are called from many threads.
pub trait Service: Send + Sync + 'static {
    /// Takes a request, without its length, and sees to it that `responder` is called exactly once, now or later. It runs on a thread that
    /// serves connections: what may wait for long belongs elsewhere.
    fn handle(&self, connection: &Arc<Connection>, frame: Bytes, now_ms: i64, responder: Responder);

    /// The connection is gone. Requests of it may still be under way.
    fn disconnected(&self, connection: &Connection);

    /// Ends what has waited long enough.
    fn tick(&self, now_ms: i64);

    /// When `tick` is needed next, if ever.
    fn next_deadline_ms(&self) -> Option<i64>;

    /// Hands in what has to be called when a deadline appears that is earlier than all others.
    fn set_waker(&self, waker: Box<dyn Fn() + Send + Sync>);

    /// Does what is due of the work that may wait for disks (retention, flushing, checkpoints); returns when it wants to be called next.
    /// Never called twice at once.
    fn run_background_work(&self, now_ms: i64) -> i64;

    /// Answers whatever waits, makes everything durable and closes it. No request comes after it.
    fn shut_down(&self, now_ms: i64);
}
