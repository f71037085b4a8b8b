//! The open connections, for those who have to tell one or all of them to end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::outbox::{Ending, Outbox};

/// All open connections.
#[derive(Debug, Default)]
pub struct Registry {
    next_id: AtomicU64,
    open: Mutex<Open>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Open {
    connections: HashMap<u64, Entry>,
    /// Connections that come from now on end as these were told to.
    ending: Option<Ending>,
}

#[derive(Debug)]
struct Entry {
    outbox: Arc<Outbox>,
    may_be_evicted: bool,
}

/// A connection's entry; dropping it takes it out.
#[derive(Debug)]
pub struct Registered {
    registry: Arc<Registry>,
    /// The connection's number, unique within the process.
    pub id: u64,
}

impl Registry {
    /// Adds a connection.
    pub fn add(self: &Arc<Registry>, outbox: Arc<Outbox>, may_be_evicted: bool) -> Registered {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        if let Some(ending) = open.ending {
            outbox.end(ending);
        }
        open.connections.insert(id, Entry { outbox, may_be_evicted });
        Registered { registry: self.clone(), id }
    }

    /// Ends the connection that was idle the longest, of those that may be.
    pub fn evict_least_recently_active(&self) {
        let open = self.open.lock();
        let evictable = open.connections.values().filter(|entry| entry.may_be_evicted);
        if let Some(entry) = evictable.min_by_key(|entry| entry.outbox.last_active_ms()) {
            entry.outbox.end(Ending::Abort);
        }
    }

    /// Tells all connections to end, and those that may still come.
    pub fn end_all(&self, ending: Ending) {
        let mut open = self.open.lock();
        open.ending = Some(ending);
        for entry in open.connections.values() {
            entry.outbox.end(ending);
        }
    }

    /// Waits until no connection is open.
    pub async fn empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.open.lock().connections.is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut open = self.registry.open.lock();
        open.connections.remove(&self.id);
        if open.connections.is_empty() {
            self.registry.emptied.notify_waiters();
        }
    }
}
