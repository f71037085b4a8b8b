//! One request at a time per node: what is under way, what failed a moment ago, and which bootstrap server to ask next
//! (`RequestManager`). An answer counts only while its request is the one under way: everything else is stale.

use std::collections::BTreeMap;

use ottla_model::{BrokerId, LeaderEpoch};

use crate::config::Jitter;
use crate::event::{CorrelationId, Peer};
use crate::replica::{OffsetAndEpoch, ReplicaKey};

/// What a request asked, as far as its answer's meaning depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) epoch: LeaderEpoch,
    pub(crate) what: AskedWhat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedWhat {
    Vote { voter: ReplicaKey, pre_vote: bool },
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch { position: OffsetAndEpoch },
    FetchSnapshot { id: OffsetAndEpoch, position: i64 },
    AddVoter,
    RemoveVoter,
    UpdateVoter,
    ApiVersions { voter: ReplicaKey },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    AwaitingResponse { correlation_id: CorrelationId, asked: Asked, deadline_ms: i64 },
    BackingOff { until_ms: i64 },
}

/// The state of the connections to the other nodes; a node that is not listed is ready.
#[derive(Debug)]
pub(crate) struct Connections {
    bootstrap: Vec<Peer>,
    retry_backoff_ms: i64,
    request_timeout_ms: i64,
    next_correlation_id: u64,
    by_node: BTreeMap<BrokerId, Connection>,
}

impl Connections {
    pub(crate) fn new(bootstrap: Vec<Peer>, retry_backoff_ms: i64, request_timeout_ms: i64) -> Connections {
        Connections { bootstrap, retry_backoff_ms, request_timeout_ms, next_correlation_id: 0, by_node: BTreeMap::new() }
    }

    /// Forgets all requests: their answers will be stale.
    pub(crate) fn reset_all(&mut self) {
        self.by_node.clear();
    }

    /// Forgets the node's request.
    pub(crate) fn reset(&mut self, node: BrokerId) {
        self.by_node.remove(&node);
    }

    /// Whether a request may be sent to the node.
    pub(crate) fn is_ready(&self, node: BrokerId, now_ms: i64) -> bool {
        self.ready_at_ms(node, now_ms) <= now_ms
    }

    /// When a request may be sent to the node.
    pub(crate) fn ready_at_ms(&self, node: BrokerId, now_ms: i64) -> i64 {
        self.by_node.get(&node).map_or(now_ms, |connection| connection.over_at_ms())
    }

    /// Whether the node has not answered in time.
    pub(crate) fn has_timed_out(&self, node: BrokerId, now_ms: i64) -> bool {
        matches!(self.by_node.get(&node), Some(Connection::AwaitingResponse { deadline_ms, .. }) if *deadline_ms <= now_ms)
    }

    /// Whether the node's last request failed a moment ago.
    pub(crate) fn is_backing_off(&self, node: BrokerId, now_ms: i64) -> bool {
        matches!(self.by_node.get(&node), Some(Connection::BackingOff { until_ms }) if *until_ms > now_ms)
    }

    /// Whether any node still owes an answer.
    pub(crate) fn has_inflight(&self, now_ms: i64) -> bool {
        self.inflight_until_ms(now_ms).is_some()
    }

    fn inflight_until_ms(&self, now_ms: i64) -> Option<i64> {
        let deadlines = self.by_node.values().filter_map(|connection| match connection {
            Connection::AwaitingResponse { deadline_ms, .. } if *deadline_ms > now_ms => Some(*deadline_ms),
            Connection::AwaitingResponse { .. } | Connection::BackingOff { .. } => None,
        });
        deadlines.min()
    }

    /// A bootstrap server to ask, if nobody owes an answer; where the search begins is random.
    pub(crate) fn ready_bootstrap_server(&self, now_ms: i64, jitter: &mut Jitter) -> Option<Peer> {
        if self.bootstrap.is_empty() || self.has_inflight(now_ms) {
            return None;
        }
        let first = jitter.below(self.bootstrap.len() as u64) as usize;
        let in_turn = self.bootstrap.iter().cycle().skip(first).take(self.bootstrap.len());
        in_turn.into_iter().find(|server| self.is_ready(server.id, now_ms)).cloned()
    }

