//! How many connections may be open, as Kafka's `ConnectionQuotas` counts them: in all, per listener, and per client address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::Notify;

/// A client has as many connections as its address may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{address} has the {max} connections that max.connections.per.ip allows")]
pub struct TooManyConnections {
    /// The client's address.
    pub address: IpAddr,
    /// Its limit.
    pub max: usize,
}

/// What counts for one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerLimit {
    /// Its own limit.
    pub max_connections: Option<usize>,
    /// The inter-broker listener, when there are others: `max.connections` does not hold it up.
    pub is_protected: bool,
}

/// The limits with addresses resolved.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Over all listeners.
    pub max_connections: usize,
    /// Per client address.
    pub max_connections_per_ip: usize,
    /// Client addresses with a limit of their own.
    pub max_connections_per_ip_overrides: HashMap<IpAddr, usize>,
    /// By the listener's index.
    pub listeners: Vec<ListenerLimit>,
}

#[derive(Debug)]
struct Counts {
    total: usize,
    listeners: Vec<usize>,
    addresses: HashMap<IpAddr, usize>,
}

/// The limits and what counts against them.
#[derive(Debug)]
pub struct ConnectionCounts {
    limits: Limits,
    counts: Mutex<Counts>,
    released: Notify,
}

/// A connection that is counted until this is dropped.
#[derive(Debug)]
pub struct CountedConnection {
    counts: Arc<ConnectionCounts>,
    listener: usize,
    address: IpAddr,
    /// Whether there are more connections now than `max.connections`, so that another has to go.
    pub exceeds_max_connections: bool,
}

impl ConnectionCounts {
    /// Nothing is counted yet.
    pub fn new(limits: Limits) -> Arc<ConnectionCounts> {
        let counts = Counts { total: 0, listeners: vec![0; limits.listeners.len()], addresses: HashMap::new() };
        Arc::new(ConnectionCounts { limits, counts: Mutex::new(counts), released: Notify::new() })
    }

    /// Counts a connection once there is room for it on its listener; one too many of its address is refused.
    pub async fn admit(self: &Arc<ConnectionCounts>, listener: usize, address: IpAddr) -> Result<CountedConnection, TooManyConnections> {
        loop {
            let released = self.released.notified();
            if let Some(outcome) = self.try_admit(listener, address) {
                return outcome;
            }
            released.await;
        }
    }

    /// Counts a connection now; `None` when its listener has no room.
    fn try_admit(self: &Arc<ConnectionCounts>, listener: usize, address: IpAddr) -> Option<Result<CountedConnection, TooManyConnections>> {
        let mut counts = self.counts.lock();
        let limit = self.limits.listeners[listener];
        let listener_is_full = limit.max_connections.is_some_and(|max| counts.listeners[listener] >= max);
        if listener_is_full || (!limit.is_protected && counts.total >= self.limits.max_connections) {
            return None;
        }
        let max = *self.limits.max_connections_per_ip_overrides.get(&address).unwrap_or(&self.limits.max_connections_per_ip);
        if counts.addresses.get(&address).is_some_and(|&count| count >= max) || max == 0 {
            return Some(Err(TooManyConnections { address, max }));
        }
        counts.total += 1;
        counts.listeners[listener] += 1;
        *counts.addresses.entry(address).or_default() += 1;
        let exceeds_max_connections = counts.total > self.limits.max_connections;
        Some(Ok(CountedConnection { counts: self.clone(), listener, address, exceeds_max_connections }))
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut counts = self.counts.counts.lock();
        counts.total -= 1;
        counts.listeners[self.listener] -= 1;
        if let Some(count) = counts.addresses.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.addresses.remove(&self.address);
            }
        }
        drop(counts);
        self.counts.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const OTHER: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn counts(max_connections: usize, per_ip: usize, listeners: Vec<ListenerLimit>) -> Arc<ConnectionCounts> {
        let overrides = HashMap::from([(OTHER, 1)]);
        ConnectionCounts::new(Limits {
            max_connections,
            max_connections_per_ip: per_ip,
            max_connections_per_ip_overrides: overrides,
            listeners,
        })
    }

    const PLAIN: ListenerLimit = ListenerLimit { max_connections: None, is_protected: false };

    #[test]
    fn an_address_has_its_own_limit() {
        let counts = counts(100, 2, vec![PLAIN]);
        let first = counts.try_admit(0, CLIENT).unwrap().unwrap();
        let _second = counts.try_admit(0, CLIENT).unwrap().unwrap();
        assert_eq!(counts.try_admit(0, CLIENT).unwrap().unwrap_err(), TooManyConnections { address: CLIENT, max: 2 });
        let _other = counts.try_admit(0, OTHER).unwrap().unwrap();
        assert_eq!(counts.try_admit(0, OTHER).unwrap().unwrap_err(), TooManyConnections { address: OTHER, max: 1 });
        drop(first);
        assert!(counts.try_admit(0, CLIENT).unwrap().is_ok());
    }

    #[test]
    fn the_inter_broker_listener_is_not_held_up_by_max_connections() {
        let protected = ListenerLimit { max_connections: Some(2), is_protected: true };
        let counts = counts(1, 100, vec![PLAIN, protected]);
        let client = counts.try_admit(0, CLIENT).unwrap().unwrap();
        assert!(!client.exceeds_max_connections);
        assert!(counts.try_admit(0, CLIENT).is_none());
        let broker = counts.try_admit(1, CLIENT).unwrap().unwrap();
        assert!(broker.exceeds_max_connections);
        let _second = counts.try_admit(1, CLIENT).unwrap().unwrap();
        assert!(counts.try_admit(1, CLIENT).is_none(), "its own limit holds");
    }

    #[tokio::test]
    async fn whoever_finds_no_room_waits_for_it() {
        let counts = counts(1, 100, vec![PLAIN]);
        let first = counts.admit(0, CLIENT).await.unwrap();
        let waiting = tokio::spawn({
            let counts = counts.clone();
            async move { counts.admit(0, CLIENT).await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        assert!(waiting.await.unwrap());
    }
}
