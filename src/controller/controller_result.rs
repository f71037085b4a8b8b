//! What an operation decides: records to append, and what to answer once they are committed.

use ottla_metadata::MetadataRecord;

use crate::api_error::{ApiError, RECORDS_PER_USER_OP_MAX};

/// Records and the response that they justify (`ControllerResult`). Nothing has changed yet: the records are appended, replayed, and
/// when they are committed the response is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerResult<R> {
    /// What to append, in order.
    pub records: Vec<MetadataRecord>,
    /// What to answer.
    pub response: R,
    /// Whether the records must be committed together, in one batch.
    pub is_atomic: bool,
}

impl<R> ControllerResult<R> {
    /// Records that may be committed batch by batch.
    pub fn of(records: Vec<MetadataRecord>, response: R) -> ControllerResult<R> {
        ControllerResult { records, response, is_atomic: false }
    }

    /// Records that are committed together or not at all.
    pub fn atomic_of(records: Vec<MetadataRecord>, response: R) -> ControllerResult<R> {
        ControllerResult { records, response, is_atomic: true }
    }

    /// The result of a request that was only to be checked.
    pub(crate) fn without_records_if(self, validate_only: bool) -> ControllerResult<R> {
        if validate_only { ControllerResult { records: Vec::new(), ..self } } else { self }
    }

    /// Fails if one request caused more records than it may.
    pub(crate) fn bounded(self) -> Result<ControllerResult<R>, ApiError> {
        if self.records.len() > RECORDS_PER_USER_OP_MAX { Err(ApiError::excessively_large()) } else { Ok(self) }
    }
}
