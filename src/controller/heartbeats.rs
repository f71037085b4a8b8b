//! When each broker was last heard of and how far its metadata is: soft state, kept by the active controller only and rebuilt from the
//! registrations when it becomes active (`BrokerHeartbeatManager`, `BrokerHeartbeatTracker`).

use std::collections::BTreeMap;

use ottla_metadata::ClusterImage;
use ottla_model::BrokerId;

/// What a broker is told to be (`BrokerControlState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokerControlState {
    Fenced,
    Unfenced,
    ControlledShutdown,
    ShutdownNow,
}

impl BrokerControlState {
    pub fn is_fenced(self) -> bool {
        matches!(self, BrokerControlState::Fenced | BrokerControlState::ShutdownNow)
    }
}

#[derive(Clone, Debug)]
struct Heartbeat {
    /// The broker's registration that was heard of.
    epoch: i64,
    /// `None` while the broker has not been heard of since this controller became active, or since its session ended.
    last_contact_ms: Option<i64>,
    fenced: bool,
    metadata_offset: i64,
    /// Others have to reach this offset before the broker may stop: then they know that it leads nothing.
    controlled_shutdown_offset: Option<i64>,
}

/// The heartbeats of all registered brokers.
#[derive(Clone, Debug)]
pub(crate) struct BrokerHeartbeats {
    session_timeout_ms: i64,
    brokers: BTreeMap<BrokerId, Heartbeat>,
}

/// What a heartbeat asks, and what it is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeartbeatWish {
    pub metadata_offset: i64,
    pub want_fence: bool,
    pub want_shut_down: bool,
    pub register_broker_offset: i64,
    /// Only looked at for a broker that stops.
    pub has_leaderships: bool,
}

impl BrokerHeartbeats {
    /// As of the moment when the controller becomes active: a session begins anew for every broker that is not fenced.
    pub fn new(session_timeout_ms: i64, cluster: &ClusterImage, now_ms: i64) -> BrokerHeartbeats {
        let heartbeat = |fenced: bool, epoch| Heartbeat {
            epoch,
            last_contact_ms: (!fenced).then_some(now_ms),
            fenced,
            metadata_offset: -1,
            controlled_shutdown_offset: None,
        };
        let brokers = cluster.brokers().map(|broker| (broker.id, heartbeat(broker.fenced, broker.epoch)));
        BrokerHeartbeats { session_timeout_ms, brokers: brokers.collect() }
    }

    /// Follows a registration that was replayed; `None` when the broker is gone.
    pub fn registered(&mut self, broker: BrokerId, registration: Option<(i64, bool)>) {
        let Some((epoch, fenced)) = registration else {
            self.brokers.remove(&broker);
            return;
        };
        let new = Heartbeat { epoch, last_contact_ms: None, fenced, metadata_offset: -1, controlled_shutdown_offset: None };
        let heartbeat = self.brokers.entry(broker).or_insert_with(|| new.clone());
        if heartbeat.epoch != epoch {
            *heartbeat = new;
        }
        heartbeat.fenced = fenced;
        if fenced {
            heartbeat.controlled_shutdown_offset = None;
        }
    }

    /// A broker of this registration was heard of.
    pub fn contacted(&mut self, broker: BrokerId, epoch: i64, now_ms: i64) {
        if let Some(heartbeat) = self.brokers.get_mut(&broker).filter(|heartbeat| heartbeat.epoch == epoch) {
            heartbeat.last_contact_ms = Some(now_ms);
        }
    }

    /// A heartbeat was answered.
    pub fn touch(&mut self, broker: BrokerId, fenced: bool, metadata_offset: i64) {
        if let Some(heartbeat) = self.brokers.get_mut(&broker) {
            heartbeat.fenced = fenced;
            heartbeat.metadata_offset = metadata_offset;
            if fenced {
                heartbeat.controlled_shutdown_offset = None;
            }
        }
    }

    /// The broker's shutdown records end at `offset`; what was set before stays.
    pub fn set_controlled_shutdown_offset(&mut self, broker: BrokerId, offset: i64) {
        if let Some(heartbeat) = self.brokers.get_mut(&broker) {
            heartbeat.controlled_shutdown_offset.get_or_insert(offset);
        }
    }

