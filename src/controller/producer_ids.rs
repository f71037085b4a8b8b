//! AllocateProducerIds: blocks of a thousand ids, each given out once (`ProducerIdControlManager`).

use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use ottla_protocol::messages::producer_ids_record::ProducerIdsRecord;

use crate::api_error::ApiError;
use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

/// How many ids a block has (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
pub const PRODUCER_ID_BLOCK_SIZE: i32 = 1000;

/// Producer ids for one broker to give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdsBlock {
    /// The first id.
    pub first_producer_id: i64,
    /// How many.
    pub size: i32,
}

pub(crate) fn allocate_producer_ids(
    state: &ControllerState,
    request: &AllocateProducerIdsRequest,
) -> Result<ControllerResult<ProducerIdsBlock>, ApiError> {
    state.check_broker_epoch(BrokerId(request.broker_id), request.broker_epoch)?;
    let first_producer_id = state.image.next_producer_id.unwrap_or(0);
    let size = PRODUCER_ID_BLOCK_SIZE;
    let Some(next_producer_id) = first_producer_id.checked_add(i64::from(size)) else {
        return Err(ApiError::bare(ErrorCode::UnknownServerError));
    };
    let (broker_id, broker_epoch) = (request.broker_id, request.broker_epoch);
    let record = ProducerIdsRecord { broker_id, broker_epoch, next_producer_id, ..Default::default() };
    Ok(ControllerResult::of(vec![record.into()], ProducerIdsBlock { first_producer_id, size }))
}
