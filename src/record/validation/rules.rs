//! The rules of a topic for single records, and what they have found so far in one batch (`LogValidator.validateRecord`).

use super::config::ValidationConfig;
use super::error::{RECORD_REJECTIONS_MAX, RecordRejection, RejectionReason, ValidationError};
use crate::attributes::TimestampType;
use crate::header::{BatchHeader, NO_TIMESTAMP};

/// Judges the records of one batch in their order.
pub(super) struct RecordRules<'a> {
    config: &'a ValidationConfig,
    now_ms: i64,
    base_timestamp: i64,
    /// The timestamp of all records, if the batch says that a broker has set it.
    log_append_time: Option<i64>,
    next_index: i32,
    max_timestamp: i64,
    rejections: Vec<RecordRejection>,
    rejected_count: usize,
}

impl<'a> RecordRules<'a> {
    pub(super) fn new(header: &BatchHeader, config: &'a ValidationConfig, now_ms: i64) -> RecordRules<'a> {
        RecordRules {
            config,
            now_ms,
            base_timestamp: header.base_timestamp,
            log_append_time: match header.timestamp_type() {
                TimestampType::CreateTime => None,
                TimestampType::LogAppendTime => Some(header.max_timestamp),
            },
            next_index: 0,
            max_timestamp: NO_TIMESTAMP,
            rejections: Vec::new(),
            rejected_count: 0,
        }
    }

    /// Judges the next record by its encoded timestamp.
    #[inline(always)]
    pub(super) fn check_encoded(&mut self, timestamp_delta: i64, has_key: bool) {
        let timestamp = self.log_append_time.unwrap_or(self.base_timestamp.wrapping_add(timestamp_delta));
        self.check(timestamp, has_key);
    }

    /// Judges the next record.
    #[inline(always)]
    pub(super) fn check(&mut self, timestamp: i64, has_key: bool) {
        if self.config.is_compacted && !has_key {
            self.reject(RejectionReason::MissingKey);
        } else if let Some(reason) = self.judge_timestamp(timestamp) {
            self.reject(reason);
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.next_index += 1;
    }

    /// The largest timestamp of the records so far, or [`NO_TIMESTAMP`].
    pub(super) const fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    pub(super) const fn has_rejected(&self) -> bool {
        self.rejected_count > 0
    }

    /// An error if any record was rejected.
    pub(super) fn finish(&mut self) -> Result<(), ValidationError> {
        if self.rejected_count == 0 {
            return Ok(());
        }
        Err(ValidationError::Rejected { rejections: std::mem::take(&mut self.rejections), rejected_count: self.rejected_count })
    }

    #[inline(always)]
    fn judge_timestamp(&self, timestamp: i64) -> Option<RejectionReason> {
        let ValidationConfig { timestamp_type, timestamp_before_max_ms, timestamp_after_max_ms, .. } = *self.config;
        if timestamp_type == TimestampType::CreateTime && timestamp != NO_TIMESTAMP {
            // Wraps around like Java's arithmetic does.
            let age_ms = self.now_ms.wrapping_sub(timestamp);
            if age_ms > timestamp_before_max_ms || age_ms.wrapping_neg() > timestamp_after_max_ms {
                let earliest = self.now_ms.wrapping_sub(timestamp_before_max_ms);
                let latest = self.now_ms.wrapping_add(timestamp_after_max_ms);
                return Some(RejectionReason::TimestampOutOfRange { timestamp, earliest, latest });
            }
            None
        } else {
            self.log_append_time.map(|_| RejectionReason::LogAppendTimeSet)
        }
    }

    #[cold]
    fn reject(&mut self, reason: RejectionReason) {
        self.rejected_count += 1;
        if self.rejections.len() < RECORD_REJECTIONS_MAX {
            self.rejections.push(RecordRejection { batch_index: self.next_index, reason });
        }
    }
}
