//! Producer ids, handed out one by one from blocks that the controller gives (`RPCProducerIdManager`).

use ottla_model::{ErrorCode, ProducerId};
use ottla_protocol::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use parking_lot::Mutex;

use crate::broker::Broker;

/// What is left of the current block.
#[derive(Debug, Default)]
pub struct ProducerIds {
    block: Mutex<std::ops::Range<i64>>,
}

impl ProducerIds {
    /// The next id; `None` when a new block is needed.
    pub fn next(&self) -> Option<ProducerId> {
        self.block.lock().next().map(ProducerId)
    }

    /// The next id, out of a new block if need be. Waits for the disk.
    pub fn next_or_allocate(&self, broker: &std::sync::Arc<Broker>) -> Result<ProducerId, ErrorCode> {
        let mut block = self.block.lock();
        if block.is_empty() {
            let request = AllocateProducerIdsRequest {
                broker_id: broker.node_id().0,
                broker_epoch: broker.broker_epoch(),
                ..AllocateProducerIdsRequest::default()
            };
            let response = broker.submit(|controller, _| controller.allocate_producer_ids(&request)).map_err(|error| error.error)?;
            *block = response.first_producer_id..response.first_producer_id + i64::from(response.size);
        }
        block.next().map(ProducerId).ok_or(ErrorCode::CoordinatorLoadInProgress)
    }
}