    /// When to look for a bootstrap server again.
    pub(crate) fn bootstrap_ready_at_ms(&self, now_ms: i64) -> i64 {
        if let Some(deadline_ms) = self.inflight_until_ms(now_ms) {
            return deadline_ms;
        }
        let earliest = self.bootstrap.iter().map(|server| self.ready_at_ms(server.id, now_ms)).min();
        earliest.unwrap_or(now_ms + self.retry_backoff_ms).max(now_ms)
    }

    /// A request goes to the node.
    pub(crate) fn sent(&mut self, node: BrokerId, asked: Asked, now_ms: i64) -> CorrelationId {
        let correlation_id = CorrelationId(self.next_correlation_id);
        self.next_correlation_id += 1;
        let deadline_ms = now_ms + self.request_timeout_ms;
        self.by_node.insert(node, Connection::AwaitingResponse { correlation_id, asked, deadline_ms });
        correlation_id
    }

    /// What the answered request had asked; `None` if it is not the one under way.
    pub(crate) fn expected(&self, node: BrokerId, answered: CorrelationId) -> Option<Asked> {
        match self.by_node.get(&node) {
            Some(&Connection::AwaitingResponse { correlation_id, asked, .. }) if correlation_id == answered => Some(asked),
            Some(Connection::AwaitingResponse { .. } | Connection::BackingOff { .. }) | None => None,
        }
    }

    /// The answer was dealt with; if it was a failure, the node gets a rest. Does nothing if the connection was reset meanwhile.
    pub(crate) fn answered(&mut self, node: BrokerId, answered: CorrelationId, success: bool, now_ms: i64) {
        if self.expected(node, answered).is_none() {
            return;
        }
        if success {
            self.reset(node);
        } else {
            self.by_node.insert(node, Connection::BackingOff { until_ms: now_ms + self.retry_backoff_ms });
        }
    }
}

impl Connection {
    fn over_at_ms(&self) -> i64 {
        match self {
            Connection::AwaitingResponse { deadline_ms, .. } => *deadline_ms,
            Connection::BackingOff { until_ms } => *until_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::Endpoint;

    const ASKED: Asked = Asked { epoch: LeaderEpoch(1), what: AskedWhat::BeginQuorumEpoch };

    fn connections() -> Connections {
        let peer = |id| Peer { id: BrokerId(id), endpoint: Endpoint { host: "h".into(), port: 1 } };
        Connections::new(vec![peer(-2), peer(-3)], 20, 2000)
    }

    #[test]
    fn only_the_answer_to_the_request_under_way_counts() {
        let mut connections = connections();
        let node = BrokerId(1);
        let first = connections.sent(node, ASKED, 0);
        assert!(!connections.is_ready(node, 1999));
        assert!(connections.is_ready(node, 2000));
        let second = connections.sent(node, ASKED, 2000);
        assert_eq!(connections.expected(node, first), None);
        connections.answered(node, first, true, 2001);
        assert_eq!(connections.expected(node, second), Some(ASKED));
        connections.answered(node, second, false, 2100);
        assert!(connections.is_backing_off(node, 2119));
        assert!(connections.is_ready(node, 2120));
    }

    #[test]
    fn bootstrap_servers_are_asked_one_at_a_time() {
        let mut connections = connections();
        let mut jitter = Jitter::new(1);
        let first = connections.ready_bootstrap_server(0, &mut jitter).expect("all are ready");
        let id = connections.sent(first.id, ASKED, 0);
        assert_eq!(connections.ready_bootstrap_server(1, &mut jitter), None);
        assert_eq!(connections.bootstrap_ready_at_ms(1), 2000);
        connections.answered(first.id, id, false, 10);
        let second = connections.ready_bootstrap_server(11, &mut jitter).expect("the other one is ready");
        assert_ne!(second.id, first.id);
    }
}