    /// Whether the broker is on its way out.
    pub fn is_shutting_down(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|heartbeat| heartbeat.controlled_shutdown_offset.is_some())
    }

    fn is_expired(&self, heartbeat: &Heartbeat, now_ms: i64) -> bool {
        heartbeat.last_contact_ms.is_some_and(|contact| contact.saturating_add(self.session_timeout_ms) < now_ms)
    }

    /// Whether the process that registered at `epoch` was heard of recently.
    pub fn has_valid_session(&self, broker: BrokerId, epoch: i64, now_ms: i64) -> bool {
        self.brokers
            .get(&broker)
            .is_some_and(|heartbeat| heartbeat.epoch == epoch && heartbeat.last_contact_ms.is_some() && !self.is_expired(heartbeat, now_ms))
    }

    /// A broker whose session has ended; it is told once.
    pub fn take_expired(&mut self, now_ms: i64) -> Option<BrokerId> {
        let expired = self.brokers.iter().find(|(_, heartbeat)| self.is_expired(heartbeat, now_ms)).map(|(&id, _)| id)?;
        if let Some(heartbeat) = self.brokers.get_mut(&expired) {
            heartbeat.last_contact_ms = None;
        }
        Some(expired)
    }

    /// When the next session ends, in ms; `None` when none is open.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let contact = self.brokers.values().filter_map(|heartbeat| heartbeat.last_contact_ms).min()?;
        Some(contact.saturating_add(self.session_timeout_ms).saturating_add(1))
    }

    /// How far the slowest broker is that takes part; the largest number when none does.
    fn lowest_active_offset(&self) -> i64 {
        let active = self.brokers.values().filter(|heartbeat| !heartbeat.fenced && heartbeat.controlled_shutdown_offset.is_none());
        active.map(|heartbeat| heartbeat.metadata_offset).min().unwrap_or(i64::MAX)
    }

    /// The broker's present state; fenced when it is not registered.
    pub fn current_state(&self, broker: BrokerId) -> BrokerControlState {
        match self.brokers.get(&broker) {
            Some(heartbeat) if heartbeat.controlled_shutdown_offset.is_some() => BrokerControlState::ControlledShutdown,
            Some(heartbeat) if !heartbeat.fenced => BrokerControlState::Unfenced,
            Some(_) | None => BrokerControlState::Fenced,
        }
    }

    /// What the broker is to be after this heartbeat.
    pub fn next_state(&self, broker: BrokerId, wish: HeartbeatWish) -> BrokerControlState {
        match self.current_state(broker) {
            BrokerControlState::Fenced if wish.want_shut_down => BrokerControlState::ShutdownNow,
            BrokerControlState::Fenced => {
                let caught_up = wish.metadata_offset >= wish.register_broker_offset;
                if !wish.want_fence && caught_up { BrokerControlState::Unfenced } else { BrokerControlState::Fenced }
            }
            BrokerControlState::Unfenced => match (wish.want_fence, wish.want_shut_down) {
                (true, true) => BrokerControlState::ShutdownNow,
                (true, false) => BrokerControlState::Fenced,
                (false, true) if wish.has_leaderships => BrokerControlState::ControlledShutdown,
                (false, true) => BrokerControlState::ShutdownNow,
                (false, false) => BrokerControlState::Unfenced,
            },
            BrokerControlState::ControlledShutdown => {
                let offset = self.brokers.get(&broker).and_then(|heartbeat| heartbeat.controlled_shutdown_offset);
                let others_know = offset.is_none_or(|offset| offset <= self.lowest_active_offset());
                if !wish.has_leaderships && others_know { BrokerControlState::ShutdownNow } else { BrokerControlState::ControlledShutdown }
            }
            BrokerControlState::ShutdownNow => BrokerControlState::ShutdownNow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: HeartbeatWish =
        HeartbeatWish { metadata_offset: 10, want_fence: false, want_shut_down: false, register_broker_offset: 10, has_leaderships: true };

    fn heartbeats(brokers: &[(i32, bool)]) -> BrokerHeartbeats {
        let mut heartbeats = BrokerHeartbeats::new(9_000, &ClusterImage::default(), 0);
        for &(id, fenced) in brokers {
            heartbeats.registered(BrokerId(id), Some((100, fenced)));
        }
        heartbeats
    }

    #[test]
    fn states_follow_the_wishes() {
        use BrokerControlState::*;
        let check = |fenced: bool, wish: HeartbeatWish, expected: BrokerControlState| {
            assert_eq!(heartbeats(&[(1, fenced)]).next_state(BrokerId(1), wish), expected, "{wish:?}");
        };
        check(true, WISH, Unfenced);
        check(true, HeartbeatWish { metadata_offset: 9, ..WISH }, Fenced);
        check(true, HeartbeatWish { want_fence: true, ..WISH }, Fenced);
        check(true, HeartbeatWish { want_shut_down: true, ..WISH }, ShutdownNow);
        check(false, WISH, Unfenced);
        check(false, HeartbeatWish { want_fence: true, ..WISH }, Fenced);
        check(false, HeartbeatWish { want_fence: true, want_shut_down: true, ..WISH }, ShutdownNow);
        check(false, HeartbeatWish { want_shut_down: true, ..WISH }, ControlledShutdown);
        check(false, HeartbeatWish { want_shut_down: true, has_leaderships: false, ..WISH }, ShutdownNow);
    }

    #[test]
    fn a_broker_stops_when_the_others_know_that_it_leads_nothing() {
        let mut heartbeats = heartbeats(&[(1, false), (2, false)]);
        heartbeats.set_controlled_shutdown_offset(BrokerId(1), 50);
        let wish = HeartbeatWish { want_shut_down: true, has_leaderships: false, ..WISH };
        heartbeats.touch(BrokerId(2), false, 49);
        assert_eq!(heartbeats.next_state(BrokerId(1), wish), BrokerControlState::ControlledShutdown);
        heartbeats.touch(BrokerId(2), false, 50);
        assert_eq!(
            heartbeats.next_state(BrokerId(1), HeartbeatWish { has_leaderships: true, ..wish }),
            BrokerControlState::ControlledShutdown
        );
        assert_eq!(heartbeats.next_state(BrokerId(1), wish), BrokerControlState::ShutdownNow);
    }

    #[test]
    fn a_session_ends_after_its_timeout_and_is_told_once() {
        let mut heartbeats = heartbeats(&[(1, false)]);
        assert!(!heartbeats.has_valid_session(BrokerId(1), 100, 0));
        heartbeats.contacted(BrokerId(1), 100, 1_000);
        heartbeats.contacted(BrokerId(1), 99, 5_000);
        assert_eq!(heartbeats.next_deadline_ms(), Some(10_001));
        assert!(heartbeats.has_valid_session(BrokerId(1), 100, 10_000));
        assert_eq!(heartbeats.take_expired(10_000), None);
        assert!(!heartbeats.has_valid_session(BrokerId(1), 100, 10_001));
        assert_eq!(heartbeats.take_expired(10_001), Some(BrokerId(1)));
        assert_eq!(heartbeats.take_expired(10_001), None);
    }
}
